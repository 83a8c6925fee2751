"""The second process that tries models: the library may crash here without harm.

:mod:`~.trial` starts it as a script, so that it imports the library and nothing else. It gets the
places to import from as its argument. Each request is a line of JSON with the library and the size
of the model, followed by the model; the answer is a line of JSON with the reason if the model
cannot be used, else with null.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

_MOST_FEATURES = 2**20  # rows of more features are not scored, as they take too much memory
_SEVERAL = "the model has several scores for each row, but a ranker needs one"

Score = Callable[[Any], Any]


def main() -> None:
    """Answer requests until there are no more."""
    sys.path[:] = json.loads(sys.argv[1])
    with contextlib.suppress(ImportError):  # not on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash leaves no file behind
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # libraries print
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        reason = find_fault(request["library"], sys.stdin.buffer.read(request["size"]))
        answers.write(f"{json.dumps(reason)}\n")
        answers.flush()


def find_fault(library: str, content: bytes) -> str | None:
    """Load a model and score rows; return the reason if it cannot be used."""
    try:
        n_features, score, explain = _LOADERS[library](content)
    except Exception as error:  # each library has its own error classes
        return str(error).partition("\nStack trace")[0] or type(error).__name__
    for rows in _rows(n_features):
        # An error would be the same in the first process; only a crash must not get there.
        with contextlib.suppress(Exception):
            if score(rows).shape != (len(rows),):
                return _SEVERAL
            explain(rows[:2])
    return None


def _rows(n_features: int) -> Iterator[Any]:
    import numpy as np

    if not 0 < n_features <= _MOST_FEATURES:
        return
    rng = np.random.default_rng(0)
    scales = np.array([0, 1e-3, 1, 1, 1e3, 1e6, 1e30])
    yield scales[:, None] * rng.normal(size=(len(scales), n_features))
    yield np.full((1, n_features), np.nan)
    yield np.full((2, n_features), 1e300) * [[1], [-1]]


def _load_lightgbm(content: bytes) -> tuple[int, Score, Score]:
    from lightgbm import Booster

    booster = Booster(model_str=content.decode())

    def score(rows: Any, **how: Any) -> Any:
        return booster.predict(rows, num_threads=1, **how)

    return booster.num_feature(), score, lambda rows: score(rows, pred_contrib=True)


def _load_xgboost(content: bytes) -> tuple[int, Score, Score]:
    from xgboost import Booster, DMatrix

    booster = Booster({"nthread": 1})
    booster.load_model(bytearray(content))

    def score(rows: Any, **how: Any) -> Any:
        return booster.predict(DMatrix(rows, nthread=1), validate_features=False, **how)

    return booster.num_features(), score, lambda rows: score(rows, pred_contribs=True)


def _load_catboost(content: bytes) -> tuple[int, Score, Score]:
    from catboost import CatBoost, Pool

    model = CatBoost()
    model.load_model(blob=content)
    categories = model.get_cat_feature_indices()

    def pool(rows: Any) -> Any:
        if categories:
            rows = rows.astype(object)
            rows[:, categories] = [[str(row)] * len(categories) for row in range(len(rows))]
        return Pool(rows, cat_features=categories or None)

    def explain(rows: Any) -> Any:
        return model.get_feature_importance(pool(rows), type="ShapValues", thread_count=1)

    return (
        len(model.feature_names_),
        lambda rows: model.predict(pool(rows), thread_count=1),
        explain,
    )


_LOADERS: dict[str, Callable[[bytes], tuple[int, Score, Score]]] = {
    "lightgbm": _load_lightgbm,
    "xgboost": _load_xgboost,
    "catboost": _load_catboost,
}

if __name__ == "__main__":
    main()
