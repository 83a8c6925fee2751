"""Columns of the frames of a recommendation: features, groups, curve and offers, with names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from ranksieve.recommendation.answer import (
        CurvePoint,
        DroppedFeature,
        DroppedGroup,
        KeptFeature,
        KeptGroup,
        Recommendation,
    )

Table = Literal["features", "groups", "curve", "offers"]
Columns = dict[str, list[Any]]


def columns_of(answer: Recommendation, table: Table) -> Columns:
    """Make the columns of a table; raises a ValueError if there is no such table."""
    tables: Mapping[str, Callable[[Recommendation], Columns]] = {
        "features": _features,
        "groups": _groups,
        "curve": lambda answer: _points(answer, answer.curve),
        "offers": _offers,
    }
    if table not in tables:
        raise ValueError(f"table must be one of {', '.join(get_args(Table))}; got {table!r:.60}")
    return tables[table](answer)


def _features(answer: Recommendation) -> Columns:
    """All features that are not excluded, those to keep first, each with what is known of it."""
    kept, dropped, evidence = answer.kept, answer.dropped, answer.evidence
    every: list[KeptFeature | DroppedFeature] = [*kept, *dropped]
    columns: Columns = {
        "feature": [one.name for one in every],
        "index": [one.feature for one in every],
        "kept": [True] * len(kept) + [False] * len(dropped),
        "rank": [*range(1, len(kept) + 1), *[None] * len(dropped)],
        "cost": [one.cost for one in every],
    }
    for name in ("loss", "lower", "upper", "stability", "cluster_stability"):
        columns[name] = [*(getattr(one, name) for one in kept), *[None] * len(dropped)]
    columns["alone"] = [
        None if evidence is None else evidence.alone.values[one.feature] for one in every
    ]
    columns["substitutes"] = [
        *([other.name for other in one.substitutes] for one in kept),
        *([] for _ in dropped),
    ]
    columns["reason"] = [*[None] * len(kept), *(one.reason for one in dropped)]
    return columns


def _groups(answer: Recommendation) -> Columns:
    """Groups that are paid once, those that are needed first."""
    kept, dropped, names = answer.kept_groups, answer.dropped_groups, answer.feature_names
    every: list[KeptGroup | DroppedGroup] = [*kept, *dropped]
    columns: Columns = {
        "group": [one.name for one in every],
        "kept": [True] * len(kept) + [False] * len(dropped),
        "cost": [one.cost for one in every],
        "saving": [one.saving for one in every],
    }
    for name in ("loss", "lower", "upper"):
        columns[name] = [*(getattr(one, name) for one in kept), *[None] * len(dropped)]
    columns["features"] = [[names[feature] for feature in one.features] for one in every]
    return columns


def _points(answer: Recommendation, points: Sequence[CurvePoint]) -> Columns:
    """Sets of features, each with what it costs and loses."""
    names = answer.feature_names
    return {
        "size": [point.size for point in points],
        **{
            name: [getattr(point, name) for point in points]
            for name in ("cost", "change", "error", "bound")
        },
        "recommended": [point == answer.recommended for point in points],
        "features": [[names[feature] for feature in point.features] for point in points],
    }


def _offers(answer: Recommendation) -> Columns:
    offers = answer.offers
    margins = [offer.margin for offer in offers]
    return {"margin": margins, **_points(answer, [offer.point for offer in offers])}
