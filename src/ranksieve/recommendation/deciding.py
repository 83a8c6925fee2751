"""Recommend the cheapest features that are shown to be enough."""

from __future__ import annotations

import os
import shutil
import tempfile
import time as clock
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ranksieve._version import __version__
from ranksieve.base.feature_lists import listed_features
from ranksieve.columns import Columns
from ranksieve.costs import FeatureCosts
from ranksieve.data import DataError, RankingData
from ranksieve.datasets.dividing import SplitRule, open_for_study
from ranksieve.datasets.opening import read_whole
from ranksieve.io.files import make_directory
from ranksieve.io.selection import SelectedFeature, Selection, write_selection
from ranksieve.joining import concatenate, with_features_of
from ranksieve.metrics import get_convention
from ranksieve.missing import has_missing
from ranksieve.preprocessing import scaled_within_queries
from ranksieve.progress import track
from ranksieve.rankers.registry import RANKERS
from ranksieve.recommendation.answer import Recommendation
from ranksieve.recommendation.asking import Lookup, Placed, Procedure, drive, together
from ranksieve.recommendation.cells import RankingCell, RecommendationLog
from ranksieve.recommendation.checking import reference_of
from ranksieve.recommendation.details import Found, describe_features
from ranksieve.recommendation.division import Division, Place, divide
from ranksieve.recommendation.files import LEDGER, MODEL, MODEL_OF_ALL, SELECTION, write_answer
from ranksieve.recommendation.fronts import points_of
from ranksieve.recommendation.portfolio import default_selectors, members_of
from ranksieve.recommendation.procedure import Choice, Rule, RuleName, Task, run_stage
from ranksieve.recommendation.verdict import Verdict
from ranksieve.selectors._search.checkpoint import fingerprint
from ranksieve.study.members import find_method
from ranksieve.study.plan import Plan
from ranksieve.study.protocols import check_distinct
from ranksieve.study.running import run_on_cluster, run_on_threads
from ranksieve.study.study import title_of_data

_FOR_CHOICE = 0.7  # of the time; the rest is for what is told about each feature


