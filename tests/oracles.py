"""Naive versions of what the library computes: slow, readable and obviously right."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import median

import numpy as np

# LETOR text

NUMBER = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[nN][aA][nN]|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)",
    re.ASCII,
)
BLANKS = " \t\r"


@dataclass
class LetorRows:
    labels: list[float] = field(default_factory=list)
    qids: list[str] = field(default_factory=list)
    rows: list[dict[int, float]] = field(default_factory=list)
    docs: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)


class LetorProblem(Exception):
    """A line that cannot be read."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def read_letor(text: bytes, n_features: int | None = None) -> LetorRows | LetorProblem:
    """Rows of the text, or its first problem."""
    result = LetorRows()
    lines = text.removesuffix(b"\n").split(b"\n") if text else []
    try:
        for number, raw in enumerate(lines, start=1):
            if b"\0" in raw:
                raise LetorProblem(number)
            line = raw.decode("utf-8", "backslashreplace")
            if line.strip(BLANKS) and not line.lstrip(BLANKS).startswith("#"):
                _read_row(line, number, n_features, result)
            elif not result.rows:
                _read_header(line.strip(BLANKS), n_features, result)
        if not result.rows:
            raise LetorProblem(len(lines))
        if n_features is not None and result.names:
            names = [result.names.get(f, str(f + 1)) for f in range(n_features)]
            if len(set(names)) < n_features:
                raise LetorProblem(0)
    except LetorProblem as problem:
        return problem
    return result


def _read_header(line: str, n_features: int | None, result: LetorRows) -> None:
    match = re.fullmatch(r"#\s*([0-9]{1,10}):(.*)", line)
    if match and match[2].strip():
        feature = int(match[1]) - 1
        if 0 <= feature < (n_features or 2**20):
            result.names[feature] = match[2].strip()


def _read_row(line: str, number: int, n_features: int | None, result: LetorRows) -> None:
    before, hash_sign, comment = line.partition("#")
    words = [word for word in re.split("[ \t\r]+", before) if word]
    if not NUMBER.fullmatch(words[0]) or not math.isfinite(float(words[0])):
        raise LetorProblem(number)
    if len(words) < 2 or not words[1].startswith("qid:") or words[1] == "qid:":
        raise LetorProblem(number)
    row: dict[int, float] = {}
    for word in words[2:]:
        index, colon, value = word.partition(":")
        value = "nan" if value == "NULL" else value
        if not re.fullmatch("[0-9]+", index) or not colon or not NUMBER.fullmatch(value):
            raise LetorProblem(number)
        feature = int(index) - 1
        if feature < 0 or any(feature <= earlier for earlier in row):
            raise LetorProblem(number)
        if feature >= (2**20 if n_features is None else n_features):
            raise LetorProblem(number)
        row[feature] = float(value)
        if math.isinf(row[feature]):
            raise LetorProblem(number)
    result.labels.append(float(words[0]))
    result.qids.append(words[1][len("qid:") :])
    result.rows.append(row)
    result.docs.append(document_id(comment) if hash_sign else "")


def document_id(comment: str) -> str:
    text = comment.lstrip(BLANKS)
    match = re.match("docid[ \t\r]*=[ \t\r]*", text)
    if match:
        text = text[match.end() :].partition(" inc =")[0]
    return text.strip(BLANKS)


# Grouping


def group(qid: list) -> tuple[list[int], list[int]]:
    """Input rows in grouped order, and the query pointer."""
    queries: list = []
    for query in qid:
        if query not in queries:
            queries.append(query)
    order = [row for query in queries for row in range(len(qid)) if qid[row] == query]
    pointer = [0]
    for query in queries:
        pointer.append(pointer[-1] + sum(1 for other in qid if other == query))
    return order, pointer


# Measures of one query. ``labels`` are in ranked order.


def gain(label: float, convention: str) -> float:
    return label if convention in ("trec", "sklearn") else 2**label - 1


def discount(rank: int, convention: str) -> float:
    if convention in ("letor3", "letor4", "mslr"):
        return 1.0 if rank <= 2 else 1 / math.log2(rank)
    return 1 / math.log2(rank + 1)


def is_relevant(label: float, convention: str) -> bool:
    return label >= (2 if convention == "mslr" else 1)


def dcg(labels: list[float], k: int, convention: str) -> float:
    return sum(
        gain(label, convention) * discount(rank, convention)
        for rank, label in enumerate(labels[:k], start=1)
    )


def ndcg(labels: list[float], k: int | None, convention: str) -> float:
    if k is not None and len(labels) < k and convention in ("letor3", "letor4", "mslr"):
        return 0.0
    k = len(labels) if k is None else k
    ideal = dcg(sorted(labels, reverse=True), k, convention)
    if ideal == 0:
        return 1.0 if convention in ("lightgbm", "xgboost") else 0.0
    return dcg(labels, k, convention) / ideal


# The same, of documents that are pairs of a label and a weight.

Weighted = tuple[float, float]


