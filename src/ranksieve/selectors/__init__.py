"""Feature selectors, one file per method or close family.

Classes are imported when they are first used, so that the command line can list methods at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranksieve.selectors.baselines import AllFeatures, RandomSelector, TopImportance
    from ranksieve.selectors.embedded.fenchelrank import FenchelRank
    from ranksieve.selectors.embedded.fsmrank import FSMSVM, FSMRank, fsmrank_path
    from ranksieve.selectors.embedded.greedy_rankrls import GreedyRankRLS
    from ranksieve.selectors.embedded.greedy_rankrls_cv import GreedyRankRLSCV
    from ranksieve.selectors.embedded.ranksvm_sparse import SparseRankSVM
    from ranksieve.selectors.filters.fs_ed import FSED
    from ranksieve.selectors.filters.fs_scpr import FSSCPR
    from ranksieve.selectors.filters.gas import GAS
    from ranksieve.selectors.filters.hcas import HCAS, Hierarchical
    from ranksieve.selectors.filters.ig_chi import ChiSquare, InformationGain
    from ranksieve.selectors.filters.mmr import MMR, MPT, MRMR, MSD
    from ranksieve.selectors.filters.ngas import NGAS, XGAS
    from ranksieve.selectors.filters.rankfilter import RankFilter, RankWrapper
    from ranksieve.selectors.trees.bt_influence import (
        BoostedTrees,
        DiscountedBoostedTrees,
    )
    from ranksieve.selectors.trees.bt_randomized import RandomizedBoostedTrees
    from ranksieve.selectors.wrappers.annealing import SimulatedAnnealing
    from ranksieve.selectors.wrappers.elimination import EliminationSelector
    from ranksieve.selectors.wrappers.fs_bfs import FSBFS
    from ranksieve.selectors.wrappers.sequential import SequentialSelector

_HOME = {
    "GAS": "filters.gas",
    "InformationGain": "filters.ig_chi",
    "ChiSquare": "filters.ig_chi",
    "FSED": "filters.fs_ed",
    "FSSCPR": "filters.fs_scpr",
    "FSBFS": "wrappers.fs_bfs",
    "GreedyRankRLS": "embedded.greedy_rankrls",
    "GreedyRankRLSCV": "embedded.greedy_rankrls_cv",
    "MMR": "filters.mmr",
    "MSD": "filters.mmr",
    "MPT": "filters.mmr",
    "MRMR": "filters.mmr",
    "NGAS": "filters.ngas",
    "XGAS": "filters.ngas",
    "HCAS": "filters.hcas",
    "Hierarchical": "filters.hcas",
    "FSMRank": "embedded.fsmrank",
    "fsmrank_path": "embedded.fsmrank",
    "FSMSVM": "embedded.fsmrank",
    "SparseRankSVM": "embedded.ranksvm_sparse",
    "FenchelRank": "embedded.fenchelrank",
    "SequentialSelector": "wrappers.sequential",
    "EliminationSelector": "wrappers.elimination",
    "BoostedTrees": "trees.bt_influence",
    "DiscountedBoostedTrees": "trees.bt_influence",
    "RandomizedBoostedTrees": "trees.bt_randomized",
    "RankFilter": "filters.rankfilter",
    "RankWrapper": "filters.rankfilter",
    "SimulatedAnnealing": "wrappers.annealing",
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
