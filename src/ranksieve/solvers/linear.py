"""Scores of documents by a linear model."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ranksieve._kernels.scoring import score_models


def linear_scores(X: Any, coef: np.ndarray) -> np.ndarray:
    """Weighted sum of the features of each row, an array or a CSR matrix.

    ``coef`` (features,), or (features, models) for several sums. Equal rows get equal scores
    wherever they are; a matrix product does not promise that, and rounding would break their ties.
    """
    if sparse.issparse(X):
        return np.asarray(X @ coef)
    if X.shape[1] != len(coef):  # the kernel does not look
        raise ValueError(f"{X.shape[1]} features, but {len(coef)} weights")
    models = coef.reshape(len(coef), -1)
    used = np.flatnonzero(models.any(axis=1))
    scores = np.empty((len(X), models.shape[1]))
    score_models(np.ascontiguousarray(X), used, models[used], scores)
    return scores.reshape(len(X), *coef.shape[1:])
