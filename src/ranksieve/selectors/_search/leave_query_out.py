"""Selection by leave-query-out errors of least squares: the base class, and groups of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices, Predictor, RankSelector
from ranksieve.engine import Source, engine_of
from ranksieve.selectors._search.paths import (
    AnyFit,
    best_fit,
    changes_with_bars,
    check_two_queries,
)
from ranksieve.solvers.rankrls.groups import GroupLeaveQueryOut, GroupProducts
from ranksieve.threads import limit_blas_threads

_REFERENCE = """
    T. Pahikkala, A. Airola, P. Naula, T. Salakoski. Greedy RankRLS: a linear time algorithm for
    learning sparse ranking models. SIGIR 2010 workshop on feature generation and selection.
"""


class LeaveQueryOutSelector(Predictor, RankSelector):
    """A selector whose search makes a path of models, each with a leave-query-out error.

    Or with the value of a measure, of which larger values may be better.
    """

    _shared_docs: ClassVar[dict[str, str]] = {"rankrls_reference": _REFERENCE}

    with_include = "The search starts with them, and never removes them."
    _is_nested = True

    max_features: int | None

    @property
    def _greater_is_better(self) -> bool:
        """Whether larger scores of the path are better."""
        return False

    def reasons(self) -> list[str]:
        """For each selected feature, the change of the error or measure, and a bar."""
        check_is_fitted(self)
        scores = [step.score for step in self.path_]
        steps = pairwise(scores)
        changes = [f"{(now - old) / old:+.2%}" if old else "" for old, now in steps]
        return changes_with_bars(changes, scores)

    def _number_to_select(self, n: int) -> int:
        if isinstance(self.n_features_to_select, str):
            return min(n, self.max_features or n)
        return super()._number_to_select(n)

    def _position_on(self, path: Sequence[AnyFit], choices: Choices) -> int:
        """Position of the model to use: the last one, or the one that a rule chooses."""
        if isinstance(self.n_features_to_select, str):
            least, greater = max(1, len(choices.start)), self._greater_is_better
            return best_fit(path, self.n_features_to_select, least, greater_is_better=greater)
        return len(path) - 1


@contextmanager
def group_products(
    source: Source, groups: Sequence[Sequence[int] | np.ndarray], *rows: Any
) -> Iterator[tuple[GroupProducts, float]]:
    """Context manager that yields products of groups of columns, and the weight of the queries.

    ``rows`` are further parameters of :class:`GroupLeaveQueryOut`.
    """
    with (
        limit_blas_threads(1),  # matrices between rounds are small
        engine_of(source).start(GroupLeaveQueryOut, *rows) as workers,
    ):
        n_queries, weight = workers.sum(GroupLeaveQueryOut.n_queries)
        check_two_queries(n_queries)
        yield GroupProducts(workers, groups), weight
