"""From a fitted selector to a record of what it chose, for files and tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ranksieve._version import __version__
from ranksieve.base import RankSelector
from ranksieve.engine import Source
from ranksieve.io.selection import SelectedFeature, Selection


def record_selection(
    selector: RankSelector, source: Source, method: str, data: Sequence[str]
) -> Selection:
    """Record what a selector chose.

    Parameters
    ----------
    selector : RankSelector
        Fitted on ``source``.
    source : RankingData or opened shards
        Brings the names of the features.
    method : str
        Name to record.
    data : sequence of str
        Files to record.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors.record import record_selection
    >>> from ranksieve.selectors.registry import make_selector
    >>> source, _ = make_ranking(20)
    >>> selection = record_selection(make_selector("top", 3).fit(source), source, "top", ["a.txt"])
    >>> len(selection.features), selection.n_features_in, selection.parameters["importance"]
    (3, 20, 'ndcg@10')
    """
    chosen = selector.selected_.tolist()
    names = source.feature_names
    steps = zip(chosen, _scores(selector), selector.reasons(), strict=True)
    return Selection(
        method=method,
        parameters={name: _plain(value) for name, value in selector.get_params(deep=False).items()},
        n_features_in=source.n_features,
        data=list(data),
        ranksieve=__version__,
        features=[SelectedFeature(f, str(names[f]), score, why) for f, score, why in steps],
    )


def _scores(selector: RankSelector) -> list[float | None]:
    """Score of each selected feature when it was chosen, else its own, else None."""
    if hasattr(selector, "path_"):
        scores = [step.score for step in selector.path_]
    elif hasattr(selector, "scores_"):
        scores = selector.scores_[selector.selected_].tolist()
    else:
        return [None] * len(selector.selected_)
    # JSON knows no infinity.
    return [float(score) if math.isfinite(score) else None for score in scores]


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return float(value)  # numpy's floats are floats, too
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy's numbers and arrays
        return _plain(value.tolist())
    return str(value)
