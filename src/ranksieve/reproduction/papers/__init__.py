"""One module for each paper: its published numbers and its protocol."""

from __future__ import annotations

from ranksieve.reproduction.paper import Paper
from ranksieve.reproduction.papers import fs_ed, fs_scpr, gas, greedy_rankrls, rankers

PAPERS: dict[str, Paper] = {
    module.PAPER.name: module.PAPER for module in (greedy_rankrls, fs_scpr, fs_ed, gas, rankers)
}