def weighted_dcg(documents: list[Weighted], k: int | None, convention: str) -> float:
    return sum(
        weight * gain(label, convention) * discount(rank, convention)
        for rank, (label, weight) in enumerate(documents[:k], start=1)
    )


def weighted_ndcg(documents: list[Weighted], k: int | None, convention: str) -> float:
    if k is not None and len(documents) < k and convention in ("letor3", "letor4", "mslr"):
        return 0.0
    orders = itertools.permutations(documents)
    ideal = max(weighted_dcg(list(order), k, convention) for order in orders)
    if ideal == 0:
        return 1.0 if convention in ("lightgbm", "xgboost") else 0.0
    return weighted_dcg(documents, k, convention) / ideal


def weighted_mean_ndcg(documents: list[Weighted], k: None, convention: str) -> float:
    cutoffs = range(1, len(documents) + 1)
    return sum(weighted_ndcg(documents, k, convention) for k in cutoffs) / len(documents)


def weighted_precision(documents: list[Weighted], k: int, convention: str) -> float:
    if convention == "letor3" and len(documents) < k:
        return 0.0
    hits = sum(weight for label, weight in documents[:k] if is_relevant(label, convention))
    return hits / (min(k, len(documents)) if convention in ("xgboost", "ranklib") else k)


def mean_ndcg(labels: list[float], k: None, convention: str) -> float:
    return sum(ndcg(labels, k, convention) for k in range(1, len(labels) + 1)) / len(labels)


def average_precision(labels: list[float], k: int | None, convention: str) -> float:
    relevant = [is_relevant(label, convention) for label in labels]
    if not any(relevant):
        return 1.0 if convention in ("lightgbm", "xgboost") else 0.0
    if k is None or convention == "ranklib":
        k = len(labels)
    total = sum(
        sum(relevant[:rank]) / rank for rank in range(1, k + 1) if any(relevant[rank - 1 : rank])
    )
    n_relevant = sum(relevant)
    return total / (min(n_relevant, k) if convention in ("lightgbm", "xgboost") else n_relevant)


def precision(labels: list[float], k: int, convention: str) -> float:
    if convention == "letor3" and len(labels) < k:
        return 0.0
    hits = sum(is_relevant(label, convention) for label in labels[:k])
    return hits / (min(k, len(labels)) if convention in ("xgboost", "ranklib") else k)


def reciprocal_rank(labels: list[float], k: int | None, convention: str) -> float:
    for rank, label in enumerate(labels[:k], start=1):
        if is_relevant(label, convention):
            return 1 / rank
    return 0.0


def expected_reciprocal_rank(
    labels: list[float], k: int | None, convention: str, max_grade: int = 4
) -> float:
    total, looking = 0.0, 1.0
    for rank, label in enumerate(labels[:k], start=1):
        satisfied = (2**label - 1) / 2**max_grade
        total += looking * satisfied / rank
        looking *= 1 - satisfied
    return total


def pairwise_error(labels: list[float], scores: list[float]) -> float:
    """Takes scores, not a ranked list: ties count one half. NaN if no labels differ."""
    wrong = pairs = 0.0
    for (label, score), (other_label, other_score) in itertools.permutations(
        zip(labels, scores, strict=True), 2
    ):
        if label > other_label:
            pairs += 1
            wrong += (score < other_score) + (score == other_score) / 2
    return wrong / pairs if pairs else math.nan


def with_pairs(data):
    """The queries of some data that have documents with different labels."""
    spread = [np.ptp(y) for y in np.split(data.y, data.query_ptr[1:-1])]
    return data.take_queries(np.flatnonzero(spread))


def ranked(labels: list[float], scores: list[float]) -> list[float]:
    order = sorted(range(len(scores)), key=lambda row: (-scores[row], row))
    return [labels[row] for row in order]


def averaged(measure, labels: list[float], scores: list[float], *arguments) -> float:
    """Mean of a measure over all orders of documents with equal scores."""
    blocks = [
        [label for label, score in zip(labels, scores, strict=True) if score == level]
        for level in sorted(set(scores), reverse=True)
    ]
    orders = [itertools.permutations(block) for block in blocks]
    values = [
        measure(list(itertools.chain.from_iterable(choice)), *arguments)
        for choice in itertools.product(*orders)
    ]
    return sum(values) / len(values)


# Scaling


def scale_by_query(X, qid, scale) -> list[list[float]]:
    """Apply ``scale`` to the values of each feature in each query."""
    scaled = [[0.0] * len(row) for row in X]
    for query in set(qid):
        rows = [row for row, other in enumerate(qid) if other == query]
        for feature in range(len(X[0])):
            column = scale([Fraction(X[row][feature]) for row in rows])
            for row, value in zip(rows, column, strict=True):
                scaled[row][feature] = value
    return scaled


def min_max(values: list[Fraction]) -> list[float]:
    low, high = min(values), max(values)
    return [float((value - low) / (high - low)) if high > low else 0.0 for value in values]


