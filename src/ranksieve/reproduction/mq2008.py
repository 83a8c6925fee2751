"""LETOR 4.0 MQ2008, whose folds and measures are the same in all papers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.datasets import Fold, open_collection
from ranksieve.metrics import evaluate

N_FOLDS = 5
CONVENTION: Final = "letor4"
TIES: Final = "stable"
_SIZES = (15_211, 784, 46)  # rows, queries, features


def read_mq2008(
    directory: str | os.PathLike[str],
) -> Iterator[tuple[RankingData, RankingData, RankingData]]:
    """Read the official folds in turn: data to train on, to validate on and to test on.

    Raises
    ------
    DataError
        If the directory holds another collection.
    """
    collection = open_collection(directory)
    if len(collection.folds) != N_FOLDS:
        raise DataError(f"{directory}:0: not MQ2008, which has {N_FOLDS} folds")
    for fold in collection.read_folds():
        yield _checked(fold, directory)


def _checked(
    fold: Fold, directory: str | os.PathLike[str]
) -> tuple[RankingData, RankingData, RankingData]:
    train, vali, test = fold
    parts = [part for part in fold if part is not None]
    rows, queries = sum(part.n_rows for part in parts), sum(part.n_queries for part in parts)
    found = rows, queries, train.n_features
    if vali is None or found != _SIZES:
        sizes = "{:,} rows, {:,} queries and {} features"
        raise DataError(
            f"{directory}:0: not MQ2008, which has {sizes.format(*_SIZES)} in each fold; "
            f"here are {sizes.format(*found)}"
        )
    return train, vali, test


def measured(data: RankingData, scores: np.ndarray, measures: Sequence[str]) -> dict[str, float]:
    """Means over queries, as LETOR 4.0 has them, equal scores in the order of the files."""
    return evaluate(data.y, scores, data.qid, measures, CONVENTION, ties=TIES).mean
