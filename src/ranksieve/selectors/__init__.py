"""Feature selectors, grouped by how they work.

Classes are found by the methods that they declare, and imported on first use.
"""

from __future__ import annotations

from ranksieve.public_names import export

# Public names besides the classes of the registry.
_OTHERS = {
    "SELECTORS": "ranksieve.selectors.registry",
    "make_selector": "ranksieve.selectors.registry",
    "SelectorAdapter": "ranksieve.selectors.adapter",
    "as_selector": "ranksieve.selectors.adapter",
    "Importance": "ranksieve.sums.importance",
    "Similarity": "ranksieve.sums.similarity",
    "LifeRank": "ranksieve.selectors.related.liferank",
    "fsmrank_path": "ranksieve.selectors.embedded.fsmrank",
}

__getattr__, __dir__ = export(__name__, _OTHERS, registry="SELECTORS")