def standard(values: list[Fraction]) -> list[float]:
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / len(values)
    if variance == 0:
        return [0.0] * len(values)
    sizes = [math.sqrt((value - mean) ** 2 / variance) for value in values]
    return [size if value > mean else -size for size, value in zip(sizes, values, strict=True)]


# Missing values


def fill_by_query(X, qid, policy) -> list[list[float]]:
    """Replace NaN by what the other documents of the query have, or by 0."""
    filled = [list(row) for row in X]
    for row, feature in itertools.product(range(len(X)), range(len(X[0]))):
        if math.isnan(X[row][feature]):
            peers = [other[feature] for other, q in zip(X, qid, strict=True) if q == qid[row]]
            present = [value for value in peers if not math.isnan(value)]
            if not present or policy == "zero":
                filled[row][feature] = 0.0
            else:
                filled[row][feature] = {"query-min": min, "query-median": median}[policy](present)
    return filled


def missing_last(X, directions) -> list[list[float]]:
    """Whole numbers in the order of the values times -1 or 1, with missing ones at the end."""
    columns = []
    for values, sign in zip(zip(*X, strict=True), directions, strict=True):
        steps = sorted({sign * value for value in values if not math.isnan(value)})
        columns.append([0 if math.isnan(v) else 1 + steps.index(sign * v) for v in values])
    return [list(row) for row in zip(*columns, strict=True)]


# Similarity


def similarity(X, qid, method, directions=None, absolute=False) -> list[list[float]]:
    """Mean over queries with at least two documents, for all pairs of features."""
    n_features = len(X[0])
    signs = [1] * n_features if directions is None else directions
    groups = [[row for row, q in zip(X, qid, strict=True) if q == query] for query in set(qid)]
    groups = [rows for rows in groups if len(rows) > 1]
    result = [[0.0] * n_features for _ in range(n_features)]
    for i, j in itertools.product(range(n_features), repeat=2):
        values = [
            method([signs[i] * row[i] for row in rows], [signs[j] * row[j] for row in rows])
            for rows in groups
        ]
        result[i][j] = math.fsum(map(abs, values) if absolute else values) / len(values)
    return result


def pair_counts(a, b) -> tuple[int, int, int, int, int]:
    """Document pairs: concordant, discordant, untied in a, untied in b, all."""
    concordant = discordant = untied_a = untied_b = n_pairs = 0
    for s, t in itertools.combinations(range(len(a)), 2):
        n_pairs += 1
        untied_a += a[s] != a[t]
        untied_b += b[s] != b[t]
        concordant += (a[s] > a[t] and b[s] > b[t]) or (a[s] < a[t] and b[s] < b[t])
        discordant += (a[s] > a[t] and b[s] < b[t]) or (a[s] < a[t] and b[s] > b[t])
    return concordant, discordant, untied_a, untied_b, n_pairs


def concordance(a, b) -> float:
    concordant, _, _, _, n_pairs = pair_counts(a, b)
    return concordant / n_pairs


def tau_a(a, b) -> float:
    concordant, discordant, _, _, n_pairs = pair_counts(a, b)
    return (concordant - discordant) / n_pairs


def tau_b(a, b) -> float:
    concordant, discordant, untied_a, untied_b, _ = pair_counts(a, b)
    if untied_a == 0 or untied_b == 0:
        return 0.0
    return (concordant - discordant) / math.sqrt(untied_a * untied_b)


def spearman(a, b) -> float:
    """Pearson's correlation of average ranks."""
    x, y = average_ranks(a), average_ranks(b)
    mean = Fraction(len(a) + 1, 2)
    product = sum((p - mean) * (q - mean) for p, q in zip(x, y, strict=True))
    squares = sum((p - mean) ** 2 for p in x) * sum((q - mean) ** 2 for q in y)
    return float(product) / math.sqrt(squares) if squares else 0.0


def average_ranks(values) -> list[Fraction]:
    """Ranks from 1, equal values sharing the mean of theirs."""
    return [
        sum(other < value for other in values) + Fraction(values.count(value) + 1, 2)
        for value in values
    ]


# Clustering


def ward_d(apart) -> tuple[list[float], dict[int, set[frozenset[int]]]]:
    """Heights of all merges, and the clusters for each number of them: R's ``ward.D``."""
    clusters = {frozenset([i]) for i in range(len(apart))}
    d = {
        frozenset([frozenset([i]), frozenset([j])]): apart[i][j]
        for i, j in itertools.combinations(range(len(apart)), 2)
    }
    heights, partitions = [], {len(clusters): set(clusters)}
    while len(clusters) > 1:
        nearest = min(d, key=lambda pair: d[pair])
        u, v = nearest
        clusters -= {u, v}
        heights.append(d[nearest])
        for w in clusters:
            from_u = (len(u) + len(w)) * d[frozenset([u, w])]
            from_v = (len(v) + len(w)) * d[frozenset([v, w])]
            total = from_u + from_v - len(w) * d[nearest]
            d[frozenset([u | v, w])] = total / (len(u) + len(v) + len(w))
        clusters.add(u | v)
        d = {pair: value for pair, value in d.items() if pair <= clusters}
        partitions[len(clusters)] = set(clusters)
    return heights, partitions


