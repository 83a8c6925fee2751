"""Importance and similarity of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle
from scipy.cluster.hierarchy import fcluster

from ranksieve.data import DataError
from ranksieve.report.figures import style
from ranksieve.report.similarity import branches_of, leaves_of, tree_of
from ranksieve.text import every, quantity

_MOST_BARS = 30
_TOP = 20  # features with bars, if there are more than fit
_REST = 6  # height of the area of all other features, in rows
_BAR = 0.125  # inches: height of a row with a bar
_LISTED = 5  # features in words
_MOST_NAMED = 20  # of the rows of a heat map
_FEW, _LONGEST = 12, 16  # above this number of features, names have at most so many characters
_ROW = 0.1  # inches: height of a name beside a heat map
_SAME = 1e-9  # difference up to which a matrix counts as symmetric
_ALIKE = 0.9  # similarity from which features are a family
_TREE = 0.18  # height of the tree, as a share of that of the map
_LISTED_FAMILIES, _LISTED_MEMBERS = 3, 4  # families in words, and features of each


def plot_importance(
    values: Any,
    names: Sequence[str] | None = None,
    n_shown: int | None = None,
    *,
    label: str = "importance",
    ax: Axes | None = None,
) -> Axes:
    """Draw the importance of features, the most important first.

    Up to 30 features are bars with names. If there are more, the 20 most important are bars, and
    the others form an area below them, whose shape shows how many are useful.

    Parameters
    ----------
    values : array of shape (features,)
        Such as ``importance_`` or ``scores_`` of a fitted selector.
    names : sequence of str, optional
        By default numbers, from 1.
    n_shown : int, optional
        Number of the most important features to draw; by default all.
    label : str
        Label of the values, such as ``"MAP of the feature alone"``.

    References
    ----------
    Figure 6 of X. Geng, T.-Y. Liu, T. Qin, H. Li. Feature selection for ranking. SIGIR 2007.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.report.figures import plot_importance
    >>> from ranksieve.selectors import GAS
    >>> data, _ = make_ranking(50)
    >>> selector = GAS(3).fit(data)
    >>> ax = plot_importance(selector.importance_, data.feature_names, 5, label="MAP")
    >>> best = ax.get_yticklabels()[0].get_text()
    >>> best == data.feature_names[selector.importance_.argmax()]
    True
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise DataError("importance must be one finite number for each feature")
    labels = style.names_of(names, len(values))
    style.check_shown(n_shown)
    shown = np.argsort(-values, kind="stable")[:n_shown]
    n_named = len(shown) if len(shown) <= _MOST_BARS else _TOP
    rows = n_named + (_REST if len(shown) > n_named else 0)
    ax = style.new_axes(0.6 + _BAR * rows) if ax is None else ax
    bars = values[shown[:n_named]]
    ax.barh(np.arange(n_named), bars, height=0.7, color=style.line_style(0)["color"])
    ticks = [labels[feature] for feature in shown[:n_named]]
    if len(shown) > n_named:
        _draw_rest(ax, values[shown[n_named:]], n_named)
        ticks.append(f"{len(shown) - n_named:,} others")
    style.finish(ax, label, "")
    ax.set_yticks([*range(n_named), n_named - 0.5 + _REST / 2][: len(ticks)], ticks)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(rows - 0.4, -0.6)
    return ax


def describe_importance(values: Any, names: Sequence[str], label: str) -> str:
    """Describe what :func:`plot_importance` shows of all features."""
    values = np.asarray(values, dtype=float)
    order = np.argsort(-values, kind="stable")
    best = [f"{names[feature]} ({values[feature]:.4g})" for feature in order[:_LISTED]]
    caption = f"{label[:1].upper()}{label[1:]}, the most important feature first: {', '.join(best)}"
    if len(order) > _LISTED:
        median = np.median(values)
        caption += (
            f". The median of {every(len(order), 'feature')} is {median:.4g}, and the least "
            f"is {names[order[-1]]} ({values[order[-1]]:.4g})"
        )
    return f"{caption}."


def _draw_rest(ax: Axes, values: np.ndarray, start: int) -> None:
    """Draw an area below the bars, on the same scale."""
    edges = start - 0.4 + np.linspace(0, _REST - 0.3, len(values) + 1)
    color = style.line_style(5)["color"]
    ax.stairs(values, edges, orientation="horizontal", fill=True, color=color, label="others")


