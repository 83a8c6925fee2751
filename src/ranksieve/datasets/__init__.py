"""Known collections on a local disk, synthetic rankings with known answers, and the demo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranksieve.public_names import export

if TYPE_CHECKING:
    from ranksieve.datasets.clicks import Propensities
    from ranksieve.datasets.collections import Collection, open_collection
    from ranksieve.datasets.demo import demo_costs, load_demo, write_demo_log
    from ranksieve.datasets.demo_table import write_demo_table
    from ranksieve.datasets.feature_plans import FeaturePlan, RankingTruth, draw_plan
    from ranksieve.datasets.fold_files import FoldFiles
    from ranksieve.datasets.planted import PlantedRanking, make_ranking

__all__ = [
    "open_collection",
    "Collection",
    "FoldFiles",
    "make_ranking",
    "load_demo",
    "demo_costs",
    "write_demo_log",
    "write_demo_table",
    "Propensities",
    "PlantedRanking",
    "RankingTruth",
    "FeaturePlan",
    "draw_plan",
]

# Imported on first use: commands that read files need no synthetic data.
_HOME = {
    "open_collection": "ranksieve.datasets.collections",
    "Collection": "ranksieve.datasets.collections",
    "FoldFiles": "ranksieve.datasets.fold_files",
    "make_ranking": "ranksieve.datasets.planted",
    "load_demo": "ranksieve.datasets.demo",
    "demo_costs": "ranksieve.datasets.demo",
    "write_demo_log": "ranksieve.datasets.demo",
    "write_demo_table": "ranksieve.datasets.demo_table",
    "Propensities": "ranksieve.datasets.clicks",
    "PlantedRanking": "ranksieve.datasets.planted",
    "RankingTruth": "ranksieve.datasets.feature_plans",
    "FeaturePlan": "ranksieve.datasets.feature_plans",
    "draw_plan": "ranksieve.datasets.feature_plans",
}

__getattr__, __dir__ = export(__name__, _HOME)
