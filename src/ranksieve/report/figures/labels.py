"""Names beside points, where they cover nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.path import Path
from matplotlib.transforms import Bbox
from scipy.spatial.distance import cdist

from ranksieve.report.figures.names import any_script, drawn
from ranksieve.report.figures.style import GREY, SMALL_SIZE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation
    from matplotlib.transforms import BboxBase

# In points:
_DISTANCES = np.arange(4.0, 80.0, 3.0)  # of a name's edge from its point, in turn
_LEADER = 9.0  # from this distance on, a line leads from the name to its point
_MARK = 3.0  # half the size of a marker
_AIR = 1.0  # around a name
# In sixteenths of a turn: right, left, above, below, between these, then all others.
_TURNS = [0, 8, 4, 12, 2, 6, 10, 14, *(turn for turn in np.arange(0, 16, 0.5) if turn % 2)]


class _Place(NamedTuple):
    """Where a name may be: the offset of its center from its point, and the box around it."""

    offset: np.ndarray
    box: Bbox
    leader: Path | None


class _Room:
    """What is taken of the axes, in points."""

    def __init__(self, inside: Bbox, centers: np.ndarray, heights: Sequence[float]) -> None:
        self.inside = inside
        self.marks = [_box(center, 2 * _MARK) for center in centers]
        self.lines = [Bbox([[inside.x0, y - 1], [inside.x1, y + 1]]) for y in heights]
        self.names: list[Bbox] = []
        self.leaders: list[Path] = []

    def is_free(self, place: _Place) -> bool:
        """Whether a name is inside and on nothing."""
        box, inside = place.box, self.inside
        if box.x0 < inside.x0 or box.x1 > inside.x1 or box.y0 < inside.y0 or box.y1 > inside.y1:
            return False
        if box.count_overlaps([*self.marks, *self.lines, *self.names]):
            return False
        return not any(leader.intersects_bbox(box) for leader in self.leaders)

    def crossings(self, place: _Place, mark: Bbox) -> int:
        """How many names and other marks the line from a name to its mark crosses."""
        if place.leader is None:
            return 0
        others = [other for other in self.marks if not other.overlaps(mark)]
        return sum(map(place.leader.intersects_bbox, others + self.names))

    def choose(self, center: np.ndarray, size: np.ndarray) -> _Place:
        """The free place for a name of this size whose line crosses least, the nearest of these."""
        mark = _box(center, 2 * _MARK)
        best, fewest = next(_places(center, size)), np.inf
        for place in _places(center, size):
            if self.is_free(place):
                crossed = self.crossings(place, mark)
                if crossed == 0:
                    return place
                if crossed < fewest:
                    best, fewest = place, crossed
        return best

    def take(self, place: _Place) -> None:
        """Remember a name."""
        self.names.append(place.box)
        if place.leader is not None:
            self.leaders.append(place.leader)


def place_labels(
    ax: Axes,
    points: Sequence[tuple[float, float]],
    names: Sequence[str],
    lines: Sequence[float] = (),
) -> None:
    """Write a name beside each point: none covers another, a point, a line, or leaves the axes.

    Points take turns, those in a crowd first. A name tries the places around its point, first
    beside, above and below, then ever farther away, and takes the first that is free and whose line
    to the point crosses nothing, or crosses least. If none is free, it stays right of its point.
    O(n^2) for n points.

    Parameters
    ----------
    ax : Axes
        With all else drawn and its limits set.
    points : sequence of (x, y)
    names : sequence of str
    lines : sequence of y
        Horizontal lines to keep clear of.
    """
    figure = ax.get_figure(root=True)
    assert figure is not None
    with any_script():
        _place(ax, figure, points, names, lines)


def _place(
    ax: Axes,
    figure: Figure,
    points: Sequence[tuple[float, float]],
    names: Sequence[str],
    lines: Sequence[float],
) -> None:
    figure.draw_without_rendering()  # settles where the axes are
    centers = ax.transData.transform(points) * 72 / figure.dpi
    heights = [ax.transData.transform((points[0][0], y))[1] * 72 / figure.dpi for y in lines]
    room = _Room(_in_points(ax.get_window_extent(), figure.dpi), centers, heights)
    for number in _by_crowd(centers):
        label = _label(ax, names[number], points[number])
        size = np.array(_in_points(label.get_window_extent(), figure.dpi).size) + _AIR
        best = room.choose(centers[number], size)
        room.take(best)
        label.set_position(tuple(best.offset.tolist()))
        assert label.arrow_patch is not None
        label.arrow_patch.set_visible(best.leader is not None)


def _by_crowd(centers: np.ndarray) -> list[int]:
    """Numbers of the points, those with the nearest neighbors first."""
    apart = cdist(centers, centers)
    return np.argsort(-np.sum(1 / (1 + apart), axis=1), kind="stable").tolist()


def _label(ax: Axes, name: str, point: tuple[float, float]) -> Annotation:
    """A name on its point, with the line that may lead there."""
    label = ax.annotate(
        drawn(name),
        point,
        (0.0, 0.0),
        textcoords="offset points",
        fontsize=SMALL_SIZE,
        ha="center",
        va="center",
        arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3},
    )
    label.set_in_layout(False)  # or the axes would move again
    return label


def _places(center: np.ndarray, size: np.ndarray) -> Iterator[_Place]:
    """Places around a point, the nearest first."""
    for distance in _DISTANCES:
        for angle in np.pi / 8 * np.array(_TURNS):
            offset = np.array([np.cos(angle), np.sin(angle)]) * (distance + size / 2)
            leader = None if distance < _LEADER else Path([center, center + offset])
            yield _Place(offset, _box(center + offset, size), leader)


def _box(center: np.ndarray, size: np.ndarray | float) -> Bbox:
    return Bbox([center - np.asarray(size) / 2, center + np.asarray(size) / 2])


def _in_points(box: BboxBase, dpi: float) -> Bbox:
    return Bbox(box.get_points() * 72 / dpi)
