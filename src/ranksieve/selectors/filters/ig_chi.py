"""InformationGain and ChiSquare: how much the grades depend on a binned feature."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ranksieve.base import Choices, PerFeature, RankSelector
from ranksieve.engine import Source, Workers, engine_of
from ranksieve.engine.memo import shared
from ranksieve.parameters import AtLeastTwo, FeatureCount
from ranksieve.registry import Method
from ranksieve.selectors._search.filters import best_first
from ranksieve.sums.grades import Classes, Totals, frequency_edges, grades_of, totals

_REFERENCES = """
    References
    ----------
    X. Geng, T.-Y. Liu, T. Qin, H. Li. Feature selection for ranking. SIGIR 2007.

    {example}
"""


@dataclass(eq=False, repr=False)
class _Dependence(RankSelector):
    """Scores features by the contingency table of bins and grades.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    n_bins : int
        Number of bins of a feature; fewer if many equal values make edges coincide.
    binning : {"frequency", "width"}
        Bins with equal numbers of rows, or bins of equal width between the smallest and the largest
        value. Rows of equal value always share a bin. Missing values that the data keeps have a
        bin of their own, below the others.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features in descending order of their score.
    scores_ : array of shape (features,)
    path_ : list of (feature, score)
    edges_ : list of arrays
        Inner edges of each feature's bins: bin b has values in (edge b - 1, edge b]. The first is
        -infinity if values are missing.
    tables_ : array of shape (features, bins, grades)
        Number of rows by bin and grade, weighted by the weights of their queries.
    grades_ : array
        The labels, in ascending order.
    """

    _shared_docs: ClassVar[dict[str, str]] = {"references": _REFERENCES}

    _is_nested = True
    takes_missing = True
    _per_feature = RankSelector._per_feature | {"tables_": PerFeature(fill=0)}

    n_features_to_select: FeatureCount = 10
    _: KW_ONLY
    n_bins: AtLeastTwo = 10
    binning: Literal["frequency", "width"] = "frequency"

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        found = contingency(source, self.n_bins, self.binning)
        self.grades_, self.edges_, self.tables_ = found.grades, list(found.edges), found.tables
        self.scores_ = self._score(self.tables_)
        return self._record_path(best_first(choices, found.varies, self.scores_))

    def _widen(self, choices: Choices, names: set[str]) -> None:
        super()._widen(choices, names)
        inside = dict(zip(choices.columns.tolist(), self.edges_, strict=True))
        self.edges_ = [inside.get(f, np.empty(0)) for f in range(choices.n_features_in)]

    @abstractmethod
    def _score(self, tables: np.ndarray) -> np.ndarray:
        """Score of each feature, given its table."""


class InformationGain(_Dependence):
    r"""Information gain (IG): the information in bits that a binned feature has about the grade.

    .. math:: IG(f) = H(Y) - \sum_b P(b)\, H(Y \mid b), \qquad H = -\sum_c p_c \log_2 p_c

    over the rows of all queries together; the features with the largest gain are selected.

    Parameters
    ----------
    n_features_to_select, n_bins, binning
        As in :class:`_Dependence`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, scores_, path_, edges_, tables_, grades_
        As in :class:`_Dependence`.

    Notes
    -----
    Takes O(m n log b) time for m rows, n features and b bins, in ten passes over the data (three
    for bins of equal width). Geng et al. use it as a baseline and do not say how they bin; bins of
    equal frequency are our choice. Features constant within every query come last: they may
    identify the query of a row, but cannot rank.

    {references}
    """

    methods = (Method("ig", "information gain about the label"),)

    def _score(self, tables: np.ndarray) -> np.ndarray:
        shares = tables / tables.sum(axis=(1, 2), keepdims=True)
        within = _entropy(shares, axis=(1, 2)) - _entropy(shares.sum(axis=2), axis=1)
        return _entropy(shares.sum(axis=1), axis=1) - within


class ChiSquare(_Dependence):
    r"""Chi-square (CHI): how far bins and grades are from being independent.

    .. math:: \chi^2(f) = \sum_{b, c} \frac{(O_{bc} - E_{bc})^2}{E_{bc}}, \qquad
              E_{bc} = \frac{O_{b \cdot} O_{\cdot c}}{O_{\cdot \cdot}}

    over the rows of all queries together, where O counts rows by bin and grade; empty bins are
    left out. The features with the largest statistic are selected.

    Parameters
    ----------
    n_features_to_select, n_bins, binning
        As in :class:`_Dependence`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, scores_, path_, edges_, tables_, grades_
        As in :class:`_Dependence`.

    Notes
    -----
    Cost, binning and constant features as in :class:`InformationGain`.

    {references}
    """

    methods = (Method("chi", "chi-square statistic with the label"),)

    def _score(self, tables: np.ndarray) -> np.ndarray:
        total = tables.sum(axis=(1, 2), keepdims=True)
        expected = tables.sum(axis=2, keepdims=True) * tables.sum(axis=1, keepdims=True) / total
        distance = (tables - expected) ** 2 / np.where(expected > 0, expected, 1)
        return distance.sum(axis=(1, 2))


class Contingency(NamedTuple):
    """Numbers of rows by bin of each feature and by grade."""

    tables: np.ndarray  # (features, bins, grades)
    edges: tuple[np.ndarray, ...]  # inner edges of each feature's bins
    grades: np.ndarray
    varies: np.ndarray  # (features,): whether the feature varies within some query


@shared
def contingency(source: Source, n_bins: int, binning: Literal["frequency", "width"]) -> Contingency:
    """Count rows by bin and grade, for each feature."""
    grades = grades_of(source)
    with engine_of(source).start(Classes, grades) as workers:
        found = totals(workers)
        edges = tuple(
            np.unique(row) if n_missing == 0 else np.unique([-np.inf, *row])
            for row, n_missing in zip(
                _edges(workers, found, n_bins, binning), found.missing, strict=True
            )
        )
        n_edges = np.array([len(inner) for inner in edges])
        padded = np.full((source.n_features, n_edges.max()), np.inf)
        for row, inner in zip(padded, edges, strict=True):
            row[: len(inner)] = inner
        tables = workers.sum(Classes.table, padded, n_edges)
    return Contingency(tables, edges, grades, found.varies)


def _edges(workers: Workers[Classes], found: Totals, n_bins: int, binning: str) -> np.ndarray:
    """Inner edges (features, bins - 1), some of which may be equal."""
    if binning == "frequency":
        return frequency_edges(workers, found, n_bins)
    has_values = found.low <= found.high  # some value is present
    low, high = np.where(has_values, (found.low, found.high), 0.0)
    return low[:, None] + (high - low)[:, None] * (np.arange(1, n_bins) / n_bins)


def _entropy(shares: np.ndarray, axis: Any) -> np.ndarray:
    """Entropy in bits."""
    logs = np.log2(shares, where=shares > 0, out=np.zeros_like(shares))
    return -(shares * logs).sum(axis=axis)
