"""The selectors and rankers of a study by name: published ones, and those of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ranksieve.rankers.registry import RANKERS
from ranksieve.registry import Method, OwnMethod, Registry
from ranksieve.selectors.registry import SELECTORS
from ranksieve.text import file_stem

_LONGEST = 60


def find_methods(
    entries: Sequence[Any], registry: Registry, recorded: Mapping[str, Mapping[str, Any]]
) -> dict[str, Method]:
    """Find the methods that the entries of a plan mean, by name, in their order.

    :meth:`Registry.find` says what an entry can be; ``recorded`` maps names to the records of
    estimators in a plan file.
    """
    methods = [find_method(entry, registry, recorded) for entry in entries]
    are_named = [_is_named(entry, recorded) for entry in entries]
    taken = {file_stem(m.name) for m, is_named in zip(methods, are_named, strict=True) if is_named}
    found: dict[str, Method] = {}
    for entry, method, is_named in zip(entries, methods, are_named, strict=True):
        if not is_named:
            name = _free_name(method.name, taken)
            taken.add(file_stem(name))
            found[name] = replace(method, name=name)
        elif isinstance(entry, str) and "=" not in entry:  # the same method twice is allowed
            found[method.name] = method
        else:
            _check_name(method.name, found, registry)
            found[method.name] = method
    return found


def find_method(
    entry: Any, registry: Registry, recorded: Mapping[str, Mapping[str, Any]]
) -> Method:
    """Find the method of one entry; methods without published names have class and version."""
    if isinstance(entry, str) and entry in recorded:
        return registry.recorded(entry, recorded[entry])
    method = registry.find(entry)
    own = method if method.is_ours else registry.own_of(method)
    if isinstance(own, OwnMethod) and not own.is_recorded and registry is SELECTORS:
        _check_takes_number(own)
    return own


def _check_takes_number(method: OwnMethod) -> None:
    if "n_features_to_select" not in method.defaults:
        raise ValueError(
            f"selector {method.name!r} takes no number of features, but a study compares subsets "
            "of given sizes: add a parameter n_features_to_select, k or max_features to it"
        )


def _is_named(entry: Any, recorded: Mapping[str, Any]) -> bool:
    if isinstance(entry, str):
        return entry in recorded or ":" not in entry or "=" in entry
    return isinstance(entry, (tuple, list))


def _free_name(wanted: str, taken: set[str]) -> str:
    """The name, or the name with the first number that makes it unique."""
    name, number = wanted, 1
    while file_stem(name) in taken or _is_published(name):
        number += 1
        name = f"{wanted}-{number}"
    return name


def _check_name(name: str, others: Mapping[str, Method], registry: Registry) -> None:
    what = registry.what if registry is RANKERS else "selector"
    is_plain = name.isprintable() and name == name.strip() and file_stem(name)
    if not is_plain or len(name) > _LONGEST:
        raise ValueError(
            f"a {what} cannot be called {name!r:.80}: use letters, digits and other characters "
            f"that can be printed, at most {_LONGEST}"
        )
    if _is_published(name):
        raise ValueError(
            f"{name!r} is a published name and cannot stand for another {what}: choose another name"
        )
    for other in others:
        if file_stem(other) == file_stem(name):
            raise ValueError(
                f"two {what}s are called {name!r}"
                + (f" and {other!r}, which is the same in names of files" if other != name else "")
                + ": give each a name of its own, as in [('first', ...), ('second', ...)]"
            )


def _is_published(name: str) -> bool:
    return name in SELECTORS or name in RANKERS
