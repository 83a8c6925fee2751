"""Scores of documents by a linear model."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ranksieve._kernels.scoring import score_models


def linear_scores(X: Any, coef: np.ndarray) -> np.ndarray:
    """Weighted sum of the features of each row of an array or a CSR matrix.

    ``coef`` (features,), or (features, models) for several sums. Equal rows get equal scores
    wherever they are; a matrix product does not guarantee that, and rounding would break ties.
    """
    if sparse.issparse(X):
        return np.asarray(X @ coef)
    if X.shape[1] != len(coef):  # the kernel does not check
        raise ValueError(f"X has {X.shape[1]} features, but there are {len(coef)} weights")
    models = coef.reshape(len(coef), -1)
    used = np.flatnonzero(models.any(axis=1))
    scores = np.empty((len(X), models.shape[1]))
    score_models(np.ascontiguousarray(X), used, models[used], scores)
    return scores.reshape(len(X), *coef.shape[1:])
