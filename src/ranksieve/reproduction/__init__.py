"""Published results, made again beside what the papers print."""

from ranksieve.reproduction.fs_ed import FSEDReproduction, reproduce_fs_ed
from ranksieve.reproduction.fs_scpr import FSSCPRReproduction, reproduce_fs_scpr
from ranksieve.reproduction.gas import GASReproduction, reproduce_gas
from ranksieve.reproduction.greedy_rankrls import GreedyReproduction, reproduce_greedy_rankrls
from ranksieve.reproduction.rankers import RankersReproduction, reproduce_rankers

__all__ = [
    "reproduce_greedy_rankrls",
    "GreedyReproduction",
    "reproduce_fs_scpr",
    "FSSCPRReproduction",
    "reproduce_fs_ed",
    "FSEDReproduction",
    "reproduce_gas",
    "GASReproduction",
    "reproduce_rankers",
    "RankersReproduction",
]
