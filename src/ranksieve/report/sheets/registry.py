"""Sheet of all methods or rankers."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

from ranksieve.base import RankSelector
from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet, name_column, text_column

if TYPE_CHECKING:
    from ranksieve.registry import Method, Registry

_TRAITS: dict[str, tuple[Callable[[Method], object], str]] = {
    "held-out": (lambda m: m.uses_held_out_data, "uses validation queries to select (--eval)"),
    "nested": (lambda m: m.is_nested, "the best k features are the first k of the best k + 1"),
    "seeded": (lambda m: m.is_seeded, "draws random numbers"),
    "in memory": (lambda m: not m.works_on_shards, "reads shards into memory"),
    "missing": (
        lambda m: m.takes_missing,
        "takes missing values (--missing keep); methods around a ranker do if it does",
    ),
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
        whys = (
            ("no include", method.no_include),
            ("no groups", method.no_groups),
            ("no weights", method.no_weights),
        )
        for trait, why in whys:
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
