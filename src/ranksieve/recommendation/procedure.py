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
from typing import Any, NamedTuple

import numpy as np

from ranksieve._version import __version__, installed_versions
from ranksieve.data import DataError, RankingData
from ranksieve.data.columns import Columns, ColumnsLike
from ranksieve.data.joining import with_features_of
from ranksieve.data.missing import check_taken
from ranksieve.data.ranking_data import fingerprint
from ranksieve.data.times import Times
from ranksieve.datasets.opening import SplitRule, open_for_study, options_for, read_whole
from ranksieve.datasets.split_rules import SplitByTime
from ranksieve.datasets.times import times_of
from ranksieve.experiments import (
    Ledger,
    OutOfTimeError,
    QuerySets,
    Runner,
    TimeLimit,
    Trial,
    TrialSource,
    gather,
)
from ranksieve.io.files import check_replaceable, make_directory
from ranksieve.io.model import MODEL, MODEL_OF_ALL, TrainedOn
from ranksieve.io.selection import SelectedFeature, Selection
from ranksieve.preprocessing import scaled_within_queries
from ranksieve.progress import progress_bar
from ranksieve.rankers.loading import check_loadable
from ranksieve.rankers.registry import RANKERS
from ranksieve.recommendation.answer import CurvePoint, KeptFeature, Recommendation
from ranksieve.recommendation.claim import Claim
from ranksieve.recommendation.crossfit import Curve, assemble, cross_fit
from ranksieve.recommendation.directory import FILES, LEDGER, write_answer
from ranksieve.recommendation.evidence import Evidence, Judges, Spent
from ranksieve.recommendation.facts import (
    FeatureFacts,
    cells_without,
    describe_features,
    describe_groups,
    likeness_of,
    losses_without_features,
    losses_without_groups,
    rank_alone,
    references,
)
from ranksieve.recommendation.naming import choose_point, claim_of, name_sets
from ranksieve.recommendation.path import SetsKey, Subset
from ranksieve.recommendation.queries import Queries, divide, set_apart
from ranksieve.recommendation.task import Task, check_request, default_selectors
from ranksieve.study.plan import Plan, find_method
from ranksieve.study.study import title_of_data
from ranksieve.sums.checks import check_labels_differ
from ranksieve.sums.similarity import Similarity
from ranksieve.text import quantity

_RETRAININGS = 5  # of both rankers for a test, if they draw random numbers


