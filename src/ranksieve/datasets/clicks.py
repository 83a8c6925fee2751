"""From a click log to weights: how likely a document was examined where it was shown.

A click needs a document that is examined and attractive. If examination depends on the position
alone, a click at a position that is examined with probability p stands for 1 / p attractive
documents that were shown there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from ranksieve.data import DataError
from ranksieve.data.inputs import as_query_ids, as_shown_positions
from ranksieve.text import quantity


@dataclass(frozen=True, eq=False)
class Propensities:
    """Probabilities that a document is examined, by the position where it is shown.

    They are relative to the first position, where the probability counts as 1: weights of another
    scale train and judge alike.

    Attributes
    ----------
    positions : int array
        Ascending.
    values : array
        Probability at each position.
    lower, upper : arrays
        Ends of the confidence intervals of ``values``; equal to them if these are known.

    Examples
    --------
    >>> from ranksieve.datasets.clicks import Propensities
    >>> curve = Propensities.power(4, eta=1)
    >>> curve.values.round(2).tolist()
    [1.0, 0.5, 0.33, 0.25]
    >>> curve.weights(positions=[1, 4, 4], clicked=[1, 1, 0]).tolist()
    [1.0, 4.0, 1.0]
    """

    positions: np.ndarray
    values: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def power(cls, n_positions: int, eta: float = 1.0, *, first: int = 1) -> Propensities:
        r"""Take the curve :math:`1 / r^\eta` for the ranks r = 1, 2, ...

        Parameters
        ----------
        n_positions : int
        eta : float
            0 for documents that are all examined; about 1 is usual for lists of ten.
        first : int
            Position of rank 1 in the log: 1, or 0 if positions are counted from 0.
        """
        if not (n_positions >= 1 and np.isfinite(eta) and eta >= 0):
            raise ValueError(
                f"n_positions must be at least 1 and eta at least 0, got {n_positions} and {eta}"
            )
        ranks = np.arange(1, n_positions + 1)
        values = ranks ** -float(eta)
        return cls(ranks - 1 + first, values, values, values)

    @classmethod
    def from_random_order(
        cls, clicked: Any, positions: Any, qid: Any, *, level: float = 0.95
    ) -> Propensities:
        """Estimate them from clicks on documents that were shown in random order.

        At random positions all documents are equally attractive on average, so that rates of clicks
        are proportional to examination. The whole list may be shuffled, or two positions swapped at
        random: then pass the rows of these two positions, and the second has the probability
        relative to the first.

        Parameters
        ----------
        clicked : array of shape (rows,)
            1 for a click, else 0.
        positions : array of shape (rows,)
            Where each document was shown; the smallest is the one that others are compared with.
        qid : array of shape (rows,)
            Query or session of each row. Its clicks may depend on each other: the intervals only
            need different ones to be independent.
        level : float
            Confidence level of the interval of each position.
        """
        shown = as_shown_positions(positions, np.size(clicked))
        hits = _as_clicks(clicked)
        found, place = np.unique(shown, return_inverse=True)
        _, query = np.unique(as_query_ids(qid, len(hits)).astype(str), return_inverse=True)
        n_shown, n_clicks = np.bincount(place), np.bincount(place, weights=hits)
        for position, shows in zip(found[n_clicks == 0], n_shown[n_clicks == 0], strict=True):
            raise DataError(
                f"position {position} was shown {quantity(int(shows), 'time')} and never clicked: "
                "show it more often, or leave out its rows"
            )
        rates = n_clicks / n_shown
        spreads = _spreads_of_log_ratios(hits, place, query, rates, n_clicks)
        values = rates / rates[0]
        width = special.ndtri((1 + level) / 2) * spreads
        return cls(found, values, values * np.exp(-width), values * np.exp(width))

    def weights(self, positions: Any, clicked: Any, *, largest: float = np.inf) -> np.ndarray:
        """Weight of each row: the inverse probability of a clicked document, and 1 of others.

        Parameters
        ----------
        positions, clicked : arrays of shape (rows,)
            Where each document was shown, and whether it was clicked.
        largest : float
            Larger weights are cut to this one. That lowers the variance, at the price of a bias
            against documents that are rarely examined.

        Returns
        -------
        array of shape (rows,)
            For ``row_weights`` of :class:`ranksieve.RankingData`.
        """
        hits = _as_clicks(clicked)
        shown = as_shown_positions(positions, len(hits))
        place = np.minimum(np.searchsorted(self.positions, shown), len(self.positions) - 1)
        unknown = np.flatnonzero((self.positions[place] != shown) & (hits > 0))
        if len(unknown):
            raise DataError(
                f"row {unknown[0]} was clicked at position {shown[unknown[0]]}, whose probability "
                f"of examination is not known: positions are {self.positions[0]} to "
                f"{self.positions[-1]}"
            )
        return np.where(hits > 0, np.minimum(1 / self.values[place], largest), 1.0)


def _as_clicks(clicked: Any) -> np.ndarray:
    hits = np.asarray(clicked, dtype=np.float64)
    if hits.ndim != 1 or not np.isin(hits, (0, 1)).all():
        raise DataError("clicked must have 0 or 1 for each row")
    return hits


def _spreads_of_log_ratios(
    hits: np.ndarray, place: np.ndarray, query: np.ndarray, rates: np.ndarray, n_clicks: np.ndarray
) -> np.ndarray:
    """Standard error of the logarithm of each rate of clicks relative to the first one.

    To first order, the logarithm is a sum over queries, whose terms are independent.
    """
    n_queries, n = query.max() + 1, len(rates)
    terms = (hits - rates[place]) / n_clicks[place]
    spreads = np.zeros(n)
    first = np.bincount(query, weights=np.where(place == 0, terms, 0.0), minlength=n_queries)
    for number in range(1, n):
        own = np.bincount(query, weights=np.where(place == number, terms, 0.0), minlength=n_queries)
        spreads[number] = np.sqrt(((own - first) ** 2).sum() * n_queries / max(1, n_queries - 1))
    return spreads
