"""Leave-query-out errors of candidates that are fitted to the residual, on sparse data."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from ranksieve._kernels.backfitting import (
    LABELS,
    MODEL,
    OWN,
    Candidates,
    FittedModel,
    WithoutQuery,
    add_changes,
    centered_column,
    keep_varying,
    leave_queries_out,
    own_products,
    products_with,
)
from ranksieve.data import Block
from ranksieve.engine import Workers, changes_state, starts_over
from ranksieve.sums.centered_rows import error_sums
from ranksieve.sums.checks import finite
from ranksieve.sums.chunks import row_weights_of, weights_of

_AT_A_TIME = 4096  # candidates whose products are transposed at a time


class Backfitting:
    r"""Statistic: leave-query-out errors of back-fitted candidates.

    The model of the features S without query Q has weights

    .. math:: w_{-Q} = (X_S X_S^T + \lambda I - X_{SQ} X_{SQ}^T)^{-1} (X_S y - X_{SQ} y_Q)

    and residual :math:`p_Q = y_Q - X_{SQ}^T w_{-Q}`, where rows of X are features and all is
    centered within queries, and multiplied by the root of the query's weight. A candidate i gets
    the weight that fits this model's residual best, again without Q:

    .. math:: \omega_Q = \frac{x_i \cdot y - X_S x_i \cdot w_{-Q} - x_{iQ} \cdot p_Q}
              {x_i \cdot x_i - x_{iQ} \cdot x_{iQ} + \lambda},
              \qquad error_i = \sum_Q \|p_Q - \omega_Q x_{iQ}\|^2 .

    The nonzero values of the block, dense or CSR, are kept by column, without those of queries
    within which the feature is constant. Nothing else is of the size of the data, and nothing that
    is kept has one entry per feature.

    Notes
    -----
    A candidate's error takes O(k) time for each of its nonzero values, with k features in the
    model; fitting the model without each query takes O(k^3) for each query in which one of its
    features varies. Products of candidates over all rows are not copied: blocks of one process
    share them.
    """

    title = "Back-fitting"

    def __init__(self, block: Block) -> None:
        lengths = np.diff(block.query_ptr)
        self.query_ptr, self.query_weights = block.query_ptr, weights_of(block)
        self.query_of = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        roots = row_weights_of(block, np.sqrt(self.query_weights))
        self._read_columns(block, roots)
        self.y = _center(block.y, self.query_ptr) * roots
        self.model = np.empty(0, dtype=np.int64)  # columns of the features in the model
        self._fit(np.empty(0, dtype=np.bool_), np.empty((0, 0)), np.empty(0), np.empty(0))

    def _read_columns(self, block: Block, roots: np.ndarray) -> None:
        """Columns of the features that vary in this block, and a last empty one for all others."""
        entries = sparse.csc_matrix(block.X, dtype=np.float64)
        if not np.isfinite(entries.data).all():
            block.check_finite()
        if block.query_weights is not None:
            entries.data = entries.data * roots[entries.indices]
        entries.sum_duplicates()
        entries.eliminate_zeros()
        self.n_features = entries.shape[1]
        self.rows, self.values = entries.indices.astype(np.int32, copy=False), entries.data
        ptr = np.empty(self.n_features + 1, dtype=np.int64)
        n_varying = np.zeros(self.n_features, dtype=np.int64)
        own_ptr = entries.indptr.astype(np.int64)
        keep_varying(own_ptr, self.rows, self.values, *self._queries, ptr, n_varying)
        self.present = np.flatnonzero(n_varying)
        self.n_varying = n_varying[self.present]
        self.ptr = np.concatenate([ptr[self.present], ptr[[-1, -1]]])

    def _columns_of(self, features: np.ndarray) -> np.ndarray:
        """Column of each feature."""
        empty = len(self.present)
        columns = np.searchsorted(self.present, features)
        found = np.append(self.present, self.n_features)[columns] == features
        return np.where(found, columns, empty)

    @property
    def _entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.ptr, self.rows, self.values

    @property
    def _queries(self) -> tuple[np.ndarray, np.ndarray]:
        return self.query_of, self.query_ptr

    def begin(self) -> tuple[np.ndarray, int, float, float, float]:
        """Start from the empty model; return counts and its error.

        These are the number of queries in which each feature varies, the number and weight of the
        queries used, and the error of the empty model as in :meth:`accept`.
        """
        weights = self.query_weights[np.diff(self.query_ptr) > 1]
        n_queries, weight = int(np.count_nonzero(weights)), float(weights.sum())
        n_varying = np.zeros(self.n_features, dtype=np.int64)
        n_varying[self.present] = self.n_varying
        return n_varying, n_queries, weight, *self._error()

    @starts_over(keeping=("accept",))
    def candidates(self, features: np.ndarray | None, several: np.ndarray) -> np.ndarray:
        """Make some features, or all, candidates; return their products.

        Rows of the result are products of candidates with themselves, with labels, and with each
        feature of the model. ``several`` marks candidates that vary in more than one query.
        """
        self.several, self.products = several, list[np.ndarray]()
        if features is None:
            self.positions, self.columns = self.present, np.arange(len(self.present))
        else:  # features that do not vary in this block add nothing
            columns = self._columns_of(features)
            self.positions = np.flatnonzero(columns < len(self.present))
            self.columns = columns[self.positions]
        products = np.zeros((MODEL + len(self.model), len(several)))
        own = np.empty((MODEL, len(self.positions)))
        own_products(*self._entries, *self._queries, self.y, self.columns, own)
        products[:MODEL, self.positions] = own
        for j, column in enumerate(self.model.tolist()):
            products[MODEL + j, self.positions] = self._products_with(column)
        return products

    def latest(self) -> np.ndarray:
        """Products of the candidates with the feature added last."""
        products = np.zeros(len(self.several))
        products[self.positions] = self._products_with(int(self.model[-1]))
        return products

    @changes_state
    def changes(self, products: tuple[np.ndarray, ...], lam: float) -> np.ndarray:
        """Change of the error by each candidate.

        ``products`` are the rows of products, summed over all blocks, that are new.
        """
        self.products.extend(products)
        changes = np.zeros(len(self.several))
        for start in range(0, len(self.positions), _AT_A_TIME):
            part = slice(start, start + _AT_A_TIME)
            positions = self.positions[part]
            found = np.zeros(len(positions))
            add_changes(
                self._entries,
                *self._queries,
                self.weights,
                WithoutQuery(self.p, self.shifts, self.touched),
                lam,
                Candidates(
                    self.columns[part],
                    self.several[positions],
                    np.stack([row[positions] for row in self.products], axis=1),
                ),
                found,
            )
            changes[positions] = found
        return changes

    @changes_state
    def accept(
        self,
        feature: int,
        alone: np.ndarray,
        inner: np.ndarray,
        xy: np.ndarray,
        weights: np.ndarray,
    ) -> tuple[float, float]:
        """Add a feature to the model, and return the model's error.

        ``alone`` marks features of the model that vary in one query only; ``inner`` = X_S X_S' +
        lambda I, ``xy`` = X_S y and ``weights`` are those of all rows. The new feature is last.
        """
        self.model = np.append(self.model, self._columns_of(np.array([feature])))
        self._fit(alone, inner, xy, weights)
        return self._error()

    def _fit(
        self, alone: np.ndarray, inner: np.ndarray, xy: np.ndarray, weights: np.ndarray
    ) -> None:
        """Fit the model without each query."""
        n_queries = len(self.query_ptr) - 1
        self.weights, self.p = weights, np.empty(len(self.y))
        self.shifts = np.empty((n_queries, len(weights)))
        self.touched = np.empty(n_queries, dtype=np.bool_)
        leave_queries_out(
            self._entries,
            self.query_ptr,
            self.y,
            FittedModel(self.model, alone, inner, xy, weights),
            WithoutQuery(self.p, self.shifts, self.touched),
        )

    def _products_with(self, column: int) -> np.ndarray:
        """Products of the candidates that vary here with a column."""
        centered, products = np.zeros(len(self.y)), np.empty(len(self.columns))
        centered_column(*self._entries, *self._queries, column, centered)
        products_with(*self._entries, centered, self.columns, products)
        return products

    def _error(self) -> tuple[float, float]:
        """Sums over queries of the model's error and of its square."""
        return error_sums(np.add.reduceat(self.p**2, self.query_ptr[:-1]), self.query_weights)


