"""Figures for one column of a page, as Axes of matplotlib.

All can be told apart without color, and text is of 7 points or more. A function takes the Axes to
draw on, of a figure with ``layout="constrained"`` so that nothing overlaps, or makes a new one of
3.5 inches; :func:`write_figure` writes it to a file. Nothing of pyplot is used or changed.
"""

from __future__ import annotations

from ranksieve.report.figures.curves import plot_curves
from ranksieve.report.figures.densities import plot_class_densities
from ranksieve.report.figures.files import FIGURE_FORMATS, check_format, write_figure
from ranksieve.report.figures.frequency import plot_selection_frequency
from ranksieve.report.figures.front import plot_front
from ranksieve.report.figures.importance import plot_importance
from ranksieve.report.figures.paths import plot_mean_paths, plot_path_scores
from ranksieve.report.figures.similarity import plot_similarity
from ranksieve.report.figures.times import plot_quality_and_time

__all__ = [
    "plot_curves",
    "plot_quality_and_time",
    "plot_selection_frequency",
    "plot_mean_paths",
    "plot_path_scores",
    "plot_front",
    "plot_importance",
    "plot_similarity",
    "plot_class_densities",
    "write_figure",
    "check_format",
    "FIGURE_FORMATS",
]
