"""Selection by leave-query-out errors of least squares: the base class, groups, back-fitting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices, Predictor, RankSelector
from ranksieve.choosing import first_of_best
from ranksieve.engine import Source, engine_of
from ranksieve.selectors._search.paths import Fit, best_fit, changes_with_bars, check_two_queries
from ranksieve.selectors._search.searches import Bounds
from ranksieve.solvers.rankrls.backfitting import BackfittedModel, Backfitting
from ranksieve.solvers.rankrls.groups import GroupLeaveQueryOut, GroupProducts
from ranksieve.threads import limit_blas_threads

# Entries that replace {path_number} and so on in docstrings.
_NUMBER = """
    n_features_to_select : int, float, "best" or "one_se"
        Number of features, or a fraction of them if below 1; or the number with the smallest
        leave-query-out error; or the smallest number within one standard error of that.
"""
_MAX_FEATURES = """
    max_features : int, optional
        Largest size on the path if the error chooses the number of features; by default all.
"""
_PATH = """
    path_ : list of (feature, score)
        Each selected feature, and the leave-query-out error of the model of that size.
"""


class LeaveQueryOutSelector(Predictor, RankSelector):
    """A selector whose search makes a path of models, each with a leave-query-out error."""

    _shared_docs: ClassVar[dict[str, str]] = {
        "path_number": _NUMBER,
        "max_features": _MAX_FEATURES,
        "path_of_errors": _PATH,
    }

    given = "The search starts with them, and never removes them."
    _is_nested = True

    max_features: int | None

    def reasons(self) -> list[str]:
        """For each selected feature, the change of the error, and a bar."""
        check_is_fitted(self)
        errors = [step.score for step in self.path_]
        steps = pairwise(errors)
        changes = [f"{(now - old) / abs(old):+.2%}" if old else "" for old, now in steps]
        return changes_with_bars(changes, errors)

    def _number_to_select(self, n: int) -> int:
        if isinstance(self.n_features_to_select, str):
            return min(n, self.max_features or n)
        return super()._number_to_select(n)

    def _position_on(self, path: Sequence[Fit], choices: Choices) -> int:
        """Position of the model to use: the last one, or the one that a rule chooses."""
        if isinstance(self.n_features_to_select, str):
            return best_fit(path, self.n_features_to_select, max(1, len(choices.start)))
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
        n_queries, weight = workers.sum("n_queries")
        check_two_queries(n_queries)
        yield GroupProducts(workers, groups), weight


def backfit(
    source: Source,
    k: int,
    lam: float,
    *,
    include: Sequence[int] = (),
    kappa: int | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> list[Fit]:
    """Greedy RankRLS that fits one weight per candidate, and all weights once it is chosen.

    At each step, a candidate's weight alone is fitted to the residual of the model so far
    (*back-fitting*, in contrast to *pre-fitting*, which fits all weights for each candidate); the
    candidate with the smallest exact leave-query-out error enters the model, and all weights are
    fitted again. With an empty model both are the same. See
    :class:`ranksieve.selectors.GreedyRankRLS` for the model and the parameters.

    Returns the models of 1 to k features, whose errors are those of all weights fitted. CSR data
    stays sparse. Features of ``include`` come first, in this order, and count toward k. The
    ``kappa`` candidates of a step are drawn without replacement from the features that vary within
    some query and are not in the model.

    Notes
    -----
    Takes O(k^2 z + k^4 q) time for z nonzero values and q queries in which a feature of the model
    varies. With ``kappa`` only the values of candidates count in z, while reading the data takes
    one pass over all of it, and products with the model O(k^2 m) for m rows. Memory is
    O(z + m + k (n + q)) for n features. Features that are constant within every query are taken
    only when nothing else is left. Ties go to the lowest index; errors that differ by less than
    1e-11 of the model's error are ties.

    References
    ----------
    P. Vincent, Y. Bengio. Kernel matching pursuit. Machine Learning 48, 2002.
    """
    random = check_random_state(random_state)
    path: list[Fit] = []
    with engine_of(source).start(Backfitting) as workers:
        model = BackfittedModel(workers, lam)
        check_two_queries(model.n_queries)
        choices = Choices.of_features(source.n_features, k, include)
        bounds = Bounds(model.weight, model.n_varying > 0, choices)
        while len(path) < k:
            free = bounds.free(model.features)
            forced = include[len(path)] if len(path) < len(include) else None
            _set_candidates(model, free, forced, kappa, random)
            model.accept(_best(model, free) if forced is None else forced)
            path.append(bounds.fit(model))
    return path


def _set_candidates(
    model: BackfittedModel,
    free: np.ndarray,
    forced: int | None,
    kappa: int | None,
    random: np.random.RandomState,
) -> None:
    """Set the candidates of a step: all features, the forced one, or ``kappa`` random free ones."""
    if kappa is None:
        model.set_all_candidates()
    elif forced is not None:
        model.set_candidates(np.array([forced]))
    else:
        drawn = random.choice(free, min(kappa, len(free)), replace=False)
        model.set_candidates(np.sort(drawn))


def _best(model: BackfittedModel, free: np.ndarray) -> int:
    """Candidate with the smallest error; the lowest index on ties."""
    errors = np.where(np.isin(model.candidates, free), model.errors(), np.inf)
    # Sparse features tie often; how their errors round depends on how the data is divided.
    return int(model.candidates[first_of_best(-errors, scale=model.error)])
