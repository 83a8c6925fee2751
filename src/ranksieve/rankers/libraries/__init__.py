"""LightGBM, XGBoost, CatBoost and estimators of other packages: one description each.

A description says how an estimator gets rows, queries, weights and held-out queries, how its
parameters are called, and how it scores and is saved. :func:`library_of` finds it, and the ranker
adapter does the rest alike for all. Models are checked (:mod:`~.model_checks`, :mod:`~.cbm`) and
tried in a second process (:mod:`~.trial`) before a library reads them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ranksieve.rankers.libraries.catboost import CatBoost
from ranksieve.rankers.libraries.library import Library, check_can_rank
from ranksieve.rankers.libraries.lightgbm import LightGBM
from ranksieve.rankers.libraries.xgboost import XGBoost

_LIBRARIES: dict[str, Library] = {
    "lightgbm.LGBMRanker": LightGBM("lightgbm.LGBMRanker"),
    "xgboost.XGBRanker": XGBoost("xgboost.XGBRanker"),
    "catboost.CatBoostRanker": CatBoost("catboost.CatBoostRanker"),
}


def find_library_class(name: Any) -> Any:
    """Return the class of this name in LightGBM, XGBoost or CatBoost; no other is imported."""
    if name not in _LIBRARIES:
        raise ValueError(f"unknown class {name!r:.40}; choose from {', '.join(_LIBRARIES)}")
    home, kind = str(name).split(".")
    try:
        return getattr(import_module(home), kind)
    except ImportError:
        raise ValueError(f"{home} is not installed: pip install {home}") from None


def library_of(estimator: Any) -> Library:
    """Return the library of an estimator by its class name, without importing any library.

    Raises a TypeError if the estimator cannot rank.
    """
    kinds = _kinds(estimator)
    if "lightgbm.DaskLGBMRanker" in kinds:
        raise TypeError("DaskLGBMRanker needs Dask collections: use LambdaMART on a Dask cluster")
    for kind in kinds:
        if kind in _LIBRARIES:
            return _LIBRARIES[kind]
    check_can_rank(estimator)
    homes = {kind.partition(".")[0] for kind in kinds}
    makers = (own for name, own in _LIBRARIES.items() if name.partition(".")[0] in homes)
    return Library(type(estimator).__name__, next(makers, None))


def is_of_library(estimator: Any) -> bool:
    """Whether an estimator is a ranker of LightGBM, XGBoost or CatBoost."""
    return any(kind in _LIBRARIES for kind in _kinds(estimator))


def is_error_of_library(error: Exception) -> bool:
    """Whether the class of an error is defined by LightGBM, XGBoost or CatBoost."""
    home = type(error).__module__.strip("_").partition(".")[0]
    return any(name.startswith(f"{home}.") for name in _LIBRARIES)


def _kinds(estimator: Any) -> list[str]:
    mro = type(estimator).__mro__
    return [f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in mro]
