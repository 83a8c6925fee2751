"""Parameters of methods from options: NAME=VALUE, files, and features to include or exclude."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ranksieve.cli.columns import split_names
from ranksieve.text import on_one_line

if TYPE_CHECKING:
    from ranksieve.costs import FeatureCosts
    from ranksieve.registry import Method, Registry


def method_parameters(
    registry: Registry, method: Method, texts: list[str], seed: int | None
) -> dict[str, Any]:
    """Parameters of a method from texts NAME=VALUE, checked to exist; ``seed`` is random_state."""
    parameters = _parse_parameters(texts)
    registry.check_parameters(method, parameters)
    if seed is not None:
        if not method.accepts("random_state"):
            raise ValueError(
                f"{registry.what} {method.name!r} draws no random numbers: leave out --seed"
            )
        if "random_state" in parameters:
            raise ValueError("the seed is given twice, by --seed and by --param random_state")
        parameters["random_state"] = seed
    return parameters


def constraint_parameters(
    include: list[str] | None,
    exclude: list[str] | None,
    groups: Path | None = None,
    count: str | None = None,
) -> dict[str, Any]:
    """Parameters of a selector that constrain its features; only those that are given.

    Features are separated by commas; names with commas are in quotation marks.
    """
    from ranksieve.io.small_tables import read_groups

    constraints: dict[str, Any] = {"include": _names(include), "exclude": _names(exclude)}
    constraints |= {"groups": None if groups is None else read_groups(groups), "count": count}
    return {name: value for name, value in constraints.items() if value}


def read_costs(
    costs: Path | None, group_costs: Path | None, unit: str | None = None
) -> FeatureCosts | None:
    """Read costs of features from the files of --costs and --group-costs."""
    from ranksieve.costs import FeatureCosts

    if costs is None and group_costs is not None:
        raise typer.BadParameter("--group-costs needs --costs, which defines the groups")
    return None if costs is None else FeatureCosts.read(costs, group_costs).with_unit(unit)


def _names(lists: list[str] | None) -> list[str]:
    return [name.strip() for name in split_names(lists) if name.strip()]


def allow_own_code(*texts: str | None) -> None:
    """Allow ``module:object`` to name modules of the current directory, after installed ones."""
    if any(":" in text for text in texts if text) and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


@contextmanager
def explain_errors(method: Method) -> Iterator[None]:
    """Context manager that reports errors of users' code as errors of the input."""
    from ranksieve.data import DataError

    try:
        yield
    except (ValueError, MemoryError):
        raise
    except Exception as error:
        if method.is_ours:
            raise
        raise DataError(f"{method.name}: {type(error).__name__}: {error}") from error


def ranker_parameters(
    method: Method, texts: list[str], seed: int | None, file: Path | None
) -> dict[str, Any]:
    """Parameters of a ranker from a file and from texts NAME=VALUE, which take precedence."""
    from ranksieve.rankers.parameter_files import parameters_from
    from ranksieve.rankers.registry import RANKERS

    own = method_parameters(RANKERS, method, texts, seed)
    if file is None:
        return own
    return parameters_from(file, {method.name: method})[method.name] | method.translate(own)


def _parse_parameters(texts: list[str]) -> dict[str, Any]:
    """Parameter -> value, from texts NAME=VALUE."""
    parameters: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise typer.BadParameter(f"--param needs NAME=VALUE, got {text!r}")
        if name in parameters:
            raise typer.BadParameter(f"--param {on_one_line(name)} is given twice")
        parameters[name] = parse_parameter(name, value)
    return parameters


def parse_parameter(name: str, text: str) -> Any:
    """Parse the value of a parameter."""
    value = parse_value(text)
    return _by_name(value) if name in ("include", "exclude", "groups") else value


def _by_name(features: Any) -> Any:
    """Features as names, not indices: features without names are named by numbers from 1."""
    if isinstance(features, list):
        return [_by_name(feature) for feature in features]
    if isinstance(features, dict):
        return {group: _by_name(members) for group, members in features.items()}
    return str(features) if type(features) is int else features


def parse_value(text: str) -> Any:
    """Parse JSON (a number, true, null, a list); any other text stays as it is."""
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
