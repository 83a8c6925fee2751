"""Unified ranks, from the tables of a paper."""

from __future__ import annotations

from collections.abc import Iterable

from ranksieve.reproduction.paper import Paper
from ranksieve.significance import unified_rank


def recompute_ranks(
    paper: Paper, table: str, collections: Iterable[str] | None = None
) -> dict[str, float]:
    """Unified ranks of a table of a paper, from its rows for some collections, or for all.

    Examples
    --------
    >>> from ranksieve.reproduction import PAPERS
    >>> recompute_ranks(PAPERS["fs-scpr"], "Table 11")
    {'fsmrank': 17.5, 'fs-scpr': 15.5, 'gas-e': 9.5, 'fsmsvm': 8.0}
    """
    names = list(paper.unified_ranks[table])
    places = list(paper.means if collections is None else collections)
    cells = [(place, measure) for place in places for measure in paper.mean_measures]
    rows = [[paper.means[place][name][measure] for place, measure in cells] for name in names]
    return dict(zip(names, unified_rank(rows).round(10).tolist(), strict=True))