class BackfittedModel:
    """Pairwise least squares on a growing set of features; ``workers`` of :class:`Backfitting`."""

    candidates: np.ndarray  # features whose errors are computed, in ascending order
    n_varying: np.ndarray  # (features,): number of queries in which each feature varies
    n_queries: int  # with two documents or more and a weight above 0
    weight: float  # of these queries
    error: float  # sum over queries of the leave-query-out error
    square: float  # sum of its square

    def __init__(self, workers: Workers[Backfitting], lam: float, keeps_all: bool = True) -> None:
        self.workers, self.lam = workers, lam
        self.keeps_all = keeps_all  # products of all features, instead of those of candidates
        begun = workers.sum(Backfitting.begin)
        self.n_varying, self.n_queries, self.weight, self.error, self.square = begun
        self.chosen: list[int] = []  # in the order in which they were added
        self.coefficients = np.empty(0)  # their weights
        self._inner, self._xy = np.empty((0, 0)), np.empty(0)
        self.candidates = np.empty(0, dtype=np.intp)
        self._is_current = False  # whether there are products with all features of the model
        self._products: list[np.ndarray] = []
        self._n_known = 0  # number of rows of products that the blocks have

    def addition_errors(self, candidates: np.ndarray) -> np.ndarray:
        """Error of the model with each of some features fitted to its residual.

        Features are in ascending order; errors of those in the model are meaningless.
        """
        self._ask_products(candidates)
        new_products = tuple(self._products[self._n_known :])
        self._n_known = len(self._products)
        errors = self.error + self.workers.sum(Backfitting.changes, new_products, self.lam)
        return errors[np.searchsorted(self.candidates, candidates)]

    def _ask_products(self, features: np.ndarray) -> None:
        """Get the products of candidates: some features, or all and from then on."""
        if self.keeps_all and self._is_current:
            return
        self._is_current = True
        if self.keeps_all and len(self.candidates):
            self._products.append(self.workers.sum(Backfitting.latest))
            return
        self.candidates = np.arange(len(self.n_varying)) if self.keeps_all else features
        several = self.n_varying[self.candidates] > 1
        request = None if self.keeps_all else features
        self._products = list(self.workers.sum(Backfitting.candidates, request, several))
        self._n_known = 0

    def change(self, feature: int) -> None:
        """Add a feature and fit all weights again."""
        if not self._is_current or feature not in self.candidates:
            self._ask_products(np.array([feature]))
        position = int(np.searchsorted(self.candidates, feature))
        known = np.array([row[position] for row in self._products])
        size = len(self.chosen) + 1
        inner = np.empty((size, size))
        inner[:-1, :-1] = self._inner
        inner[-1, :-1] = inner[:-1, -1] = known[MODEL:]
        inner[-1, -1] = known[OWN] + self.lam
        self._inner, self._xy = inner, np.append(self._xy, known[LABELS])
        self.coefficients = cho_solve(cho_factor(finite(inner)), self._xy)
        self.chosen.append(feature)
        alone = self.n_varying[self.chosen] == 1
        self.error, self.square = self.workers.sum(
            Backfitting.accept, feature, alone, inner, self._xy, self.coefficients
        )
        self._is_current = False


def _center(values: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    """Values minus the mean of their query."""
    counts = np.diff(query_ptr)
    values = values - np.repeat(values[query_ptr[:-1]], counts)
    return values - np.repeat(np.add.reduceat(values, query_ptr[:-1]) / counts, counts)
