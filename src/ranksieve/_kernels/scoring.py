"""Score documents by many linear models at once."""

from ranksieve._kernels.compiling import kernel


@kernel
def score_models(X, features, coefs, out):
    """Score each row by each model; updates ``out`` (rows, models).

    ``coefs`` (some features, models) are the weights of the columns ``features`` of ``X``. Terms
    are added in the same order in every row, so that equal documents get equal scores however the
    data is split into blocks. A matrix product does not guarantee that, and rounding would break
    ties.
    """
    for row in range(X.shape[0]):
        for model in range(out.shape[1]):
            out[row, model] = 0.0
        for place in range(features.size):
            value = float(X[row, features[place]])
            if value != 0.0:
                for model in range(out.shape[1]):
                    out[row, model] += value * coefs[place, model]
