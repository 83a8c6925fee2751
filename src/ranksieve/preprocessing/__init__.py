"""Transformations of features within queries, as scikit-learn transformers."""

from ranksieve.preprocessing.imputing import QueryImputer
from ranksieve.preprocessing.scaling import (
    SCALES,
    QueryMinMaxScaler,
    QueryStandardScaler,
    scaled_within_queries,
)

__all__ = [
    "QueryImputer",
    "QueryMinMaxScaler",
    "QueryStandardScaler",
    "SCALES",
    "scaled_within_queries",
]
