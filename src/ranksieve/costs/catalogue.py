"""Catalogues of costs: which columns of a table are used, and in which unit they are."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

from ranksieve.costs.units import unit_of_column
from ranksieve.data import DataError
from ranksieve.io.small_tables import FEATURE_NAMES, SmallTable, TableRow
from ranksieve.text import list_names, parse_number


class Catalogue(NamedTuple):
    """Rows of a table with the feature or the group, or both, and the cost of each."""

    rows: list[TableRow]
    place: str  # for messages
    unit: str  # as the name of the column of costs says; empty if it does not


def catalogue_of_features(table: SmallTable) -> Catalogue:
    """Catalogue of features, which may have a column of groups."""
    feature, group = table.need("feature", FEATURE_NAMES), table.find("group")
    cost = _find_cost(table, [feature, *([group] if group else [])])
    return _catalogue(table, feature=feature, group=group, cost=cost)


def catalogue_of_groups(table: SmallTable) -> Catalogue:
    """Catalogue of groups."""
    group = table.need("group", ("group_name", "name"))
    return _catalogue(table, group=group, cost=_find_cost(table, [group]))


def _catalogue(table: SmallTable, *, cost: str, **others: str | None) -> Catalogue:
    return Catalogue(table.pick({**others, "cost": cost}), table.place, unit_of_column(cost))


def number_of(value: Any) -> float | None:
    """Number, also of text; None if it is not one."""
    if isinstance(value, str):
        return parse_number(value)
    is_number = isinstance(value, (Real, Decimal)) and not isinstance(value, bool)
    try:
        return float(value) if is_number else None
    except OverflowError:  # an integer beyond the range of floats
        return float("inf")


def is_empty(value: Any) -> bool:
    """Whether a cell has no value."""
    return value is None or (isinstance(value, str) and not value.strip())


def _find_cost(table: SmallTable, others: Sequence[str]) -> str:
    """Find the column of costs: ``cost``, or one whose name begins so, or the only one of numbers.

    Among several whose names begin so, those of numbers count.
    """
    exact = table.find("cost")
    if exact is not None:
        return exact
    free = [name for name in table.columns if name not in others]
    named = [name for name in free if name.startswith("cost")]
    numeric = [name for name in free if _holds_numbers(table.values(name))]
    for names in ([name for name in named if name in numeric], named, numeric):
        if len(names) > 1:
            table.fail_ambiguous("cost", names)
        if names:
            return names[0]
    among = f" among {list_names(free)}" if any(free) else ""
    raise DataError(
        f"{table.place}: no column has costs{among}: name one 'cost', or with its unit, such as "
        "'cost_ms'"
    )


def _holds_numbers(values: Sequence[Any]) -> bool:
    """Whether most values are numbers; a wrong one is reported with its row."""
    present = [value for value in values if not is_empty(value)]
    return 2 * sum(number_of(value) is not None for value in present) > len(present)
