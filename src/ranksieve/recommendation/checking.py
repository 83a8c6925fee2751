"""Check whether a recommendation still holds on new data."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.data.columns import ColumnsLike
from ranksieve.data.missing import Missing, has_missing
from ranksieve.data.ranking_data import OF_ROWS, fingerprint
from ranksieve.data.remembered import RememberedColumns
from ranksieve.datasets.opening import has_columns, read_whole
from ranksieve.experiments import query_values
from ranksieve.io.model import MODEL, MODEL_OF_ALL, TrainedOn
from ranksieve.preprocessing import scaled_within_queries
from ranksieve.progress import progress_bar
from ranksieve.rankers.loading import load_model
from ranksieve.recommendation.answer import Recommendation, to_json
from ranksieve.recommendation.claim import Claim, percent
from ranksieve.recommendation.directory import load_answer, model_of
from ranksieve.recommendation.facts import reference_of
from ranksieve.selectors import GreedyRankRLS

_SHIFT = 3.0  # a larger shift, in standard errors, is notable
_MISSING = 0.05  # a larger change of the share of missing values is notable
_HELPFUL = 5  # largest number of helpful features to look for
_LEAST_GAIN = 0.005  # smallest relative decrease of the error that makes a feature helpful


@dataclass(frozen=True)
class Drift:
    """How well a feature ranks alone, at the time of the recommendation and now.

    Attributes
    ----------
    feature : str
    before, now : float
        Mean of the measure if documents are ranked by the feature alone, in its better direction.
    shift : float
        Difference in standard errors; minus infinity if the better direction has changed.
    missing_before, missing_now : float
        Share of documents without a value.
    """

    feature: str
    before: float
    now: float
    shift: float
    missing_before: float
    missing_now: float

    @property
    def is_notable(self) -> bool:
        """Whether the change is too large to be due to chance."""
        moved = abs(self.missing_now - self.missing_before) > _MISSING
        return abs(self.shift) > _SHIFT or moved


@dataclass(frozen=True)
class Helpful:
    """A feature that is not kept but would lower the error; ``gain`` is the relative decrease."""

    feature: str
    gain: float
    is_new: bool


@dataclass(frozen=True)
class Check:
    """Result of :func:`check`.

    Attributes
    ----------
    title : str
        Name of the data of the recommendation.
    claim : Claim
        Claim about the kept features, on the new queries.
    is_broken : bool
        Whether the mean on the new queries has fallen by more than the margin.
    drift : list of Drift
        Drift of each kept feature.
    helpful : list of Helpful
        Features that are not kept but would now help, best first.
    trained_on : TrainedOn
        The queries that trained both rankers.
    is_new : bool
        False if the data is exactly that of the training, or of the whole recommendation.
    """

    title: str
    claim: Claim
    is_broken: bool
    drift: list[Drift]
    helpful: list[Helpful]
    trained_on: TrainedOn
    is_new: bool

    @property
    def sentence(self) -> str:
        """The result in a few sentences."""
        margin = percent(self.claim.margin)
        holds = f"The margin of {margin} holds on average."
        if self.is_broken:
            holds = f"The margin of {margin} is broken: recommend again."
        return f"{holds} {self.claim.sentence} {self._about_training()}"

    def _about_training(self) -> str:
        trained = f"Both rankers were trained on {self.trained_on.in_words} of {self.title}"
        if self.is_new:
            return f"{trained}."
        return f"{trained}: exactly this data, so it tests nothing."

    def to_record(self) -> dict[str, Any]:
        """Convert to JSON values."""
        return to_json(self)


def check(
    directory: str | os.PathLike[str],
    data: Any,
    *,
    columns: ColumnsLike = None,
    progress: bool = True,
    **read_options: Any,
) -> Check:
    """Check on new queries whether recommended features are still enough.

    Both rankers of the recommendation, trained on the kept features and on all features, rank the
    new queries; nothing is trained again. To find helpful features, greedy RankRLS starts from the
    kept features and adds others on the new queries, except those that were excluded.

    Parameters
    ----------
    directory : path
        Directory that :func:`ranksieve.recommend` wrote (its ``out``).
    data : anything that :func:`ranksieve.datasets.opening.open_data` opens
        New data with all features of the recommendation; it may have more.
    columns : Columns or path, optional
        Columns of new tables; by default those of the recommendation. If label and query are given,
        nothing else is remembered.
    progress : bool
        Whether to show progress in a terminal or a notebook.
    **read_options
        Options for opening the data.

    Raises
    ------
    DataError
        If the directory has no recommendation with models, if they do not belong to each other,
        or if the data lacks a feature.
    """
    with progress_bar(progress, "check"):
        return _check(Path(directory), data, columns, read_options)


def _check(folder: Path, data: Any, columns: ColumnsLike, read_options: Mapping[str, Any]) -> Check:
    answer = load_answer(folder)
    if answer.trained_on is None:
        raise DataError(
            f"{folder}: the recommendation has no models to check with: see its notes, and run "
            "recommend with more time, or with a ranker that has model files"
        )
    model_of_all = load_model(model_of(answer, folder, MODEL_OF_ALL))
    model = load_model(model_of(answer, folder, MODEL)) if answer.features else None
    settings, names, kept = answer.settings, answer.feature_names, answer.features
    missing = settings["treated"]
    new = _read(answer, data, columns, read_options)
    known = scaled_within_queries(_with_features(new, names, missing), settings["scale"])
    allowed = [feature for feature, name in enumerate(names) if name not in settings["exclude"]]
    measure, convention = settings["measure"], settings["convention"]

    def values(ranker: Any, features: Sequence[int]) -> np.ndarray:
        scores = np.zeros(known.n_rows)
        if ranker is not None:
            scores = ranker.predict(known.take_features(sorted(features)))
        return query_values(known, scores, [measure], convention)[measure]

    chosen, base = values(model, kept), values(model_of_all, allowed)
    margin, level = settings["margin"], settings["level"]
    claim = Claim.test(chosen, base, known.query_weights, "new data", measure, margin, level)
    is_broken = claim.with_chosen < (1 - margin) * claim.with_all
    drift = _drift(known, kept, names, answer.reference, measure, convention)
    if missing is not None and missing.indicated:  # the kept features may be indicators
        new = known
    elif missing is not None and new.missing is None:
        new = new.with_missing(missing)
    new = scaled_within_queries(new, settings["scale"])
    helpful = _helpful(new, names, kept, settings["exclude"])
    is_new = fingerprint(known) not in (answer.trained_on.fingerprint, settings["fingerprint"])
    trained_on = answer.trained_on
    return Check(answer.title, claim, bool(is_broken), drift, helpful, trained_on, is_new)


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


def _drift(
    data: RankingData,
    kept: Sequence[int],
    names: Sequence[str],
    reference: Mapping[str, Any],
    measure: str,
    convention: str,
) -> list[Drift]:
    now = reference_of(data, kept, measure, convention)
    drift = []
    for feature in kept:
        name = names[feature]
        if name not in reference:
            continue
        before, error, direction, missing = map(float, reference[name])
        value, new_error, new_direction, new_missing = now[str(data.feature_names[feature])]
        spread = math.hypot(error, new_error)
        shift = (value - before) / spread if spread > 0 else 0.0
        if direction != new_direction:
            shift = -math.inf
        drift.append(Drift(name, before, value, shift, missing, new_missing))
    return drift


def _helpful(
    data: RankingData, names: Sequence[str], kept: Sequence[int], excluded: Sequence[str]
) -> list[Helpful]:
    """Return the features that greedy RankRLS adds to the kept ones, as long as they help."""
    if has_missing(data.X) or data.n_queries < 2:
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
    """Take the features of a recommendation by name.

    Missing values are treated as for the recommendation, which may add indicators.
    """
    if missing is not None and data.missing is None:
        names = names[: len(names) - len(missing.indicated)]
    columns = [str(name) for name in data.feature_names]
    lacking = [name for name in names if name not in columns]
    if lacking:
        raise DataError(
            f"the new data lacks feature {lacking[0]!r}, which the recommendation was made with"
        )
    taken = data.take_features([columns.index(name) for name in names])
    return taken if missing is None or data.missing is not None else taken.with_missing(missing)
