"""Sheets about features that several kinds of results have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ranksieve.report.sheets.sheet import (
    Column,
    Entry,
    Fields,
    Sheet,
    name_column,
    text_column,
)
from ranksieve.sums.suspicions import Suspicion, advice
from ranksieve.text import quantity

if TYPE_CHECKING:
    from ranksieve.study.first_fold import FirstFold

_MOST_PAIRS = 60


def alone_sheet(
    names: Sequence[str],
    values: Sequence[float] | np.ndarray,
    measure: str,
    chance: float,
    queries: str,
    directions: Sequence[int] | None = None,
    kept: Collection[int] | None = None,
) -> Sheet:
    """How well each feature ranks alone, the best first; ``kept`` are the recommended ones.

    ``chance`` is what documents in random order reach.
    """
    fields: Fields[int] = {
        name_column("feature"): lambda feature: Entry(names[feature]),
        Column("alone", f"{measure} alone"): lambda feature: Entry(float(values[feature]), ".4f"),
    }
    if directions is not None:
        fields[Column("good", align="left")] = lambda feature: Entry(
            "large values" if directions[feature] > 0 else "small values"
        )
    if kept is not None:
        fields[Column("recommended", align="left")] = lambda feature: Entry.yes(feature in kept)
    notes = [
        f"alone: mean {measure} if the feature alone ranks the documents of each query, in its "
        f"better direction; {queries}. Documents in random order reach {chance:.4f}."
    ]
    order = np.argsort(-np.asarray(values), kind="stable").tolist()
    title = "How well each feature ranks alone"
    return Sheet.of_items("alone", title, "", fields, [order], notes)


def similar_sheet(
    names: Sequence[str],
    similarity: np.ndarray,
    title: str = "Pairs of similar features",
    setting: str = "",
) -> Sheet:
    """Pairs of features, the most similar first."""
    pairs = sorted(
        combinations(range(len(names)), 2), key=lambda pair: (-abs(similarity[pair]), pair)
    )
    fields: Fields[tuple[int, int]] = {
        name_column("feature"): lambda pair: Entry(names[pair[0]]),
        name_column("other"): lambda pair: Entry(names[pair[1]]),
        Column("similarity"): lambda pair: Entry(float(similarity[pair]), ".3f"),
    }
    left_out = len(pairs) - _MOST_PAIRS
    notes = [f"{quantity(left_out, 'less similar pair')} left out."]
    return Sheet.of_items(
        "similar", title, setting, fields, [pairs[:_MOST_PAIRS]], notes if left_out > 0 else []
    )


def suspicions_sheet(suspicions: Sequence[Suspicion]) -> Sheet:
    """Why features should perhaps not be used, the worst first."""
    fields: Fields[Suspicion] = {
        text_column("features", importance=3): lambda one: Entry(", ".join(one.features)),
        Column("kind", only_csv=True): lambda one: Entry(one.kind),
        text_column("what", "what was found", importance=3): lambda one: Entry(one.what),
        Column("remedy", only_csv=True): lambda one: Entry(one.remedy),
    }
    title = "Look at these first"
    notes = [*filter(None, [advice(suspicions)])]
    return Sheet.of_items("suspicions", title, "", fields, [suspicions], notes)


def densities_sheet(names: Sequence[str], seen: FirstFold) -> Sheet:
    """The area that the densities of the lowest and of the highest grade share, by feature."""
    low, high = f"{seen.grades[0]:g}", f"{seen.grades[-1]:g}"
    rows = [
        [
            Entry(names[one.feature]),
            Entry(
                float(np.trapezoid(np.minimum(one.values[0], one.values[-1]), one.points)), ".0%"
            ),
        ]
        for one in seen.densities
    ]
    notes = [f"shared area: area below both the density of grade {low} and that of grade {high}."]
    columns = [name_column("feature"), Column("shared area")]
    title = f"How much grades {low} and {high} overlap"
    return Sheet("densities", title, "", columns, [rows], notes)