def recommend(
    data: Any = None,
    ranker: Any = "lambdamart",
    *,
    measure: str = "ndcg@10",
    margin: float = 0.01,
    costs: Any = None,
    budget: float | None = None,
    keep: Sequence[int | str] = (),
    drop: Sequence[int | str] = (),
    confirm: Any = None,
    selectors: Sequence[Any] | None = None,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    rule: RuleName = "half-margin",
    level: float = 0.95,
    folds: int = 5,
    convention: str = "standard",
    scale: str = "none",
    missing: str | None = None,
    seed: int = 0,
    time: float | None = None,
    details: bool = True,
    pairs: int = 10,
    out: str | os.PathLike[str] | None = None,
    columns: Columns | None = None,
    split: SplitRule | None = None,
    pool: bool = False,
    title: str | None = None,
    read_options: Mapping[str, Any] | None = None,
    client: Any = None,
) -> Recommendation:
    r"""Find the cheapest features with which a ranker loses less than a margin, and test that.

    Selectors order the features; the ranker is trained on more and more of them, and queries that
    neither selected nor trained tell which is the cheapest set that is enough. All of this is the
    procedure. It runs on all queries for the features to keep, and once more for each part of the
    queries without that part, which then judges what was chosen: the claim is made by queries that
    had no part in the choice.

    Parameters
    ----------
    data : anything that :class:`ranksieve.study.Study` takes
        By default the embedded demo. A split that it comes with is used as it is; its test queries
        then judge the very features that are recommended.
    ranker : str or ranker
        Name of a ranker, ``"module:object"``, or a ranker of this library, LightGBM, XGBoost,
        CatBoost or scikit-learn.
    measure : str
        Measure whose mean over queries must not fall.
    margin : float
        Largest loss that would not matter, relative to the mean with all features.
    costs : FeatureCosts, mapping, array, frame or path, optional
        What features cost; by default each costs 1.
    budget : float, optional
        Largest cost: recommends the best features within it.
    keep, drop : sequences of int or str
        Features (0-based, or names) that must be among them, and that must not. Dropped ones are
        not among "all features" either.
    confirm : data, optional
        Queries that nothing else has seen, for one test of the very features that are recommended.
    selectors : sequence, optional
        Selectors to try; by default a few that are good for the ranker.
    parameters : mapping of str to mapping, optional
        Selector or ranker -> parameters to set.
    rule : {"half-margin", "safe", "one-se", "best"}
        When a mean over the queries that choose is enough: at least that of all features times
        ``1 - margin / 2``; a loss that is within the margin even with one standard error more;
        a loss within one standard error; only the best one. The claim does not depend on it.
    level : float
        Confidence of the claim.
    folds : int
        Number of parts of the queries, if the data comes undivided.
    convention, scale, missing, seed
        As of :class:`ranksieve.study.Plan`.
    time : float, optional
        Seconds after which nothing more is begun than what the answer needs; the answer says what
        was left out.
    details : bool
        Whether to find out for each feature what is lost without it, and how stable it is.
    pairs : int
        Number of random divisions of the queries into halves, for stability.
    out : path, optional
        Directory of the ledger: killed work resumes. By default nothing is kept.
    columns, split, pool, title, read_options
        As of :class:`ranksieve.study.Study`.
    client : distributed.Client, optional
        Train on the workers of a Dask cluster.

    Returns
    -------
    Recommendation

    Notes
    -----
    With d_q the change of the measure of query q, the claim "loses less than the margin" holds if
    the lower bound of ``mean(d) / mean(all)`` (Fieller, one-sided) exceeds ``-margin``. Trainings:
    about 15 places (10 from 50,000 rows on), at each of them some 8 sizes for each selector.

    References
    ----------
    Non-inferiority: :func:`ranksieve.significance.non_inferiority`. Fixed sequence of sizes:
    W. Maurer, L. Hothorn, W. Lehmacher. Multiple comparisons in drug clinical trials and
    preclinical assays. 1995.

    Examples
    --------
    >>> from ranksieve import make_ranking, recommend
    >>> data, truth = make_ranking(80, n_informative=2, n_redundant=0, n_noise=3, noise=0.1)
    >>> answer = recommend(data, "rankrls", margin=0.05, details=False)
    >>> sorted(answer.features) == truth.informative.tolist()
    True
    >>> answer.claim.is_shown
    True
    """
    started = clock.monotonic()
    method = find_method(ranker, RANKERS, {})
    given = dict(parameters or {})
    if selectors is None:
        usual = default_selectors(method)
        given = {
            name: usual.get(name, {}) | dict(given.get(name, {})) for name in {**usual, **given}
        }
        selectors = list(usual)
    plan = Plan(
        selectors=selectors,
        rankers=[ranker],
        measures=[measure],
        tune=measure,
        convention=convention,
        scale=scale,
        missing=missing or "none",
        seed=seed,
        baselines=False,
        parameters={name: own for name, own in given.items() if own},
        include=list(keep),
        exclude=list(drop),
    )
    how = {"columns": columns, **(read_options or {})}
    source = open_for_study(data, split=split, pool=pool, **how)
    division = _prepared(divide(source, folds, seed, **how), plan, missing)
    work = _Work(plan, division, Rule(rule, margin, budget), level, costs)
    with ExitStack() as stack:
        directory = Path(tempfile.mkdtemp(prefix="ranksieve-") if out is None else out)
        if out is None:
            stack.callback(shutil.rmtree, directory, ignore_errors=True)
        ledger = RecommendationLog(make_directory(directory) / LEDGER, work.head())
        run_on = run_on_threads if client is None else partial(run_on_cluster, client)
        compute = partial(_compute, ledger, run_on, division)
        end = None if time is None else started + time * _FOR_CHOICE
        choices = drive(work.choose(_is_over(end)), compute)
        end = None if time is None else started + time
        found = Found()
        if details and not _is_over(end)():
            found = drive(describe_features(work.task, choices[-1], pairs), compute)
    claimed = work.claim(choices)
    confirmed = None if confirm is None else work.confirm(choices[-1], confirm, how)
    if time is not None and _is_over(end)():
        work.notes.append(f"The time limit of {time:.0f} s was reached: fewer sizes were tried.")
    if details and found == Found():
        work.notes.append("There was no time to look at single features.")
    name = title_of_data(data) if title is None else title
    answer = work.answer(name, choices, found, claimed, confirmed)
    if out is not None:
        work.write_models(answer, directory)
        write_answer(answer.to_record(), directory)
    return answer


