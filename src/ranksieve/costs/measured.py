"""Costs of features, measured: estimated from the times of logged requests."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ranksieve.costs.feature_costs import FeatureCosts
from ranksieve.costs.requests import RequestLog, read_requests
from ranksieve.costs.units import format_cost
from ranksieve.data import DataError
from ranksieve.io.records import PathLike, write_text
from ranksieve.io.small_tables import read_groups
from ranksieve.text import list_names, quantity

_ROWS = 16_384  # that are converted to float64 at once
_FEWEST = 10  # requests with and without a feature
_SAME = 1e-10  # share of the variance of a column that others leave unexplained if it follows
_LEAST_TIME = 0.1  # expected time, relative to the mean, below which weights do not rise
_CERTAIN = 1e-8  # a request has this distance from determining a cost alone, at least


@dataclass(frozen=True)
class MeasuredCost:
    """Cost of a feature or a group in a request that computes it, with its interval."""

    name: str
    cost: float
    lower: float
    upper: float
    share: float  # of the requests that compute it
    group: str = ""  # of a feature


@dataclass(frozen=True)
class MeasuredCosts:
    """Costs of features and groups, estimated from the times of requests.

    Attributes
    ----------
    features, groups : list of MeasuredCost
    base : MeasuredCost
        Time of a request that computes none of them.
    unit : str
        Unit of the times; empty if it is not known.
    level : float
        Confidence level of each interval.
    n_requests : int
    explained : float
        Share of the variance of the times that the costs explain.
    notes : list of str
    """

    features: list[MeasuredCost]
    groups: list[MeasuredCost]
    base: MeasuredCost
    unit: str
    level: float
    n_requests: int
    explained: float
    notes: list[str] = field(default_factory=list)

    @property
    def costs(self) -> FeatureCosts:
        """The costs, for :func:`ranksieve.recommend` and for selectors."""
        return FeatureCosts(
            {one.name: one.cost for one in self.features},
            {one.name: one.group for one in self.features if one.group},
            {one.name: one.cost for one in self.groups},
            self.unit,
        )

    def to_record(self) -> dict[str, Any]:
        """Convert to JSON values."""
        return asdict(self)

    def write(self, path: PathLike) -> None:
        """Write a table that ``--costs`` and :meth:`FeatureCosts.read` take: CSV.

        A row without a feature has the cost of its group.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        cost = f"cost_{self.unit}" if self.unit else "cost"
        writer.writerow(["feature", cost, "lower", "upper", "group"])
        rows = [("", one, one.name) for one in self.groups]
        rows += [(one.name, one, one.group) for one in self.features]
        for feature, one, group in rows:
            numbers = (f"{value:.6g}" for value in (one.cost, one.lower, one.upper))
            writer.writerow([feature, *numbers, group])
        write_text(text.getvalue(), path)

    def __repr__(self) -> str:
        total = sum(one.cost for one in (*self.features, *self.groups))
        return (
            f"{type(self).__name__}({quantity(len(self.features), 'feature')}, together "
            f"{format_cost(total, self.unit)}, from {quantity(self.n_requests, 'request')})"
        )


