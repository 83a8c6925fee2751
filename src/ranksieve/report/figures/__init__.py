"""Figures for one column of a page, as Axes of matplotlib.

All lines can be distinguished without color, and text has 7 points or more. A function takes the
Axes to draw on, of a figure with ``layout="constrained"`` so that nothing overlaps, or makes a new
one of 3.5 inches; :func:`write_figure` writes it to a file. pyplot is not used. For each ``plot_``
function there is a ``describe_`` function that describes the figure in words, for captions.
"""

from __future__ import annotations

from ranksieve.report.figures.curves import describe_curves, plot_curves
from ranksieve.report.figures.densities import describe_class_densities, plot_class_densities
from ranksieve.report.figures.frequency import (
    describe_selection_frequency,
    plot_selection_frequency,
)
from ranksieve.report.figures.front import describe_front, plot_front
from ranksieve.report.figures.importance import describe_importance, plot_importance
from ranksieve.report.figures.paths import describe_path_scores, plot_mean_paths, plot_path_scores
from ranksieve.report.figures.similarity import describe_similarity, plot_similarity
from ranksieve.report.figures.style import write_figure
from ranksieve.report.figures.times import describe_quality_and_time, plot_quality_and_time

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