class _Work:
    """What is asked for, on data that is divided."""

    def __init__(
        self, plan: Plan, division: Division, rule: Rule, level: float, costs: Any
    ) -> None:
        self.plan, self.division, self.rule, self.level = plan, division, rule, level
        names = [str(name) for name in division.whole.feature_names]
        self.names = names
        self.has_costs = costs is not None
        self.costs = FeatureCosts.of(costs, names)
        listed = listed_features(plan.include, plan.exclude, {}, names)
        allowed = tuple(f for f in range(len(names)) if f not in set(listed.exclude))
        keeps_missing = division.whole.keeps_missing and has_missing(division.whole.X)
        members, self.notes = members_of(
            plan, self.costs if costs is not None else None, keeps_missing
        )
        if not members:
            raise DataError("no selector is left that takes missing values: fill them in")
        (self.ranker,) = plan.rankers
        self.method = plan.method(self.ranker)
        self.task = Task(
            division,
            members,
            self._ranking,
            self.costs.aligned(names),
            rule,
            tuple(listed.include),
            allowed,
            get_convention(plan.convention).averages_ties,
        )
        self._check_budget()

    def _check_budget(self) -> None:
        least = self.task.costs.total(self.task.include)
        if self.rule.budget is not None and least > self.rule.budget:
            raise DataError(
                f"the features to keep cost {least:.4g}, which is more than the budget of "
                f"{self.rule.budget:.4g}"
            )

    def _ranking(self, features: tuple[int, ...]) -> RankingCell:
        seed = self.plan.seed if self.method.is_seeded else None
        measure, convention = self.plan.tune, self.plan.convention
        settings = self.plan.settings(self.ranker)
        return RankingCell(self.method, settings, seed, features, measure, convention)

    def head(self) -> dict[str, Any]:
        """What all results depend on."""
        return {
            "ranksieve": __version__,
            "fingerprint": fingerprint(self.division.whole),
            "n_features": len(self.names),
            "parts": {name: len(part) for name, part in self.division.parts.items()},
            "division": self.division.in_words,
            "measure": self.plan.tune,
            "convention": self.plan.convention,
            "scale": self.plan.scale,
            "missing": self.plan.missing,
        }

    def choose(self, is_over: Callable[[], bool]) -> Procedure[list[Choice]]:
        """Run all stages."""
        task = replace(self.task, is_over=is_over)
        last = len(self.division.stages) - 1
        stages = [
            run_stage(task, stage, all_sizes=place == last)
            for place, stage in enumerate(self.division.stages)
        ]
        return (yield from together(stages))

    def claim(self, choices: Sequence[Choice]) -> Verdict:
        """What the queries that chose nothing say."""
        parts = [stage.judge for stage in self.division.stages if stage.judge is not None]
        judged = choices[: len(parts)]
        values, base = [one.values for one in judged], [one.base for one in judged]
        about: Literal["procedure", "set"] = "set" if self.division.is_split else "procedure"
        how = self.plan.tune, self.rule.margin, self.level
        return Verdict.of(values, base, self.division.weights(parts), about, *how)

    def confirm(self, chosen: Choice, given: Any, how: Mapping[str, Any]) -> Verdict:
        """Test the chosen features on other queries."""
        whole = self.division.whole
        other = _treated(read_whole(given, **how), self.plan, whole, "the data to confirm by")
        check_distinct("the data to confirm by", {"choose by": whole, "confirm by": other})
        joined = concatenate([whole, other])
        parts = {"confirm": range(whole.n_queries, joined.n_queries)}
        place = Place(("confirm",))
        trial = Division(joined, parts, [], "").trial(place)  # type: ignore[arg-type]
        values, base = (
            self._ranking(tuple(sorted(features))).run(trial)["values"]["confirm"]
            for features in (chosen.features, self.task.allowed)
        )
        margin, weights = self.rule.margin, other.query_weights
        return Verdict.of([values], [base], weights, "set", self.plan.tune, margin, self.level)

    def answer(
        self,
        title: str,
        choices: Sequence[Choice],
        found: Found,
        claim: Verdict,
        confirmed: Verdict | None,
    ) -> Recommendation:
        """Everything in one value."""
        chosen, task = choices[-1], self.task
        points = points_of(task, chosen, self.level)
        kept, dropped = found.features(task, chosen, self.names)
        return Recommendation(
            title=title,
            feature_names=self.names,
            features=list(chosen.features),
            selector=chosen.candidate.selector,
            size=chosen.candidate.size,
            claim=claim,
            confirmed=confirmed,
            cost=task.costs.total(chosen.features),
            cost_of_all=task.costs.total(task.allowed),
            has_costs=self.has_costs,
            front=points,
            kept=kept,
            dropped=dropped,
            settings=self.head()
            | {
                "ranker": self.ranker,
                "ranker_parameters": self.plan.settings(self.ranker),
                "selectors": [member.name for member in task.members],
                "rule": self.rule.name,
                "margin": self.rule.margin,
                "budget": self.rule.budget,
                "level": self.level,
                "seed": self.plan.seed,
                "keep": [self.names[f] for f in task.include],
                "drop": [n for f, n in enumerate(self.names) if f not in task.allowed],
                "treated": self._treated(),
                "costs": self.costs.to_record(),
            },
            notes=self.notes,
            reference=reference_of(
                self.division.whole, chosen.features, self.plan.tune, self.plan.convention
            ),
        )

    def _treated(self) -> dict[str, Any] | None:
        """What was done with missing values, so that it can be done to other data."""
        missing = self.division.whole.missing
        return None if missing is None else missing.to_record()

    def write_models(self, answer: Recommendation, directory: Path) -> None:
        """Write the selection, and the rankers that :func:`check` compares, of all queries."""
        if not answer.features:
            return
        selection = self._selection(answer)
        write_selection(selection, directory / SELECTION)
        whole = self.division.whole
        try:
            kept = self._ranking(tuple(sorted(answer.features))).train(whole)
            kept.save_model(directory / MODEL, selection=selection)
            self._ranking(self.task.allowed).train(whole).save_model(directory / MODEL_OF_ALL)
        except ValueError as error:
            answer.notes.append(f"No models were written: {error}")

    def _selection(self, answer: Recommendation) -> Selection:
        return Selection(
            method="recommend",
            parameters={"ranker": self.ranker, "margin": self.rule.margin},
            n_features_in=len(self.names),
            data=[answer.title],
            ranksieve=__version__,
            features=[
                SelectedFeature(kept.feature, self.names[kept.feature], kept.loss, "")
                for kept in answer.kept
            ],
            missing=self.division.whole.missing,
        )


