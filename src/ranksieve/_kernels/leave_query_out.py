"""Exact leave-query-out errors of pairwise least squares, for all candidate features at once.

Notation, as in the papers: rows of a query Q are centered; S is the set of features in the model,
G = (X_S X_S' + lambda I)^-1 over all rows; for feature i, C_i = G x_i and
U_i = (G_QQ)^-1 C_i, the residual of regressing x_i on S without query Q; a = G y, and
p = (G_QQ)^-1 a, the residual of the labels without Q. Changing the model by one feature b, with
g = C_b and u = U_b, is a rank-one update of all of them:

    C_i' = C_i - g t_i,    U_i' = U_i - u r_i,    r_i = t_i + gamma (s_i - (u.g) t_i),

where s_i = g.U_i = u.C_i. So the sums C.U, U.U, U.a and U.p of a query, which give the error of
every candidate, follow from s_i and u.U_i: a round reads U once, and only some rounds write it.
"""

from typing import NamedTuple

import numpy as np

from ranksieve._kernels.compiling import kernel, part

# Rows of a query's sums, each with one number per feature.
CU, UU, UA, UP = range(4)

# Numbers of a query from which its sums are updated: products of u, a and p before the change.
GAMMA, KAPPA, U_G, U_U, U_A, U_P = range(6)
N_FACTS = 6


class Pending(NamedTuple):
    """The last ``n`` changes of U, not yet applied to it: u (rows, changes) and r of each."""

    u: np.ndarray
    r: np.ndarray
    n: int


class ModelStep(NamedTuple):
    """A change of the model by one feature, with what :func:`change_model` computes of it."""

    u: np.ndarray
    g: np.ndarray
    facts: np.ndarray
    residuals: np.ndarray
    d: float
    t: np.ndarray


class NextChanges(NamedTuple):
    """1 / c and d of all features that could be changed next."""

    inverse: np.ndarray
    d: np.ndarray


@kernel
def begin_sums(U, y, query_ptr, lam, sums):
    """Compute the sums of the empty model, where C = U / lambda and p = y; updates ``sums``."""
    sums[:] = 0.0
    for query in range(query_ptr.size - 1):
        own = sums[query]
        for row in range(query_ptr[query], query_ptr[query + 1]):
            for i in range(U.shape[1]):
                own[UU, i] += U[row, i] * U[row, i]
                own[UP, i] += U[row, i] * y[row]
        for i in range(U.shape[1]):
            own[CU, i] = own[UU, i] / lam
            own[UA, i] = own[UP, i] / lam


@kernel
def add_errors(sums, residual, inverse, d, kappa, errors):
    """Add the error of a query after each possible change of the model; updates the last two.

    ``sums`` (4, features) and ``residual``, which is p.p, belong to the query; ``inverse`` is
    1 / c. After the change the query's residual is p - kappa U_i.
    """
    cu, uu, ua, up = sums[CU], sums[UU], sums[UA], sums[UP]
    for i in range(errors.size):
        kappa[i] = d[i] + (ua[i] - d[i] * cu[i]) / (cu[i] - inverse[i])
    for i in range(errors.size):
        errors[i] += residual - kappa[i] * (2.0 * up[i] - kappa[i] * uu[i])


@kernel
def all_errors(sums, residuals, inverse, d, errors):
    """Compute errors after each possible change from known sums; updates ``errors``.

    ``residuals`` (queries,) are p.p.
    """
    kappa = np.empty(errors.size)
    for query in range(residuals.size):
        add_errors(sums[query], residuals[query], inverse, d, kappa, errors)


@kernel
def change_model(u, g, a, p, query_ptr, inverse, d, facts, residuals):
    """Update residuals of the labels for a change by one feature.

    Updates ``a`` and ``p`` (rows,), ``facts`` (queries, N_FACTS) and ``residuals`` (queries,),
    which are p.p.
    """
    for query in range(query_ptr.size - 1):
        start, end = query_ptr[query], query_ptr[query + 1]
        ug = uu = ua = up = pp = 0.0
        for row in range(start, end):
            ug += u[row] * g[row]
            uu += u[row] * u[row]
            ua += u[row] * a[row]
            up += u[row] * p[row]
        gamma = 1.0 / (ug - inverse)
        kappa = d + gamma * (ua - d * ug)
        for row in range(start, end):
            p[row] -= kappa * u[row]
            a[row] -= d * g[row]
            pp += p[row] * p[row]
        own = facts[query]
        own[GAMMA], own[KAPPA], own[U_G] = gamma, kappa, ug
        own[U_U], own[U_A], own[U_P] = uu, ua, up
        residuals[query] = pp


