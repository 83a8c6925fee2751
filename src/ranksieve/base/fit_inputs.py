"""Inputs of ``fit`` besides the training data: held-out data and weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.data.fitted import check_names
from ranksieve.data.inputs import check_query_weights
from ranksieve.engine import Source
from ranksieve.io.shards import Shards


def as_source(
    eval_set: Any, training: Source, eval_qid: Any = None, eval_group: Any = None
) -> Source | None:
    """Open held-out data; raise a DataError unless it has the features of the training data.

    Its missing values are treated as those of the training data, unless it declares otherwise.

    Parameters
    ----------
    eval_set : tuple (X, y, qid), RankingData, opened shards, list [(X, y)] or None
    training : RankingData or opened shards
    eval_qid, eval_group : list of one array, or array, optional
        For a pair (X, y): the query of each row, or the number of rows of each query.
    """
    if eval_set is None:
        for name, given in (("eval_qid", eval_qid), ("eval_group", eval_group)):
            if given is not None:
                raise DataError(f"{name} is given without an eval_set")
        return None
    source = _open_eval_set(eval_set, eval_qid, eval_group)
    if source.missing is None and training.missing is not None:
        source = source.with_missing(training.missing)
    if not training.keeps_missing:
        source = source.refusing_missing()
    if source.n_features != training.n_features:
        raise DataError(
            f"eval_set has {source.n_features} features, but the training data has "
            f"{training.n_features}"
        )
    check_names(training.feature_names if training.has_feature_names else None, source)
    check_query_weights(source.query_weights, "the weights of eval_set")
    if isinstance(source, RankingData) and source.has_feature_names != training.has_feature_names:
        # Otherwise parts of both, whose features are named by numbers, would not match.
        named = training.feature_names if training.has_feature_names else None
        source = source._replace(feature_names=named)
    return source


def _open_eval_set(eval_set: Any, eval_qid: Any, eval_group: Any) -> Source:
    """Open held-out data in any of the accepted forms."""
    if isinstance(eval_set, list):
        if len(eval_set) != 1:
            raise DataError(f"eval_set must be one data set, but there are {len(eval_set)}")
        eval_set = eval_set[0]
    is_pair = isinstance(eval_set, tuple) and len(eval_set) == 2
    if eval_qid is not None or eval_group is not None:
        if not is_pair or (eval_qid is not None and eval_group is not None):
            raise DataError(
                "eval_set=[(X, y)] takes either eval_qid or eval_group, other forms take neither"
            )
        X, y = eval_set
        if eval_qid is not None:
            return RankingData(X, y, _single_array(eval_qid))
        return RankingData.from_group_counts(X, y, _single_array(eval_group))
    if isinstance(eval_set, (RankingData, Shards)):
        return eval_set
    if isinstance(eval_set, tuple) and len(eval_set) == 3:
        return RankingData(*eval_set)
    if is_pair:
        raise DataError("eval_set has no queries: pass (X, y, qid), or also eval_qid or eval_group")
    raise DataError(
        "eval_set must be a tuple (X, y, qid), a RankingData, opened shards, or a list [(X, y)] "
        f"with eval_qid or eval_group; got {type(eval_set).__name__}"
    )


def _single_array(arrays: Any) -> Any:
    """The array in a list of one array, or the array itself."""
    is_list = isinstance(arrays, (list, tuple)) and len(arrays) == 1 and np.ndim(arrays[0]) == 1
    return arrays[0] if is_list else arrays


def with_sample_weight(source: Source, sample_weight: Any) -> Source:
    """Data with the weights passed to ``fit``; raises a DataError if it has its own weights."""
    if sample_weight is None:
        check_query_weights(source.query_weights)  # the weights of a part may all be 0
        return source
    if source.query_weights is not None:
        raise DataError(
            "the data has its own weights: leave out sample_weight, or pass the data with "
            "data.with_weights(None)"
        )
    return source.with_weights(sample_weight)
