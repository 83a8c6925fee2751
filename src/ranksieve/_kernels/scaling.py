"""Scale features within queries, in place for dense matrices and row by row for CSR.

Both scalings are one map per query and feature,

    x -> (u(x) - mean) / deviation,    u(x) = (factor * x - shift) / span,

where u maps the query's smallest value to 0 and its largest to 1. Min-max scaling stops there (mean
0, deviation 1). Standardization uses the mean and deviation of u, which is equivalent to those of x
but avoids overflow and cancellation. A constant feature has u = 0. Missing values (NaN) stay and
are ignored.

``maps`` is the tuple (factor, shift, span, mean, deviation) of arrays with one entry per
feature.
"""

import numpy as np

from ranksieve._kernels.compiling import inlined, kernel, part


@part
def _new_maps(n_features):
    return (
        np.ones(n_features),
        np.zeros(n_features),
        np.ones(n_features),
        np.zeros(n_features),
        np.ones(n_features),
    )


@inlined
def _scale_value(value, maps, feature):
    factor, shift, span, mean, deviation = maps
    unit = (factor[feature] * value - shift[feature]) / span[feature]
    return (unit - mean[feature]) / deviation[feature]


@part
def _set_unit_map(low, high, maps, feature):
    """Map ``low`` to 0 and ``high`` to 1; reset mean and deviation."""
    factor, shift, span, mean, deviation = maps
    factor[feature] = 1.0
    if np.isinf(high - low):  # halving is exact for numbers this large
        factor[feature] = 0.5
    shift[feature] = factor[feature] * low
    span[feature] = factor[feature] * high - shift[feature] if high > low else 1.0
    mean[feature], deviation[feature] = 0.0, 1.0


@part
def _find_ranges(block, low, high, n_present):
    """Find each feature's range and number of values; updates the last three in place."""
    low[:] = np.inf
    high[:] = -np.inf
    n_present[:] = 0
    for row in range(block.shape[0]):
        for feature in range(block.shape[1]):
            value = np.float64(block[row, feature])
            # These comparisons are false for NaN.
            low[feature] = value if value < low[feature] else low[feature]
            high[feature] = value if value > high[feature] else high[feature]
            n_present[feature] += value == value
    for feature in range(block.shape[1]):
        if n_present[feature] == 0:
            low[feature] = high[feature] = 0.0


@inlined
def _or_zero(value):
    return value if value == value else 0.0


@part
def _find_moments(block, n_present, maps, total):
    """Set mean and deviation, in two passes over the block; ``total`` is scratch space."""
    mean, deviation = maps[3], maps[4]
    total[:] = 0.0
    for row in range(block.shape[0]):
        for feature in range(block.shape[1]):
            total[feature] += _or_zero(_scale_value(np.float64(block[row, feature]), maps, feature))
    for feature in range(block.shape[1]):
        mean[feature] = total[feature] / max(1, n_present[feature])
        total[feature] = 0.0
    for row in range(block.shape[0]):
        for feature in range(block.shape[1]):
            total[feature] += (
                _or_zero(_scale_value(np.float64(block[row, feature]), maps, feature)) ** 2
            )
    for feature in range(block.shape[1]):
        if total[feature] > 0.0:  # otherwise the feature is constant and stays 0
            deviation[feature] = np.sqrt(total[feature] / n_present[feature])


@kernel
def scale_dense(values, query_ptr, standardize, first, last):
    """Scale the rows of queries ``first`` to ``last - 1`` in place.

    ``values`` (rows, features) are float32 or float64; sums are float64. ``standardize`` asks for
    zero mean and unit variance instead of the range [0, 1].
    """
    n_features = values.shape[1]
    maps = _new_maps(n_features)
    low, high, total = np.empty(n_features), np.empty(n_features), np.empty(n_features)
    n_present = np.empty(n_features, np.int64)
    for query in range(first, last):
        block = values[query_ptr[query] : query_ptr[query + 1]]
        _find_ranges(block, low, high, n_present)
        for feature in range(n_features):
            _set_unit_map(low[feature], high[feature], maps, feature)
        if standardize:
            _find_moments(block, n_present, maps, total)
        for row in range(block.shape[0]):
            for feature in range(n_features):
                block[row, feature] = _scale_value(np.float64(block[row, feature]), maps, feature)


@part
def _find_sparse_ranges(indices, values, stored, missing, low, high, seen):
    """Find the range of each feature's stored values; return how many features are in ``seen``.

    ``stored`` counts a feature's entries, and ``missing`` those that are NaN; ``stored`` must be
    zero at the start.
    """
    n_seen = 0
    for entry in range(indices.size):
        feature, value = indices[entry], np.float64(values[entry])
        if stored[feature] == 0:
            seen[n_seen] = feature
            n_seen += 1
            low[feature], high[feature] = np.inf, -np.inf
            missing[feature] = 0
        stored[feature] += 1
        missing[feature] += value != value
        # These comparisons are false for NaN.
        low[feature] = value if value < low[feature] else low[feature]
        high[feature] = value if value > high[feature] else high[feature]
    return n_seen


