"""Recommend the cheapest features that are shown to be enough."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from math import fsum
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from ranksieve._version import __version__, installed_versions
from ranksieve.data import RankingData
from ranksieve.data.columns import Columns
from ranksieve.data.joining import with_features_of
from ranksieve.data.ranking_data import fingerprint
from ranksieve.datasets.opening import SplitRule, open_for_study, options_for, read_whole
from ranksieve.experiments import (
    Ledger,
    OutOfTimeError,
    QuerySets,
    Runner,
    Source,
    TimeLimit,
    Trial,
)
from ranksieve.experiments.trials import check_distinct
from ranksieve.io.files import check_replaceable, make_directory
from ranksieve.io.model import MODEL, MODEL_OF_ALL, TrainedOn
from ranksieve.io.selection import SelectedFeature, Selection
from ranksieve.preprocessing import scaled_within_queries
from ranksieve.rankers.loading import check_loadable
from ranksieve.rankers.registry import RANKERS
from ranksieve.recommendation.answer import Evidence, JudgedPart, Recommendation, Spent
from ranksieve.recommendation.claim import Claim
from ranksieve.recommendation.directory import FILES, LEDGER, write_answer
from ranksieve.recommendation.facts import (
    FeatureFacts,
    describe_features,
    examine_features,
    likeness_of,
    rank_alone,
    reference_of,
)
from ranksieve.recommendation.nested import choose_features, describe_division
from ranksieve.recommendation.task import (
    Found,
    Rule,
    RuleName,
    Task,
    default_selectors,
    divide,
)
from ranksieve.significance.claims import check_margin
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
    include: Sequence[int | str] = (),
    exclude: Sequence[int | str] = (),
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
    include, exclude : sequences of int or str
        Features (0-based indices or names) that must be recommended, and that must not be used.
        Excluded features do not count among "all features" either.
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
    started, limit = perf_counter(), TimeLimit(time)
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
        include=list(include),
        exclude=list(exclude),
        parameters={name: values for name, values in dict(parameters or {}).items() if values},
    )
    options = {"columns": columns, **(read_options or {})}
    source = open_for_study(data, split=split, pool=pool, **options)
    queries = divide(source, folds, seed, plan.missing, plan.scale, **options)
    task = Task(plan, queries, chooser, float(level), costs)
    others = None if confirm is None else _read_others(task, confirm, options)
    division = describe_division(queries)
    with ExitStack() as stack:
        if out is None:  # nothing is kept
            temporary = TemporaryDirectory(prefix="ranksieve-", ignore_cleanup_errors=True)
            directory = Path(stack.enter_context(temporary))
        else:
            directory = make_directory(Path(out))
            for name in FILES:  # before the work
                check_replaceable(directory / name)
        ledger = Ledger(directory / LEDGER, task.head(division))
        run = stack.enter_context(Runner(ledger, client, limit))
        n_models = 0 if out is None else 2
        work = _work(task, run, time, pairs if details else None, n_models)
        found, facts = run.finish(work)
    confirmed = None if others is None else _confirm(task, found.features, others)
    similarity = Similarity("tau_b", absolute=True)(queries.whole)
    kept, dropped = describe_features(task, found.features, facts, similarity)
    answer = Recommendation(
        title=title_of_data(data) if title is None else title,
        feature_names=task.names,
        features=list(found.features),
        selector=found.selector,
        size=found.size,
        claim=_claim(task, found.parts),
        confirmed=confirmed,
        cost=task.costs.total(found.features),
        cost_of_all=task.costs.total(task.allowed),
        has_costs=task.has_costs,
        front=found.front,
        kept=kept,
        dropped=dropped,
        settings=task.settings(division),
        notes=task.notes,
        reference=reference_of(queries.whole, found.features, plan.tune, plan.convention),
    )
    copies = [other.feature for own in kept for other in own.substitutes]
    alone = rank_alone(task)
    best = sorted(task.allowed, key=lambda feature: -alone.values[feature])
    evidence = Evidence(
        outcomes=found.parts,
        alone=alone,
        likeness=likeness_of(similarity, [*answer.features, *copies], best),
        spent=_spent(run),
        elapsed=perf_counter() - started,
        n_resumed=len(run.used) - run.n_computed,
        versions=installed_versions(),
        command=list(command),
    )
    answer = replace(answer, evidence=evidence)
    if out is not None:
        answer = _write(task, answer, directory, has_time=bool(found.front))
    return answer


async def _work(
    task: Task, run: Runner, seconds: float | None, n_pairs: int | None, n_models: int
) -> tuple[Found, FeatureFacts]:
    """Choose features, let the queries judge, and examine the features unless ``n_pairs`` is None.

    Within a limit of so many ``seconds``, work that would take longer is left out, and time is set
    aside to train ``n_models`` to write.
    """
    found, facts = await choose_features(task, run, seconds), FeatureFacts()
    model = task.training(task.allowed).key(task.queries.to_deploy.name)
    run.limit.reserve(n_models * run.limit.expected(model))
    if n_pairs is not None:
        try:
            facts = await examine_features(task, found, n_pairs, run)
        except OutOfTimeError:
            task.notes.append("There was no time to examine single features.")
    return found, facts


def _claim(task: Task, parts: Sequence[JudgedPart]) -> Claim:
    """Test what the queries have judged: each part what was chosen without it."""
    return Claim.test(
        np.array([value for part in parts for value in part.with_chosen]),
        np.array([value for part in parts for value in part.with_all]),
        task.queries.weights([part.part for part in parts]) if parts else None,
        "set" if task.queries.is_split else "procedure",
        task.plan.tune,
        task.rule.margin,
        task.level,
    )


def _read_others(task: Task, source: Any, read_options: Mapping[str, Any]) -> RankingData:
    """Read the data to confirm by, and treat it like the data of the recommendation."""
    whole = task.queries.whole
    other = read_whole(source, **options_for(source, read_options))
    if whole.missing is not None and other.missing is None:
        other = other.with_missing(whole.missing)
    other = with_features_of(other, whole, "the data to confirm by")
    other = scaled_within_queries(other, task.plan.scale)
    check_distinct("the data to confirm by", {"choose by": whole, "confirm by": other})
    return other


def _confirm(task: Task, features: Sequence[int], others: RankingData) -> Claim:
    """Test features on the queries of :func:`_read_others`.

    The rankers are those to write, which test queries of a split have not trained.
    """
    whole, trained = task.queries.whole, task.queries.to_deploy.sets.train
    judged = {"confirm": whole.n_queries + np.arange(others.n_queries)}
    sets = QuerySets(trained, judged=judged)
    trial = Trial("confirm", Source.of(whole, others), sets).open()
    values, base = (
        np.array(task.training(own).run(trial).values["confirm"][task.plan.tune])
        for own in (features, task.allowed)
    )
    test = task.plan.tune, task.rule.margin, task.level
    return Claim.test(values, base, others.query_weights, "set", *test)


def _write(
    task: Task, answer: Recommendation, directory: Path, *, has_time: bool
) -> Recommendation:
    """Write an answer, with the selection and the rankers for :func:`check`.

    Test queries of a split train no ranker, and without time none is trained. Nor is any if such a
    ranker has no model files. Returns the answer with the checksums of the models.
    """
    data, models = task.queries.to_deploy.open().train, {}
    if has_time:
        try:
            check_loadable(task.training(task.allowed).make({}, len(task.names)))
        except ValueError as error:
            answer.notes.append(f"No models were written: {error}")
        else:
            sets = {MODEL: answer.features, MODEL_OF_ALL: task.allowed}
            models = {name: task.training(own).train(data) for name, own in sets.items() if own}
    selection = Selection(
        method="recommend",
        parameters={"ranker": task.ranker, "margin": task.rule.margin},
        n_features_in=len(task.names),
        data=[answer.title],
        ranksieve=__version__,
        features=[
            SelectedFeature(kept.feature, task.names[kept.feature], kept.loss, "")
            for kept in answer.kept
        ],
        missing=task.queries.whole.missing,
    )
    trained_on = TrainedOn(task.queries.deployed_in_words, data.n_queries, fingerprint(data))
    return write_answer(answer, directory, selection, models, trained_on)


def _spent(run: Runner) -> list[Spent]:
    """Fits and seconds by method, the longest first."""
    by_method: dict[str, list[float]] = {}
    for method, seconds in run.used.values():
        by_method.setdefault(method, []).append(seconds)
    spent = [Spent(name, len(times), fsum(times)) for name, times in by_method.items()]
    return sorted(spent, key=lambda item: (-item.seconds, item.method))
