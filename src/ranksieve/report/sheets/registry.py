"""Sheet of the methods or rankers that there are."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ranksieve.base import RankSelector
from ranksieve.report.sheets.sheet import Column, Entry, Sheet

if TYPE_CHECKING:
    from ranksieve.registry import Method, Registry

_TRAITS = {
    "held-out": "uses validation queries to select (--eval)",
    "nested": "the best k features are the first k of the best k + 1",
    "seeded": "draws random numbers",
    "in memory": "reads shards into memory",
}
_NOTES = [". ".join(f"{trait}: {meaning}" for trait, meaning in _TRAITS.items()) + "."]


def registry_sheet(registry: Registry) -> Sheet:
    """Names of methods or rankers and what they do; of selectors also what they need."""
    methods = list(registry.values())
    select = issubclass(methods[0].kind, RankSelector)
    families: dict[str, list[list[Entry]]] = {}
    for method in methods:
        row = [Entry(method.name), Entry(method.description), *(_traits(method) if select else ())]
        families.setdefault(method.family if select else "", []).append(row)
    return Sheet(
        f"{registry.what}s",
        f"{registry.what.capitalize()}s by name",
        "",
        [
            Column(registry.what, align="left", is_name=True),
            Column("description", "what it does", align="left", wraps=True),
            *(_COLUMNS if select else ()),
        ],
        list(families.values()),
        notes=[*(_NOTES if select else ()), _about_weights(registry)],
    )


def _about_weights(registry: Registry) -> str:
    without = [name for name, method in registry.items() if not method.takes_weights]
    if not without:
        return f"All {registry.what}s take weights of queries."
    return f"Take no weights of queries, and say why: {', '.join(without)}."


_COLUMNS = [
    Column("traits", align="left", wraps=True),
    Column("grid", align="left", only_csv=True),
    Column("settings", only_csv=True),
]


def _traits(method: Method) -> list[Entry]:
    has = (
        method.uses_held_out_data,
        method.is_nested,
        method.is_seeded,
        not method.works_on_shards,
    )
    traits = ", ".join(trait for trait, is_there in zip(_TRAITS, has, strict=True) if is_there)
    settings = prod(map(len, method.grid.values()))
    return [Entry(traits), Entry(", ".join(method.grid)), Entry(settings)]