def estimate_costs(
    log: Any,
    *,
    groups: Mapping[str, Sequence[str]] | PathLike | None = None,
    time_column: str | None = None,
    features: Sequence[str] = (),
    ignore: Sequence[str] = (),
    level: float = 0.95,
) -> MeasuredCosts:
    r"""Estimate what each feature costs from the times of requests that computed some of them.

    The time of request i is taken to be

    .. math:: t_i = b + \sum_j c_j x_{ij} + \sum_g d_g [x_{ij} > 0 \text{ for a } j \in g] + e_i,

    where :math:`x_{ij}` is 1 if the request computed feature j, or the number of documents for
    which it did, and :math:`e_i` is noise with a mean of 0, whose variance may differ between
    requests. Costs that are not negative are found by least squares, in which a request counts in
    inverse proportion to the square of its expected time, because noise grows with time.

    Parameters
    ----------
    log : path or frame
        A row for each request: its time, and a column for each feature.
    groups : mapping of str to sequences of str, or path, optional
        Features of each group that share a call, an index or a model, whose cost is paid once by a
        request that computes any of them. Other names than those of the log are left out.
    time_column : str, optional
        Column with the times; by default the one whose name begins with ``took``.
    features, ignore : sequences of str
        Columns that are features, by default all numbers except ids, and columns to leave out:
        names, or patterns such as ``"debug_*"``.
    level : float
        Confidence level of the interval of each cost.

    Returns
    -------
    MeasuredCosts
        The cost of a feature is that in a request: with numbers of documents, the cost of one
        document times the mean number in the requests that compute it.

    Raises
    ------
    DataError
        If the requests cannot tell some costs apart. The message names the features.

    Notes
    -----
    The intervals are Student's, with the heteroskedasticity-robust standard errors HC3 of least
    squares without the constraint, which hold whatever the noise of a request is. Their ends are
    then raised to 0, which no cost is below, and the interval is extended to the estimate if that
    is outside, so they cover the truth at least as often as without it. ``python3 dev.py bench
    request_costs`` counts how often.

    Estimates are of causes only if chance decides which features a request computes: if requests
    with many documents compute other features, the difference counts as theirs. What runs side by
    side takes less time than the sum of what each costs alone.

    Examples
    --------
    >>> import pandas as pd
    >>> from ranksieve.costs import estimate_costs
    >>> rows = [(a, b, 10 + 2 * a + 5 * b) for a in (0, 1) for b in (0, 1)] * 10
    >>> found = estimate_costs(pd.DataFrame(rows, columns=["bm25", "embedding", "took_ms"]))
    >>> found
    MeasuredCosts(2 features, together 7 ms, from 40 requests)
    >>> [(one.name, round(one.cost, 6)) for one in found.features]
    [('bm25', 2.0), ('embedding', 5.0)]
    """
    if not 0.5 < level < 1:
        raise ValueError(f"level must be above 0.5 and below 1, got {level!r:.60}")
    requests = read_requests(log, time_column, features, ignore)
    if groups is None or isinstance(groups, Mapping):
        members: Mapping[str, Sequence[str]] = groups or {}
    else:
        members = read_groups(groups)
    design = _Design.of(requests, members)
    design.check()
    fit = _fit(design.columns, requests.times, level)
    return _describe(design, fit, level)


class _Design(NamedTuple):
    """Columns of the regression: features that are not part of their group, then groups."""

    requests: RequestLog
    unknown: list[str]  # features of groups that the log does not have
    group_of: dict[str, str]  # of features that have one
    absorbed: list[str]  # features that are always computed with their group
    names: list[str]  # of the columns, as in messages
    features: list[str]  # those of the first columns
    groups: list[str]  # those of the others
    columns: np.ndarray  # (requests, columns) float32

    @classmethod
    def of(cls, requests: RequestLog, members: Mapping[str, Sequence[str]]) -> _Design:
        """Make the design, and find features that only their group can be told by."""
        index = {name: place for place, name in enumerate(requests.names)}
        group_of: dict[str, str] = {}
        unknown: list[str] = []
        for group, own in members.items():
            for name in map(str, own):
                if group_of.get(name, group) != group:
                    raise DataError(f"feature {name!r} is in two groups: {group_of[name]}, {group}")
                if name in index:
                    group_of[name] = group
                else:
                    unknown.append(name)
        groups = [group for group in members if group in group_of.values()]
        absorbed, calls = [], []
        for group in groups:
            own = [name for name in requests.names if group_of.get(name) == group]
            is_called = requests.computed[:, [index[name] for name in own]].max(axis=1) > 0
            calls.append(is_called.astype(np.float32))
            for name in own:
                computed = requests.computed[:, index[name]]
                most = computed.max(initial=0)
                if most > 0 and np.array_equal(computed, most * calls[-1]):
                    absorbed.append(name)
        features = [name for name in requests.names if name not in absorbed]
        parts = [requests.computed[:, [index[name] for name in features]]]
        parts += [call[:, None] for call in calls]
        names = [*features, *(f"group {group}" for group in groups)]
        columns = np.hstack(parts)
        return cls(requests, unknown, group_of, absorbed, names, features, groups, columns)

    def check(self) -> None:
        """Raise a DataError that names the columns whose costs cannot be told apart."""
        n, p = self.columns.shape
        place = self.requests.place
        if n < p + 1 + _FEWEST:
            raise DataError(
                f"{place}: {quantity(n, 'request')} cannot tell {quantity(p, 'cost')} apart: at "
                f"least {p + 1 + _FEWEST} are needed"
            )
        problems = _constant(self.columns, self.names)
        varying = np.flatnonzero(np.ptp(self.columns, axis=0)).tolist()
        if varying:
            names = [self.names[place] for place in varying]
            problems += _dependent(self.columns[:, varying], names)
        if problems:
            raise DataError(
                f"{place}: these costs cannot be told apart: {'; '.join(problems)}. Leave out each "
                "feature at random in some requests, or put features that are always computed "
                "together into a group (--groups), which then has their cost, or leave them out of "
                "the log (--ignore)"
            )


