"""Units of costs, and costs as text."""

from __future__ import annotations

from typing import Any

_UNITS = {
    "ns": "ns", "us": "us", "ms": "ms", "s": "s", "sec": "s", "seconds": "s", "usd": "USD",
    "eur": "EUR", "bytes": "bytes", "kb": "KB", "mb": "MB", "gb": "GB",
}  # fmt: skip
_LONGEST = 20


def unit_of_column(name: str) -> str:
    """Unit in the name of a column; empty if there is none.

    Examples
    --------
    >>> unit_of_column("cost_ms"), unit_of_column("price_USD"), unit_of_column("ms")
    ('ms', 'USD', 'ms')
    >>> unit_of_column("cost"), unit_of_column("cost_per_call")
    ('', '')
    """
    return _UNITS.get(name.lower().split("_")[-1], "")


def check_unit(unit: Any) -> str:
    """Return the unit of costs, a short text on one line; raise a ValueError for anything else."""
    is_text = isinstance(unit, str) and unit == unit.strip() and unit.isprintable()
    if not is_text or len(unit) > _LONGEST:
        raise ValueError(f"the unit of costs must be a short text such as 'ms', got {unit!r:.60}")
    return str(unit)


def format_cost(cost: float, unit: str) -> str:
    """Cost with its unit, if that is known.

    Examples
    --------
    >>> format_cost(8.53, "ms"), format_cost(21.0, "")
    ('8.53 ms', '21')
    """
    return f"{cost:.4g} {unit}".rstrip()


def cost_heading(unit: str, what: str = "cost") -> str:
    """Heading of costs with their unit, if that is known.

    Examples
    --------
    >>> cost_heading("ms"), cost_heading("", "added cost")
    ('cost (ms)', 'added cost')
    """
    return f"{what} ({unit})" if unit else what
