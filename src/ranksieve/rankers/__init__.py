"""Rankers, one file each.

Classes are found by the methods that they declare, and imported on first use.
"""

from __future__ import annotations

from ranksieve.public_names import export

# Public names besides the classes of the registry.
_OTHERS = {
    "RANKERS": "ranksieve.rankers.registry",
    "make_ranker": "ranksieve.rankers.registry",
    "ranksvm_path": "ranksieve.rankers.ranksvm",
    "RankerAdapter": "ranksieve.rankers.adapter",
    "as_ranker": "ranksieve.rankers.adapter",
    "load_model": "ranksieve.rankers.loading",
}

__getattr__, __dir__ = export(__name__, _OTHERS, registry="RANKERS")
