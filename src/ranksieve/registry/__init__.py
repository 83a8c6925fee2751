"""Selectors and rankers by name: published ones, those of other packages, and users' own."""

from ranksieve.registry.method import Method, describe
from ranksieve.registry.names import Registry
from ranksieve.registry.own import OwnMethod

__all__ = ["Method", "OwnMethod", "Registry", "describe"]
