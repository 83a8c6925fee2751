"""Record what a fitted selector chose, for files and tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ranksieve._version import __version__
from ranksieve.base import RankSelector
from ranksieve.engine import Source
from ranksieve.io.selection import SelectedFeature, Selection
from ranksieve.parameters import plain_value


def record_selection(
    selector: RankSelector, source: Source, method: str, data: Sequence[str]
) -> Selection:
    """Record what a selector that was fitted on ``source`` chose.

    ``method`` is the name of the method to record, and ``data`` are those of the files.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors.record import record_selection
    >>> from ranksieve.selectors.registry import make_selector
    >>> source, _ = make_ranking(20)
    >>> selection = record_selection(make_selector("top", 3).fit(source), source, "top", ["a.txt"])
    >>> len(selection.features), selection.n_features_in
    (3, 20)
    >>> selection.parameters["importance"]["measure"]
    'ndcg@10'
    """
    chosen = selector.selected_.tolist()
    names = source.feature_names
    steps = zip(chosen, _scores(selector), _reasons(selector), strict=True)
    return Selection(
        method=method,
        parameters=plain_value(selector.get_params(deep=False), otherwise=str),
        n_features_in=source.n_features,
        data=list(data),
        ranksieve=__version__,
        features=[SelectedFeature(f, str(names[f]), score, why) for f, score, why in steps],
        missing=source.missing,
    )


def _reasons(selector: RankSelector) -> list[str]:
    """Reason for each selected feature; included features get a reason of their own."""
    reasons, n = selector.reasons(), selector.n_included_
    forced = [", ".join(filter(None, ["included", reason.strip()])) for reason in reasons[:n]]
    return forced + reasons[n:]


def _scores(selector: RankSelector) -> list[float | None]:
    """Score of each selected feature when it was chosen, else of the feature alone, else None."""
    if hasattr(selector, "path_"):
        scores = [step.score for step in selector.path_]
    elif hasattr(selector, "scores_"):
        scores = selector.scores_[selector.selected_].tolist()
    else:
        return [None] * len(selector.selected_)
    # JSON knows no infinity.
    return [float(score) if math.isfinite(score) else None for score in scores]
