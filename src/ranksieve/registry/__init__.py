"""Selectors and rankers by name: published ones, those of other packages, and users' own."""

from ranksieve.registry.method import Method
from ranksieve.registry.names import Registry

__all__ = ["Method", "Registry"]
