"""Known collections on a local disk, synthetic rankings with known answers, and the demo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranksieve.datasets.collections import Collection, open_collection
from ranksieve.datasets.fold_files import FoldFiles
from ranksieve.public_names import export

if TYPE_CHECKING:
    from ranksieve.datasets.demo import demo_costs, load_demo
    from ranksieve.datasets.demo_log import write_demo_log
    from ranksieve.datasets.planted import PlantedRanking, make_ranking
    from ranksieve.datasets.planting import FeaturePlan, RankingTruth, draw_plan

__all__ = [
    "open_collection",
    "Collection",
    "FoldFiles",
    "make_ranking",
    "load_demo",
    "demo_costs",
    "write_demo_log",
    "PlantedRanking",
    "RankingTruth",
    "FeaturePlan",
    "draw_plan",
]

# Commands that read files need no synthetic data, nor ``scipy.special``, which it imports.
_SYNTHETIC = {
    "load_demo": "ranksieve.datasets.demo",
    "demo_costs": "ranksieve.datasets.demo",
    "write_demo_log": "ranksieve.datasets.demo_log",
    "make_ranking": "ranksieve.datasets.planted",
    "PlantedRanking": "ranksieve.datasets.planted",
    "RankingTruth": "ranksieve.datasets.planting",
    "FeaturePlan": "ranksieve.datasets.planting",
    "draw_plan": "ranksieve.datasets.planting",
}

__getattr__, _ = export(__name__, _SYNTHETIC)