def _constant(columns: np.ndarray, names: Sequence[str]) -> list[str]:
    """What is never or always computed, and what is in too few requests."""
    kinds: dict[str, list[str]] = {}
    for place, name in enumerate(names):
        values, counts = np.unique(columns[:, place], return_counts=True)
        if len(values) == 1:
            kind = "in no request" if values[0] == 0 else "in every request alike"
            kinds.setdefault(f"computed {kind}", []).append(name)
        elif len(columns) - counts.max() < _FEWEST:
            kind = f"computed alike in all but {len(columns) - counts.max()} requests"
            kinds.setdefault(kind, []).append(name)
    return [f"{kind}: {list_names(own)}" for kind, own in kinds.items()]


def _dependent(columns: np.ndarray, names: Sequence[str]) -> list[str]:
    """Sets of columns that determine each other."""
    from scipy.linalg import qr, solve_triangular

    _, R, order = qr(_Products.of(columns, np.ones(len(columns))).gram, pivoting=True)
    size = np.abs(np.diag(R))
    rank = int(np.count_nonzero(size > _SAME * size[0]))
    together: dict[int, list[int]] = {}
    others: list[str] = []
    for place in range(rank, len(names)):
        coefs = solve_triangular(R[:rank, :rank], R[:rank, place])
        source = np.flatnonzero(np.abs(coefs) > np.sqrt(_SAME))
        own, of = int(order[place]), [int(order[one]) for one in source]
        if len(of) == 1 and coefs[source[0]] > 0:
            together.setdefault(of[0], [of[0]]).append(own)
        else:
            follows = list_names([names[one] for one in sorted(of)])
            others.append(f"{names[own]} follows from {follows}")
    sets = [list_names([names[one] for one in sorted(own)]) for own in together.values()]
    return [*(f"always computed together: {own}" for own in sorted(sets)), *sorted(others)]


