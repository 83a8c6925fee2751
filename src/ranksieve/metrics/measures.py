"""Measures of ranking quality as values, and their names."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from ranksieve._kernels import measures as kernel
from ranksieve.data import DataError
from ranksieve.metrics.conventions import Convention, get_convention
from ranksieve.metrics.ranking import NO_CUTOFF, GroupedLabels, Prepared, number_levels
from ranksieve.text import parse_number

_MEASURE_NAME = re.compile(r"([a-z-]+?)(?:\(([^)]*)\))?(?:@(\d+))?(-?)")


@dataclass(frozen=True, repr=False)
class Measure(ABC):
    """A measure of ranking quality; its ``repr`` is its name.

    Parameters
    ----------
    cutoff : int, optional
        Number of ranks that count; by default all of them.
    """

    cutoff: int | None = None

    label: ClassVar[str]
    greater_is_better: ClassVar[bool] = True
    no_row_weights: ClassVar[str] = ""  # why it takes no weights of rows: a sentence, or empty
    is_bounded: ClassVar[bool] = True  # whether it cannot exceed 1, whatever the weights of rows

    def __post_init__(self) -> None:
        known = self.cutoff is None or 1 <= self.cutoff < 2**31
        if not known or (self.cutoff is not None and self.cutoff != int(self.cutoff)):
            raise ValueError(f"{self.label}: the cutoff must be a positive integer below 2^31")

    @property
    def name(self) -> str:
        """Name such as ``NDCG@10``; :func:`parse_measure` reads it back."""
        changed = [
            f"{field.name}={getattr(self, field.name):g}"
            for field in fields(self)
            if field.name != "cutoff" and getattr(self, field.name) != field.default
        ]
        options = f"({','.join(changed)})" if changed else ""
        return self.label + options + ("" if self.cutoff is None else f"@{self.cutoff}")

    def __repr__(self) -> str:
        return self.name

    def prepare(
        self,
        y: np.ndarray,
        query_ptr: np.ndarray,
        convention: str | Convention = "standard",
        row_weights: np.ndarray | None = None,
    ) -> Prepared:
        """Compute everything that depends only on the labels, for rows grouped by query.

        Each document counts by its weight if there are ``row_weights``; raises a DataError if the
        measure has no weighted version.
        """
        convention = get_convention(convention)
        self.check_defined(convention)
        if row_weights is not None:
            self.check_weighted()
        labels = GroupedLabels(y, query_ptr, convention.averages_ties, row_weights)
        return self._prepare(labels, convention)

    def check_weighted(self) -> None:
        """Raise a DataError if weights of rows have no definite meaning for this measure."""
        if self.no_row_weights:
            raise DataError(
                f"{self.name} takes no weights of rows: {self.no_row_weights} Use another measure, "
                "such as ndcg@10, dcg@10 or p@10, or data without row weights (--row-weight)"
            )

    def check_defined(self, convention: str | Convention) -> None:
        """Raise a ValueError if the program of the convention does not support this measure."""
        convention = get_convention(convention)
        if self.label in convention.undefined:
            raise ValueError(f"convention {convention.name!r} has no {self.label}")

    @abstractmethod
    def _prepare(self, labels: GroupedLabels, convention: Convention) -> Prepared: ...


@dataclass(frozen=True, repr=False)
class DCG(Measure):
    r"""Discounted cumulative gain, which is not normalized and may exceed 1.

    .. math:: DCG@k = \sum_{r \le k} w_r \, g(l_r) \, d(r)

    The convention sets the gain g and the discount d. Weights w of rows are 1 if there are none. If
    labels are clicks and weights the inverse probabilities that their documents were examined, the
    expectation of DCG is that of complete judgments.

    Parameters
    ----------
    cutoff : int, optional
        k; by default the whole list, or the number of ranks that the convention uses instead.

    References
    ----------
    Agarwal, Takatsu, Zaitsev and Joachims, A general framework for counterfactual
    learning-to-rank, SIGIR 2019.
    """

    label: ClassVar[str] = "DCG"
    is_bounded: ClassVar[bool] = False

    def _prepare(self, labels: GroupedLabels, convention: Convention) -> Prepared:
        gains = labels.weighted(convention.gains(labels.y))
        discounts = convention.discounts(labels.lengths.max())
        cutoff, norm = self.cutoff or convention.longest, np.ones(len(labels.lengths))
        return labels.prepare(
            kernel.DCG, gains, norm, discounts=discounts, cutoff=cutoff, most=math.inf
        )


@dataclass(frozen=True, repr=False)
class NDCG(Measure):
    r"""Normalized discounted cumulative gain: DCG@k divided by the DCG@k of the best order.

    .. math:: DCG@k = \sum_{r \le k} w_r \, g(l_r) \, d(r)

    The convention sets the gain g and the discount d. Weights w of rows are 1 if there are none;
    the best order is by descending :math:`w_r g(l_r)`. In a query with one relevant document, they
    cancel out: :class:`DCG` is the measure of weighted clicks.

    Parameters
    ----------
    cutoff : int, optional
        k; by default the whole list, or the number of ranks that the convention uses instead.
    empty : float, optional
        Value of a query without relevant documents; by default that of the convention. In names
        of XGBoost that end in ``-``, such as ``ndcg@10-``, it is 0.

    References
    ----------
    Jarvelin and Kekalainen, Cumulated gain-based evaluation of IR techniques, TOIS 2002.
    """

    empty: float | None = None
    label: ClassVar[str] = "NDCG"

    def _prepare(self, labels: GroupedLabels, convention: Convention) -> Prepared:
        gains = labels.weighted(convention.gains(labels.y))
        discounts = convention.discounts(labels.lengths.max())
        cutoff = self.cutoff or convention.longest or NO_CUTOFF
        ideal = labels.ideal_dcg(gains, discounts, cutoff)
        if self.cutoff is not None and convention.short_list == "zero":
            ideal[labels.lengths < self.cutoff] = np.inf
        empty = convention.empty if self.empty is None else self.empty
        return labels.prepare(
            kernel.DCG, gains, ideal, discounts=discounts, cutoff=cutoff, empty=empty
        )


@dataclass(frozen=True, repr=False)
class MeanNDCG(Measure):
    """Mean over k = 1..n of NDCG@k, where n is the length of the list (LETOR 4.0).

    Weights of rows are those of :class:`NDCG`.
    """

    label: ClassVar[str] = "MeanNDCG"

    def __post_init__(self) -> None:
        if self.cutoff is not None:
            raise ValueError("MeanNDCG has no cutoff: it is the mean over all cutoffs")

    def _prepare(self, labels: GroupedLabels, convention: Convention) -> Prepared:
        gains = labels.weighted(convention.gains(labels.y))
        discounts = convention.discounts(labels.lengths.max())
        ideal = labels.ideal_curve(gains, discounts)
        return labels.prepare(
            kernel.MEAN_NDCG, gains, ideal, discounts=discounts, empty=convention.empty
        )


@dataclass(frozen=True, repr=False)
class _BinaryMeasure(Measure):
    """A measure that depends only on which documents are relevant."""

    rel: float | None = None

    def _relevant(self, labels: GroupedLabels, convention: Convention) -> np.ndarray:
        smallest = convention.relevance if self.rel is None else self.rel
        return (labels.y >= smallest).astype(np.float64)


@dataclass(frozen=True, repr=False)
class MAP(_BinaryMeasure):
    r"""Average precision; its mean over queries is the mean average precision.

    .. math:: AP = \frac{1}{R} \sum_r P@r \, rel(r)

    with R relevant documents in the list.

    Parameters
    ----------
    cutoff : int, optional
        AP@k: the sum stops at k; by default at the end of the list, or where the convention stops.
    rel : float, optional
        Smallest relevant label; by default that of the convention.
    empty : float, optional
        Value of a query without relevant documents; by default that of the convention.
    """

    empty: float | None = None
    label: ClassVar[str] = "MAP"
    no_row_weights: ClassVar[str] = "Its terms are pairs of relevant documents."

    def _prepare(self, labels: GroupedLabels, convention: Convention) -> Prepared:
        relevant = self._relevant(labels, convention)
        norm = labels.sums(relevant)
        cutoff = self.cutoff or convention.longest
        if convention.average_precision == "whole":
            cutoff = None
        if cutoff is not None and convention.average_precision == "cutoff":
            norm = np.minimum(norm, cutoff)
        empty = convention.empty if self.empty is None else self.empty
        return labels.prepare(kernel.PRECISION_SUM, relevant, norm, cutoff=cutoff, empty=empty)


@dataclass(frozen=True, repr=False)
class P(_BinaryMeasure):
    """Precision at k: the fraction of relevant documents among the first k.

    Weights of rows, if there are any, multiply the relevant documents, so that it may exceed 1.

    Parameters
    ----------
    cutoff : int
        k.
    rel : float, optional
        Smallest relevant label; by default that of the convention.
    """

    label: ClassVar[str] = "P"
    is_bounded: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cutoff is None:
            raise ValueError("precision needs a cutoff, such as P(10) or 'p@10'")

    def _prepare(self, labels: GroupedLabels, convention: Convention) -> Prepared:
        assert self.cutoff is not None
        norm = np.full(len(labels.lengths), float(self.cutoff))
        if convention.precision == "list":
            norm = np.minimum(norm, labels.lengths)
        elif convention.precision == "zero":
            norm[labels.lengths < self.cutoff] = np.inf
        relevant = labels.weighted(self._relevant(labels, convention))
        most = 1.0 if labels.row_weights is None else math.inf
        return labels.prepare(kernel.DCG, relevant, norm, cutoff=self.cutoff, most=most)


@dataclass(frozen=True, repr=False)
class MRR(_BinaryMeasure):
    """Reciprocal rank of the first relevant document, 0 if there is none before the cutoff.

    Parameters
    ----------
    cutoff : int, optional
        Number of ranks that count; by default all of them.
    rel : float, optional
        Smallest relevant label; by default that of the convention.
    """

    label: ClassVar[str] = "MRR"
    no_row_weights: ClassVar[str] = "It depends on the first relevant document alone."

    def _prepare(self, labels: GroupedLabels, convention: Convention) -> Prepared:
        relevant = self._relevant(labels, convention)
        norm = np.ones(len(labels.lengths))
        return labels.prepare(kernel.RECIPROCAL_RANK, relevant, norm, cutoff=self.cutoff)


@dataclass(frozen=True, repr=False)
class ERR(Measure):
    r"""Expected reciprocal rank.

    .. math:: ERR@k = \sum_{r \le k} \frac{R_r}{r} \prod_{i < r} (1 - R_i),
              \qquad R_r = \frac{2^{l_r} - 1}{2^{l_{max}}}

    Parameters
    ----------
    cutoff : int, optional
        k; by default the whole list.
    max_grade : int
        The largest grade of the scale: 4 on MSLR, Yahoo and Istella, 2 on MQ2007 and MQ2008. (With
        the largest grade in the data, values of two data sets could not be compared.)

    References
    ----------
    Chapelle, Metzler, Zhang and Grinspan, Expected reciprocal rank for graded relevance,
    CIKM 2009.
    """

    max_grade: int = 4
    label: ClassVar[str] = "ERR"
    no_row_weights: ClassVar[str] = "Its terms are products over several documents."

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.max_grade <= 1000:
            raise ValueError(f"ERR: max_grade must be from 1 to 1000, got {self.max_grade}")

    def _prepare(self, labels: GroupedLabels, convention: Convention) -> Prepared:
        if labels.y.min() < 0 or labels.y.max() > self.max_grade:
            raise DataError(
                f"ERR needs labels from 0 to max_grade={self.max_grade}, "
                f"but they range from {labels.y.min():g} to {labels.y.max():g}"
            )
        satisfies = (np.exp2(labels.y) - 1) / 2.0**self.max_grade
        norm = np.ones(len(labels.lengths))
        return labels.prepare(kernel.CASCADE, satisfies, norm, cutoff=self.cutoff)


@dataclass(frozen=True, repr=False)
class PairwiseError(Measure):
    """Fraction of document pairs with different labels that are in the wrong order.

    Pairs with equal scores count one half, under every convention. A query whose labels are all
    equal has no such pairs and so no error: its value is NaN, and means are over the other queries.
    Smaller is better.
    """

    label: ClassVar[str] = "PairwiseError"
    no_row_weights: ClassVar[str] = "Its terms are pairs of documents."
    greater_is_better: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.cutoff is not None:
            raise ValueError("PairwiseError has no cutoff: it counts all pairs")

    def _prepare(self, labels: GroupedLabels, convention: Convention) -> Prepared:
        levels, n_pairs = number_levels(labels.y, labels.query_ptr)
        return labels.prepare(kernel.PAIR_ERRORS, levels.astype(float), n_pairs.astype(float))


MEASURES: dict[str, type[Measure]] = {
    "ndcg": NDCG,
    "map": MAP,
    "ap": MAP,
    "p": P,
    "precision": P,
    "mean-ndcg": MeanNDCG,
    "meanndcg": MeanNDCG,
    "dcg": DCG,
    "err": ERR,
    "mrr": MRR,
    "rr": MRR,
    "pairwise-error": PairwiseError,
    "pairwiseerror": PairwiseError,
}


def parse_measure(measure: str | Measure | type[Measure]) -> Measure:
    """Read a measure's name.

    Examples
    --------
    >>> from ranksieve.metrics import parse_measure
    >>> parse_measure("ndcg@10"), parse_measure("mean-ndcg"), parse_measure("P(rel=2)@5")
    (NDCG@10, MeanNDCG, P(rel=2)@5)
    """
    if isinstance(measure, Measure):
        return measure
    if isinstance(measure, type) and issubclass(measure, Measure):
        return measure()
    match = _MEASURE_NAME.fullmatch(str(measure).strip().lower())
    if match is None or match[1] not in MEASURES:
        raise ValueError(f"unknown measure {measure!r}; choose from {', '.join(MEASURES)} with @k")
    kind = MEASURES[match[1]]
    options: dict[str, Any] = {}
    allowed = {field.name for field in fields(kind)} - {"cutoff"}
    for option in filter(None, (match[2] or "").split(",")):
        key, _, value = option.partition("=")
        if key.strip() not in allowed:
            raise ValueError(f"measure {measure!r}: {kind.label} has no option {key.strip()!r}")
        options[key.strip()] = _number(value, measure)
    if match[4]:
        if "empty" not in allowed:
            raise ValueError(f"measure {measure!r}: {kind.label} has no variant with '-'")
        options["empty"] = 0.0
    return kind(None if match[3] is None else int(match[3]), **options)


def _number(text: str, measure: str) -> float:
    number = parse_number(text)
    if number is None or not math.isfinite(number):
        raise ValueError(f"measure {measure!r}: {text!r} is not a finite number")
    return number
