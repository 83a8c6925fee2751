"""Public names of packages, imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def export(
    package: str, homes: Mapping[str, str], registry: str | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    ``homes`` has the module that defines each public name. If ``registry`` names one of them that
    is a registry, its own classes are also public.
    """

    def classes() -> Mapping[str, Any]:
        return {} if registry is None else find(registry).own_classes

    def find(name: str) -> Any:
        if name == "__all__":
            return names()
        if name in homes:
            return getattr(import_module(homes[name]), name)
        if not name.startswith("_") and name in (known := classes()):
            return known[name]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*classes(), *homes})

    return find, names
