"""How often leaks are found, and how often honest features are accused, on planted data.

Documents have a hidden relevance, from which labels are made: the best 30 % are relevant, or in
grades of 0 to 4 the best 40 %, 20 %, 10 % and 4 % have at least each grade. Honest features are the
hidden relevance with noise of its own for each feature, as large as the kind of data says; the
others know nothing. A leak is made of the label.

honest kinds: "usual" features know little. "one strong" is one that knows far more than all others,
which orders about 96 % of the pairs right, and in "stronger" 99 %, which no rule can tell from a
leak. In "several strong", six order up to 99.7 % right, as in the search for known items. "rare
match" is right wherever it says something, which it does for one document in thirty.

leaks: "exact" is whether the label is at least 1, and "top grade" whether it is the best one;
"noisy" ones are wrong for 1 %, 2 % or 5 % of the documents; "graded" is the label with a little
noise, and "reversed" falls with it. "seconds, or missing" are there only for relevant documents,
"missing rows" lacks half of the values, "missing queries" all values of half of the queries, and in
"zero queries" these are 0. "two" are a click and its time.

Each cell is the share of the draws in which the leak is found; in brackets, if there are any, those
in which an honest feature is accused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from rich.table import Table

from ranksieve import RankingData
from ranksieve.sums.leaks import find_leaks

PARAMETERS = {"draws": 200, "queries": "20,50,200,1000", "documents": 20, "features": 30}
TINY = {"draws": 2, "queries": "20,30", "documents": 8, "features": 10}

_CUTS = {"binary": (0.7,), "graded": (0.6, 0.8, 0.9, 0.96)}
_NOISE = {  # of honest features; all further ones know nothing
    "usual": (1.0, 1.5, 2.0, 2.0, 3.0),
    "one strong": (0.4, 2.0, 2.0, 3.0),
    "stronger": (0.2, 2.0, 2.0, 3.0),
    "several strong": (0.1, 0.1, 0.12, 0.15, 0.2, 0.2, 2.0, 2.0),
}

Plant = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]


def _noisy(share: float) -> Plant:
    return lambda y, query, rng: (y > 0) ^ (rng.random(len(y)) < share)


def _where(keep: np.ndarray, values: np.ndarray, other: float = np.nan) -> np.ndarray:
    return np.where(keep, values, other)


_LEAKS: dict[str, Plant] = {
    "exact": _noisy(0.0),
    "top grade": lambda y, query, rng: y == y.max(),
    "noisy, 1 %": _noisy(0.01),
    "noisy, 2 %": _noisy(0.02),
    "noisy, 5 %": _noisy(0.05),
    "graded": lambda y, query, rng: y + 0.2 * rng.standard_normal(len(y)),
    "reversed": lambda y, query, rng: 3 - 2 * y,
    "seconds, or missing": lambda y, query, rng: _where(y > 0, rng.exponential(30, len(y))),
    "missing rows": lambda y, query, rng: _where(rng.random(len(y)) < 0.5, y > 0),
    "missing queries": lambda y, query, rng: _where(query % 2 == 0, y > 0),
    "zero queries": lambda y, query, rng: _where(query % 2 == 0, y > 0, 0.0),
}


def run(draws: int, queries: str, documents: int, features: int) -> Table:
    """Run all draws, and return a table."""
    sizes = [int(text) for text in queries.split(",")]
    table = Table(title=f"{draws} draws, {documents} documents per query, {features} features")
    table.add_column("planted")
    for labels in _CUTS:
        for size in sizes:
            table.add_column(f"{labels}, {size}", justify="right")
    for kind in [*_NOISE, "rare match", *_LEAKS, "two"]:
        cells = [
            _share(kind, labels, size, documents, features, draws)
            for labels in _CUTS
            for size in sizes
        ]
        table.add_row(kind, *cells)
    return table


def _share(
    kind: str, labels: str, n_queries: int, n_documents: int, n_features: int, draws: int
) -> str:
    """Shares of draws in which what is planted is found, and in which others are accused."""
    n_found = n_false = 0
    for number in range(draws):
        rng = np.random.default_rng([number, n_queries, len(_CUTS[labels])])
        data, planted = draw(kind, labels, n_queries, n_documents, n_features, rng)
        found = {leak.feature for leak in find_leaks(data, Counter(data.y.tolist()))}
        n_found += bool(planted) and found >= planted
        n_false += bool(found - planted)
    false = f"({n_false / draws:.1%})"
    if not planted:
        return false
    return f"{n_found / draws:.1%}" + (f" {false}" if n_false else "")


def draw(
    kind: str,
    labels: str,
    n_queries: int,
    n_documents: int,
    n_features: int,
    rng: np.random.Generator,
) -> tuple[RankingData, set[int]]:
    """Data with features of a kind, and which of them leak."""
    query = np.repeat(np.arange(n_queries), n_documents)
    hidden = rng.standard_normal(len(query))
    hidden += 0.3 * rng.standard_normal(n_queries)[query]  # some queries have more good documents
    cuts = np.quantile(hidden, _CUTS[labels])
    y = np.searchsorted(cuts, hidden).astype(float)
    X = rng.standard_normal((len(query), n_features))
    for feature, noise in enumerate(_NOISE.get(kind, _NOISE["usual"])):
        X[:, feature] = hidden + noise * X[:, feature]
    columns = {name: plant for name, plant in _LEAKS.items() if name == kind}
    if kind == "two":
        columns = {name: _LEAKS[name] for name in ("noisy, 1 %", "seconds, or missing")}
    for number, plant in enumerate(columns.values(), start=1):
        X[:, -number] = plant(y, query, rng)
    if kind == "rare match":
        X[:, -1] = (y > 0) & (rng.random(len(y)) < 1 / 30 / np.mean(y > 0))
    leaks = {n_features - number for number in range(1, len(columns) + 1)}
    return RankingData(X, y, query, missing="keep"), leaks
