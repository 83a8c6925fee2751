"""Sheets of all methods or rankers, and of the features that a method selects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from ranksieve.base import RankSelector
from ranksieve.costs import cost_heading, format_cost
from ranksieve.report.sheets.sheet import (
    Column,
    Entry,
    Fields,
    Row,
    Sheet,
    name_column,
    text_column,
)
from ranksieve.text import describe, quantity

if TYPE_CHECKING:
    from ranksieve.costs import FeatureCosts
    from ranksieve.io.selection import SelectedFeature, Selection
    from ranksieve.registry import Method, Registry

_TRAITS: dict[str, tuple[Callable[[Method], object], str]] = {
    "related": (
        lambda m: m.family == "related",
        "there so that papers can be compared; mostly reconstructions and variants",
    ),
    "held-out": (lambda m: m.uses_held_out_data, "uses validation queries to select (--vali)"),
    "nested": (lambda m: m.is_nested, "the best k features are the first k of the best k + 1"),
    "seeded": (lambda m: m.is_seeded, "draws random numbers"),
    "in memory": (lambda m: not m.works_on_shards, "reads shards into memory"),
    "missing": (
        lambda m: m.takes_missing,
        "takes missing values (--missing keep); methods that train a ranker do if the ranker does",
    ),
    "row weights": (lambda m: m.takes_row_weights, "takes weights of rows (--row-weight)"),
    "positions": (lambda m: m.takes_positions, "takes positions of documents (--position)"),
    "costs": (lambda m: m.takes_costs, "weighs what features cost (--costs)"),
    "no include": (lambda m: m.no_include, "cannot start with given features (--include)"),
    "no groups": (lambda m: m.no_groups, "cannot select groups of features (--groups)"),
    "no weights": (lambda m: m.no_weights, "takes no weights of queries"),
}
"""Whether a method has a trait, and what the trait means."""


def registry_sheet(registry: Registry) -> Sheet:
    """Names and descriptions of methods or rankers, and traits of selectors."""
    methods = list(registry.values())
    select = issubclass(methods[0].kind, RankSelector)
    families: dict[str, list[Row]] = {}
    for method in methods:
        row = [Entry(method.name), Entry(method.description), *(_traits(method) if select else ())]
        families.setdefault(method.family if select else "", []).append(row)
    return Sheet(
        f"{registry.what}s",
        f"{registry.what.capitalize()}s by name",
        "",
        [
            name_column(registry.what),
            text_column("description", "what it does"),
            *(_COLUMNS if select else ()),
        ],
        list(families.values()),
        notes=[*([_legend(methods)] if select else ()), *_reasons(methods), *_weights(registry)],
    )


def _legend(methods: list[Method]) -> str:
    """Explanation of the traits of methods."""
    shown = (f"{name}: {text}" for name, (has, text) in _TRAITS.items() if any(map(has, methods)))
    return ". ".join(shown) + "."


def _reasons(methods: list[Method]) -> list[str]:
    """Why some methods cannot start with features, select groups of them, or take weights."""
    names: dict[tuple[str, str], list[str]] = {}
    for method in methods:
        for trait in ("no include", "no groups", "no weights"):
            why = getattr(method, trait.replace(" ", "_"))
            if why:
                names.setdefault((trait, why), []).append(method.name)
    return [f"{trait} ({', '.join(own)}): {why}" for (trait, why), own in names.items()]


def _weights(registry: Registry) -> list[str]:
    if any(method.no_weights for method in registry.values()):
        return []
    return [f"All {registry.what}s take weights of queries."]


_COLUMNS = [
    text_column("traits"),
    Column("grid", align="left", only_csv=True),
    Column("settings", only_csv=True),
]


def _traits(method: Method) -> list[Entry]:
    traits = ", ".join(name for name, (has, _) in _TRAITS.items() if has(method))
    settings = prod(map(len, method.grid.values()))
    return [Entry(traits), Entry(", ".join(method.grid)), Entry(settings)]


def selection_sheet(
    title: str,
    selection: Selection,
    changed: Mapping[str, Any],
    costs: FeatureCosts | None = None,
    n_groups: int | None = None,
    counts_groups: bool = False,
) -> Sheet:
    """The selected features, best first; with ``costs``, the cost that each adds to those before.

    ``title`` is that of the data; ``changed`` are the parameters that differ from the defaults. If
    features are grouped, ``n_groups`` were selected; that number comes first if it was requested.
    """
    features = selection.features
    number = f"{len(features):,} of {selection.n_features_in:,} features"
    if n_groups is not None:
        groups = quantity(n_groups, "group")
        number = f"{groups}, {number}" if counts_groups else f"{number} in {groups}"
    scores = [abs(feature.score) for feature in features if feature.score is not None]
    # Four decimals align well, but would hide small scores and clutter large ones.
    form = ".4f" if 0.1 <= max(scores, default=0) < 1e4 else ".4g"
    rank_of = {feature.index: rank for rank, feature in enumerate(features, start=1)}
    fields: Fields[SelectedFeature] = {
        Column("rank", is_name=True): lambda feature: Entry(rank_of[feature.index]),
        name_column("feature"): lambda feature: Entry(feature.name),
    }
    if scores:
        fields[Column("score")] = lambda feature: Entry(feature.score, form)
    notes = []
    if costs is not None:
        names = [feature.name for feature in features]
        added = {
            feature.index: costs.marginal(feature.name, names[:position])
            for position, feature in enumerate(features)
        }
        heading = cost_heading(costs.unit, "added cost")
        fields[Column("cost", heading)] = lambda feature: Entry(added[feature.index], ".4g")
        sets = names, costs.features
        total, of_all = (format_cost(costs.total(own), costs.unit) for own in sets)
        notes = [f"Together they cost {total} of {of_all} for all features."]
    if any(feature.reason for feature in features):
        fields[text_column("reason")] = lambda feature: Entry(feature.reason)
    title = f"{describe(selection.method, changed)}: {number} of {title}"
    return Sheet.of_items("selection", title, "", fields, [features], notes)
