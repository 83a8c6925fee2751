"""How good a feature is alone: the first of the two quantities that filters share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ranksieve.engine import Source
from ranksieve.metrics import Convention, Measure, PairwiseError, parse_measure
from ranksieve.sums.importance import importance_sums

_SMALLEST_LOSS = 1e-12
LOSSES = ("loss", "one_minus_loss")


@dataclass(frozen=True)
class Quality:
    """Quality of each feature alone, in the better of its directions.

    Attributes
    ----------
    values : array of shape (features,)
        Larger is better.
    variance : array of shape (features,)
        Sample variance over queries of the measure behind the values.
    directions : int array of shape (features,)
        1 if large values of the feature are good, -1 if small ones are.
    varies : bool array of shape (features,)
        False for features that are constant within every query and so cannot rank.
    """

    values: np.ndarray
    variance: np.ndarray
    directions: np.ndarray
    varies: np.ndarray


def feature_quality(
    source: Source,
    importance: str | Measure = "map",
    *,
    both_directions: bool = True,
    convention: str | Convention = "standard",
    ties: Literal["stable", "average"] = "average",
    queries: np.ndarray | None = None,
) -> Quality:
    r"""Quality of each feature alone.

    Parameters
    ----------
    source : RankingData or opened shards
    importance : str or Measure
        A measure, whose mean over queries is the quality (GAS-E); ``"loss"``, the inverse of the
        mean pairwise error :math:`1 / \max(loss, 10^{-12})` (GAS-L); or ``"one_minus_loss"``.
    both_directions : bool
        Whether to rank by ascending values, too, and keep the better of the two directions.
    convention, ties
        As in :func:`ranksieve.metrics.evaluate`.
    queries : bool array of shape (queries,), optional
        The queries that count; all if left out.
    """
    is_loss = isinstance(importance, str) and importance in LOSSES
    measure = PairwiseError() if is_loss else parse_measure(importance)
    sums = importance_sums(source, measure, convention, ties=ties, queries=queries)
    means = sums.mean if measure.greater_is_better else -sums.mean
    direction = means.argmax(axis=0) if both_directions else np.zeros(len(sums.varying), dtype=int)
    features = np.arange(len(direction))
    values = means[direction, features]
    if importance == "loss":
        values = 1.0 / np.maximum(-values, _SMALLEST_LOSS)
    elif importance == "one_minus_loss":
        values = 1.0 + values
    return Quality(
        values=values,
        variance=sums.variance[direction, features],
        directions=1 - 2 * direction,
        varies=sums.varying > 0,
    )