class _Products(NamedTuple):
    """Weighted sums of products of centered and scaled columns."""

    means: np.ndarray  # weighted, of the columns
    scales: np.ndarray  # roots of the weighted sums of their squares
    gram: np.ndarray

    @classmethod
    def of(cls, columns: np.ndarray, weights: np.ndarray) -> _Products:
        """Sum over requests."""
        n, p = columns.shape
        means, gram = np.zeros(p), np.zeros((p, p))
        for rows in _chunks(n):
            means += weights[rows] @ columns[rows] / weights.sum()
        for rows in _chunks(n):
            part = columns[rows] - means
            gram += part.T @ (weights[rows, None] * part)
        scales = np.sqrt(np.diag(gram))
        return cls(means, scales, gram / np.outer(scales, scales))

    def rows(self, columns: np.ndarray, rows: slice) -> np.ndarray:
        """Some rows of the columns, centered and scaled."""
        return (columns[rows] - self.means) / self.scales

    def solve(
        self, columns: np.ndarray, values: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of weighted least squares, and those that are not negative."""
        from scipy.linalg import cholesky, solve_triangular
        from scipy.optimize import nnls

        sums = np.zeros(len(self.means))
        for rows in _chunks(len(columns)):
            sums += self.rows(columns, rows).T @ (weights[rows] * values[rows])
        factor = cholesky(self.gram, lower=True)
        target = solve_triangular(factor, sums, lower=True)
        free = solve_triangular(factor, target, lower=True, trans="T")
        return free / self.scales, nnls(factor.T, target)[0] / self.scales


def _chunks(n: int) -> list[slice]:
    return [slice(row, min(row + _ROWS, n)) for row in range(0, n, _ROWS)]


class _Fit(NamedTuple):
    """Estimates, and the ends of their intervals; the last is the time without any feature."""

    cost: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    explained: float


def _fit(columns: np.ndarray, times: np.ndarray, level: float) -> _Fit:
    """Least squares with and without the constraint, and intervals from the latter.

    The first fit gives the weights of the second.
    """
    weights = np.ones(len(times))
    products = _Products.of(columns, weights)
    _, first = products.solve(columns, times - times.mean(), weights)
    expected = _predict(columns, first, times.mean() - products.means @ first)
    weights = (times.mean() / np.maximum(expected, _LEAST_TIME * times.mean())) ** 2
    products = _Products.of(columns, weights)
    mean = float(np.average(times, weights=weights))
    free, bounded = products.solve(columns, times - mean, weights)
    residuals = times - _predict(columns, free, mean - products.means @ free)
    errors = _robust_errors(columns, products, weights, residuals)
    half = float(special.stdtrit(len(times) - len(free) - 1, (1 + level) / 2)) * errors
    cost, center = (np.append(own, mean - products.means @ own) for own in (bounded, free))
    cost = np.maximum(cost, 0.0)
    lower = np.minimum(np.maximum(center - half, 0.0), cost)
    upper = np.maximum(np.maximum(center + half, 0.0), cost)
    variance = float(np.average((times - mean) ** 2, weights=weights))
    unexplained = float(np.average(residuals**2, weights=weights))
    return _Fit(cost, lower, upper, 1 - unexplained / variance if variance else 0.0)


def _predict(columns: np.ndarray, costs: np.ndarray, base: float) -> np.ndarray:
    return base + np.concatenate([columns[rows] @ costs for rows in _chunks(len(columns))])


def _robust_errors(
    columns: np.ndarray, products: _Products, weights: np.ndarray, residuals: np.ndarray
) -> np.ndarray:
    """Standard errors HC3 of the coefficients of weighted least squares, and of the intercept."""
    inverse, total = np.linalg.inv(products.gram), weights.sum()
    squares, of_base = np.zeros(len(inverse)), 0.0
    for rows in _chunks(len(columns)):
        part, own = products.rows(columns, rows), weights[rows]
        inner = part @ inverse
        leverage = own * (1 / total + np.einsum("ij,ij->i", part, inner))
        if (leverage > 1 - _CERTAIN).any():
            raise DataError("single requests determine a cost: more requests are needed")
        moved = own * residuals[rows] / (1 - leverage)
        change = inner * moved[:, None] / products.scales
        squares += (change**2).sum(axis=0)
        of_base += float(np.sum((moved / total - change @ products.means) ** 2))
    return np.sqrt(np.append(squares, of_base))


def _describe(design: _Design, fit: _Fit, level: float) -> MeasuredCosts:
    """Costs in a request that computes the feature for the usual number of documents."""
    requests, n = design.requests, len(design.columns)
    counts = np.count_nonzero(design.columns, axis=0)
    usual = np.append(design.columns.sum(axis=0, dtype=np.float64) / np.maximum(1, counts), 1.0)
    shares = [*(counts / n).tolist(), 1.0]
    names = [*design.features, *design.groups, "base"]
    parts = (part.tolist() for part in (fit.cost * usual, fit.lower * usual, fit.upper * usual))
    *every, base = map(MeasuredCost, names, *parts, shares)
    found = {one.name: one for one in every[: len(design.features)]}
    calls = {one.name: one for one in every[len(design.features) :]}
    for name in design.absorbed:
        share = calls[design.group_of[name]].share
        found[name] = MeasuredCost(name, 0.0, 0.0, 0.0, share)
    features = [
        MeasuredCost(**{**asdict(found[name]), "group": design.group_of.get(name, "")})
        for name in requests.names
    ]
    notes = []
    if design.absorbed:
        notes.append(
            "The cost of features that are always computed with their group is part of that of "
            f"the group: {list_names(design.absorbed)}."
        )
    if design.unknown:
        n_unknown = quantity(len(design.unknown), "feature")
        notes.append(f"The groups list {n_unknown} without a column: {list_names(design.unknown)}.")
    if requests.left_out:
        notes.append(f"Columns that are no features: {list_names(requests.left_out)}.")
    return MeasuredCosts(
        features, [*calls.values()], base, requests.unit, level, n, fit.explained, notes
    )
