"""Parts of docstrings that rankers trained by gradients share."""

from __future__ import annotations

_SHARED = """Parameters
    ----------
    hidden : int
        Number of units of the one hidden layer; 0 for a linear model.
    activation : {"tanh", "sigmoid", "relu"}
        Activation of the hidden units.
    solver : {"auto", "lbfgs", "adam", "sgd"}
        L-BFGS, for linear models of a loss with a gradient; or Adam or SGD with a fixed rate, on
        batches of queries. ``"auto"`` takes L-BFGS where it works, else Adam.
    alpha : float
        Penalty: ``alpha / 2`` times the sum of squared weights is added to the mean loss.
    tol, max_iter : float, int
        For L-BFGS: it stops when no entry of the gradient is larger than ``tol``, or after
        ``max_iter`` iterations.
    batch_queries, epochs, learning_rate : int or None, int, float
        For Adam and SGD: queries per batch (None for all), passes over the data, and step size.
    measure, convention : str or Measure, str or Convention
        Measure of the ``eval_set``; see :mod:`ranksieve.metrics`.
    early_stopping_rounds : int
        Training ends after this many iterations or epochs without a better value on ``eval_set``,
        and the best weights are kept.
    standardize : bool
        Whether to standardize features internally, so that the penalty and the steps mean the same
        for all of them. Weights always refer to the original features.
    random_state : int, RandomState or None
        Random seed of initial weights and batches; linear models by L-BFGS need none.
    verbose : bool
        Whether to show progress on a terminal.

    Attributes
    ----------
    coef_ : array of shape (features,)
        Weights of a linear model.
    weights_ : list of arrays
        Weights of a network, of shapes (features, hidden), (hidden,) and (hidden,). The score is
        ``activation(X @ weights_[0] + weights_[1]) @ weights_[2]``.
    mean_, scale_ : arrays of shape (features,)
        Mean and standard deviation over the training rows of queries whose labels differ; 0 and 1
        without ``standardize``, and 1 for a constant feature.
    loss_curve_ : list of float
        Objective after each iteration; with batches, the mean over those of each epoch.
    validation_curve_ : list of float
        Measure on ``eval_set`` after each iteration or epoch; empty without one.
    n_iter_ : int
        Number of iterations or epochs.
    best_epoch_ : int
        Iteration or epoch, from 1, of the weights that were kept; the last without ``eval_set``."""

_SOLVERS = """All solvers work on data in memory, shards and Dask clusters with the same batches. On
    shards or Dask each batch is a call to all blocks, so make ``batch_queries`` large. Batches of
    data in memory run on one thread. The loss of a query is multiplied by its weight and divided by
    the total weight of pairs (RankNet) or queries. The penalty does not include biases. Queries of
    one document or of equal labels contribute nothing."""


def share_docstring(kind: type) -> type:
    """Insert the shared parts into the docstring of a class."""
    if kind.__doc__ is not None:  # python -OO
        shared = kind.__doc__.replace("{parameters}", _SHARED)
        kind.__doc__ = shared.replace("{solvers}", _SOLVERS)
    return kind
