"""Feature selection for learning to rank.

Public names are imported when they are first used, so that the command line starts at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranksieve._version import __version__
from ranksieve.public_names import export as _export

if TYPE_CHECKING:
    from ranksieve.costs import FeatureCosts
    from ranksieve.data import DataError, RankingData
    from ranksieve.data.columns import Columns
    from ranksieve.data.joining import concatenate
    from ranksieve.data.missing import Missing
    from ranksieve.datasets import load_demo, make_ranking, open_collection
    from ranksieve.io.delimited import read_csv
    from ranksieve.io.feature_logs import read_feature_log
    from ranksieve.io.letor import read_letor, write_letor
    from ranksieve.io.parquet import read_parquet, write_parquet
    from ranksieve.io.shards import convert_to_shards, open_shards, write_shards
    from ranksieve.rankers.loading import load_model
    from ranksieve.recommendation import recommend
    from ranksieve.study import Study
    from ranksieve.threads import limit_threads

_HOME = {
    "__version__": "ranksieve._version",
    "DataError": "ranksieve.data",
    "RankingData": "ranksieve.data",
    "Columns": "ranksieve.data.columns",
    "Missing": "ranksieve.data.missing",
    "FeatureCosts": "ranksieve.costs",
    "concatenate": "ranksieve.data.joining",
    "read_letor": "ranksieve.io.letor",
    "write_letor": "ranksieve.io.letor",
    "read_csv": "ranksieve.io.delimited",
    "read_parquet": "ranksieve.io.parquet",
    "write_parquet": "ranksieve.io.parquet",
    "open_shards": "ranksieve.io.shards",
    "write_shards": "ranksieve.io.shards",
    "convert_to_shards": "ranksieve.io.shards",
    "read_feature_log": "ranksieve.io.feature_logs",
    "make_ranking": "ranksieve.datasets",
    "load_demo": "ranksieve.datasets",
    "open_collection": "ranksieve.datasets.collections",
    "load_model": "ranksieve.rankers.loading",
    "Study": "ranksieve.study",
    "recommend": "ranksieve.recommendation",
    "limit_threads": "ranksieve.threads",
}

__all__ = [
    "__version__",
    "RankingData",
    "Columns",
    "Missing",
    "FeatureCosts",
    "DataError",
    "concatenate",
    "read_letor",
    "write_letor",
    "read_csv",
    "read_parquet",
    "write_parquet",
    "open_shards",
    "write_shards",
    "convert_to_shards",
    "read_feature_log",
    "open_collection",
    "make_ranking",
    "load_demo",
    "load_model",
    "Study",
    "recommend",
    "limit_threads",
]

__getattr__, __dir__ = _export(__name__, _HOME)
