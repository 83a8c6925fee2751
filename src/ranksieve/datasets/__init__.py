"""Known collections on a local disk, synthetic rankings with known answers, and the demo."""

from ranksieve.datasets.collections import Collection, open_collection
from ranksieve.datasets.demo import demo_costs, load_demo
from ranksieve.datasets.demo_log import write_demo_log
from ranksieve.datasets.fold_files import FoldFiles
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
