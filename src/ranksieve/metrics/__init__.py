"""Measures of ranking quality, under the conventions of well-known programs.

Examples
--------
>>> from ranksieve.metrics import MAP, NDCG, evaluate
>>> result = evaluate(
...     y=[0, 2, 1, 0, 1], scores=[3.0, 2.0, 1.0, 0.5, 0.1], qid=[1, 1, 1, 2, 2],
...     measures=[NDCG(10), "map"], convention="standard",
... )
>>> {name: round(value, 4) for name, value in result.mean.items()}
{'NDCG@10': 0.645, 'MAP': 0.5417}
>>> result.per_query["MAP"].round(4).tolist()
[0.5833, 0.5]
"""

from ranksieve.metrics.conventions import CONVENTIONS, Convention, get_convention
from ranksieve.metrics.evaluation import (
    Evaluation,
    QueryScorer,
    evaluate,
    make_query_scorer,
    mean_of_defined,
)
from ranksieve.metrics.measures import (
    DCG,
    ERR,
    MAP,
    MRR,
    NDCG,
    MeanNDCG,
    Measure,
    P,
    PairwiseError,
    parse_measure,
)
from ranksieve.metrics.ranking import Prepared, Ranking

__all__ = [
    "NDCG",
    "DCG",
    "MAP",
    "P",
    "MeanNDCG",
    "ERR",
    "MRR",
    "PairwiseError",
    "Measure",
    "parse_measure",
    "Convention",
    "CONVENTIONS",
    "get_convention",
    "Evaluation",
    "evaluate",
    "mean_of_defined",
    "Ranking",
    "Prepared",
    "QueryScorer",
    "make_query_scorer",
]