def plot_similarity(
    similarity: Any,
    clusters: Any = None,
    names: Sequence[str] | None = None,
    *,
    label: str = "similarity",
    ax: Axes | None = None,
) -> Axes:
    """Draw the similarity of all pairs of features, with similar features adjacent.

    Parameters
    ----------
    similarity : array of shape (features, features)
        Symmetric, such as ``similarity_`` of a fitted selector.
    clusters : int array of shape (features,), optional
        Cluster of each feature, such as ``clusters_`` of a fitted selector. Clusters are framed,
        the largest first; features of cluster -1 belong to none and come last. Without clusters,
        features are ordered as the leaves of a tree, by average linkage of ``1 - similarity``,
        which is drawn above them.
    names : sequence of str, optional
        By default numbers, from 1. If there are more than 20, families of
        similar features are named by their most typical one, then others where there is room.
    label : str
        What the values are, such as ``"share of concordant pairs"``.

    Notes
    -----
    Colors are from 0 to 1, or from the tenth below the smallest value if that is negative. O(n^2)
    for n features, usually; the order of the leaves, in which neighbors are most similar, may take
    O(n^3).

    References
    ----------
    Figure 7 of X. Geng, T.-Y. Liu, T. Qin, H. Li. Feature selection for ranking. SIGIR 2007.

    Examples
    --------
    >>> from ranksieve.report.figures import plot_similarity
    >>> ax = plot_similarity([[1.0, 0.2, 0.9], [0.2, 1.0, 0.3], [0.9, 0.3, 1.0]], [0, 1, 0])
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['1', '3', '2']
    """
    values = _check_similarity(similarity)
    labels = style.names_of(names, len(values), style.LONGEST if len(values) <= _FEW else _LONGEST)
    tree = tree_of(values)
    members: list[np.ndarray] = []
    if clusters is None:
        order = leaves_of(tree)
        families = _families(values, tree)
    else:
        order, members = _by_cluster(values, clusters)
        families = [_typical_first(values, part) for part in members]
    wanted = _wanted_names(families, order, labels)
    side = style.WIDTH - 0.5 - style.LETTER * max(style.width_of(name) for _, name in wanted)
    rows, shown = _with_room(wanted, _ROW * len(order) / side)
    if ax is None:
        ax = style.new_axes(side * (1.0 if clusters is not None else 1 + _TREE))
    image = ax.imshow(
        values[np.ix_(order, order)],
        cmap=style.COLOR_MAP,
        vmin=min(np.floor(10 * values.min()) / 10, 0.0),
        vmax=max(1.0, values.max()),
        interpolation="nearest",
    )
    _frame(ax, [len(part) for part in members])
    style.finish(ax, "features, by similarity" if clusters is None else "features, by cluster")
    ax.set_xticks([])  # the same as the rows
    ax.set_yticks(rows, shown)
    ax.tick_params(length=0 if len(rows) == len(order) else 2)
    ax.spines[:].set(visible=True, linewidth=0.5)
    if clusters is None:
        _draw_tree(ax.inset_axes((0.0, 1.01, 1.0, _TREE)), tree)
    beside = ax.inset_axes((1.03, 0.0, 0.05, 1.0))  # as high as the image
    style.finish_color_bar(ax.figure.colorbar(image, cax=beside), label)
    return ax


def describe_similarity(similarity: Any, names: Sequence[str], label: str = "similarity") -> str:
    """Describe what :func:`plot_similarity` shows, and which features are similar."""
    values = _check_similarity(similarity)
    caption = (
        f"{label[:1].upper()}{label[1:]} of all pairs of features, the darker the more similar. "
        "Similar features are neighbors, so that families of them are dark blocks; the lower the "
        "tree above joins them, the more similar they are. "
    )
    if len(values) > _MOST_NAMED:
        caption += "A number after a name is the number of further features similar to it. "
    constant = np.flatnonzero(values.diagonal() == 0)
    if len(constant):
        equal = quantity(len(constant), "feature")
        caption += f"Constant within every query, and so similar to none: {equal}. "
    families = _families(values, tree_of(values))
    if families:
        largest = families[:_LISTED_FAMILIES]
        listed = "; ".join(_describe_family(family, names) for family in largest)
        which = f", the {_LISTED_FAMILIES} largest" if len(families) > len(largest) else ""
        found = quantity(len(families), "family", "families")
        return (
            f"{caption}There {'is' if len(families) == 1 else 'are'} {found} of features with "
            f"an average similarity of {_ALIKE} or more{which}: {listed}."
        )
    if len(values) < 2:
        return caption.strip()
    apart = values - np.diag(np.full(len(values), np.inf))
    one, other = divmod(int(np.argmax(apart)), len(apart))
    return (
        f"{caption}No features have a similarity of {_ALIKE} or more; the most similar are "
        f"{names[one]} and {names[other]} ({apart[one, other]:.2f})."
    )


