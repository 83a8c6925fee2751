"""Figures for one column of a page, as Axes of matplotlib.

All lines can be distinguished without color, and text has 7 points or more. A function draws on
``ax``, the Axes of a figure with ``layout="constrained"`` so that nothing overlaps, or on a new
figure of 3.5 inches, and returns the Axes; :func:`write_figure` writes them to a file. pyplot is
not used. For each ``plot_`` function there is a ``describe_`` function that describes the figure in
words, for captions.

Figures of a study are about one ``ranker`` and one ``measure``, by default the one that tuned
everything. They show all ``selectors``, or only those that are given.
"""

from __future__ import annotations

from ranksieve.report.figures.curves import describe_curves, plot_curves
from ranksieve.report.figures.densities import describe_class_densities, plot_class_densities
from ranksieve.report.figures.features import (
    describe_importance,
    describe_similarity,
    plot_importance,
    plot_similarity,
)
from ranksieve.report.figures.front import describe_front, plot_front
from ranksieve.report.figures.paths import describe_path_scores, plot_mean_paths, plot_path_scores
from ranksieve.report.figures.study import (
    describe_quality_and_time,
    describe_selection_frequency,
    plot_quality_and_time,
    plot_selection_frequency,
)
from ranksieve.report.figures.style import write_figure

__all__ = [
    "plot_curves",
    "describe_curves",
    "plot_quality_and_time",
    "describe_quality_and_time",
    "plot_selection_frequency",
    "describe_selection_frequency",
    "plot_mean_paths",
    "plot_path_scores",
    "describe_path_scores",
    "plot_front",
    "describe_front",
    "plot_importance",
    "describe_importance",
    "plot_similarity",
    "describe_similarity",
    "plot_class_densities",
    "describe_class_densities",
    "write_figure",
]
