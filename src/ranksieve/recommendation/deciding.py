"""Recommend the cheapest features that are shown to be enough."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ranksieve.data.columns import Columns
from ranksieve.datasets.opening import SplitRule, open_for_study
from ranksieve.io.files import check_replaceable, make_directory
from ranksieve.preprocessing import scaled_within_queries
from ranksieve.progress import track
from ranksieve.rankers.registry import RANKERS
from ranksieve.recommendation.answer import Recommendation
from ranksieve.recommendation.answering import (
    claim_of,
    confirm_choice,
    make_answer,
    read_other_queries,
    write_all,
)
from ranksieve.recommendation.cells import Lookup, PlannedCell, RecommendationLog, drive
from ranksieve.recommendation.division import Division, divide
from ranksieve.recommendation.files import FILES, LEDGER
from ranksieve.recommendation.findings import FeatureFacts, examine_features, gather_evidence
from ranksieve.recommendation.procedure import choose_all, run_stages
from ranksieve.recommendation.task import Rule, RuleName, Task, default_selectors
from ranksieve.recommendation.timing import Effort, OutOfTimeError, TimeLimit, notes_about_time
from ranksieve.significance.claims import check_margin
from ranksieve.study.cells import run_on_cluster, run_on_threads
from ranksieve.study.plan import Plan, find_method
from ranksieve.study.study import title_of_data
from ranksieve.sums.similarity import Similarity


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
    command: Sequence[str] = (),
) -> Recommendation:
    r"""Find the cheapest features with which a ranker loses less than a margin, and test that.

    The procedure: selectors order the features, the ranker is trained on the first features of each
    order, and queries held out from both choose the cheapest set that is enough. The procedure runs
    on all queries to find the features to keep. It also runs once without each part of the queries,
    and that part judges the choice, so the claim rests on queries that had no part in it.

    Parameters
    ----------
    data : anything that :class:`ranksieve.study.Study` takes
        By default the embedded demo. If the data comes with a split, the split is used, and its
        test queries judge exactly the recommended features.
    ranker : str or ranker
        Name of a ranker, ``"module:object"``, or a ranker of this library, LightGBM, XGBoost,
        CatBoost or scikit-learn.
    measure : str
        Measure whose mean over queries must not fall.
    margin : float
        Largest acceptable loss, relative to the mean with all features.
    costs : FeatureCosts, mapping, array, frame or path, optional
        Costs of the features; by default each costs 1.
    budget : float, optional
        Largest total cost. If given, the best features within the budget are recommended.
    keep, drop : sequences of int or str
        Features (0-based indices or names) that must be recommended, and that must not be used.
        Dropped features do not count among "all features" either.
    confirm : data, optional
        Queries that nothing else has seen, for a single test of the recommended features.
    selectors : sequence, optional
        Selectors to try; by default a few that suit the ranker.
    parameters : mapping of str to mapping, optional
        Parameters to set, by selector or ranker.
    rule : {"half-margin", "safe", "one-se", "best"}
        When a set is good enough on the choosing queries: if its mean loss is at most half the
        margin; if its loss plus one standard error is within the margin; if its loss is within one
        standard error; or only if it is the best set. The claim does not depend on the rule.
    level : float
        Confidence level of the claim.
    folds : int
        Number of parts into which the queries are divided, if the data comes without a split.
    convention, scale, missing, seed
        See :class:`ranksieve.study.Plan`.
    time : float, optional
        Time limit in seconds. Work that is not expected to finish in time is not started. The
        features are chosen first, then the parts of the queries judge one after another, then the
        single features are examined. The answer says what was left out. With a limit, the result
        may depend on the speed of the machine.
    details : bool
        Whether to compute the loss without each feature, and its stability.
    pairs : int
        Number of random divisions of the queries into halves, for stability.
    out : path, optional
        Directory of the ledger, from which interrupted work resumes. By default nothing is kept.
    columns, split, pool, title, read_options
        See :class:`ranksieve.study.Study`.
    client : distributed.Client, optional
        Train on the workers of a Dask cluster.
    command : sequence of str
        Command line to name in the report.

    Returns
    -------
    Recommendation

    Notes
    -----
    Let d_q be the change of the measure for query q. The claim "loses less than the margin" holds
    if the lower bound of ``mean(d) / mean(all)`` (Fieller, one-sided) exceeds ``-margin``. The
    ranker is trained on about 15 subsets of the queries (7 from 50,000 rows on). On each, it is
    trained for O(log n) sizes of the first selector, where n is the number of features, and for
    sizes of every other selector as long as that selector needs fewer features.

    References
    ----------
    Non-inferiority: :func:`ranksieve.significance.non_inferiority`. Fixed sequence of sizes:
    W. Maurer, L. Hothorn, W. Lehmacher. Multiple comparisons in drug clinical trials and
    preclinical assays. 1995.

    Examples
    --------
    >>> from ranksieve import make_ranking, recommend
    >>> data, truth = make_ranking(80, n_informative=2, n_redundant=0, n_noise=3, noise=0.1)
    >>> quick = {"selectors": ["greedy-rankrls"], "details": False}
    >>> answer = recommend(data, "rankrls", margin=0.05, **quick)
    >>> sorted(answer.features) == truth.informative.tolist()
    True
    >>> answer.claim.is_shown
    True
    """
    if pairs < 0:
        raise ValueError(f"pairs must be at least 0, got {pairs}")
    chooser = Rule(rule, margin, budget)
    check_margin(margin, level)
    limit, effort = TimeLimit(time), Effort(command)
    if selectors is None:
        selectors = default_selectors(find_method(ranker, RANKERS, {}), costs is not None)
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
        include=list(keep),
        exclude=list(drop),
        parameters={name: values for name, values in dict(parameters or {}).items() if values},
    )
    options = {"columns": columns, **(read_options or {})}
    source = open_for_study(data, split=split, pool=pool, **options)
    division = _prepare(divide(source, folds, seed, **options), plan)
    task = Task(plan, division, chooser, float(level), costs)
    other_queries = None if confirm is None else read_other_queries(task, confirm, options)
    with ExitStack() as stack:
        if out is None:  # nothing is kept
            temporary = TemporaryDirectory(prefix="ranksieve-", ignore_cleanup_errors=True)
            directory = Path(stack.enter_context(temporary))
        else:
            directory = make_directory(Path(out))
            for name in FILES:  # before the work
                check_replaceable(directory / name)
        ledger = RecommendationLog(directory / LEDGER, task.head())
        run_on = run_on_threads if client is None else partial(run_on_cluster, client)
        run = stack.enter_context(run_on(division))  # type: ignore[arg-type]
        search = partial(drive, compute=partial(_compute, ledger, effort, limit, run))
        choices = run_stages(task, search, limit)
        chosen, facts = choices[-1] or choose_all(task), FeatureFacts()
        if out is not None:  # set time aside to train the two models to write
            model = PlannedCell(division.to_deploy, task.ranking(task.allowed))
            limit.reserve(2 * limit.expected(model))
        if details and choices[-1] is not None:
            try:
                facts = search(examine_features(task, chosen, pairs))
            except OutOfTimeError:
                task.notes.append("There was no time to examine single features.")
    claimed = claim_of(task, choices)
    confirmed = None if other_queries is None else confirm_choice(task, chosen, other_queries)
    task.notes += notes_about_time(time, choices, limit)
    name = title_of_data(data) if title is None else title
    similarity = Similarity("tau_b", absolute=True)(division.whole)
    answer = make_answer(task, name, chosen, facts, similarity, (claimed, confirmed))
    evidence = gather_evidence(task, choices, similarity, answer, effort)
    answer = replace(answer, evidence=evidence)
    if out is not None:
        answer = write_all(task, answer, directory, has_time=choices[-1] is not None)
    return answer


def _prepare(division: Division, plan: Plan) -> Division:
    """Treat missing values and scale features as the plan says."""
    whole = division.whole
    if plan.missing != "none" and (whole.missing is None or whole.missing.name != plan.missing):
        whole = whole.with_missing(plan.missing)
    return replace(division, whole=scaled_within_queries(whole, plan.scale))


def _compute(
    ledger: RecommendationLog,
    effort: Effort,
    limit: TimeLimit,
    run: Any,
    cells: Sequence[PlannedCell],
) -> Lookup:
    """Run the cells that are not in the ledger and return a function that looks up results."""
    distinct = {str(cell.key()): cell for cell in cells if cell.key() not in ledger}
    waiting = sorted(distinct.values(), key=lambda cell: cell.training.name)
    advance = track("Selections and trainings", len(waiting))

    def in_time() -> Iterator[PlannedCell]:
        for cell in waiting:
            limit.check(cell)
            yield cell

    try:
        for cell, result in run(in_time()):
            ledger.add(cell.key(), result)
            limit.learn(cell, result)
            advance(1)
    finally:  # if time runs out, still record the cells that have finished
        effort.note([cell for cell in cells if cell.key() in ledger], distinct.keys(), ledger)
    return lambda cell: ledger.get(cell.key())