# Back-fitting


def pairs_of(
    X, y, qid, query, inside: bool, weights=None, copy_of=None
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted differences of all pairs of documents of a query, or of all other queries.

    ``weights`` has a weight for each query, in order; ``copy_of`` the query that each is a copy of.
    """
    differences, targets, owners = all_pairs(X, y, qid, weights, copy_of)
    chosen = (owners == query) == inside
    return differences[chosen], targets[chosen]


def all_pairs(X, y, qid, weights=None, copy_of=None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weighted differences of all pairs of documents of each query, and the query of each pair."""
    X, y, qid = np.asarray(X), np.asarray(y), np.asarray(qid)
    differences, targets, owners = [], [], []
    for place, query in enumerate(np.unique(qid).tolist()):
        weight = 1.0 if weights is None else float(weights[place])
        rows = np.flatnonzero(qid == query)
        i, j = np.repeat(rows, len(rows)), np.tile(rows, len(rows))
        differences.append((X[i] - X[j]) * math.sqrt(weight / (2 * len(rows))))
        targets.append((y[i] - y[j]) * math.sqrt(weight / (2 * len(rows))))
        owners += [query if copy_of is None else copy_of[place]] * len(i)
    return np.concatenate(differences), np.concatenate(targets), np.array(owners)


def backfitting_errors(
    X, y, qid, model, lam, weights=None, copy_of=None
) -> tuple[list[float], list[float]]:
    """Leave-query-out error of each query by the model, and of all by the model and a candidate.

    For each query left out, together with its copies, the model is trained anew on the pairs of the
    others, then one weight is fitted to what it leaves, for each feature as the candidate.
    """
    own, candidates = [], np.zeros(len(X[0]))
    pairs, targets, owners = all_pairs(X, y, qid, weights, copy_of)
    for query in sorted(set(qid if copy_of is None else copy_of)):
        train, train_y = pairs[owners != query], targets[owners != query]
        test, test_y = pairs[owners == query], targets[owners == query]
        inner = train[:, model].T @ train[:, model] + lam * np.eye(len(model))
        weights = np.linalg.solve(inner, train[:, model].T @ train_y)
        left, test_left = train_y - train[:, model] @ weights, test_y - test[:, model] @ weights
        own.append(float(test_left @ test_left))
        omegas = left @ train / (np.sum(train**2, axis=0) + lam)  # one for each feature
        candidates += np.sum((test_left[:, None] - omegas * test) ** 2, axis=0)
    return own, candidates.tolist()


def group_errors(X, y, qid, model, groups, lam, query_weights=None) -> list[float]:
    """Leave-query-out error of the model with each group of columns added to it.

    For each group and each query left out, a model of all columns is trained anew on the pairs of
    the other queries.
    """
    pairs, targets, owners = all_pairs(X, y, qid, query_weights)
    errors = []
    for group in groups:
        columns, total = [*model, *group], 0.0
        for query in sorted(set(qid)):
            train, train_y = pairs[owners != query][:, columns], targets[owners != query]
            test, test_y = pairs[owners == query][:, columns], targets[owners == query]
            weights = np.linalg.solve(
                train.T @ train + lam * np.eye(len(columns)), train.T @ train_y
            )
            total += float(np.sum((test_y - test @ weights) ** 2))
        errors.append(total)
    return errors


# Columns that enter and leave a model


def centered(values, qid) -> np.ndarray:
    """Columns less their mean in each query."""
    values = np.array(values, dtype=float)
    for rows in rows_by_query(qid):
        values[rows] -= values[rows].mean(axis=0)
    return values


def ridge_explains(X, y, ridge) -> float:
    """Labels' squares less the minimum of squared errors and of ``ridge`` times squared weights.

    The penalties are rows with the label 0.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    rows = np.vstack([X, np.diag(np.sqrt(ridge))])
    labels = np.concatenate([y, np.zeros(len(ridge))])
    weights = np.linalg.lstsq(rows, labels, rcond=None)[0]
    return float(y @ y - np.sum((labels - rows @ weights) ** 2))


def worth_of_columns(X, y, qid, ridge):
    """What each set of columns explains, less two variances of noise for each of its parameters.

    The parameters of a column are its share of its squares and its ridge.
    """
    X, y, ridge = centered(X, qid), centered(y, qid), np.asarray(ridge, dtype=float)
    weights = np.linalg.solve(X.T @ X + np.diag(ridge), X.T @ y)
    parameters = np.array(
        [column @ column / (column @ column + r) for column, r in zip(X.T, ridge, strict=True)]
    )
    free = len(y) - len(set(qid))
    noise = np.sum((y - X @ weights) ** 2) / max(free - sum(parameters), free / 2, 1)

    def worth(chosen) -> float:
        own = sorted(chosen)
        return ridge_explains(X[:, own], y, ridge[own]) - 2 * noise * sum(parameters[own])

    return worth


def predictions_by_bins(codes, y, qid, lam) -> tuple[np.ndarray, np.ndarray]:
    """What the bins of each feature predict alone by ridge regression, (rows, features).

    Also lam times the squares of the coefficients of each feature.
    """
    codes, y = np.asarray(codes), centered(y, qid)
    columns, ridge = [], []
    for own in codes.T:
        bins = np.array([[float(code == b) for b in sorted(set(own))] for code in own])
        Z = centered(bins, qid)
        coefs = np.linalg.solve(Z.T @ Z + lam * np.eye(Z.shape[1]), Z.T @ y)
        columns.append(bins @ coefs)
        ridge.append(lam * coefs @ coefs)
    return np.column_stack(columns), np.array(ridge)


# Losses of one query


def loss_ranknet(scores, labels) -> float:
    """Sum over explicit pairs."""
    scores, labels = np.asarray(scores), np.asarray(labels)
    better, worse = np.nonzero(labels[:, None] > labels)
    return float(np.logaddexp(0.0, scores[worse] - scores[better]).sum())


def loss_listnet(scores, labels) -> float:
    """Cross entropy of the chances to come first, 0 if all labels are equal."""
    if len(set(labels)) == 1:
        return 0.0
    by_scores = np.array(scores) - np.logaddexp.reduce(scores)
    by_labels = np.array(labels) - np.logaddexp.reduce(labels)
    return float(-np.exp(by_labels) @ by_scores)


def loss_listmle(scores, labels, costs=None) -> float:
    """Minus the log chance of drawing each document before all that are worse than it.

    Each draw counts by its cost.
    """
    total = 0.0
    costs = np.ones(len(scores)) if costs is None else costs
    for score, label, cost in zip(scores, labels, costs, strict=True):
        if label > min(labels):
            left = [s for s, other in zip(scores, labels, strict=True) if other <= label]
            total += cost * (np.logaddexp.reduce(left) - score)
    return float(total)


def shares_of_ideal_dcg(labels) -> np.ndarray:
    """Mean over all ideal orders of what each document gives to the ideal DCG, over that."""
    ideal = sorted(labels, reverse=True)
    discounts = [1 / math.log2(rank + 2) for rank in range(len(ideal))]
    total = sum((2**label - 1) * discount for label, discount in zip(ideal, discounts, strict=True))
    shares = []
    for label in labels:
        own = [d for d, other in zip(discounts, ideal, strict=True) if other == label]
        shares.append((2**label - 1) * sum(own) / len(own) / (total or 1.0))
    return np.array(shares)


def forward_by_aic(X, y, qid, k) -> tuple[list[int], list[float]]:
    """Features by what they lower the squares of least squares fits, and AIC from 0 features on."""
    X, y = X.astype(float).copy(), y.astype(float).copy()
    for query in set(qid.tolist()):
        X[qid == query] -= X[qid == query].mean(axis=0)
        y[qid == query] -= y[qid == query].mean()

    def rss(features) -> float:
        weights = np.linalg.lstsq(X[:, features], y)[0]
        return float(((y - X[:, features] @ weights) ** 2).sum())

    chosen: list[int] = []
    aic = [len(y) * math.log((y @ y) / len(y))]
    for _ in range(k):
        free = [feature for feature in range(X.shape[1]) if feature not in chosen]
        chosen.append(min(free, key=lambda feature: rss([*chosen, feature])))
        aic.append(len(y) * math.log(rss(chosen) / len(y)) + 2 * len(chosen))
    return chosen, aic


def lambdarank_weights(scores, labels) -> dict[tuple[int, int], float]:
    """What swapping the ranks of two documents changes NDCG; equal scores rank by label."""

    def dcg(order) -> float:
        return sum((2 ** labels[i] - 1) / math.log2(rank + 2) for rank, i in enumerate(order))

    order = sorted(range(len(scores)), key=lambda i: (-scores[i], -labels[i], i))
    ideal = dcg(sorted(order, key=lambda i: -labels[i]))
    weights = {}
    for i, j in itertools.product(order, repeat=2):
        if labels[i] > labels[j]:
            swapped = [{i: j, j: i}.get(document, document) for document in order]
            weights[i, j] = abs(dcg(swapped) - dcg(order)) / ideal
    return weights


def loss_weighted_pairs(scores, weights) -> float:
    """RankNet's loss of explicit pairs with weights."""
    return float(sum(w * np.logaddexp(0.0, scores[j] - scores[i]) for (i, j), w in weights.items()))


def slopes(function, at, step=1e-5) -> np.ndarray:
    """Derivatives by symmetric differences of fourth order."""
    at = np.asarray(at, dtype=np.float64)
    result = np.empty(at.size)
    for place in range(at.size):

        def moved(by, place=place) -> float:
            point = at.copy()
            point.flat[place] += by
            return function(point)

        near, far = moved(step) - moved(-step), moved(2 * step) - moved(-2 * step)
        result[place] = (8 * near - far) / (12 * step)
    return result.reshape(at.shape)


# RankSVM


def margin_pairs(y, qid) -> list[tuple[int, int]]:
    """Better and worse document of each pair of a query with different labels."""
    rows = range(len(y))
    return [(i, j) for i in rows for j in rows if qid[i] == qid[j] and y[i] > y[j]]


def margin_loss(z, y, qid, weights, power: int) -> float:
    """Weighted sum over pairs of max(0, 1 - (z_i - z_j)) ** power / power."""
    return sum(
        weights[i] * max(0.0, 1 - (z[i] - z[j])) ** power / power for i, j in margin_pairs(y, qid)
    )


def margin_slope(z, y, qid, weights, power: int) -> np.ndarray:
    """Derivative of :func:`margin_loss` by each score; where there is none, as from above."""
    slope = np.zeros(len(z))
    for i, j in margin_pairs(y, qid):
        if z[i] - z[j] < 1:
            change = weights[i] * (1 - (z[i] - z[j])) ** (power - 1)
            slope[i] -= change
            slope[j] += change
    return slope


def margin_curve(z, v, y, qid, weights) -> np.ndarray:
    """Second derivative of :func:`margin_loss` of power 2, times ``v``."""
    product = np.zeros(len(z))
    for i, j in margin_pairs(y, qid):
        if z[i] - z[j] < 1:
            product[i] += weights[i] * (v[i] - v[j])
            product[j] -= weights[i] * (v[i] - v[j])
    return product


def ranksvm_weights(D: np.ndarray, signs: np.ndarray, C_p: float) -> np.ndarray:
    """Exact minimum of |w|^2 / 2 + C_p / 2 times the sum of max(0, 1 - signs * D w)^2.

    The objective is quadratic as long as the same pairs are active: Newton steps, halved until the
    objective falls, end where a step no longer changes which pairs these are.
    """
    D, w, active = D * signs[:, None], np.zeros(D.shape[1]), None

    def objective(w):
        return 0.5 * w @ w + 0.5 * C_p * np.sum(np.maximum(0.0, 1 - D @ w) ** 2)

    while active is None or (active != (D @ w < 1)).any():
        active = D @ w < 1
        A = D[active]
        best = np.linalg.solve(np.eye(len(w)) + C_p * A.T @ A, C_p * A.sum(axis=0))
        t = 1.0
        while objective(w + t * (best - w)) > objective(w) and t > 1e-10:
            t /= 2
        w = w + t * (best - w)
    return w


# Boosting and coordinate ascent. ``value(labels, scores)`` is the measure of one query.


def rows_by_query(qid) -> list[list[int]]:
    """Rows of each query, queries in order of first appearance."""
    return [[row for row, own in enumerate(qid) if own == q] for q in dict.fromkeys(qid)]


def values_by_query(scores, y, queries, value) -> list[float]:
    return [value([y[row] for row in rows], [scores[row] for row in rows]) for rows in queries]


def first_best(values) -> int:
    """The first of the values that are largest but for rounding."""
    return next(i for i, value in enumerate(values) if value >= max(values) - 1e-12)


def adarank(X, y, qid, value, n_rounds, weights=None, multiply=False) -> list[tuple]:
    """Rounds: feature, alpha, weighted mean of the measure, and the next weights of queries."""
    queries = rows_by_query(qid)
    given = [1.0] * len(queries) if weights is None else list(weights)
    P = [weight / sum(given) for weight in given]
    scores, rounds = [0.0] * len(y), []
    columns = [[row[feature] for row in X] for feature in range(len(X[0]))]
    E = [values_by_query(column, y, queries, value) for column in columns]
    for _ in range(n_rounds):
        worth = [sum(p * e for p, e in zip(P, own, strict=True)) for own in E]
        best = first_best(worth)
        above = sum(p * (1 + e) for p, e in zip(P, E[best], strict=True))
        below = sum(p * (1 - e) for p, e in zip(P, E[best], strict=True))
        alpha = math.log(above / below) / 2
        scores = [score + alpha * x for score, x in zip(scores, columns[best], strict=True)]
        reached = values_by_query(scores, y, queries, value)
        if multiply:
            P = [p * math.exp(-alpha * e) for p, e in zip(P, reached, strict=True)]
        else:
            P = [weight * math.exp(-e) for weight, e in zip(given, reached, strict=True)]
        P = [p / sum(P) for p in P]
        mean = sum(w * e for w, e in zip(given, reached, strict=True)) / sum(given)
        rounds.append((best, alpha, mean, P))
    return rounds


def rankboost(X, y, qid, thresholds, n_rounds, weights=None, both=True) -> list[tuple]:
    """Rounds: feature, threshold, alpha, loss, and the next weights of all pairs."""
    queries = rows_by_query(qid)
    given = [1.0] * len(queries) if weights is None else list(weights)
    first = {
        (i, j): weight
        for rows, weight in zip(queries, given, strict=True)
        for i, j in itertools.permutations(rows, 2)
        if y[i] > y[j]
    }
    D = {pair: weight / sum(first.values()) for pair, weight in first.items()}
    scores, rounds = [0.0] * len(y), []
    steps = [(feature, theta) for feature, own in enumerate(thresholds) for theta in own]
    above = np.array([[int(row[f] > theta) for f, theta in steps] for row in X])
    better, worse = np.array(list(first)).T
    for _ in range(n_rounds):
        r = (np.array(list(D.values())) @ (above[better] - above[worse])).tolist()
        best = first_best([abs(value) for value in r] if both else r)
        feature, theta = steps[best]
        alpha = math.log((1 + r[best]) / (1 - r[best])) / 2
        scores = [s + alpha * (row[feature] > theta) for s, row in zip(scores, X, strict=True)]
        new = {(i, j): w * math.exp(scores[j] - scores[i]) for (i, j), w in first.items()}
        D = {pair: weight / sum(new.values()) for pair, weight in new.items()}
        loss = sum(new.values()) / sum(first.values())
        rounds.append((feature, theta, alpha, loss, D))
    return rounds


def coordinate_ascent(X, y, qid, value, orders, n_steps, tol, weights=None) -> list[tuple]:
    """Changes: feature, new weight, measure, and all weights after scaling.

    ``orders()`` gives the order of features of the next pass.
    """
    queries, n = rows_by_query(qid), len(X[0])
    given = [1.0] * len(queries) if weights is None else list(weights)

    def measure(w) -> float:
        scores = [sum(a * x for a, x in zip(w, row, strict=True)) for row in X]
        reached = values_by_query(scores, y, queries, value)
        return sum(g * e for g, e in zip(given, reached, strict=True)) / sum(given)

    w, failures, moves = [1 / n] * n, 0, []
    now = measure(w)
    while True:
        before = now
        for feature in orders():
            step = 0.001 if abs(w[feature]) >= 0.002 or w[feature] == 0 else 0.05 * abs(w[feature])
            up = [sum(step * 2**k for k in range(number + 1)) for number in range(n_steps)]
            tried = [w[feature] + change for change in (*up, *(-x for x in up))] + [0.0]
            values = [measure([*w[:feature], new, *w[feature + 1 :]]) for new in tried]
            best = first_best(values)
            if values[best] > now + 1e-12:
                now, failures, w[feature] = values[best], 0, tried[best]
                norm = sum(abs(a) for a in w) or 1.0
                w = [a / norm for a in w]
                moves.append((feature, tried[best], now, list(w)))
            else:
                failures += 1
                if failures >= max(1, n - 1):
                    return moves
        if now - before < tol:
            return moves


# Risk


def u_risk(a, b, alpha) -> float:
    weighed = [x - y if x >= y else (1 + alpha) * (x - y) for x, y in zip(a, b, strict=True)]
    return sum(weighed) / len(weighed)


def geo_risk(table, method, alpha) -> float:
    """Of one of the rows of a table of methods by queries."""
    own, n = table[method], len(table[method])
    z_risk = 0.0
    for query in range(n):
        of_query = sum(row[query] for row in table)
        expected = sum(own) * of_query / (sum(map(sum, table)) or 1)
        if expected:
            z = (own[query] - expected) / math.sqrt(expected)
            z_risk += z if z >= 0 else (1 + alpha) * z
    below = math.erfc(-z_risk / n / math.sqrt(2)) / 2
    return math.sqrt(sum(own) / n * below)


def cost_of_features(chosen, costs, groups, group_costs):
    """Cost of a set of features: each its own, and each group that it touches once."""
    touched = {groups[name] for name in chosen if name in groups}
    return sum(costs[name] for name in chosen) + sum(group_costs[group] for group in touched)


def prune_by_cost(start, cost, group_of, value, limit, include, substitutes):
    """Drop features or all of a group, or exchange a feature, largest saving first.

    Each is tried once on a way through all. ``cost`` is that of a set; of equal savings, the last
    feature comes first, then groups, then exchanges.
    """
    features = list(start)
    while value(features) >= limit:
        before, tried = list(features), []
        while True:
            groups = {group_of[f] for f in features} - {None}
            steps = [([f], []) for f in reversed(features)]
            steps += [([f for f in features if group_of[f] == g], []) for g in sorted(groups)]
            for f in reversed(features):
                steps += [([f], [g]) for g in substitutes.get(f, ()) if g not in features]
            steps = [s for s in steps if s not in tried and not set(s[0]) & set(include)]
            sets = [exchanged(features, *step) for step in steps]
            savings = [cost(features) - cost(own) if own else 0 for own in sets]
            if max(savings, default=0) <= 0:
                break
            best = savings.index(max(savings))
            tried.append(steps[best])
            if value(sets[best]) >= limit:
                features = sets[best]
        if features == before:
            break
    return features


def exchanged(features, dropped, added) -> list[int]:
    """A list in which others stand where the first of those that are dropped stood."""
    place = features.index(dropped[0])
    kept = [f for f in features[:place] if f not in dropped]
    return kept + added + [f for f in features[place:] if f not in dropped]


def best_within(worth, cost, n_features, level, include) -> float:
    """The most that a set within a level of cost is worth, of all sets with certain features."""
    others = [f for f in range(n_features) if f not in include]
    sets = [
        {*include, *more}
        for size in range(len(others) + 1)
        for more in itertools.combinations(others, size)
    ]
    return max(worth(own) for own in sets if cost(own) <= level)


# Sums of ranks


def borda(lists, n_features) -> list[int]:
    """Listed features, the smallest sum of ranks first; not in a list is a rank of n_features."""
    sums = {
        feature: sum(ranked.index(feature) if feature in ranked else n_features for ranked in lists)
        for ranked in lists
        for feature in ranked
    }
    return sorted(sums, key=lambda feature: (sums[feature], feature))


# Copies


def orders_alike(a, b) -> bool:
    """Whether two features order each pair of rows alike, or each oppositely, and miss the same."""
    rows = [i for i, value in enumerate(a) if not math.isnan(value)]
    if rows != [i for i, value in enumerate(b) if not math.isnan(value)]:
        return False
    orders = [[(own[i] > own[j]) - (own[i] < own[j]) for i in rows for j in rows] for own in (a, b)]
    return orders[0] == orders[1] or orders[0] == [-order for order in orders[1]]


def are_multiples(a, b, qid) -> bool:
    """Whether one feature is a multiple of the other but for a constant in each query; none is 0.

    With whole numbers of moderate size, everything is exact.
    """
    both = [[], []]
    for rows in rows_by_query(qid):
        for own, values in zip(both, (a, b), strict=True):
            total = sum(Fraction(values[row]) for row in rows)
            own += [Fraction(values[row]) - total / len(rows) for row in rows]
    aa, ab, bb = (
        sum(x * y for x, y in zip(*pair, strict=True))
        for pair in ((both[0], both[0]), both, (both[1], both[1]))
    )
    return aa > 0 and bb > 0 and ab * ab == aa * bb


def partition(features, alike) -> list[list[int]]:
    """Groups of two or more features that are alike, in the order of their first members."""
    groups: list[list[int]] = []
    for feature in features:
        for group in groups:
            if alike(group[0], feature):
                group.append(feature)
                break
        else:
            groups.append([feature])
    return [group for group in groups if len(group) > 1]


# SHAP values within queries


def shap_within_queries(parts, qid, weights=None) -> list[float]:
    """Importance of each feature, from its part in each row's score; weights by query id."""
    queries = sorted(set(qid))
    found = []
    for feature in range(len(parts[0])):
        total = 0.0
        for query in queries:
            own = [row[feature] for row, q in zip(parts, qid, strict=True) if q == query]
            mean = sum(own) / len(own)
            weight = 1 if weights is None else weights[query]
            total += weight * sum(abs(part - mean) for part in own) / len(own)
        found.append(total / (len(queries) if weights is None else sum(weights.values())))
    return found


# Paths of trees with prices. A model is a dict: feature -> its share of the gain.


def by_mean_share(models, n_features) -> list[int]:
    """All features by their mean share in all models but the first, which breaks ties."""
    total = [sum(model.get(f, 0.0) for model in models[1:]) for f in range(n_features)]
    return sorted(range(n_features), key=lambda f: (-total[f], -models[0].get(f, 0.0), f))


def from_sets(models, n_features, k) -> list[int]:
    """The largest model of at most k features, filled up from the smallest of more, then the first.

    Of models with as many features, the one with the smallest price.
    """
    order = []
    for size in [*range(k, -1, -1), *range(k + 1, n_features + 1)]:
        found = [model for model in models if len(model) == size]
        if found and (size > k or not order):
            order += sorted(found[0], key=lambda f: (-found[0][f], f))
            if size > k or not any(len(model) > k for model in models):
                break
    order += sorted(range(n_features), key=lambda f: (-models[0].get(f, 0.0), f))
    return list(dict.fromkeys(order))[:k]


def greedy_by_cost(error, cost, candidates, k, budget, weighs):
    """Add the feature with the largest decrease of an error per added cost, or of the error alone.

    ``error`` and ``cost`` are those of sets; ``candidates`` are lists of features, of which a later
    one comes after all earlier ones. Ends at k features, or where nothing can be paid any more.
    """
    chosen = []
    while len(chosen) < k:
        left = [[f for f in part if f not in chosen] for part in candidates]
        free = next(filter(None, left), [])
        free = [f for f in free if cost([*chosen, f]) <= budget * (1 + 1e-9)]
        if not free:
            break
        worths = []
        for f in free:
            gain = round(error(chosen) - error([*chosen, f]), 9)
            price = round(cost([*chosen, f]) - cost(chosen), 9) if weighs else 1.0
            if price == 0:
                worths.append((gain > 0, max(gain, 0.0)))
            else:
                worths.append((False, round(gain / price if gain > 0 else gain * price, 9)))
        chosen.append(free[worths.index(max(worths))])
    return chosen
