"""One epoch of ListNet or RankNet with a hidden layer, beside a PyTorch loop over queries.

The data is as large as MQ2007: random features and labels from 0 to 2. Both contenders take a step
of Adam after each batch of queries. PyTorch scores the documents of a query, computes the loss from
all pairs (RankNet) or from the softmax (ListNet), and accumulates gradients until the batch is
complete. It has the features in float32, its default, and quantities that depend on labels alone
are computed beforehand. Each run takes ``epochs`` epochs; "ms an epoch" is their mean.

PyTorch is not a dependency of ranksieve: ``pip install torch==2.13.0`` into an environment of its
own, along with ranksieve. For RankNet: ``--set loss=ranknet``.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.harness import Task

PARAMETERS = {
    "loss": "listnet",
    "queries": 1700,
    "documents": 41,
    "features": 46,
    "hidden": 10,
    "batch": 32,
    "epochs": 3,
}
TINY = {"queries": 6, "documents": 5, "features": 3, "epochs": 1}


def _data(queries: int, documents: int, features: int) -> Any:
    from ranksieve import RankingData

    rng = np.random.default_rng(0)
    X = rng.normal(size=(queries * documents, features))
    hidden = X[:, :5].sum(axis=1) + 4 * rng.normal(size=len(X))
    y = np.digitize(hidden, np.quantile(hidden, [0.74, 0.94])).astype(float)  # shares of MQ2007
    return RankingData(X, y, np.repeat(np.arange(queries), documents))


def _facts(answer: tuple[float, float]) -> dict[str, Any]:
    seconds, loss = answer
    return {"ms an epoch": f"{1000 * seconds:.1f}", "last loss": f"{loss:.4f}"}


def ranksieve(
    loss: str, queries: int, documents: int, features: int, hidden: int, batch: int, epochs: int
) -> Task:
    """Train the ranker, including standardization."""
    from ranksieve import rankers

    data = _data(queries, documents, features)
    kind = {"listnet": rankers.ListNet, "ranknet": rankers.RankNet}[loss]

    def fit(n_epochs: int) -> tuple[float, float]:
        ranker = kind(hidden, batch_queries=batch, epochs=n_epochs, alpha=0.0)
        start = time.perf_counter()
        ranker.fit(data)
        return (time.perf_counter() - start) / n_epochs, ranker.loss_curve_[-1]

    return Task(lambda: fit(epochs), lambda: fit(1), _facts)


def pytorch(
    loss: str, queries: int, documents: int, features: int, hidden: int, batch: int, epochs: int
) -> Task:
    """Run a loop over queries."""
    import torch

    data = _data(queries, documents, features)
    lists = [slice(*data.query_ptr[q : q + 2]) for q in range(data.n_queries)]
    X = torch.tensor(data.X, dtype=torch.float32)
    y = torch.tensor(data.y, dtype=torch.float32)
    documents_of = [X[rows] for rows in lists]
    # A mask over all pairs, not a list of them: indexing by lists has a backward pass that starts
    # threads, and took up to 80 times as long where other programs were running.
    pairs = [(y[rows, None] > y[None, rows]).float() for rows in lists]
    targets = [torch.softmax(y[rows], 0) for rows in lists]
    terms = sum(mask.sum().item() for mask in pairs) if loss == "ranknet" else len(lists)

    def loss_of(scores: Any, query: int) -> Any:
        if loss == "listnet":
            return -(targets[query] * torch.log_softmax(scores, 0)).sum()
        worse_by = scores[None, :] - scores[:, None]
        return (pairs[query] * torch.nn.functional.softplus(worse_by)).sum()

    def fit(n_epochs: int) -> tuple[float, float]:
        network = torch.nn.Sequential(
            torch.nn.Linear(features, hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, 1)
        )
        adam = torch.optim.Adam(network.parameters(), lr=0.01)
        start = time.perf_counter()
        for _ in range(n_epochs):
            shuffled = torch.randperm(len(lists)).tolist()
            total = 0.0
            for first in range(0, len(lists), batch):
                adam.zero_grad()
                chosen = shuffled[first : first + batch]
                for query in chosen:
                    value = loss_of(network(documents_of[query])[:, 0], query)
                    (value * len(lists) / terms / len(chosen)).backward()
                    total += value.item()
                adam.step()
        return (time.perf_counter() - start) / n_epochs, total / terms

    return Task(lambda: fit(epochs), lambda: fit(1), _facts)


CONTENDERS = {"ranksieve": ranksieve, "PyTorch, loop over queries": pytorch}
