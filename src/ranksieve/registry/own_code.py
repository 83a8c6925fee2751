"""Import code of users by name, and distinguish versions of a class."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module, metadata
from types import CodeType, FunctionType
from typing import Any

from ranksieve.parameters import plain_value


def import_object(path: str) -> Any:
    """Import the object named ``module:object``; raise a ValueError with the reason if that fails.

    Examples
    --------
    >>> from ranksieve.registry.own_code import import_object
    >>> import_object("ranksieve.rankers:RankSVM").__name__
    'RankSVM'
    """
    home, _, name = path.partition(":")
    if not home or not name:
        raise ValueError(f"{path!r} should be MODULE:OBJECT, such as my_package.ranking:MyRanker")
    if home == "__main__" or "<locals>" in name:
        raise ValueError(
            f"{path!r} is defined in a script, a notebook or a function, and cannot be imported: "
            "move it to a module, or pass the object to Study in Python"
        )
    try:
        found = import_module(home)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(
            f"{path!r} cannot be imported ({reason}): its module must be installed, in the current "
            "directory or on PYTHONPATH, and free of errors"
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            public = [known for known in dir(found) if not known.startswith("_")]
            raise ValueError(f"{path!r}: there is no {part!r}; choose from {', '.join(public)}")
        found = getattr(found, part)
    return found


def class_path(kind: Any) -> str:
    """``module:class``, with the shortest module that has the class under its own name.

    Also works for functions.

    Examples
    --------
    >>> from lightgbm import LGBMRanker
    >>> from ranksieve.registry.own_code import class_path
    >>> LGBMRanker.__module__, class_path(LGBMRanker)
    ('lightgbm.sklearn', 'lightgbm:LGBMRanker')
    """
    name, parts = kind.__qualname__, kind.__module__.split(".")
    homes = [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
    for home in homes:
        if getattr(sys.modules.get(home), name, None) is kind:
            return f"{home}:{name}"
    return f"{kind.__module__}:{name}"


def version_of(kind: type[Any]) -> str:
    """Version of the package of a class; a digest of its code if it has no versioned package.

    A class of a script or notebook has the digest of its own methods and attributes, and the
    version of the first of its bases that comes from a package. The digest does not depend on
    comments or on where the class is defined; it ignores the functions that methods call.
    """
    sources = []
    for base in kind.__mro__:
        home = base.__module__.partition(".")[0]
        if home in sys.stdlib_module_names:  # object, abstract base classes
            continue
        version = _package_version(home)
        if version is not None:
            sources.append(f"{home} {version}")
            break
        sources.append(f"code {_digest(base)}")
    return ", ".join(sources)


def function_version(function: Any) -> str | None:
    """Version of the package of a function; None if it cannot be imported from one."""
    home = function.__module__.partition(".")[0]
    version = _package_version(home)
    owner = sys.modules.get(class_path(function).partition(":")[0])
    is_there = getattr(owner, function.__qualname__, None) is function
    return f"{home} {version}" if version is not None and is_there else None


def _package_version(home: str) -> str | None:
    if home == "__main__":
        return None
    version = getattr(sys.modules.get(home), "__version__", None)
    if isinstance(version, str):
        return version
    try:
        return metadata.version(home)
    except metadata.PackageNotFoundError:
        return None


def _digest(kind: type[Any]) -> str:
    own = {name: value for name, value in vars(kind).items() if not _is_added(name, value)}
    text = repr([(name, list(_describe(own[name], set()))) for name in sorted(own)])
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def _is_added(name: str, value: Any) -> bool:
    """Whether Python itself adds this attribute to a class, such as its module."""
    is_code = isinstance(value, (FunctionType, property, staticmethod, classmethod))
    return name.startswith("__") and name.endswith("__") and not is_code


def _describe(value: Any, seen: set[int]) -> Iterator[Any]:
    """Describe a value by plain values that are the same in every process."""
    if isinstance(value, (staticmethod, classmethod)):
        yield from _describe(value.__func__, seen)
    elif isinstance(value, property):
        for part in (value.fget, value.fset):
            yield from _describe(part, seen)
    elif isinstance(value, cached_property):
        yield from _describe(value.func, seen)
    elif isinstance(value, FunctionType):
        if id(value) in seen:  # such as a recursive function
            return
        seen.add(id(value))
        yield _describe_code(value.__code__)
        cells = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
        for part in (value.__defaults__, value.__kwdefaults__, *cells):
            yield from _describe(part, seen)
    else:
        yield plain_value(value, otherwise=lambda other: type(other).__name__)


def _describe_code(code: CodeType) -> Any:
    constants = [_describe_constant(constant) for constant in code.co_consts]
    return code.co_code.hex(), code.co_names, code.co_varnames, constants


def _describe_constant(constant: Any) -> Any:
    if isinstance(constant, CodeType):
        return _describe_code(constant)
    if isinstance(constant, frozenset):  # its order is not fixed
        return sorted(map(repr, constant))
    return repr(constant)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # the cell is empty
        return False
