"""Naive versions of what the library computes: slow, readable and obviously right."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field
from fractions import Fraction

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
        if not re.fullmatch("[0-9]+", index) or not colon or not NUMBER.fullmatch(value):
            raise LetorProblem(number)
        feature = int(index) - 1
        if feature < 0 or any(feature <= earlier for earlier in row):
            raise LetorProblem(number)
        if feature >= (2**20 if n_features is None else n_features):
            raise LetorProblem(number)
        row[feature] = float(value)
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
    """Takes scores, not a ranked list: ties count one half."""
    wrong = pairs = 0.0
    for (label, score), (other_label, other_score) in itertools.permutations(
        zip(labels, scores, strict=True), 2
    ):
        if label > other_label:
            pairs += 1
            wrong += (score < other_score) + (score == other_score) / 2
    return wrong / pairs if pairs else 0.0


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


def pairs_of(X, y, qid, query, inside: bool) -> tuple[np.ndarray, np.ndarray]:
    """Weighted differences of all pairs of documents of a query, or of all other queries."""
    differences, targets = [np.zeros(len(X[0]))], [0.0]
    for other in sorted(set(qid)):
        rows = [row for row, own in enumerate(qid) if own == other]
        if (other == query) == inside:
            for i, j in itertools.product(rows, repeat=2):
                differences.append((X[i] - X[j]) / math.sqrt(2 * len(rows)))
                targets.append((y[i] - y[j]) / math.sqrt(2 * len(rows)))
    return np.array(differences), np.array(targets)


def backfitting_errors(X, y, qid, model, lam) -> tuple[list[float], list[float]]:
    """Leave-query-out error of each query by the model, and of all by the model and a candidate.

    For each query left out, the model is trained anew on the pairs of the others, then one weight
    is fitted to what it leaves, for each feature as the candidate.
    """
    own, candidates = [], [0.0] * len(X[0])
    for query in sorted(set(qid)):
        train, train_y = pairs_of(X, y, qid, query, inside=False)
        test, test_y = pairs_of(X, y, qid, query, inside=True)
        inner = train[:, model].T @ train[:, model] + lam * np.eye(len(model))
        weights = np.linalg.solve(inner, train[:, model].T @ train_y)
        left, test_left = train_y - train[:, model] @ weights, test_y - test[:, model] @ weights
        own.append(float(test_left @ test_left))
        for i in range(len(X[0])):
            omega = train[:, i] @ left / (train[:, i] @ train[:, i] + lam)
            candidates[i] += float(np.sum((test_left - omega * test[:, i]) ** 2))
    return own, candidates
