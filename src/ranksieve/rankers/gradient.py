"""RankNet, ListNet, ListMLE and LambdaRank: linear models or networks, by gradient descent.

:class:`GradientRanker` has their solvers and early stopping.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from ranksieve.choosing import EarlyStopping
from ranksieve.data import RankingData
from ranksieve.engine import LocalEngine, Source, Workers, engine_of, whole_block
from ranksieve.io.records import get_numbers
from ranksieve.metrics import Measure, parse_measure
from ranksieve.parameters import ConventionChoice, Count, NotNegative, Positive, Seed
from ranksieve.rankers.base import Ranker
from ranksieve.registry import Method
from ranksieve.solvers.gradient.losses import LOSSES
from ranksieve.solvers.gradient.networks import (
    STEPS,
    MeasuredNetwork,
    Standard,
    TrainingLoss,
    Weights,
    first_weights,
    score_rows,
)
from ranksieve.sums.held_out import check_any_value, orient
from ranksieve.threads import limit_threads

_NO_GAIN = np.finfo(np.float64).eps  # relative change of the objective that ends training

_NOTES = """
    Each pass takes O(m f) time for m documents with f features, and O(m n) more for the pairs of
    RankNet and LambdaRank in queries of n; times the number of hidden units for a network. All
    solvers draw the same batches for data in memory, on shards and on Dask, where each batch is a
    call to all blocks, so that ``batch_queries`` should be large. The loss of a query is multiplied
    by its weight and divided by the total weight of pairs (RankNet) or queries; biases are not
    penalized. Queries of one document or of equal labels contribute nothing.
"""

_EXAMPLE = """
    >>> from ranksieve import make_ranking
    >>> from ranksieve.rankers import {class}
    >>> data, truth = make_ranking(60, n_informative=2, n_noise=3, noise=0.1, random_state=0)
    >>> ranker = {class}(epochs=30).fit(data)
    >>> sorted(abs(ranker.coef_).argsort()[-2:].tolist()) == truth.informative.tolist()
    True
