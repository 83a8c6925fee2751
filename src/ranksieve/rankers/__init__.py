"""Rankers, one file per method or close family.

Classes are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME: dict[str, str] = {
    "LambdaMART": "lambdamart",
    "RankRLS": "rankrls",
    "RankRLSCV": "rankrls",
    "AdaRank": "adarank",
    "RankBoost": "rankboost",
    "CoordinateAscent": "coordinate_ascent",
    "RankNet": "gradient",
    "ListNet": "gradient",
    "ListMLE": "gradient",
    "LambdaRank": "gradient",
    "RankSVM": "ranksvm",
    "ranksvm_path": "ranksvm",
    "RankerAdapter": "adapter",
    "as_ranker": "adapter",
    "load_model": "loading",
}

__all__: list[str] = [
    "LambdaMART",
    "RankRLS",
    "RankRLSCV",
    "RankNet",
    "ListNet",
    "ListMLE",
    "LambdaRank",
    "RankSVM",
    "ranksvm_path",
    "AdaRank",
    "RankBoost",
    "CoordinateAscent",
    "RankerAdapter",
    "as_ranker",
    "load_model",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ranksieve.rankers' has no attribute {name!r}")
    return getattr(import_module(f"ranksieve.rankers.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
