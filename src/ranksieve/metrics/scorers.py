"""Measures as scikit-learn scorers."""

from __future__ import annotations

from typing import Any

from ranksieve.data import DataError
from ranksieve.metrics.conventions import Convention, get_convention
from ranksieve.metrics.evaluation import evaluate
from ranksieve.metrics.measures import Measure
from ranksieve.metrics.parsing import parse_measure


class QueryScorer:
    """A scikit-learn scorer for one measure: ``scorer(estimator, X, y, qid=qid)``.

    Requests ``qid`` and ``sample_weight`` through metadata routing, so that ``cross_validate`` and
    ``GridSearchCV`` pass them on once routing is enabled. Without weights every query counts the
    same.
    """

    def __init__(self, measure: Measure, convention: Convention) -> None:
        self.measure = measure
        self.convention = convention

    def __repr__(self) -> str:
        return f"make_query_scorer({self.measure.name!r}, {self.convention.name!r})"

    def __call__(
        self, estimator: Any, X: Any, y: Any, qid: Any = None, sample_weight: Any = None
    ) -> float:
        """Mean of the measure, negated if smaller is better.

        ``sample_weight`` has a weight for each query or for each row, as in ``fit``.
        """
        if qid is None:
            raise DataError(
                "this scorer needs qid: call sklearn.set_config(enable_metadata_routing=True) "
                "and pass params={'qid': qid}"
            )
        scores = estimator.predict(X)
        result = evaluate(
            y, scores, qid, self.measure, self.convention, query_weights=sample_weight
        )
        value = result.mean[self.measure.name]
        return value if self.measure.greater_is_better else -value

    def get_metadata_routing(self) -> Any:
        """Routing request: ``qid`` and ``sample_weight``."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        for name in ("qid", "sample_weight"):
            request.score.add_request(param=name, alias=True)
        return request


def make_query_scorer(
    measure: str | Measure, convention: str | Convention = "standard"
) -> QueryScorer:
    """Make a scikit-learn scorer from a measure.

    Examples
    --------
    >>> from ranksieve.metrics import make_query_scorer
    >>> make_query_scorer("ndcg@10")
    make_query_scorer('NDCG@10', 'standard')
    """
    return QueryScorer(parse_measure(measure), get_convention(convention))
