"""Trade-off between the number of features and the value of a model, and rules to choose one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from ranksieve.choosing import ROUNDING, first_nearly_best, pareto_front
from ranksieve.rankers.rankrls import nearest_to_one

Rule = Literal["best", "one_se", "penalized", "knee", "pareto"]


class FrontPoint(NamedTuple):
    """A model that is better than all smaller ones.

    Attributes
    ----------
    k : int
        Number of features.
    lam : float
        Regularization.
    value : float
        Value of the error or measure.
    """

    k: int
    lam: float
    value: float


def best_lam(values: np.ndarray, lams: Sequence[float], sign: int) -> int | None:
    """Index of the best value, given one for each regularization; None if all are NaN.

    ``sign`` is 1 if larger is better, else -1. Ties go to the regularization nearest to 1 in ratio,
    then to the smaller one.
    """
    gains = np.where(np.isnan(values), -np.inf, sign * values)
    if not np.isfinite(gains).any():
        return None
    return nearest_to_one(gains, np.array(lams))


def front_of_sizes(
    values: np.ndarray, lams: Sequence[float], sign: int, smallest: int = 1
) -> list[FrontPoint]:
    """Models of ``smallest`` features or more that are better than all smaller ones.

    ``values`` (regularizations, sizes) are those of models of 1, 2, ... features, and NaN where
    there is no model. ``sign`` is 1 if larger is better, else -1.
    """
    points: list[FrontPoint] = []
    for k in range(smallest, values.shape[1] + 1):
        row = best_lam(values[:, k - 1], lams, sign)
        if row is not None:
            points.append(FrontPoint(k, float(lams[row]), float(values[row, k - 1])))
    gains = sign * np.array([point.value for point in points])
    return [points[position] for position in pareto_front([point.k for point in points], gains)]


def choose_point(
    front: Sequence[FrontPoint], rule: str, sign: int, deviation: float, price: float
) -> FrontPoint:
    """Choose a point of a front by a rule of :class:`GreedyRankRLSCV`.

    ``sign`` is 1 if larger is better, else -1. ``"one_se"`` uses ``deviation``, the standard error
    of the best value, and ``"penalized"`` the ``price`` of a feature.
    """
    gains = sign * np.array([point.value for point in front])
    sizes = np.array([point.k for point in front])
    if rule == "one_se":
        return front[first_nearly_best(gains, deviation)]
    if rule == "penalized":
        return front[int(np.argmax(gains - price * sizes))]
    if rule == "knee" and len(front) > 2:
        # Height above the chord, with both axes scaled to 1; it is proportional to the distance.
        across = (sizes - sizes[0]) / (sizes[-1] - sizes[0])
        above = (gains - gains[0]) / (gains[-1] - gains[0]) - across
        if above.max() > ROUNDING:
            return front[int(np.argmax(above))]
    return front[-1]
