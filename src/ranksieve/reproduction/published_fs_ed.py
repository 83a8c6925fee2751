"""What the paper about FS-ED prints: its scores are in figures only.

P. Gupta, P. Rosso. Expected divergence based feature selection for learning to rank. COLING 2012.
"""

from __future__ import annotations

from collections.abc import Mapping

_COLLECTIONS = ("OHSUMED", "MQ2007", "MQ2008")
_ROWS = {
    ("fs-ed", "ranksvm-struct"): (15, 3, 3),
    ("fs-ed", "rankboost"): (4, 15, 15),
    ("fs-ed", "lambdamart"): (20, 10, 20),
    ("fs-bfs", "ranksvm-struct"): (6, 9, 12),
    ("fs-bfs", "rankboost"): (12, 7, 7),
    ("fs-bfs", "lambdamart"): (14, 10, 7),
}
BEST_NUMBERS: Mapping[tuple[str, str], Mapping[str, int]] = {
    pair: dict(zip(_COLLECTIONS, numbers, strict=True)) for pair, numbers in _ROWS.items()
}
"""Table 1: selector and ranker -> collection -> number of features at the best result."""
