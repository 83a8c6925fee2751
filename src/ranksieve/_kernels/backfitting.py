"""Leave-query-out errors of back-fitted candidates on sparse columns.

Entries of column i are ``ptr[i]:ptr[i + 1]`` of ``rows`` and ``values``, in row order, so that
those of one query are adjacent: a *run*. Nothing is stored for a query within which the feature is
constant; a run without zeros is centered; every other run has the values of the data. Therefore,
with v centered and s the sum of a run of x,

    x_Q.v = sum of x v over the run,    x_Q.x_Q = sum of x^2 over the run - s^2 / |Q|,

for the centered x_Q. The difference is at least 1 / |Q| of its first term, because Q has a zero.
"""

from typing import NamedTuple

import numpy as np

from ranksieve._kernels.compiling import kernel, part
from ranksieve._kernels.ranking import longest_query

# Columns of products: a candidate with itself, with the labels, and with the model's features.
OWN, LABELS, MODEL = range(3)


class FittedModel(NamedTuple):
    """Model fitted to all rows: inner = X_S X_S' + lambda I, xy = X_S y, and weights.

    ``alone`` says for each feature whether it varies in only one query.
    """

    features: np.ndarray
    alone: np.ndarray
    inner: np.ndarray
    xy: np.ndarray
    weights: np.ndarray


class WithoutQuery(NamedTuple):
    """Residuals p (rows,) of each query under the model fitted without it.

    ``shifts`` (queries, features of the model) are the differences of its weights from those fitted
    to all rows, and ``touched`` (queries,) says for which queries they differ.
    """

    p: np.ndarray
    shifts: np.ndarray
    touched: np.ndarray


class Candidates(NamedTuple):
    """Columns, whether each varies in several queries, and products (columns, 2 + model)."""

    columns: np.ndarray
    several: np.ndarray
    products: np.ndarray


@part
def _run_end(rows, entry, last, end_row):
    """Return the end of the run that starts at ``entry``; its query ends before ``end_row``."""
    while entry < last and rows[entry] < end_row:
        entry += 1
    return entry


@part
def _center(values, start, end):
    """Center values in place; if they are all equal, change nothing and return False."""
    first, total, varies = values[start], 0.0, False
    for entry in range(start, end):
        total += values[entry] - first
        varies |= values[entry] != first
    if varies:
        mean = total / (end - start)  # mean of differences: a large offset would cost digits
        for entry in range(start, end):
            values[entry] = (values[entry] - first) - mean
    return varies


@kernel
def keep_varying(ptr, rows, values, query_of, query_ptr, kept_ptr, varying):
    """Drop runs that are constant within their query and center those without zeros.

    Entries must not be zero. Moves entries of ``rows`` and ``values`` to the front; updates
    ``kept_ptr`` (columns + 1,) and ``varying`` (columns,), the number of runs kept.
    """
    kept = 0
    kept_ptr[0] = 0
    for i in range(ptr.size - 1):
        start = ptr[i]
        while start < ptr[i + 1]:
            query = query_of[rows[start]]
            end = _run_end(rows, start, ptr[i + 1], query_ptr[query + 1])
            full = end - start == query_ptr[query + 1] - query_ptr[query]
            if not full or _center(values, start, end):
                varying[i] += 1
                for entry in range(start, end):
                    rows[kept], values[kept] = rows[entry], values[entry]
                    kept += 1
            start = end
        kept_ptr[i + 1] = kept


@kernel
def own_products(ptr, rows, values, query_of, query_ptr, y, columns, products):
    """Multiply columns by themselves and by the labels; updates ``products`` (2, columns)."""
    for position in range(columns.size):
        i = columns[position]
        own = labels = 0.0
        start = ptr[i]
        while start < ptr[i + 1]:
            query = query_of[rows[start]]
            end = _run_end(rows, start, ptr[i + 1], query_ptr[query + 1])
            total = square = 0.0
            for entry in range(start, end):
                total += values[entry]
                square += values[entry] * values[entry]
                labels += values[entry] * y[rows[entry]]
            own += square - total * total / (query_ptr[query + 1] - query_ptr[query])
            start = end
        products[OWN, position] = own
        products[LABELS, position] = labels


@kernel
def products_with(ptr, rows, values, centered, columns, products):
    """Multiply columns by a centered column (rows,); updates ``products`` (columns,)."""
    for position in range(columns.size):
        i = columns[position]
        total = 0.0
        for entry in range(ptr[i], ptr[i + 1]):
            total += values[entry] * centered[rows[entry]]
        products[position] = total


