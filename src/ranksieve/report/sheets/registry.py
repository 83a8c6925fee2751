"""Sheet of all methods or rankers."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ranksieve.base import RankSelector
from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet, name_column, text_column

if TYPE_CHECKING:
    from ranksieve.registry import Method, Registry

_TRAITS = {
    "held-out": "uses validation queries to select (--eval)",
    "nested": "the best k features are the first k of the best k + 1",
    "seeded": "draws random numbers",
    "in memory": "reads shards into memory",
    "missing": "takes missing values (--missing keep); methods around a ranker do if it does",
    "costs": "weighs what features cost (--costs)",
    "no include": "cannot start with given features (--include)",
    "no groups": "cannot select groups of features (--groups)",
    "no weights": "takes no weights of queries",
}


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
    there = {trait for method in methods for trait in _traits_of(method)}
    return ". ".join(f"{trait}: {_TRAITS[trait]}" for trait in _TRAITS if trait in there) + "."


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
    if not all(method.takes_weights for method in registry.values()):
        return []
    return [f"All {registry.what}s take weights of queries."]


_COLUMNS = [
    text_column("traits"),
    Column("grid", align="left", only_csv=True),
    Column("settings", only_csv=True),
]


def _traits_of(method: Method) -> list[str]:
    has = (
        method.uses_held_out_data,
        method.is_nested,
        method.is_seeded,
        not method.works_on_shards,
        method.takes_missing,
        method.takes_costs,
        bool(method.no_include),
        bool(method.no_groups),
        not method.takes_weights,
    )
    return [trait for trait, is_there in zip(_TRAITS, has, strict=True) if is_there]


def _traits(method: Method) -> list[Entry]:
    traits = ", ".join(_traits_of(method))
    settings = prod(map(len, method.grid.values()))
    return [Entry(traits), Entry(", ".join(method.grid)), Entry(settings)]
