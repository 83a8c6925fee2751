"""Bases of the selectors that use held-out queries, and how queries are held out."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ranksieve.base import Choices, RankSelector
from ranksieve.data import DataError
from ranksieve.data.fitted import SCALE_FIRST
from ranksieve.engine import Source, Workers, engine_of
from ranksieve.metrics import Measure, get_convention, parse_measure
from ranksieve.parameters import ConventionChoice, FeatureCount, Seed, Share, Ties
from ranksieve.solvers.rankrls.model import Products
from ranksieve.solvers.rankrls.ridge import RidgeRows
from ranksieve.sums.densities import Part
from ranksieve.sums.held_out import Measured

_LARGE_BLOCKS = 2**22  # bytes; larger blocks suit many quick rounds

# Why selectors of subsets of one size take no groups.
SUBSETS_OF_ONE_SIZE = (
    "it searches subsets of exactly k features, which groups of different sizes may not fill."
)

# Entry that replaces {validation} in docstrings.
_VALIDATION = """
    measure : str or Measure
        Measure by which subsets are compared.
    validation_fraction : float
        Fraction of the queries to hold out if ``fit`` gets no ``eval_set``.
    convention : str or Convention
        Convention of the measure; see :mod:`ranksieve.metrics`.
    ties : {"average", "stable"}
        How the measure treats documents of equal score.
"""


class FreeFeatures(NamedTuple):
    """Features among which a search for subsets of one size may choose."""

    start: list[int]  # included features that vary; all subsets contain them
    candidates: np.ndarray  # other features that vary
    k: int  # number of candidates to choose
    constant: list[int]  # features that do not vary, selected if there are too few candidates


class HeldOutSelector(RankSelector):
    """Base of selectors that use held-out queries, which ``_choose`` gets as ``eval_set``."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        eval_set: Any = None,
        *,
        eval_qid: Any = None,
        eval_group: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Select features.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in :meth:`ranksieve.base.RankSelector.fit`.
        eval_set : tuple (X, y, qid), RankingData, opened shards, or list [(X, y)], optional
            Held-out queries, with their own weights if they have any. Without it, some queries of
            the data are held out.
        eval_qid, eval_group : list of one array, optional
            For a list [(X, y)], as LightGBM and XGBoost take it: the query of each row of X, or the
            number of rows of each query, one after the other.
        """
        held_out = {"eval_set": eval_set, "eval_qid": eval_qid, "eval_group": eval_group}
        return self._fit(X, y, qid, sample_weight, **held_out)


@dataclass(eq=False, repr=False)
class SubsetSelector(HeldOutSelector):
    """Base of selectors that compare subsets of the features by a measure of held-out queries."""

    _shared_docs: ClassVar[dict[str, str]] = {"validation": _VALIDATION}
    steps_in_python = True

    n_features_to_select: FeatureCount = 10
    _: KW_ONLY
    measure: str | Measure = "ndcg@10"
    validation_fraction: Share = 0.25
    convention: ConventionChoice = "standard"
    ties: Ties = "average"
    random_state: Seed = 0
    verbose: bool = False

    def _measuring_workers(self, statistic: type[Measured], held_out: Part) -> Workers:
        """Start workers that evaluate models on held-out queries."""
        convention = get_convention(self.convention, self.ties)
        parameters = parse_measure(self.measure), convention, held_out.queries
        engine = engine_of(held_out.source, smallest=_LARGE_BLOCKS)
        return engine.start(statistic, *parameters)


def free_features(choices: Choices, varies: np.ndarray) -> FreeFeatures:
    """Divide features for a search, given which of them vary within queries."""
    start = [feature for feature in choices.include if varies[feature]]
    others = np.setdiff1d(np.arange(len(varies)), choices.include)
    candidates = others[varies[others]]
    k = choices.k - len(choices.include)
    constant = others[~varies[others]][: max(0, k - len(candidates))].tolist()
    return FreeFeatures(start, candidates, k - len(constant), constant)


def hold_out(
    source: Source, eval_set: Source | None, fraction: float, random_state: Any
) -> tuple[Part, Part]:
    """Return training and held-out queries: all and ``eval_set``, or a random division.

    Without an ``eval_set``, a fraction of the queries is held out, but at least one query.
    """
    if eval_set is not None:
        return Part(source), Part(eval_set)
    counted = counted_queries(source)
    n_queries = len(counted)
    if n_queries < 2:
        raise DataError("cannot hold out the only query: pass an eval_set")
    n_held_out = min(max(1, round(fraction * n_queries)), n_queries - 1)
    held_out = np.zeros(source.n_queries, dtype=bool)
    order = check_random_state(random_state).permutation(n_queries)
    held_out[counted[order[:n_held_out]]] = True
    return Part(source, ~held_out), Part(source, held_out)


def counted_queries(source: Source) -> np.ndarray:
    """Positions of the queries whose weight is not 0."""
    weights = source.query_weights
    return np.arange(source.n_queries) if weights is None else np.flatnonzero(weights)


def training_products(part: Part) -> Products:
    """Products of all features on some queries, from which RankRLS fits any subset."""
    with engine_of(part.source).start(RidgeRows, part.queries) as workers:
        xx, xy = workers.sum("gram")
    if not np.isfinite(xx).all():
        raise DataError(f"some features are too large to multiply; {SCALE_FIRST}")
    return Products(xx, xy, 0.0)  # the squared labels are not needed