"""


class _TrainingLog:
    """Results of the iterations so far, and the best weights."""

    def __init__(
        self, value_of: Callable[[Weights], float] | None, early_stopping_rounds: int
    ) -> None:
        self.value_of = value_of
        # Without a tolerance, because published results depend on it.
        self.stopping = EarlyStopping(early_stopping_rounds, rounding=0.0)
        self.losses: list[float] = []
        self.best: Weights = []

    @property
    def best_epoch(self) -> int:
        """The iteration of the best weights, from 1."""
        return self.stopping.best or len(self.losses)

    def is_over(self, loss: float, weights: Weights) -> bool:
        """Record an iteration; return whether to stop."""
        self.losses.append(loss)
        is_over = self.value_of is not None and self.stopping.add(self.value_of(weights))
        if self.best_epoch == len(self.losses):
            self.best = weights
        return is_over


@dataclass(eq=False, repr=False)
class GradientRanker(Ranker):
    """Base of rankers that follow the gradient of a loss of ``LOSSES``; a subclass names it.

    Parameters
    ----------
    hidden : int
        Number of units in the hidden layer; 0 for a linear model.
    activation : {"tanh", "sigmoid", "relu"}
        Activation function of the hidden units.
    solver : {"auto", "lbfgs", "adam", "sgd"}
        L-BFGS, for linear models with a differentiable loss; or stochastic gradient steps on
        batches of queries, by Adam or with a fixed learning rate. ``"auto"`` is L-BFGS where it
        works, and Adam elsewhere.
    alpha : float
        L2 penalty: ``alpha / 2`` times the sum of squared weights is added to the mean loss.
    tol, max_iter : float, int
        For L-BFGS: stop when no entry of the gradient is larger than ``tol``, or after
        ``max_iter`` iterations.
    batch_queries, epochs, learning_rate : int or None, int, float
        For stochastic steps: queries per batch (None: all), passes over the data, and step size.
    measure, convention : str or Measure, str or Convention
        Measure on ``eval_set`` for early stopping; see :mod:`ranksieve.metrics`.
    early_stopping_rounds : int
        Stop after this many iterations or epochs without a better value on ``eval_set``, and keep
        the best weights.
    standardize : bool
        Whether to standardize features internally, so that the penalty and the steps mean the same
        for all of them. Weights are always those of the original features.
    random_state : int, RandomState or None
        Random seed of the initial weights and the batches; not used by L-BFGS.
    progress : bool
        Whether to show progress in a terminal or a notebook.

    Attributes
    ----------
    coef_ : array of shape (features,)
        Weights; linear models only.
    weights_ : list of arrays
        Networks only: arrays of shapes (features, hidden), (hidden,) and (hidden,). The score is
        ``activation(X @ weights_[0] + weights_[1]) @ weights_[2]``.
    mean_, scale_ : arrays of shape (features,)
        Mean and standard deviation over the training rows of queries whose labels differ; 0 and 1
        without ``standardize``, and 1 for a constant feature.
    loss_curve_ : list of float
        Objective after each iteration; with batches, its mean over each epoch.
    validation_curve_ : list of float
        Measure on ``eval_set`` after each of them; empty without one.
    n_iter_ : int
        Number of iterations or epochs.
    best_epoch_ : int
        Iteration or epoch, from 1, whose weights were kept; the last one without ``eval_set``.
    """

    _shared_docs: ClassVar[dict[str, str]] = {
        "solvers": _NOTES,
        "example": _EXAMPLE,
    }
    _loss: ClassVar[str]
    steps_in_python = True

    hidden: Annotated[int, Interval(Integral, 0, None, closed="left")] = 0
    _: KW_ONLY
    activation: Literal["tanh", "sigmoid", "relu"] = "tanh"
    solver: Literal["auto", "lbfgs", "adam", "sgd"] = "auto"
    alpha: NotNegative = 1e-3
    tol: NotNegative = 1e-6
    max_iter: Count = 1000
    batch_queries: Count | None = 32
    epochs: Count = 100
    learning_rate: Positive = 0.01
    measure: str | Measure = "ndcg@10"
    convention: ConventionChoice = "standard"
    early_stopping_rounds: Count = 10
    standardize: bool = True
    random_state: Seed = 0
    progress: bool = True

    @property
    def feature_importances_(self) -> np.ndarray:
        """Absolute weights; for a network, summed over all paths from a feature to the score.

        They are comparable only if features have similar scales.
        """
        check_is_fitted(self)
        if not hasattr(self, "weights_"):
            return np.abs(self.coef_)
        return np.abs(self.weights_[0]) @ np.abs(self.weights_[2])

    def _scores(self, X: Any) -> np.ndarray:
        weights = self.weights_ if hasattr(self, "weights_") else [self.coef_]
        return score_rows(X, weights, self.activation)

    def _learned(self) -> dict[str, Any]:
        if not hasattr(self, "weights_"):
            return {"coef": self.coef_.tolist()}
        parts = zip(("inner", "bias", "outer"), self.weights_, strict=True)
        return {name: weight.tolist() for name, weight in parts}

    def _relearn(self, learned: dict[str, Any]) -> None:
        n = self.n_features_in_
        if self.hidden == 0:
            self.coef_ = get_numbers(learned, "coef", n)
            return
        shapes = {"inner": (n, self.hidden), "bias": (self.hidden,), "outer": (self.hidden,)}
        self.weights_ = [get_numbers(learned, name, *shape) for name, shape in shapes.items()]

    def _train(self, source: Source, vali: Source | None) -> None:
        by_steps = self._takes_steps()
        with ExitStack() as stack:
            engine = engine_of(source)
            if by_steps and isinstance(source, RankingData) and self.batch_queries is not None:
                # A batch is too small to be divided among threads.
                stack.enter_context(limit_threads(1))
                block = whole_block(source)
                engine = LocalEngine([lambda: block], source.check_finite)
            training = engine.start(TrainingLoss, self._loss, self.activation)
            workers = stack.enter_context(training)
            log = self._make_log(vali, stack)
            rows, total, terms = workers.sum(TrainingLoss.totals)
            standard = Standard(np.zeros(source.n_features), np.ones(source.n_features))
            if self.standardize:
                standard = Standard.from_sums(rows, total, workers)
            solve = self._step if by_steps else self._minimize
            solve(workers, standard, terms, log)
        self._keep(standard, log)

    def _takes_steps(self) -> bool:
        convex = self.hidden == 0 and LOSSES[self._loss].is_smooth
        if self.solver == "lbfgs" and not convex:
            raise ValueError("solver='lbfgs' needs a linear model (hidden=0) other than LambdaRank")
        return self.solver in STEPS or not convex

    def _make_log(self, vali: Source | None, stack: ExitStack) -> _TrainingLog:
        measure = parse_measure(self.measure)  # an unknown one is an error even if it is not used
        if vali is None:
            return _TrainingLog(None, self.early_stopping_rounds)
        measured = engine_of(vali).start(MeasuredNetwork, measure, self.convention, self.activation)
        workers = stack.enter_context(measured)

        def value_of(weights: Weights) -> float:
            n_queries, total = workers.sum(MeasuredNetwork.sums, weights)
            check_any_value(n_queries)
            return float(total / n_queries)

        return _TrainingLog(value_of, self.early_stopping_rounds)

    def _minimize(
        self, workers: Workers[TrainingLoss], standard: Standard, terms: float, log: _TrainingLog
    ) -> None:
        """Find the best linear model by L-BFGS."""
        from scipy.optimize import OptimizeResult, minimize

        def objective(coef: np.ndarray) -> tuple[float, np.ndarray]:
            loss, gradient = workers.sum(
                TrainingLoss.loss_and_gradient, standard.to_original([coef])
            )
            (slope,) = standard.to_standardized([gradient])
            value = loss / terms + self.alpha / 2 * float(coef @ coef)
            return value, slope / terms + self.alpha * coef

        def record(intermediate_result: OptimizeResult) -> None:
            at = intermediate_result
            if log.is_over(float(at.fun), standard.to_original([at.x.copy()])):
                raise StopIteration

        start = np.zeros_like(standard.mean)
        options: dict[str, Any] = {"maxiter": self.max_iter, "maxfun": 20 * self.max_iter}
        options |= {"gtol": self.tol, "ftol": _NO_GAIN}
        found = minimize(
            objective, start, jac=True, method="L-BFGS-B", callback=record, options=options
        )
        if not log.losses:  # no feature is informative: the start is the optimum
            log.is_over(float(found.fun), standard.to_original([start]))
        if found.status == 1:
            warnings.warn(
                f"{type(self).__name__} did not converge in {self.max_iter} iterations: increase "
                "max_iter, alpha or tol",
                ConvergenceWarning,
                stacklevel=2,
            )

    def _step(
        self, workers: Workers[TrainingLoss], standard: Standard, terms: float, log: _TrainingLog
    ) -> None:
        """Take gradient steps, each on a batch of queries."""
        random = check_random_state(self.random_state)
        weights = first_weights(len(standard.mean), self.hidden, random)
        queries = np.concatenate(workers.collect(TrainingLoss.informative_queries))
        size = min(self.batch_queries or len(queries), len(queries))
        steps = STEPS["sgd" if self.solver == "sgd" else "adam"](weights, self.learning_rate)
        for _ in range(self.epochs):
            shuffled = random.permutation(queries) if size < len(queries) else queries
            loss = 0.0
            for first in range(0, len(queries), size):
                batch = np.sort(shuffled[first : first + size])
                some = batch if size < len(queries) else None
                original = standard.to_original(weights)
                part, *gradient = workers.sum(TrainingLoss.loss_and_gradient, original, some)
                loss += part
                # Not divided by the terms of the batch: that would favor batches with few terms.
                share = terms * len(batch) / len(queries)
                slopes, shrinkage = standard.to_standardized(gradient), self._shrinkage(weights)
                steps.step([s / share + less for s, less in zip(slopes, shrinkage, strict=True)])
            if not np.isfinite(loss):
                raise ValueError(f"training diverged (the loss is {loss}): lower learning_rate")
            parts = zip(self._shrinkage(weights), weights, strict=True)
            penalty = sum(float(np.sum(slope * weight)) for slope, weight in parts) / 2
            if log.is_over(loss / terms + penalty, standard.to_original(weights)):
                break

    def _shrinkage(self, weights: Weights) -> Weights:
        """Gradient of the penalty with respect to each array of weights."""
        alphas = [self.alpha] if len(weights) == 1 else [self.alpha, 0.0, self.alpha]
        return [alpha * weight for alpha, weight in zip(alphas, weights, strict=True)]

    def _keep(self, standard: Standard, log: _TrainingLog) -> None:
        for stale in ("coef_", "weights_"):  # from an earlier fit
            self.__dict__.pop(stale, None)
        if self.hidden == 0:
            (self.coef_,) = log.best
        else:
            self.weights_ = log.best
        self.mean_, self.scale_ = standard
        measure = parse_measure(self.measure)
        self.loss_curve_ = log.losses
        self.validation_curve_ = [orient(value, measure) for value in log.stopping.values]
        self.n_iter_, self.best_epoch_ = len(log.losses), log.best_epoch


class RankNet(GradientRanker):
    r"""RankNet: logistic loss on pairs of documents with different labels.

    .. math:: \min_\theta \; \frac{1}{\#pairs} \sum_Q \sum_{i, j \in Q: y_i > y_j}
              \log\left(1 + e^{f(x_j) - f(x_i)}\right) + \frac{\alpha}{2} \|\theta\|^2

    Parameters
    ----------
    hidden, activation, solver, alpha, tol, max_iter, batch_queries, epochs, learning_rate,
    measure, convention, early_stopping_rounds, standardize, random_state, progress
        As in :class:`GradientRanker`.

    Attributes
    ----------
    coef_, weights_, mean_, scale_, loss_curve_, validation_curve_, n_iter_, best_epoch_
        As in :class:`GradientRanker`.

    Notes
    -----
    {solvers}

    References
    ----------
    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender, Learning to rank using
    gradient descent, ICML 2005.

    Examples
    --------
    {example}
    >>> network = RankNet(hidden=5, epochs=20).fit(data.take_queries(range(40)), eval_set=data)
    >>> [weight.shape for weight in network.weights_], 1 <= network.best_epoch_ <= 20
    ([(10, 5), (5,), (5,)], True)
    """

    methods = (Method("ranknet", "logistic loss on pairs"),)

    _loss = "ranknet"


class ListNet(GradientRanker):
    r"""ListNet: cross entropy of the top-one probabilities of labels and scores.

    .. math:: \min_\theta \; - \frac{1}{\#Q} \sum_Q \sum_{i \in Q} P_y(i) \log P_z(i)
              + \frac{\alpha}{2} \|\theta\|^2, \qquad P_z(i) = \frac{e^{z_i}}{\sum_j e^{z_j}},
              \quad z_i = f(x_i)

    Parameters
    ----------
    hidden, activation, solver, alpha, tol, max_iter, batch_queries, epochs, learning_rate,
    measure, convention, early_stopping_rounds, standardize, random_state, progress
        As in :class:`GradientRanker`.

    Attributes
    ----------
    coef_, weights_, mean_, scale_, loss_curve_, validation_curve_, n_iter_, best_epoch_
        As in :class:`GradientRanker`.

    Notes
    -----
    {solvers}
    The published method takes steps of fixed size, query by query, on all queries, including those
    with equal labels.

    References
    ----------
    Cao, Qin, Liu, Tsai and Li, Learning to rank: from pairwise approach to listwise approach,
    ICML 2007.

    Examples
    --------
    {example}
    """

    methods = (Method("listnet", "cross entropy of top-one probabilities"),)

    _loss = "listnet"


class ListMLE(GradientRanker):
    r"""ListMLE: likelihood of the order of the labels, given the scores (Plackett-Luce).

    .. math:: \min_\theta \; - \frac{1}{\#Q} \sum_Q \sum_{i \in Q: y_i > \min y}
              \log \frac{e^{f(x_i)}}{\sum_{j \in Q: y_j \le y_i} e^{f(x_j)}}
              + \frac{\alpha}{2} \|\theta\|^2

    Parameters
    ----------
    hidden, activation, solver, alpha, tol, max_iter, batch_queries, epochs, learning_rate,
    measure, convention, early_stopping_rounds, standardize, random_state, progress
        As in :class:`GradientRanker`.

    Attributes
    ----------
    coef_, weights_, mean_, scale_, loss_curve_, validation_curve_, n_iter_, best_epoch_
        As in :class:`GradientRanker`.

    Notes
    -----
    {solvers}

    The method is published for labels without ties. Ours is Breslow's rule of survival analysis:
    each document is compared with all documents of the same or a lower label, in any order. The
    lowest label is left out, because the order of the last documents does not matter.

    References
    ----------
    Xia, Liu, Wang, Zhang and Li, Listwise approach to learning to rank: theory and algorithm,
    ICML 2008.

    Examples
    --------
    {example}
    """

    methods = (Method("listmle", "likelihood of the ideal order"),)

    _loss = "listmle"


class LambdaRank(GradientRanker):
    r"""LambdaRank: RankNet with each pair weighted by how much swapping it would change NDCG.

    Each step follows the gradient, with the ranks r by the current scores, of

    .. math:: \frac{1}{\#Q} \sum_Q \sum_{i, j \in Q: y_i > y_j} |\Delta_{ij}|
              \log\left(1 + e^{f(x_j) - f(x_i)}\right) + \frac{\alpha}{2} \|\theta\|^2,
              \qquad \Delta_{ij} = \frac{2^{y_i} - 2^{y_j}}{IDCG}
              \left(\frac{1}{\log_2(1 + r_i)} - \frac{1}{\log_2(1 + r_j)}\right) .

    Parameters
    ----------
    hidden, activation, solver, alpha, tol, max_iter, batch_queries, epochs, learning_rate,
    measure, convention, early_stopping_rounds, standardize, random_state, progress
        As in :class:`GradientRanker`.

    Attributes
    ----------
    coef_, weights_, mean_, scale_, loss_curve_, validation_curve_, n_iter_, best_epoch_
        As in :class:`GradientRanker`.

    Notes
    -----
    {solvers}

    NDCG is that of the whole list; equal scores rank by descending label, so that the order of
    rows does not matter. Labels must not be negative.

    References
    ----------
    Burges, Ragno and Le, Learning to rank with nonsmooth cost functions, NIPS 2006.

    Examples
    --------
    {example}
    """

    methods = (Method("lambdarank", "pairs weighted by their effect on NDCG", trial={"epochs": 5}),)

    _loss = "lambdarank"