def _is_over(end: float | None) -> Callable[[], bool]:
    return lambda: end is not None and clock.monotonic() > end


def _prepared(division: Division, plan: Plan, missing: str | None) -> Division:
    """The same division of data whose missing values are treated and whose features are scaled."""
    whole = division.whole
    if missing is not None and (whole.missing is None or whole.missing.name != plan.missing):
        whole = whole.with_missing(plan.missing)
    return replace(division, whole=scaled_within_queries(whole, plan.scale))


def _treated(data: RankingData, plan: Plan, like: RankingData, place: str) -> RankingData:
    """Other data with the same features as the data of a recommendation."""
    if like.missing is not None and data.missing is None:
        data = data.with_missing(like.missing)
    return scaled_within_queries(with_features_of(data, like, place), plan.scale)


def _compute(
    ledger: RecommendationLog, run_on: Any, division: Division, cells: Sequence[Placed]
) -> Lookup:
    """Run the cells that are not in the ledger; returns what looks them up."""
    distinct = {str(cell.key()): cell for cell in cells if cell.key() not in ledger}
    waiting = sorted(distinct.values(), key=lambda cell: cell.place.name)
    advance = track("Selections and trainings", len(waiting))
    if waiting:
        with run_on(division) as run:
            for cell, result in run(waiting):
                ledger.add(cell.key(), result)
                advance(1)
    return lambda cell: ledger.get(cell.key())