def recommend(
    data: Any = None,
    ranker: Any = "lambdamart",
    *,
    measure: str = "ndcg@10",
    margin: float = 0.01,
    costs: Any = None,
    cost_unit: str | None = None,
    budget: float | None = None,
    include: Sequence[int | str] = (),
    exclude: Sequence[int | str] = (),
    confirm: Any = None,
    selectors: Sequence[Any] | None = None,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    level: float = 0.95,
    folds: int = 5,
    convention: str = "standard",
    scale: str = "none",
    missing: str | None = None,
    seed: int = 0,
    time: float | None = None,
    details: bool = True,
    out: str | os.PathLike[str] | None = None,
    columns: ColumnsLike = None,
    split: SplitRule | None = None,
    pool: bool = False,
    title: str | None = None,
    read_options: Mapping[str, Any] | None = None,
    client: Any = None,
    progress: bool = True,
    command: Sequence[str] = (),
) -> Recommendation:
    r"""Find the cheapest features with which a ranker loses less than a margin, and show it.

    A path of feature sets of rising cost is built, the ranker is trained on each set, and queries
    that had no part in either judge; that is repeated with other divisions of the queries. A band
    bounds the losses of all sets at once, and the cheapest set whose bound is within the margin is
    recommended.

    Parameters
    ----------
    data : anything that :class:`ranksieve.study.Study` takes
        By default the embedded demo. If the data comes with a split, its test queries test the
        recommended features once; all others are cross-fitted.
    ranker : str or ranker
        Name of a ranker, ``"module:object"``, or a ranker of this library, LightGBM, XGBoost,
        CatBoost or scikit-learn.
    measure : str
        Measure whose mean over queries must not fall.
    margin : float
        Largest acceptable loss, relative to the mean with all features.
    costs : FeatureCosts, mapping, array, frame or path, optional
        Costs of the features; by default each costs 1. They may be those of a catalogue, which
        has more features than the data; see :meth:`ranksieve.FeatureCosts.read`.
    cost_unit : str, optional
        Unit of the costs and of the budget, such as ``"ms"``, for tables and texts; by default
        that of ``columns``, or of the costs.
    budget : float, optional
        Largest total cost. If given, the best features within the budget are recommended.
    include, exclude : sequences of int or str
        Features (0-based indices or names) that must be recommended, and that must not be used.
        Excluded features do not count among "all features" either.
    confirm : data, optional
        Queries that nothing else has seen, for a single test of the recommended features. Those
        that ``data`` has, too, with other labels of the same documents, are left out of it.
    selectors : sequence, optional
        Selectors whose ranks are added up to order the features; by default those that suit the
        ranker. With costs, features of this order are taken as long as they fit; by default, the
        cheapest sets that are worth ever more are searched for by least squares.
    parameters : mapping of str to mapping, optional
        Parameters to set, by selector or ranker.
    level : float
        Confidence level of the band, and of the test.
    folds : int
        Number of parts into which the queries are divided, if the data has no folds.
    convention, scale, missing, seed
        See :class:`ranksieve.study.Plan`.
    time : float, optional
        Time limit in seconds. Work that is not expected to finish in time is not started. The
        answer says what was left out. With a limit, the result may depend on the speed of the
        machine.
    details : bool
        Whether to compute the loss without each feature, and without each group of features.
    out : path, optional
        Directory of the ledger, from which interrupted work resumes. By default nothing is kept.
    columns, split, pool, title, read_options
        See :class:`ranksieve.study.Study`.
    client : distributed.Client, optional
        Train on the workers of a Dask cluster.
    progress : bool
        Whether to show progress in a terminal or a notebook.
    command : sequence of str
        Command line to name in the report.

    Returns
    -------
    Recommendation

    Notes
    -----
    Below 50,000 rows, the curve costs at most about as much as 150 trainings on all features, and
    the losses without single features as 40, and those without groups as 20; from 100,000 rows on,
    everything costs as much as 13.
    The band is that of :func:`ranksieve.significance.simultaneous_band`.

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
    check_request(margin, budget, level)
    started, limit = perf_counter(), TimeLimit(time)
    columns = Columns.make(columns)
    missing = missing or columns.missing
    uses_default = selectors is None
    if selectors is None:
        selectors = default_selectors(find_method(ranker, RANKERS, {}))
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
    options = {"columns": replace(columns, missing=None), **(read_options or {})}
    with progress_bar(progress, "recommend"):
        source = open_for_study(data, split=split, pool=pool, **options)
        queries = divide(source, folds, seed, plan.missing, plan.scale, **options)
        queries = replace(queries, times=_times(queries, source, data, split))
        others, left_out = None, list[str]()
        if confirm is not None:
            others = _read_others(queries.whole, plan.scale, confirm, options)
            queries, left_out = set_apart(queries, others)
        where = plan, queries, margin, budget, level, costs
        task = Task(*where, cost_unit=cost_unit or columns.cost_unit, uses_default=uses_default)
        task.notes += left_out
        check_labels_differ(queries.whole)
        _check_missing(task, others)
        task.check_of_rows(others)
        task.tell_suspicions()
        with ExitStack() as stack:
            if out is None:  # nothing is kept
                temporary = TemporaryDirectory(prefix="ranksieve-", ignore_cleanup_errors=True)
                directory = Path(stack.enter_context(temporary))
            else:
                directory = make_directory(Path(out))
                for name in FILES:  # before the work
                    check_replaceable(directory / name)
            ledger = Ledger(directory / LEDGER, task.head(), SetsKey)
            run = stack.enter_context(Runner(ledger, client, limit))
            n_models = 0 if out is None else 2
            found = run.finish(find_features(task, run, others, n_models, details=details))
        similarity = Similarity("tau_b", absolute=True)(queries.as_numbers)
        answer = _describe(task, found, similarity, title_of_data(data) if title is None else title)
        evidence = _gather_evidence(task, found, similarity, run, answer.kept)
        elapsed = perf_counter() - started
        answer = replace(answer, evidence=replace(evidence, elapsed=elapsed, command=list(command)))
        if out is not None:
            answer = _write(
                task, answer, directory, has_time=bool(found.curve) or found.claim.about == "all"
            )
    return answer


class Found(NamedTuple):
    """What the procedure has found."""

    features: Subset
    claim: Claim
    confirmed: Claim | None
    curve: list[CurvePoint]
    facts: FeatureFacts
    judges: Judges
    shares: list[dict[int, float]]  # of the paths that have each feature, for each point
    repeats: int
    noise: float


async def find_features(
    task: Task, run: Runner, others: RankingData | None, n_models: int, *, details: bool
) -> Found:
    """Judge sets of rising cost, name the cheapest that is enough, test it, and examine it.

    Within a time limit, work that would take longer is left out, and time is set aside to train
    ``n_models`` to write.
    """
    has_test = others is not None or task.queries.test is not None

    def further(size: int) -> int:
        """Number of cells that follow the cross-fitting if a set of such a size is named."""
        return cells_without(task, size) * details + 2 * _RETRAININGS * has_test

    if task.has_smaller_sets:
        curve = await cross_fit(task, task.path, run, further)
    else:
        curve = assemble(task, [])
        task.tell_all_are_kept(tested=has_test)
    model = task.training(task.allowed).key(task.queries.to_deploy.name)
    run.limit.reserve(n_models * run.limit.expected(model))
    named = await name_sets(task, run, curve)
    chosen = choose_point(named.points, task.margin, task.budget_that_binds, tested=has_test)
    if chosen is None and task.budget_that_binds is not None:
        raise DataError("there was no time to find features within the budget: allow more time")
    features, confirmed, facts = task.allowed, None, FeatureFacts()
    try:
        if chosen is not None:
            features = tuple(named.points[chosen].features)
            run.expect(further(len(features)))
            facts = FeatureFacts(paths=named.by_path(chosen))
            if has_test:
                confirmed = await _test(task, run, features, others)
            if details:
                facts = facts._replace(losses=await losses_without_features(task, features, run))
                found = await losses_without_groups(task, features, run)
                facts = facts._replace(group_losses=found)
    except OutOfTimeError:
        task.notes.append("There was no time to examine the features that are kept.")
    _tell_of_time(task, curve)
    return Found(
        features,
        claim_of(task, curve, named, chosen),
        confirmed,
        named.points,
        facts,
        _judges(task, curve, None if chosen is None else named.places[chosen]),
        [named.shares(number) for number in range(len(named.points))],
        curve.n_repeats,
        curve.noise,
    )


def _times(queries: Queries, source: Any, data: Any, split: SplitRule | None) -> Times | None:
    """What came first: by the split by time, or by a column of times of the data."""
    whole = queries.whole
    if isinstance(split, SplitByTime):
        is_later = whole.query_codes >= len(queries.choosing)
        return Times(split.column, is_later.astype(np.int64))
    if not isinstance(source, RankingData):
        return None
    return times_of(source, data)


def _describe(task: Task, found: Found, similarity: np.ndarray, title: str) -> Recommendation:
    """Make the answer, with what is known of each feature, but without the evidence."""
    queries, plan, features = task.queries, task.plan, found.features
    kept, dropped = describe_features(
        task, features, found.facts, similarity, is_shown=found.claim.is_shown
    )
    kept_groups, dropped_groups = describe_groups(task, features, found.facts)
    return Recommendation(
        title=title,
        feature_names=task.names,
        features=list(features),
        claim=found.claim,
        confirmed=found.confirmed,
        cost=task.costs.total(features),
        cost_of_all=task.costs.total(task.allowed),
        has_costs=task.has_costs,
        curve=found.curve,
        kept=kept,
        dropped=dropped,
        kept_groups=kept_groups,
        dropped_groups=dropped_groups,
        settings=task.settings(),
        suspicions=task.suspicions,
        warnings=task.warnings,
        notes=task.notes,
        reference=references(
            queries.whole, queries.untreated, features, plan.tune, plan.convention
        ),
    )


def _gather_evidence(
    task: Task, found: Found, similarity: np.ndarray, run: Runner, kept: Sequence[KeptFeature]
) -> Evidence:
    """What the answer rests on, but for the time that it took and the command."""
    alone = rank_alone(task)
    copies = [other.feature for own in kept for other in own.substitutes]
    best = sorted(task.allowed, key=lambda feature: -alone.values[feature])
    return Evidence(
        judges=found.judges,
        shares=found.shares,
        repeats=found.repeats,
        noise=found.noise,
        alone=alone,
        likeness=likeness_of(similarity, [*found.features, *copies], best),
        spent=_spent(run),
        elapsed=0.0,
        n_resumed=len(run.used) - run.n_computed,
        versions=installed_versions(),
    )


async def _test(task: Task, run: Runner, features: Subset, others: RankingData | None) -> Claim:
    """Test features once on the test queries of the split and on the others to confirm by.

    The rankers are trained like those to write, several times if they draw random numbers.
    """
    whole, queries = task.queries.whole, task.queries
    judged = {} if queries.test is None else {"test": queries.test}
    name, parts = "test", [whole]
    if others is not None:
        judged["confirm"] = whole.n_queries + np.arange(others.n_queries)
        name, parts = f"confirm {fingerprint(others):.8}", [whole, others]
    source = queries.source if others is None else TrialSource.of(*parts)
    trial = Trial(name, source, QuerySets(queries.choosing, judged=judged))
    sums = np.zeros((2, sum(map(len, judged.values()))))
    for repeat in range(_RETRAININGS):
        found = await gather(
            *(run(task.training(own, repeat), trial) for own in (features, task.allowed))
        )
        values = [
            np.concatenate([one.values[part][task.plan.tune] for part in judged]) for one in found
        ]
        if repeat == 1 and np.array_equal(values, sums):
            break  # nothing is random
        sums += values
    else:
        sums /= _RETRAININGS
    weights = None
    if whole.query_weights is not None:
        own = [] if queries.test is None else [whole.query_weights[queries.test]]
        weights = np.concatenate([*own, *([] if others is None else [others.query_weights])])
    return Claim.test(sums[0], sums[1], weights, "test", task.plan.tune, task.margin, task.level)


def _judges(task: Task, curve: Curve, place: int | None) -> Judges:
    """The queries that judge, with all features and with the sets at a place of the curve."""
    ids = task.queries.whole.query_ids[curve.queries]
    weights = task.weights(curve.queries)
    change = np.zeros(len(ids)) if place is None else curve.differences[place]
    return Judges(
        [str(one) for one in ids.tolist()],
        curve.base.tolist(),
        (curve.base + change).tolist(),
        None if weights is None else weights.tolist(),
    )


def _tell_of_time(task: Task, curve: Curve) -> None:
    """Say what a time limit has left out of the cross-fitting."""
    if not task.ran_out_of_time:
        return
    n_left = len(task.queries.choosing) - len(curve.queries)
    lacking = "fewer repeats were made"
    if not len(curve.queries):
        lacking = "no smaller set of features was tried"
    elif n_left:
        lacking = f"{quantity(n_left, 'query', 'queries')} did not judge"
    task.warnings.append(f"The time limit was reached: {lacking}.")


def _read_others(
    whole: RankingData, scale: str, source: Any, read_options: Mapping[str, Any]
) -> RankingData:
    """Read the data to confirm by, and treat it like the data of the recommendation."""
    other = read_whole(source, **options_for(source, read_options))
    if whole.missing is not None and other.missing is None:
        other = other.with_missing(whole.missing)
    other = with_features_of(other, whole, "the data to confirm by")
    return scaled_within_queries(other, scale)


def _check_missing(task: Task, others: RankingData | None) -> None:
    """Raise a DataError if there are missing values, which the ranker cannot use."""
    if not task.plan.method(task.ranker).takes_missing:
        parts = [task.queries.whole, *([] if others is None else [others])]
        check_taken([task.ranker] if any(part.lacks_numbers for part in parts) else [])


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
        parameters={"ranker": task.ranker, "margin": task.margin},
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
