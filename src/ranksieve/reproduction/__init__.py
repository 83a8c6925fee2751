"""Published results, made again beside what the papers print."""

from ranksieve.reproduction.greedy_rankrls import GreedyReproduction, reproduce_greedy_rankrls
from ranksieve.reproduction.rankers import RankersReproduction, reproduce_rankers
from ranksieve.reproduction.selectors import SelectorsReproduction, reproduce_selectors

__all__ = [
    "reproduce_greedy_rankrls",
    "GreedyReproduction",
    "reproduce_rankers",
    "RankersReproduction",
    "reproduce_selectors",
    "SelectorsReproduction",
]