@part
def _find_sparse_moments(indices, values, n_rows, counts, seen, maps, total):
    """Set mean and deviation of the features in ``seen``, including implicit zeros.

    ``counts`` are the numbers of entries and of missing entries of each feature.
    """
    stored, missing = counts
    mean, deviation = maps[3], maps[4]
    for feature in seen:
        total[feature] = (n_rows - stored[feature]) * _scale_value(0.0, maps, feature)
    for entry in range(indices.size):
        feature = indices[entry]
        total[feature] += _or_zero(_scale_value(np.float64(values[entry]), maps, feature))
    for feature in seen:
        mean[feature] = total[feature] / max(1, n_rows - missing[feature])
        total[feature] = (n_rows - stored[feature]) * _scale_value(0.0, maps, feature) ** 2
    for entry in range(indices.size):
        feature = indices[entry]
        total[feature] += _or_zero(_scale_value(np.float64(values[entry]), maps, feature)) ** 2
    for feature in seen:
        if total[feature] > 0.0:
            deviation[feature] = np.sqrt(total[feature] / (n_rows - missing[feature]))


@part
def _prepare_sparse(indices, values, n_rows, standardize, spare, maps):
    """Set the maps of one query; ``spare`` are scratch arrays (features,).

    Returns the sorted features whose implicit zeros do not stay zero. Features without entries in
    the query are all zero and need no work.
    """
    stored, missing, seen, low, high, total = spare
    n_seen = _find_sparse_ranges(indices, values, stored, missing, low, high, seen)
    features = np.sort(seen[:n_seen])
    for feature in features:
        if stored[feature] < n_rows:
            low[feature] = min(low[feature], 0.0)
            high[feature] = max(high[feature], 0.0)
        elif stored[feature] == missing[feature]:
            low[feature] = high[feature] = 0.0
        _set_unit_map(low[feature], high[feature], maps, feature)
    if standardize:
        counts = stored, missing
        _find_sparse_moments(indices, values, n_rows, counts, features, maps, total)
    n_filled = 0
    for feature in features:
        if stored[feature] < n_rows and _scale_value(0.0, maps, feature) != 0.0:
            seen[n_filled] = feature
            n_filled += 1
        stored[feature] = 0
    return seen[:n_filled]


@part
def _write_row(indices, values, filled, maps, write, out_indices, out_values, at):
    """Merge stored entries with the filled features, both sorted; drop zeros.

    Returns the position after the last entry; only counts unless ``write`` is true.
    """
    entry, place = 0, 0
    while entry < indices.size or place < filled.size:
        if place == filled.size or (entry < indices.size and indices[entry] <= filled[place]):
            feature, value = np.int64(indices[entry]), np.float64(values[entry])
            place += place < filled.size and filled[place] == feature
            entry += 1
        else:
            feature, value = filled[place], 0.0
            place += 1
        scaled = _scale_value(value, maps, feature)
        if scaled != 0.0:
            if write:
                out_indices[at], out_values[at] = feature, scaled
            at += 1
    return at


@kernel
def scale_sparse(matrix, n_features, query_ptr, standardize, write, out, first, last):
    """Scale the rows of queries ``first`` to ``last - 1`` of a CSR matrix into another.

    Call it twice: without ``write``, it sets ``out_ptr[row + 1]`` to the number of entries of each
    row; with ``write``, after the counts were summed, it fills in the entries. Takes O(entries in
    and out) time and O(features) memory. ``matrix`` is (row_ptr, indices, values), with indices
    sorted within a row and without duplicates; ``out`` is the same of the scaled matrix.
    """
    row_ptr, indices, values = matrix
    out_ptr, out_indices, out_values = out
    maps = _new_maps(n_features)
    stored, missing = np.zeros(n_features, np.int64), np.zeros(n_features, np.int64)
    seen = np.empty(n_features, np.int64)
    low, high, total = np.empty(n_features), np.empty(n_features), np.empty(n_features)
    for query in range(first, last):
        begin, end = query_ptr[query], query_ptr[query + 1]
        entries = slice(row_ptr[begin], row_ptr[end])
        filled = _prepare_sparse(
            indices[entries],
            values[entries],
            end - begin,
            standardize,
            (stored, missing, seen, low, high, total),
            maps,
        )
        for row in range(begin, end):
            entries = slice(row_ptr[row], row_ptr[row + 1])
            start = out_ptr[row] if write else 0
            stop = _write_row(
                indices[entries],
                values[entries],
                filled,
                maps,
                write,
                out_indices,
                out_values,
                start,
            )
            if not write:
                out_ptr[row + 1] = stop