def _describe_family(family: np.ndarray, names: Sequence[str]) -> str:
    shown = [str(names[feature]) for feature in family[:_LISTED_MEMBERS]]
    more = len(family) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _check_similarity(similarity: Any) -> np.ndarray:
    values = np.asarray(similarity, dtype=float)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not values.size:
        raise DataError(f"similarity must have a row and a column per feature, not {values.shape}")
    if not np.isfinite(values).all() or np.abs(values - values.T).max() > _SAME:
        raise DataError("similarity must be finite and symmetric")
    return values


def _families(values: np.ndarray, tree: np.ndarray) -> list[np.ndarray]:
    """Families of similar features, the largest first, each with its most typical one first."""
    reach = values.max() - _ALIKE
    if not len(tree) or reach < 0:
        return []
    labels = fcluster(tree, reach + _SAME, "distance")
    found = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    families = [family for family in found if len(family) > 1]
    families.sort(key=lambda family: (-len(family), family[0]))
    return [_typical_first(values, family) for family in families]


def _typical_first(values: np.ndarray, family: np.ndarray) -> np.ndarray:
    """The family by the mean similarity to its members."""
    return family[np.argsort(-values[np.ix_(family, family)].mean(axis=1), kind="stable")]


def _wanted_names(
    families: Sequence[np.ndarray], order: np.ndarray, labels: Sequence[str]
) -> list[tuple[float, str]]:
    """Rows and their names: all, or if there are many, families first, then others.

    The name of a family says how many more belong to it, and is at its middle.
    """
    if len(order) <= _MOST_NAMED:
        return [(row, labels[feature]) for row, feature in enumerate(order)]
    row_of = np.argsort(order)
    several = [family for family in families if len(family) > 1]
    wanted = [
        (float(row_of[family].mean()), f"{labels[family[0]]} +{len(family) - 1}")
        for family in several
    ]
    like = {feature for family in several for feature in family.tolist()}
    return wanted + [(row, labels[f]) for row, f in enumerate(order) if f not in like]


def _with_room(wanted: Sequence[tuple[float, str]], apart: float) -> tuple[list[float], list[str]]:
    """The wanted names that are at least ``apart`` rows from those before them."""
    rows: list[float] = []
    shown: list[str] = []
    for row, name in wanted:
        if all(abs(row - other) >= apart for other in rows):
            rows.append(row)
            shown.append(name)
    return rows, shown


def _draw_tree(ax: Axes, tree: np.ndarray) -> None:
    """Draw how features are joined, each above its column."""
    n_features = len(tree) + 1
    width = 0.6 if n_features <= _MOST_NAMED else 0.3
    ax.add_collection(LineCollection(branches_of(tree), colors="0.2", linewidths=width))
    highest = tree[:, 2].max(initial=0.0)
    ax.set(xlim=(-0.5, n_features - 0.5), ylim=(0.0, 1.02 * highest or 1.0))
    ax.set_axis_off()


def _by_cluster(values: np.ndarray, clusters: Any) -> tuple[np.ndarray, list[np.ndarray]]:
    """Features by cluster, and the clusters, largest first, with similar features adjacent."""
    clusters = np.asarray(clusters)
    if clusters.shape != (len(values),):
        raise DataError(
            f"clusters has shape {clusters.shape}, but there are {len(values)} features"
        )
    members = [np.flatnonzero(clusters == one) for one in np.unique(clusters[clusters >= 0])]
    members.sort(key=lambda part: -len(part))
    alone = np.flatnonzero(clusters < 0)
    parts = [*members, alone] if len(alone) else members
    ordered = [part[leaves_of(tree_of(values[np.ix_(part, part)]))] for part in parts]
    return np.concatenate(ordered), members


def _frame(ax: Axes, sizes: list[int]) -> None:
    """Frame clusters of these sizes, from the upper left; black on white shows on all colors."""
    start = -0.5
    for size in sizes:
        for color, width in (("white", 1.6), ("black", 0.7)):
            ax.add_patch(
                Rectangle((start, start), size, size, fill=False, edgecolor=color, linewidth=width)
            )
        start += size
