"""Ranking data: feature vectors, graded labels and query ids, and how users may pass them.

``ranking_data`` has :class:`RankingData` and ``block`` the runs of whole queries that engines
process. ``columns`` and ``frames`` read tables, ``inputs`` converts and checks arrays, ``missing``
declares how missing values are treated, ``joining`` joins data sets, and ``fitted`` checks rows
against the data that an estimator was trained on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranksieve.public_names import export

if TYPE_CHECKING:
    from ranksieve.data.block import Block
    from ranksieve.data.errors import DataError, NonFiniteError
    from ranksieve.data.ranking_data import RankingData

_HOMES = {
    "Block": "ranksieve.data.block",
    "DataError": "ranksieve.data.errors",
    "NonFiniteError": "ranksieve.data.errors",
    "RankingData": "ranksieve.data.ranking_data",
}

__all__ = ["Block", "DataError", "NonFiniteError", "RankingData"]

__getattr__, __dir__ = export(__name__, _HOMES)
