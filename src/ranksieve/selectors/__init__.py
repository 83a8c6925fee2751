"""Feature selectors, one file per method or close family.

Classes are imported when they are first used, so that the command line can list methods at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranksieve.selectors.annealing import SimulatedAnnealing
    from ranksieve.selectors.baselines import AllFeatures, RandomSelector, TopImportance
    from ranksieve.selectors.best_first import FSBFS
    from ranksieve.selectors.boosted_trees import (
        BoostedTrees,
        DiscountedBoostedTrees,
    )
    from ranksieve.selectors.dependence import ChiSquare, InformationGain
    from ranksieve.selectors.divergence import FSED
    from ranksieve.selectors.diversity import MMR, MPT, MRMR, MSD
    from ranksieve.selectors.elimination import EliminationSelector
    from ranksieve.selectors.fenchel import FenchelRank
    from ranksieve.selectors.fsmrank import FSMSVM, FSMRank, fsmrank_path
    from ranksieve.selectors.gas import GAS
    from ranksieve.selectors.greedy_rankrls import GreedyRankRLS
    from ranksieve.selectors.greedy_rankrls_cv import GreedyRankRLSCV
    from ranksieve.selectors.hierarchy import HCAS, Hierarchical
    from ranksieve.selectors.navigation import NGAS, XGAS
    from ranksieve.selectors.randomized_trees import RandomizedBoostedTrees
    from ranksieve.selectors.relief import RankFilter, RankWrapper
    from ranksieve.selectors.sequential import SequentialSelector
    from ranksieve.selectors.sparse_ranksvm import SparseRankSVM
    from ranksieve.selectors.spectral import FSSCPR

_HOME = {
    "GAS": "gas",
    "InformationGain": "dependence",
    "ChiSquare": "dependence",
    "FSED": "divergence",
    "FSSCPR": "spectral",
    "FSBFS": "best_first",
    "GreedyRankRLS": "greedy_rankrls",
    "GreedyRankRLSCV": "greedy_rankrls_cv",
    "MMR": "diversity",
    "MSD": "diversity",
    "MPT": "diversity",
    "MRMR": "diversity",
    "NGAS": "navigation",
    "XGAS": "navigation",
    "HCAS": "hierarchy",
    "Hierarchical": "hierarchy",
    "FSMRank": "fsmrank",
    "fsmrank_path": "fsmrank",
    "FSMSVM": "fsmrank",
    "SparseRankSVM": "sparse_ranksvm",
    "FenchelRank": "fenchel",
    "SequentialSelector": "sequential",
    "EliminationSelector": "elimination",
    "BoostedTrees": "boosted_trees",
    "DiscountedBoostedTrees": "boosted_trees",
    "RandomizedBoostedTrees": "randomized_trees",
    "RankFilter": "relief",
    "RankWrapper": "relief",
    "SimulatedAnnealing": "annealing",
    "TopImportance": "baselines",
    "RandomSelector": "baselines",
    "AllFeatures": "baselines",
}

__all__ = [
    "GAS",
    "InformationGain",
    "ChiSquare",
    "FSED",
    "FSSCPR",
    "FSBFS",
    "GreedyRankRLS",
    "GreedyRankRLSCV",
    "MMR",
    "MSD",
    "MPT",
    "MRMR",
    "NGAS",
    "XGAS",
    "HCAS",
    "Hierarchical",
    "FSMRank",
    "fsmrank_path",
    "FSMSVM",
    "SparseRankSVM",
    "FenchelRank",
    "SequentialSelector",
    "EliminationSelector",
    "BoostedTrees",
    "DiscountedBoostedTrees",
    "RandomizedBoostedTrees",
    "RankFilter",
    "RankWrapper",
    "SimulatedAnnealing",
    "TopImportance",
    "RandomSelector",
    "AllFeatures",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ranksieve.selectors' has no attribute {name!r}")
    return getattr(import_module(f"ranksieve.selectors.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
