"""Sections about features that several kinds of reports have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

import numpy as np

from ranksieve.report.charts.colors import KEPT, OTHER, PLAIN
from ranksieve.report.charts.curves import Bar, draw_bars
from ranksieve.report.charts.matrices import draw_heat_map
from ranksieve.report.section import Chart, Part, Section
from ranksieve.report.sheets.sheet import Sheet

MOST_FEATURES = 60
"""Maximum number of features in a chart; tables have all of them."""
MOST_BARS = 40


def bars_from_chance(chance: float) -> str:
    """Where bars of features alone start."""
    return (
        f"Bars start at what documents in random order reach, {chance:.4f}; a bar to the left of "
        "this line is worse than that."
    )


def similar_section(
    names: Sequence[str],
    similarity: np.ndarray,
    sentence: str,
    measured: str,
    further: str,
    sheet: Sheet,
) -> Section | None:
    """Similarity of features with the tree that joins them; None if there is no pair.

    ``measured`` says what the similarity is, and ``further`` what else to know about the chart.
    """
    if len(names) < 2:
        return None
    caption = (
        f"The stronger the color, the more similar two features are: {measured}. Squares are "
        "groups of which one or two features are often enough. The tree at the right joins similar "
        "features; the farther to the right two branches meet, the less similar they are. "
        f"{further}"
    )
    draw = partial(draw_heat_map, similarity, names, "Similarity of features")
    chart = Chart("similarity", caption.strip(), draw)
    return Section("Similar features", sentence, [Part(sheet, chart)])


def alone_section(
    names: Sequence[str],
    values: Sequence[float] | np.ndarray,
    measure: str,
    chance: float,
    sentence: str,
    further: str,
    sheet: Sheet,
    directions: Sequence[int] | None = None,
    kept: Collection[int] = (),
) -> Section:
    """How well each feature ranks alone; ``kept`` are the recommended ones.

    ``chance`` is what documents in random order reach.
    """
    order = np.argsort(-np.asarray(values), kind="stable")[:MOST_BARS].tolist()
    bars = [
        Bar(
            names[feature],
            float(values[feature]),
            f"{values[feature]:.4f}"
            + (" (small)" if directions is not None and directions[feature] < 0 else ""),
            OTHER if kept and feature not in kept else KEPT if kept else PLAIN,
        )
        for feature in order
    ]
    caption = (
        f"Mean {measure} if one feature alone ranks the documents, in its better direction. "
        f"{bars_from_chance(chance)} {further}"
    )
    if len(values) > len(order):
        caption += f" The best {len(order)} of {len(values):,} features."
    title = f"{measure} of single features"
    start_name = f"bars start at a random order: {chance:.4f}"
    draw = partial(draw_bars, bars, title, start=chance, start_name=start_name)
    chart = Chart("alone", caption, draw)
    return Section("How well features rank alone", sentence, [Part(sheet, chart)])
