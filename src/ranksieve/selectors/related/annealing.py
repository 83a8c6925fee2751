"""Simulated annealing over subsets of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices
from ranksieve.choosing import ROUNDING
from ranksieve.data import DataError
from ranksieve.engine import Source, Workers
from ranksieve.metrics import parse_measure
from ranksieve.parameters import Count, Positive
from ranksieve.progress import track
from ranksieve.registry import Method
from ranksieve.selectors._search.held_out import hold_out
from ranksieve.selectors.related.subsets import (
    SUBSETS_OF_ONE_SIZE,
    FreeFeatures,
    SubsetSelector,
    fit_subset,
    free_features,
    training_products,
)
from ranksieve.sums.gram import GramSums
from ranksieve.sums.held_out import MeasuredModels, check_any_value

_MOST_AT_ONCE = 16  # most neighbors measured in one round

Subset = tuple[int, ...]


class Energies:
    """Energies of subsets: the negated measure of RankRLS with these features on held-out queries.

    ``products`` are those of all features on the training queries, ``workers`` those of
    :class:`MeasuredModels`, and ``sign`` is 1 if larger values of the measure are better, else -1.
    """

    def __init__(
        self, products: GramSums, lam: float, workers: Workers[MeasuredModels], sign: int
    ) -> None:
        self.products, self.lam, self.workers, self.sign = products, lam, workers, sign
        self.known: dict[Subset, float] = {}  # each subset is trained once

    def measure(self, subsets: Sequence[Subset]) -> list[float]:
        """Energies of subsets with ascending features; new subsets are computed in one round."""
        new = [subset for subset in dict.fromkeys(subsets) if subset not in self.known]
        if new:
            features = np.unique(new).astype(np.intp)
            coefs = np.zeros((len(features), len(new)))
            for number, subset in enumerate(new):
                positions = np.searchsorted(features, subset)
                coefs[positions, number] = fit_subset(self.products, subset, self.lam)
            n_queries, values, _ = self.workers.sum(MeasuredModels.sums, features, coefs)
            check_any_value(n_queries)
            energies = -self.sign * values / n_queries
            self.known.update(zip(new, energies.tolist(), strict=True))
        return [self.known[subset] for subset in subsets]


@dataclass(eq=False, repr=False)
class SimulatedAnnealing(SubsetSelector):
    r"""Simulated annealing: a random walk over subsets that accepts fewer bad steps over time.

    .. math:: \min_S E(S), \quad |S| = k, \qquad
              P(S \to S') = \min\left(1, e^{-(E(S') - E(S)) / T_t}\right), \qquad
              T_t = T_0 (T_1 / T_0)^{t / (s - 1)}

    E is the negated measure, on held-out queries, of RankRLS trained on the features of S. Step t
    of s proposes S' by replacing a random feature of S with a random other feature. The best subset
    visited is selected.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    lam : float
        Regularization of RankRLS. Scale features first if their ranges differ
        (:class:`ranksieve.preprocessing.QueryMinMaxScaler`).
    n_steps : int
        Number of proposals s.
    start_temperature, end_temperature : float
        T_0 and T_1: the loss in the measure that is accepted with probability 1/e, at the start and
        at the end.
    measure, validation_fraction, convention, ties
        As in :class:`SubsetSelector`.
    random_state : int, RandomState or None
        Random seed of the walk and of the choice of held-out queries.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features of the best subset, by decreasing score.
    scores_ : array of shape (features,)
        Absolute weight in the model of the best subset times the spread of the feature within
        training queries (root of the sum of squares); 0 for other features.
    coef_ : array of shape (features,)
        Weights of that model; 0 for other features.
    value_ : float
        Measure of the best subset on held-out queries.
    walk_ : array of shape (n_steps + 1,)
        Measure of the current subset after each step.
    n_trained_ : int
        Number of different subsets that were trained.

    Notes
    -----
    Takes O(m n^2) time once for the products of n features over m training rows, then
    O(k^3 + h (k + log l)) for each new subset of k features and h held-out rows in queries of l
    documents; no subset is trained twice.

    This is our own variant. Annealing over subsets by the validation measure of a ranker is
    published; swaps, which keep the size of subsets, geometric cooling between given temperatures,
    RankRLS, and all defaults are ours. The walk starts at a random subset. Features that are
    constant within every training query are taken only if there are no others. The measure of the
    selected subset is the best of many on the held-out queries, and therefore optimistic.

    References
    ----------
    - M. W. Allvi, M. Hasan, L. Rayan, M. Shahabuddin, M. M. Khan, M. Ibrahim. Feature selection
      for learning-to-rank using simulated annealing. IJACSA 11(3), 2020.
    - M. S. Haque, M. Fahim, M. Ibrahim. An exploratory study on simulated annealing for feature
      selection in learning-to-rank. IJISA 16(4), 2024.
    - S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi. Optimization by simulated annealing. Science 220,
      1983.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import SimulatedAnnealing
    >>> data, truth = make_ranking(200, n_informative=2, n_redundant=0, noise=0.1)
    >>> selector = SimulatedAnnealing(n_features_to_select=2).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    """

    with_include = "All subsets contain them."

    methods = (
        Method(
            "annealing",
            "simulated annealing over subsets, by held-out RankRLS",
            grid={"lam": (0.01, 0.1, 1.0, 10.0, 100.0)},
            trial={"n_steps": 20},
        ),
    )

    no_groups = SUBSETS_OF_ONE_SIZE

    _: KW_ONLY
    lam: Positive = 1.0
    n_steps: Count = 1000
    start_temperature: Positive = 0.01
    end_temperature: Positive = 0.0001

    def _choose(self, source: Source, choices: Choices, vali: Source | None = None) -> np.ndarray:
        if self.end_temperature > self.start_temperature:
            raise DataError(
                f"end_temperature={self.end_temperature} must not be larger than "
                f"start_temperature={self.start_temperature}"
            )
        rng = check_random_state(self.random_state)
        train, validation = hold_out(source, vali, self.validation_fraction, rng)
        products = training_products(train)
        free = free_features(choices, products.varies)
        sign = 1 if parse_measure(self.measure).greater_is_better else -1
        with self._measuring_workers(MeasuredModels, validation) as workers:
            energies = Energies(products, self.lam, workers, sign)
            best = self._anneal(energies, free, rng)
            self.n_trained_ = len(energies.known)
            self.value_ = -energies.sign * energies.known[best]
        self.coef_ = np.zeros(source.n_features)
        self.coef_[list(best)] = fit_subset(products, best, self.lam)
        self.scores_ = np.abs(self.coef_) * np.sqrt(np.diag(products.xx))
        chosen = np.setdiff1d(best, choices.include).astype(np.intp)
        order = np.argsort(-self.scores_[chosen], kind="stable")
        return np.array([*choices.include, *chosen[order], *free.constant], dtype=np.intp)

    def _anneal(self, energies: Energies, free: FreeFeatures, rng: np.random.RandomState) -> Subset:
        """Walk over subsets of the free features, and return the best one; the first of equals.

        All subsets, including the returned one, also contain the included features.
        """
        order = rng.permutation(free.candidates)
        current = best = tuple(sorted(order[: free.k].tolist()))
        others = sorted(order[free.k :].tolist())

        def energies_of(subsets: Sequence[Subset]) -> list[float]:
            return energies.measure([tuple(sorted((*free.start, *subset))) for subset in subsets])

        [energy] = energies_of([current])
        lowest = energy
        walk = np.full(self.n_steps + 1, energy)
        leaving, coming, allowed = self._draw(rng)
        n_steps = self.n_steps if current and others else 0
        advance = track("Annealing", n_steps)
        step, at_once = 0, 1
        while step < n_steps:
            ahead = range(step, min(step + at_once, n_steps))
            proposals = [_swap(current, others, leaving[t], coming[t]) for t in ahead]
            at_once = min(2 * at_once, _MOST_AT_ONCE)
            for proposal, proposed in zip(proposals, energies_of(proposals), strict=True):
                step += 1
                advance(1)
                if proposed - energy <= allowed[step - 1]:
                    current, energy, at_once = proposal, proposed, 1
                    others = np.setdiff1d(free.candidates, current).tolist()
                    walk[step:] = energy
                    if energy < lowest - ROUNDING:
                        best, lowest = current, energy
                    break
        self.walk_ = -energies.sign * walk
        return tuple(sorted((*free.start, *best)))

    def _draw(self, rng: np.random.RandomState) -> tuple[list[float], list[float], list[float]]:
        """Random numbers of all steps, drawn at once: the walk does not depend on the look-ahead.

        Positions, from 0 to 1, of the features that leave and come; and the largest rise of the
        energy that is accepted, whose distribution gives the acceptance probability of annealing.
        """
        leaving, coming, accepting = rng.random_sample((3, self.n_steps))
        ratio = self.end_temperature / self.start_temperature
        temperatures = self.start_temperature * ratio ** np.linspace(0, 1, self.n_steps)
        with np.errstate(divide="ignore"):
            allowed = -temperatures * np.log(accepting)
        return leaving.tolist(), coming.tolist(), allowed.tolist()

    def reasons(self) -> list[str]:
        """Weight of each selected feature in the model of the best subset."""
        check_is_fitted(self)
        return [f"weight {weight:+.3g}" for weight in self.coef_[self.selected_].tolist()]


def _swap(subset: Subset, others: Sequence[int], leaving: float, coming: float) -> Subset:
    """Subset with one feature replaced by one of the others, in ascending order."""
    position = int(leaving * len(subset))
    kept = subset[:position] + subset[position + 1 :]
    return tuple(sorted((*kept, others[int(coming * len(others))])))