@kernel
def centered_column(ptr, rows, values, query_of, query_ptr, column, centered):
    """Write a query-wise centered column to ``centered`` (rows,), which must hold zeros."""
    start, last = ptr[column], ptr[column + 1]
    while start < last:
        query = query_of[rows[start]]
        end = _run_end(rows, start, last, query_ptr[query + 1])
        total = 0.0
        for entry in range(start, end):
            centered[rows[entry]] = values[entry]
            total += values[entry]
        mean = total / (query_ptr[query + 1] - query_ptr[query])
        for row in range(query_ptr[query], query_ptr[query + 1]):
            centered[row] -= mean
        start = end


@part
def _query_columns(ptr, rows, values, model, query_start, query_end, entries, own):
    """Center the model's columns in one query; return whether any of them varies there.

    ``entries`` (columns of the model,) are the first entries after those of earlier queries.
    Updates ``entries`` and ``own`` (rows of the query, columns of the model).
    """
    any_varies = False
    for j in range(model.size):
        end = _run_end(rows, entries[j], ptr[model[j] + 1], query_end)
        if end == entries[j]:
            own[:, j] = 0.0
            continue
        any_varies = True
        total = 0.0
        for entry in range(entries[j], end):
            total += values[entry]
        own[:, j] = -total / (query_end - query_start)
        for entry in range(entries[j], end):
            own[rows[entry] - query_start, j] += values[entry]
        entries[j] = end
    return any_varies


@part
def _fit_without(own, labels, inner, xy, alone):
    """Fit weights without a query; ``own`` holds the query's rows of the model's features."""
    inner, xy = inner - own.T @ own, xy - own.T @ labels
    for j in range(xy.size):
        if alone[j] and np.any(own[:, j] != 0.0):
            # The feature is zero in all other queries; subtracting would leave rounding errors.
            inner[j, :] = 0.0
            inner[:, j] = 0.0
            inner[j, j] = 1.0
            xy[j] = 0.0
    return np.linalg.solve(inner, xy)


@kernel
def leave_queries_out(columns, query_ptr, y, model, without_query):
    """Fit the model without each query; updates the arrays of ``without_query``.

    ``columns`` is the tuple (ptr, rows, values).
    """
    ptr, rows, values = columns
    features, alone, inner, xy, weights = model
    p, shifts, touched = without_query
    space, entries = np.empty((longest_query(query_ptr), features.size)), ptr[features]
    for query in range(query_ptr.size - 1):
        start, end = query_ptr[query], query_ptr[query + 1]
        own, labels = space[: end - start], y[start:end]
        touched[query] = _query_columns(ptr, rows, values, features, start, end, entries, own)
        if touched[query]:
            without = _fit_without(own, labels, inner, xy, alone)
            shifts[query] = without - weights
            p[start:end] = labels - own @ without
        else:
            shifts[query] = 0.0
            p[start:end] = labels


@kernel
def add_changes(columns, query_of, query_ptr, weights, without_query, lam, candidates, changes):
    """Add the change of these queries' error by each candidate; updates ``changes``.

    ``columns`` is the tuple (ptr, rows, values). A candidate that varies in no more than one
    query has weight 0 in the model without that query.
    """
    ptr, rows, values = columns
    p, shifts, touched = without_query
    places, several, products = candidates
    n_model = weights.size
    for position in range(places.size):
        if not several[position]:
            continue
        i, known = places[position], products[position]
        left, linked = known[LABELS], False  # x_i.(y - X_S' w), over all rows
        for j in range(n_model):
            left -= known[MODEL + j] * weights[j]
            linked |= known[MODEL + j] != 0.0
        start = ptr[i]
        while start < ptr[i + 1]:
            query = query_of[rows[start]]
            end = _run_end(rows, start, ptr[i + 1], query_ptr[query + 1])
            total = square = residual = 0.0
            for entry in range(start, end):
                total += values[entry]
                square += values[entry] * values[entry]
                residual += values[entry] * p[rows[entry]]
            own = square - total * total / (query_ptr[query + 1] - query_ptr[query])
            nu = left - residual
            if linked and touched[query]:
                for j in range(n_model):
                    nu -= known[MODEL + j] * shifts[query, j]
            omega = nu / (max(0.0, known[OWN] - own) + lam)
            changes[position] += omega * (omega * own - 2.0 * residual)
            start = end
