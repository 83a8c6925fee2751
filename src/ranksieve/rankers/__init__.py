"""Rankers, one file each.

Classes are found by the methods that they declare, and imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# What is public beside the classes of the registry.
_OTHERS = {
    "RANKERS": "ranksieve.rankers.registry",
    "make_ranker": "ranksieve.rankers.registry",
    "ranksvm_path": "ranksieve.rankers.ranksvm",
    "RankerAdapter": "ranksieve.rankers.adapter",
    "as_ranker": "ranksieve.rankers.adapter",
    "load_model": "ranksieve.rankers.loading",
}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name in _OTHERS:
        return getattr(import_module(_OTHERS[name]), name)
    if not name.startswith("_"):
        from ranksieve.rankers.registry import RANKERS

        if name in RANKERS.own_classes:
            return RANKERS.own_classes[name]
    raise AttributeError(f"module 'ranksieve.rankers' has no attribute {name!r}")


def __dir__() -> list[str]:
    from ranksieve.rankers.registry import RANKERS

    return sorted({*RANKERS.own_classes, *_OTHERS})
