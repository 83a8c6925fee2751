"""Feature selectors, grouped by how they work.

Classes are found by the methods that they declare, and imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# What is public beside the classes of the registry.
_OTHERS = {
    "SELECTORS": "ranksieve.selectors.registry",
    "make_selector": "ranksieve.selectors.registry",
    "SelectorAdapter": "ranksieve.selectors.adapter",
    "as_selector": "ranksieve.selectors.adapter",
    "Importance": "ranksieve.sums.importance",
    "Similarity": "ranksieve.sums.similarity",
    "LifeRank": "ranksieve.selectors.embedded.liferank",
    "fsmrank_path": "ranksieve.selectors.embedded.fsmrank",
}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name in _OTHERS:
        return getattr(import_module(_OTHERS[name]), name)
    if not name.startswith("_"):
        from ranksieve.selectors.registry import SELECTORS

        if name in SELECTORS.own_classes:
            return SELECTORS.own_classes[name]
    raise AttributeError(f"module 'ranksieve.selectors' has no attribute {name!r}")


def __dir__() -> list[str]:
    from ranksieve.selectors.registry import SELECTORS

    return sorted([*SELECTORS.own_classes, *_OTHERS])
