"""Find nearest documents within a query, and how features differ between them."""

import numpy as np

from ranksieve._kernels.compiling import kernel, part
from ranksieve._kernels.ranking import longest_query


@part
def _set_distances(values, document, distances):
    """Set ``distances`` to the L1 distances from a document to all documents.

    ``values`` is (features, documents). The inner loop is over documents, so that the compiler adds
    several at a time, and each sum is in the order of the features.
    """
    distances[:] = 0.0
    for feature in range(values.shape[0]):
        own = values[feature, document]
        for other in range(distances.size):
            distances[other] += abs(values[feature, other] - own)


@part
def _find_nearest(distances, labels, document, hits, misses):
    """Find the documents nearest to one, with its label and with others; updates the last two.

    Returns the numbers of ``hits`` and ``misses``: several if they are equally near, 0 if none
    exists.
    """
    n_hits, n_misses = 0, 0
    nearest_hit, nearest_miss = np.inf, np.inf
    for other in range(distances.size):
        if other == document:
            continue
        distance = distances[other]
        if labels[other] == labels[document]:
            if distance < nearest_hit:
                nearest_hit, n_hits = distance, 0
            if distance == nearest_hit:
                hits[n_hits] = other
                n_hits += 1
        else:
            if distance < nearest_miss:
                nearest_miss, n_misses = distance, 0
            if distance == nearest_miss:
                misses[n_misses] = other
                n_misses += 1
    return n_hits, n_misses


@part
def _add_distances(values, labels, document, hits, misses, weights):
    """Add |y - y_M| |x - x_M| - |x - x_H| for each feature, averaged over ties."""
    for feature in range(values.shape[0]):
        own = values[feature, document]
        apart, alike = 0.0, 0.0
        for miss in misses:
            apart += abs(labels[document] - labels[miss]) * abs(own - values[feature, miss])
        for hit in hits:
            alike += abs(own - values[feature, hit])
        weights[feature] += apart / misses.size - alike / hits.size


@part
def _add_orderings(values, labels, document, misses, weights):
    """Add sign(y - y_M) (x - x_M) for each feature, averaged over ties."""
    for feature in range(values.shape[0]):
        own = values[feature, document]
        ordered = 0.0
        for miss in misses:
            difference = own - values[feature, miss]
            ordered += difference if labels[document] > labels[miss] else -difference
        weights[feature] += ordered / misses.size


@kernel
def add_relief(X, y, query_ptr, query_weights, sampled, by_ordering, weights):
    """Add each query's mean Relief update; updates ``weights`` (features,).

    ``X`` is scaled within queries, which count ``query_weights`` times. The mean is over
    ``sampled`` (rows,) documents; neighbors may be any documents. Returns the weight of the queries
    with a document that has the required neighbors: one with another label and, unless
    ``by_ordering``, one with the same label.
    """
    n_features = X.shape[1]
    longest = longest_query(query_ptr)
    space, distances = np.empty(n_features * longest), np.empty(longest)
    hits, misses = np.empty(longest, np.int64), np.empty(longest, np.int64)
    total = np.empty(n_features)
    total_weight = 0.0
    for query in range(query_ptr.size - 1):
        start, end, weight = query_ptr[query], query_ptr[query + 1], query_weights[query]
        n = end - start
        labels = y[start:end]
        differ = False
        for row in range(1, n):
            differ |= labels[row] != labels[0]
        if not differ or weight == 0.0:
            continue
        values = space[: n_features * n].reshape(n_features, n)
        for row in range(n):
            for feature in range(n_features):
                values[feature, row] = X[start + row, feature]
        total[:] = 0.0
        n_documents = 0
        for document in range(n):
            if not sampled[start + document]:
                continue
            _set_distances(values, document, distances[:n])
            n_hits, n_misses = _find_nearest(distances[:n], labels, document, hits, misses)
            if by_ordering:
                _add_orderings(values, labels, document, misses[:n_misses], total)
            elif n_hits > 0:
                _add_distances(values, labels, document, hits[:n_hits], misses[:n_misses], total)
            else:
                continue
            n_documents += 1
        if n_documents > 0:
            total_weight += weight
            for feature in range(n_features):
                weights[feature] += weight * (total[feature] / n_documents)
    return total_weight
