"""What the docstrings of rankers that follow a gradient share."""

from __future__ import annotations

_SHARED = """Parameters
    ----------
    hidden : int
        Units of the one hidden layer; 0 for a linear model.
    activation : {"tanh", "sigmoid", "relu"}
        Of the hidden units.
    solver : {"auto", "lbfgs", "adam", "sgd"}
        L-BFGS, for linear models of a loss with a gradient; or steps of Adam or of a fixed rate,
        a batch of queries at a time. By default the first where it works, else Adam.
    alpha : float
        Penalty: ``alpha / 2`` times the sum of squared weights is added to the mean loss.
    tol, max_iter : float, int
        Of L-BFGS: the largest entry of the gradient at which it stops, and its iterations.
    batch_queries, epochs, learning_rate : int or None, int, float
        Of steps: queries in each (None: all), passes over the data, and size.
    measure, convention : str or Measure, str or Convention
        What to look at on ``eval_set``; see :mod:`ranksieve.metrics`.
    early_stopping_rounds : int
        Training ends after so many iterations or epochs without a better value on ``eval_set``,
        and the best weights are kept.
    standardize : bool
        Whether features are standardized inside, so that the penalty and the steps mean the same
        for all of them. Weights are always given for the features as they are.
    random_state : int, RandomState or None
        Seed of first weights and of batches; linear models by L-BFGS need none.
    verbose : bool
        Whether to show progress on a terminal.

    Attributes
    ----------
    coef_ : array of shape (features,)
        Only of a linear model.
    weights_ : list of arrays
        Only of a network: of shapes (features, hidden), (hidden,) and (hidden,). The score is
        ``activation(X @ weights_[0] + weights_[1]) @ weights_[2]``.
    mean_, scale_ : arrays of shape (features,)
        Mean and standard deviation over the training rows of queries whose labels differ; 0 and 1
        without ``standardize``, and 1 for a constant feature.
    loss_curve_ : list of float
        Objective after each iteration; with batches, mean over those of each epoch.
    validation_curve_ : list of float
        Measure on ``eval_set`` after each of them; empty without one.
    n_iter_ : int
        Iterations or epochs.
    best_epoch_ : int
        The one, from 1, whose weights were kept: the last one without ``eval_set``."""

_SOLVERS = """All solvers run on the engine, and draw the same batches wherever the data lives; but
    with shards or Dask each batch is a call to all blocks, so that ``batch_queries`` should be
    large there. Batches of data in memory run on one thread. The loss of a query counts times its
    weight; the sum is over that of pairs (RankNet) or queries, and the penalty leaves biases out.
    Queries of one document or of equal labels contribute nothing."""


def share_docstring(kind: type) -> type:
    """Fill what all these rankers share into the docstring."""
    if kind.__doc__ is not None:  # python -OO
        shared = kind.__doc__.replace("{parameters}", _SHARED)
        kind.__doc__ = shared.replace("{solvers}", _SOLVERS)
    return kind