@part
def _change_sums(own, fact, d, t, s, uU, r):
    """Update a query's sums ``own`` and ``r`` in place; ``uU`` are u.U_i before the change."""
    gamma, kappa, ug = fact[GAMMA], fact[KAPPA], fact[U_G]
    uu, ua, up = fact[U_U], fact[U_A], fact[U_P]
    cu_sums, uu_sums, ua_sums, up_sums = own[CU], own[UU], own[UA], own[UP]
    n = t.size
    # One loop for each sum: in a single loop the compiler cannot prove that the arrays do not
    # overlap, and does not vectorize.
    for i in range(n):
        r[i] = t[i] + gamma * (s[i] - ug * t[i])
    for i in range(n):
        cu_sums[i] += t[i] * r[i] * ug - (r[i] + t[i]) * s[i]
    for i in range(n):
        uu_sums[i] += r[i] * (r[i] * uu - 2.0 * uU[i])
    for i in range(n):
        ua_sums[i] += r[i] * (d * ug - ua) - d * s[i]
    for i in range(n):
        up_sums[i] += r[i] * (kappa * uu - up) - kappa * uU[i]


@part
def _settle(U, start, end, pending_u, pending_r, n_pending):
    """Apply pending changes to a query's rows of U, in place."""
    paired = n_pending - n_pending % 2
    for row in range(start, end):
        for j in range(0, paired, 2):  # two changes at a time: half the loads and stores of U
            first, second = pending_u[row, j], pending_u[row, j + 1]
            for i in range(U.shape[1]):
                U[row, i] -= first * pending_r[j, i] + second * pending_r[j + 1, i]
        for j in range(paired, n_pending):
            factor = pending_u[row, j]
            for i in range(U.shape[1]):
                U[row, i] -= factor * pending_r[j, i]


@kernel
def pass_over(U, query_ptr, pending, settle, step, candidates, sums, errors):
    """Update the sums of all queries for one feature, and add up errors of all next changes.

    U does not include the ``pending`` changes, to which this one is appended. With ``settle`` they
    are applied to U first. Updates U, the arrays of ``pending``, ``sums`` and ``errors``.
    """
    pending_u, pending_r, n_pending = pending
    u, g, facts, residuals, d, t = step
    n_features = U.shape[1]
    s, uU = np.empty(n_features), np.empty(n_features)
    gu, uu = np.empty(pending_u.shape[1]), np.empty(pending_u.shape[1])
    kappa = np.empty(n_features)
    place = 0 if settle else n_pending
    for query in range(query_ptr.size - 1):
        start, end = query_ptr[query], query_ptr[query + 1]
        changes = pending_r[query]
        if settle:
            _settle(U, start, end, pending_u, changes, n_pending)
        s[:] = 0.0
        uU[:] = 0.0
        gu[:] = 0.0
        uu[:] = 0.0
        for row in range(start, end):
            own_g, own_u = g[row], u[row]
            for j in range(place):
                gu[j] += own_g * pending_u[row, j]
                uu[j] += own_u * pending_u[row, j]
            for i in range(n_features):
                s[i] += own_g * U[row, i]
                uU[i] += own_u * U[row, i]
            pending_u[row, place] = own_u
        for j in range(place):
            for i in range(n_features):
                s[i] -= gu[j] * changes[j, i]
                uU[i] -= uu[j] * changes[j, i]
        _change_sums(sums[query], facts[query], d, t, s, uU, changes[place])
        add_errors(sums[query], residuals[query], candidates.inverse, candidates.d, kappa, errors)


@part
def _round_to_largest(columns):
    """Round numbers to 2^-36 of the largest in their column, in place.

    Predictions of documents that the model cannot distinguish differ by rounding errors; this makes
    them tie.
    """
    for i in range(columns.shape[1]):
        largest = 0.0
        for row in range(columns.shape[0]):
            largest = max(largest, abs(columns[row, i]))
        unit = largest * 2.0**-36
        if unit > 0.0:
            for row in range(columns.shape[0]):
                columns[row, i] = np.floor(columns[row, i] / unit + 0.5) * unit


@kernel
def predict_left_out(U, queries, query_ptr, pending, known, sums, candidates, predicted):
    """Predict queries by models fitted without them, after adding each feature.

    Updates ``predicted``, which has the rows of ``queries`` (first, and the one after the last): a
    column for each feature, and a last one for the current model. ``known`` (rows,) are y - p.
    """
    first, last = queries
    pending_u, pending_r, n_pending = pending
    n = U.shape[1]
    kappa, unused = np.empty(n), np.empty(n)
    begin = query_ptr[first]
    for query in range(first, last):
        add_errors(sums[query], 0.0, candidates.inverse, candidates.d, kappa, unused)
        for row in range(query_ptr[query], query_ptr[query + 1]):
            own = predicted[row - begin]
            own[n] = known[row]
            for i in range(n):
                own[i] = U[row, i]
            for j in range(n_pending):
                for i in range(n):
                    own[i] -= pending_u[row, j] * pending_r[query, j, i]
            for i in range(n):
                own[i] = known[row] + kappa[i] * own[i]
        _round_to_largest(predicted[query_ptr[query] - begin : query_ptr[query + 1] - begin])


@kernel
def column_of(U, feature, query_ptr, pending, u):
    """Write a feature's column of U, after the pending changes, to ``u``."""
    pending_u, pending_r, n_pending = pending
    for query in range(query_ptr.size - 1):
        for row in range(query_ptr[query], query_ptr[query + 1]):
            value = np.float64(U[row, feature])
            for j in range(n_pending):
                value -= pending_u[row, j] * pending_r[query, j, feature]
            u[row] = value
