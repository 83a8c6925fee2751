"""Check whether a recommendation still holds on new data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from ranksieve._version import installed_versions
from ranksieve.data import DataError, RankingData
from ranksieve.data.categories import join_vocabularies
from ranksieve.data.columns import ColumnsLike
from ranksieve.data.fitted import tell_unknown_categories
from ranksieve.data.missing import Missing
from ranksieve.data.ranking_data import OF_ROWS, fingerprint
from ranksieve.data.remembered import RememberedColumns
from ranksieve.datasets.opening import has_columns, read_whole
from ranksieve.engine import engine_of
from ranksieve.experiments import query_values
from ranksieve.io.model import MODEL, MODEL_OF_ALL
from ranksieve.preprocessing import scaled_within_queries
from ranksieve.progress import progress_bar
from ranksieve.rankers.loading import load_model
from ranksieve.recommendation.answer import Recommendation, Settings
from ranksieve.recommendation.checked import Check, Drift, Helpful
from ranksieve.recommendation.claim import About, Claim
from ranksieve.recommendation.directory import load_answer, model_of
from ranksieve.recommendation.facts import rank_in_directions
from ranksieve.recommendation.verdict import add_drift, judge, judge_drift
from ranksieve.selectors import GreedyRankRLS
from ranksieve.significance.claims import check_margin
from ranksieve.sums.checks import count_queries
from ranksieve.sums.chunks import FeatureColumns
from ranksieve.sums.drift import ValueDrift, drift_of_values, undo_drift

_HELPFUL = 5  # largest number of helpful features to look for
_LEAST_GAIN = 0.005  # smallest relative decrease of the error that makes a feature helpful


def check(
    directory: str | os.PathLike[str],
    data: Any,
    *,
    level: float | None = None,
    columns: ColumnsLike = None,
    progress: bool = True,
    **read_options: Any,
) -> Check:
    """Check on new queries whether recommended features are still enough.

    Both rankers of the recommendation, trained on the kept features and on all features, rank the
    new queries; nothing is trained again. The values of each kept feature, and how well it ranks
    alone, are compared with those at the time of the recommendation. To find helpful features,
    greedy RankRLS starts from the kept features and adds others on the new queries, except those
    that were excluded.

    Parameters
    ----------
    directory : path
        Directory that :func:`ranksieve.recommend` wrote (its ``out``).
    data : anything that :func:`ranksieve.datasets.opening.open_data` opens
        New data with all features of the recommendation; it may have more.
    level : float, optional
        Confidence level of the verdict; by default that of the recommendation. A higher one calls
        fewer recommendations broken that are not, and needs more queries.
    columns : Columns or path, optional
        Columns of new tables; by default those of the recommendation. If label and query are given,
        nothing else is remembered.
    progress : bool
        Whether to show progress in a terminal or a notebook.
    **read_options
        Options for opening the data.

    Returns
    -------
    Check
        ``state`` is "holds", "broken" or "undecided", with a known error; see Notes.

    Raises
    ------
    DataError
        If the directory has no recommendation with models, if they do not belong to each other,
        or if the data lacks a feature.

    Notes
    -----
    A recommendation is broken if the loss is shown to exceed the margin, by a one-sided test at the
    level, or if values of kept features have changed and that is shown to cost more than the
    margin: on the same queries, repaired values would be better. It holds if the loss is shown to
    be below the margin, or if its mean is within the margin and the queries are so many that a loss
    of twice the margin would be found with a probability of 80 %. Otherwise it cannot be judged: if
    that takes more queries, if there are fewer than 50, if no query has a relevant document, or if
    the data is exactly that of the recommendation. The errors of this rule are listed in
    :mod:`ranksieve.recommendation.verdict`.

    Examples
    --------
    >>> import tempfile
    >>> from ranksieve import make_ranking, recommend
    >>> from ranksieve.recommendation import check
    >>> data, _ = make_ranking(300, n_informative=2, n_redundant=0, n_noise=3, noise=0.1)
    >>> out = tempfile.mkdtemp()
    >>> old, new = data.take_queries(range(100)), data.take_queries(range(100, 300))
    >>> answer = recommend(old, "rankrls", margin=0.05, details=False, out=out)
    >>> found = check(out, new)
    >>> found.state, found.exit_status, found.drifted
    ('holds', 0, [])
    >>> check(out, new.take_queries(range(20))).sentence
    'Cannot be judged: 20 queries are too few, it takes at least 50.'
    """
    with progress_bar(progress, "check"):
        return _check(Path(directory), data, level, columns, read_options)


def _check(
    folder: Path,
    data: Any,
    level: float | None,
    columns: ColumnsLike,
    read_options: Mapping[str, Any],
) -> Check:
    answer = load_answer(folder)
    if answer.trained_on is None:
        raise DataError(
            f"{folder}: the recommendation has no models to check with: see its notes, and run "
            "recommend with more time, or with a ranker that has model files"
        )
    settings, names, kept = answer.settings, answer.feature_names, answer.features
    margin, level = settings["margin"], settings["level"] if level is None else level
    check_margin(margin, level)
    model_of_all = load_model(model_of(answer, folder, MODEL_OF_ALL))
    model = load_model(model_of(answer, folder, MODEL)) if kept else None
    missing = settings["treated"]
    new = _read(answer, data, columns, read_options)
    untreated = _with_known_codes(_with_features(new, names, missing), answer)
    tell_unknown_categories(model_of_all, untreated)
    known = _treat(untreated, settings)
    allowed = [feature for feature, name in enumerate(names) if name not in settings["exclude"]]
    measure, convention = settings["measure"], settings["convention"]

    def values(data: RankingData, ranker: Any, features: Sequence[int]) -> np.ndarray:
        scores = np.zeros(data.n_rows)
        if ranker is not None:
            scores = ranker.predict(data.take_features(sorted(features)))
        return query_values(data, scores, [measure], convention)[measure]

    chosen, base = values(known, model, kept), values(known, model_of_all, allowed)
    weights, trained_on = known.query_weights, answer.trained_on
    about: About = "all" if len(kept) == len(allowed) else "new data"
    claim = Claim.test(chosen, base, weights, about, measure, margin, level)
    is_new = fingerprint(known) not in (trained_on.fingerprint, settings["fingerprint"])
    verdict, cost = judge(chosen, base, weights, claim, is_new=is_new), None
    drift = _drift(answer, known, untreated)
    moved = [one.feature for one in drift if one.can_be_undone]
    if moved and is_new:
        repaired = values(_treat(_repair(answer, untreated, moved), settings), model, kept)
        cost = judge_drift(moved, chosen, repaired, weights, claim)
        verdict = add_drift(verdict, cost, margin)
    if missing is not None and missing.indicated:  # the kept features may be indicators
        new = known
    elif missing is not None and new.missing is None:
        new = new.with_missing(missing)
    return Check(
        state=verdict.state,
        reason=verdict.reason,
        title=answer.title,
        n_kept=len(kept),
        n_all=answer.n_all,
        claim=claim,
        most=verdict.most,
        cost=cost,
        drift=drift,
        helpful=_helpful(
            scaled_within_queries(new, settings["scale"]), names, kept, settings["exclude"]
        ),
        trained_on=trained_on,
        is_new=is_new,
        recommendation=settings["fingerprint"],
        data=fingerprint(known),
        checked_at=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=installed_versions(),
    )


def _read(
    answer: Recommendation, data: Any, columns: ColumnsLike, read_options: Mapping[str, Any]
) -> RankingData:
    """Read new data, whose columns are those of the recommendation unless others are given."""
    if has_columns(data):
        missing, names = answer.settings["treated"], answer.feature_names
        n_indicators = 0 if missing is None else len(missing.indicated)
        columns = RememberedColumns.of(
            answer.settings["columns"],
            columns,
            what="the recommendation",
            names=names[: len(names) - n_indicators],
        )
    return read_whole(data, columns=columns, **read_options)


def _with_known_codes(data: RankingData, answer: Recommendation) -> RankingData:
    """Give categories of kept features the codes that they had, and higher ones to new names."""
    before = {name: own.categories for name, own in answer.reference.items() if own.categories}
    joined = {
        name: join_vocabularies([tuple(own), data.categories.get(name, ())])
        for name, own in before.items()
    }
    return data.with_categories({**data.categories, **joined})


def _treat(data: RankingData, settings: Settings) -> RankingData:
    """Treat missing values and scale features as for the recommendation."""
    missing = settings["treated"]
    if missing is not None and data.missing is None:
        data = data.with_missing(missing)
    return scaled_within_queries(data, settings["scale"])


def _repair(answer: Recommendation, data: RankingData, features: Sequence[str]) -> RankingData:
    """Give features the distribution back that they had at the time of the recommendation."""
    columns, repaired = FeatureColumns(data.X), {}
    for name in features:
        place, before = answer.feature_names.index(name), answer.reference[name].values
        if before is not None:
            repaired[place] = undo_drift(before, columns[place])
    return data.with_values(repaired)


def _drift(answer: Recommendation, known: RankingData, untreated: RankingData) -> list[Drift]:
    """Compare each kept feature with the time of the recommendation, the most notable first."""
    names = answer.feature_names
    kept = [feature for feature in answer.features if names[feature] in answer.reference]
    if not kept:
        return []
    settings, before = answer.settings, [answer.reference[names[feature]] for feature in kept]
    now, errors = rank_in_directions(
        known,
        kept,
        [own.direction for own in before],
        settings["measure"],
        settings["convention"],
    )
    described = {
        feature: own.values
        for feature, own in zip(kept, before, strict=True)
        if own.values is not None and feature < untreated.n_features
    }
    values: dict[int, ValueDrift] = {}
    if described:
        columns = untreated.take_features(list(described))
        found = drift_of_values(list(described.values()), columns)
        values = dict(zip(described, found, strict=True))
    drift = []
    for feature, own, value, error in zip(kept, before, now.tolist(), errors.tolist(), strict=True):
        spread = float(np.hypot(own.error, error))
        shift = (value - own.alone) / spread if spread > 0 else 0.0
        p_value = min(1.0, 2 * len(kept) * float(special.ndtr(-abs(shift))))
        drift.append(Drift(names[feature], own.alone, value, shift, p_value, values.get(feature)))
    return sorted(drift, key=lambda one: (not one.is_notable, -one.index, one.p_value))


def _helpful(
    data: RankingData, names: Sequence[str], kept: Sequence[int], excluded: Sequence[str]
) -> list[Helpful]:
    """Return the features that greedy RankRLS adds to the kept ones, as long as they help."""
    _, _, n_counted = engine_of(data).sum(count_queries)
    if data.lacks_numbers or data.n_queries < 2 or not n_counted:
        return []
    columns = [str(name) for name in data.feature_names]
    start = [columns.index(names[feature]) for feature in kept]
    exclude = [columns.index(name) for name in excluded if name in columns]
    k = min(data.n_features - len(exclude), len(start) + _HELPFUL)
    if k <= len(start):
        return []
    path = GreedyRankRLS(k, include=start, exclude=exclude).fit(data.without(OF_ROWS)).path_
    errors = [step.score for step in path]
    helpful = []
    for step in range(len(start), len(path)):
        before = errors[step - 1] if step else None
        gain = 1.0 if not before else 1 - errors[step] / before
        if gain < _LEAST_GAIN:
            break
        name = columns[path[step].feature]
        helpful.append(Helpful(name, float(gain), name not in names))
    return helpful


def _with_features(data: RankingData, names: Sequence[str], missing: Missing | None) -> RankingData:
    """Take the features of a recommendation by name, without indicators that are still to add."""
    if missing is not None and data.missing is None:
        names = names[: len(names) - len(missing.indicated)]
    columns = [str(name) for name in data.feature_names]
    lacking = [name for name in names if name not in columns]
    if lacking:
        raise DataError(
            f"the new data lacks feature {lacking[0]!r}, which the recommendation was made with"
        )
    return data.take_features([columns.index(name) for name in names])
