"""NDCG@10 and MAP over 2,000 queries of 120 documents.

The time of pytrec_eval includes building its dictionaries from arrays, which it needs; "evaluate
only" is its time without that. ranx evaluates a Qrels and a Run that were built beforehand, after
compilation. scikit-learn has no MAP over queries, so it computes only NDCG@10.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Task

PARAMETERS = {"queries": 2000, "documents": 120}
TINY = {"queries": 30, "documents": 15}


def _arrays(queries: int, documents: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    n = queries * documents
    labels = np.where(rng.random(n) < 0.7, 0, rng.integers(0, 3, n))
    return labels, rng.permutation(n) / n, np.repeat(np.arange(queries), documents)


def _facts(ndcg: float, average_precision: float | None = None) -> dict[str, Any]:
    facts = {"NDCG@10": f"{ndcg:.10f}"}
    if average_precision is not None:
        facts["MAP"] = f"{average_precision:.10f}"
    return facts


def ranksieve(queries: int, documents: int) -> Task:
    """Evaluate flat arrays."""
    from ranksieve.metrics import evaluate

    labels, scores, qid = _arrays(queries, documents)

    def run() -> dict[str, float]:
        # Linear gain, as trec_eval has it; no scores are equal.
        return evaluate(labels, scores, qid, ["ndcg@10", "map"], "trec").mean

    return Task(run, run, lambda mean: _facts(mean["NDCG@10"], mean["MAP"]))


def _dictionaries(labels: np.ndarray, scores: np.ndarray, documents: int) -> tuple[dict, dict]:
    names = [f"d{number}" for number in range(documents)]
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for query in range(len(labels) // documents):
        rows = slice(query * documents, (query + 1) * documents)
        qrels[str(query)] = dict(zip(names, labels[rows].tolist(), strict=True))
        run[str(query)] = dict(zip(names, scores[rows].tolist(), strict=True))
    return qrels, run


def _trec_mean(values: dict[str, dict[str, float]]) -> dict[str, Any]:
    ndcg = np.mean([value["ndcg_cut_10"] for value in values.values()])
    return _facts(float(ndcg), float(np.mean([value["map"] for value in values.values()])))


def pytrec_eval(queries: int, documents: int) -> Task:
    """Build dictionaries and evaluate them."""
    import pytrec_eval

    labels, scores, _ = _arrays(queries, documents)

    def run() -> dict[str, dict[str, float]]:
        qrels, ranking = _dictionaries(labels, scores, documents)
        return pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map"}).evaluate(ranking)

    return Task(run, run, _trec_mean)


def pytrec_eval_only(queries: int, documents: int) -> Task:
    """Evaluate dictionaries that were built beforehand."""
    import pytrec_eval

    labels, scores, _ = _arrays(queries, documents)
    qrels, ranking = _dictionaries(labels, scores, documents)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map"})

    def run() -> dict[str, dict[str, float]]:
        return evaluator.evaluate(ranking)

    return Task(run, run, _trec_mean)


def ranx(queries: int, documents: int) -> Task:
    """Evaluate a Qrels and a Run that were built beforehand."""
    import warnings

    warnings.filterwarnings("ignore")
    from ranx import Qrels, Run, evaluate

    labels, scores, _ = _arrays(queries, documents)
    qrels, ranking = _dictionaries(labels, scores, documents)
    compiled = Qrels(qrels), Run(ranking)

    def run() -> dict[str, float]:
        return evaluate(*compiled, ["ndcg@10", "map"])

    return Task(run, run, lambda mean: _facts(mean["ndcg@10"], mean["map"]))


def scikit_learn(queries: int, documents: int) -> Task:
    """Compute only NDCG@10, for all queries in one call, as they have equal lengths."""
    from sklearn.metrics import ndcg_score

    labels, scores, _ = _arrays(queries, documents)

    def run() -> float:
        shape = (queries, documents)
        return ndcg_score(labels.reshape(shape), scores.reshape(shape), k=10, ignore_ties=True)

    return Task(run, run, _facts)


CONTENDERS = {
    "ranksieve": ranksieve,
    "pytrec_eval": pytrec_eval,
    "pytrec_eval, evaluate only": pytrec_eval_only,
    "ranx, warm": ranx,
    "scikit-learn, NDCG only": scikit_learn,
}
