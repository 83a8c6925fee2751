"""Join data sets with the same features."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from ranksieve.data.categories import join_vocabularies
from ranksieve.data.errors import DataError
from ranksieve.data.inputs import (
    join_documents,
    join_ids,
    join_positions,
    join_weights,
)
from ranksieve.data.ranking_data import RankingData

S = TypeVar("S", bound=Any)


def concatenate(parts: Iterable[RankingData], *, merge: bool = False) -> RankingData:
    """Join data sets with the same features, such as the parts of a fold.

    A query id that occurs in several parts is an error unless ``merge`` is true: different
    queries with equal ids would silently become one.
    """
    parts = list(parts)
    if not parts:
        raise DataError("there are no data sets to concatenate")
    first = parts[0]
    for number, part in enumerate(parts[1:], start=2):
        check_same_features(part, first, "part", number)
    if not merge:
        _check_distinct_queries(parts)
    vocabularies = {
        name: join_vocabularies(part.categories.get(name, ()) for part in parts)
        for name in first.categories
    }
    parts = [part.with_categories(vocabularies) for part in parts]
    matrices = [part.X for part in parts]
    any_sparse = any(part.is_sparse for part in parts)
    n_rows = [part.n_rows for part in parts]
    joined = RankingData(
        sparse.vstack(matrices, format="csr") if any_sparse else np.concatenate(matrices),
        np.concatenate([part.y for part in parts]),
        join_ids([part.qid for part in parts]),
        feature_names=first._names,
        doc_ids=join_documents([part.doc_ids for part in parts], n_rows),
        sample_weight=_join_weights(parts),
        row_weights=join_weights([part.row_weights for part in parts], n_rows),
        positions=join_positions([part.positions for part in parts]),
        categories=vocabularies,
    )
    # If all parts were treated alike, so is the whole; otherwise NaN must be declared again.
    same = all(part.missing == first.missing for part in parts)
    keeps = all(part.keeps_missing for part in parts)
    treated = {"missing": first.missing if same else None, "keeps_missing": keeps}
    return joined._replace(table_columns=first.table_columns, **treated)


def _join_weights(parts: list[RankingData]) -> np.ndarray | None:
    """Weight of each row; 1 for parts without weights."""
    own = [part.query_weights for part in parts]
    weights = join_weights(own, [part.n_queries for part in parts])
    counts = np.concatenate([part.group_counts for part in parts])
    return None if weights is None else np.repeat(weights, counts)


def check_same_features(data: RankingData, first: RankingData, word: str, number: int) -> None:
    """Raise a DataError that names the data, such as "part 2", if it differs from the first."""
    if data.n_features != first.n_features:
        raise DataError(
            f"{word} 1 has {first.n_features} features but {word} {number} has {data.n_features}"
        )
    if not _have_same_names(data, first):
        raise DataError(f"{word} 1 and {word} {number} have different feature names")


def _have_same_names(a: Any, b: Any) -> bool:
    if a._names is None or b._names is None:  # numbers
        return a._names is b._names
    return not np.any(a._names != b._names)


def with_features_of(data: S, first: Any, place: Any) -> S:
    """Reorder the features of data like those of other data, which must have the same features.

    Features are matched by name; if only one side has names, by their order.
    Data may be a RankingData or shards; ``place`` names it in messages.
    """
    if data.n_features != first.n_features:
        raise DataError(
            f"{place}: it has {data.n_features} features, but the training data has "
            f"{first.n_features}"
        )
    if _have_same_names(data, first):
        return data
    position = {name: index for index, name in enumerate(data.feature_names)}
    lacking = [name for name in first.feature_names if name not in position]
    if not lacking:
        return data.take_features([position[name] for name in first.feature_names])
    if data.has_feature_names and first.has_feature_names:
        raise DataError(
            f"{place}: the names of its features differ from the training data: it has no "
            f"{lacking[0]!r}"
        )
    return data


def _check_distinct_queries(parts: list[RankingData]) -> None:
    part_of: dict[Any, int] = {}
    for number, part in enumerate(parts, start=1):
        for query in part.query_ids.tolist():
            if query in part_of:
                raise DataError(
                    f"query {query!r} occurs in parts {part_of[query]} and {number}; "
                    "pass merge=True if they are one query"
                )
            part_of[query] = number
