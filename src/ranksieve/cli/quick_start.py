"""Start commands quickly: compile kernels early, and import less of other libraries.

In the first command after installation, :func:`rehearse` compiles kernels while data is read.

:func:`import_quickly` imports scipy and scikit-learn without the modules that a command does not
use. scikit-learn imports pandas, narwhals, ``scipy.stats`` and ``scipy.special`` for functions that
are rarely called; it and scipy import all of numpy to copy its names; ``sklearn.feature_selection``
imports half of scikit-learn in addition to the mixin of selectors, and LightGBM imports the other
half, and pandas, for a few classes. That takes longer than most commands. The command line, which
has its own process, avoids it; if ranksieve is used as a library, imports are not changed.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranksieve.data import RankingData
    from ranksieve.registry import Method


def rehearse(
    work: Callable[[RankingData], object], method: Method | None = None, *, is_busy: bool = True
) -> Callable[[], None]:
    """Start compiling the kernels that a command will need; return a function that waits for them.

    If nothing has been compiled yet, a second process calls ``work`` with a little data. It adds
    the compiled code to the cache of kernels, while this process does something else (``is_busy``),
    such as reading files. Errors in the second process are ignored, because the command itself will
    report them. The code of users does not run twice: ``method`` is the one that ``work`` calls, if
    any.
    """
    is_ours = method is None or method.is_ours
    if not (is_busy and is_ours and _is_worthwhile()):
        return _no_wait
    process = os.fork()
    if process == 0:
        try:
            _silence()
            work(_little_data())
        finally:
            os._exit(0)  # skips cleanup, which is up to the first process

    def wait() -> None:
        atexit.unregister(stop)
        with suppress(ChildProcessError):
            os.waitpid(process, 0)

    def stop() -> None:
        """End the second process with the first one, which has failed before it waited."""
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        wait()

    atexit.register(stop)
    return wait


def _no_wait() -> None:
    """Return immediately."""


def _is_worthwhile() -> bool:
    """Whether nothing is compiled yet, a second core exists, and the process can be forked."""
    from ranksieve import _kernels

    cache = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(_kernels.__path__[0], "__pycache__"))
    return (
        sys.platform == "linux"
        and len(os.sched_getaffinity(0)) > 1
        and threading.active_count() == 1
        and os.access(cache if cache.is_dir() else cache.parent, os.W_OK)
        and next(cache.glob("**/*.nbi"), None) is None
    )


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)


def _little_data() -> RankingData:
    from ranksieve.datasets import make_ranking

    return make_ranking(6, docs_per_query=5, n_informative=3, n_noise=9, random_state=0)[0]


# Module -> modules that it need not load, packages before their modules.
_UNUSED = {
    "scipy._lib.array_api_compat.numpy": ("numpy.f2py", "numpy.testing"),
    "sklearn": (
        *("pandas", "narwhals", "narwhals.stable", "narwhals.stable.v2"),
        *("scipy.stats", "scipy.special", "numpy.f2py", "numpy.testing"),
    ),
    "lightgbm.compat": ("pandas",),
}
# Module -> modules that are all it needs of their packages.
_PARTS = {
    "ranksieve.base.selector": ("sklearn.feature_selection._base",),
    "lightgbm.compat": ("sklearn.model_selection._split", "sklearn.preprocessing._label"),
}


def import_quickly() -> None:
    """Shorten the imports of scipy, scikit-learn and LightGBM, if and when they are imported."""
    if "sklearn" not in sys.modules:
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        is_slow = fullname in _UNUSED or fullname in _PARTS
        spec = PathFinder.find_spec(fullname, path) if is_slow else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    """Loader of a module, without what it need not load."""

    def exec_module(self, module: ModuleType) -> None:
        kind = _LazyClasses if self.name == "lightgbm.compat" else _LazyModule
        unused: list[ModuleType] = [
            kind(name)
            for name in _UNUSED.get(self.name, ())
            if name not in sys.modules and find_spec(name.partition(".")[0])
        ]
        unused += map(_import_part, _PARTS.get(self.name, ()))
        with _replace_modules(*unused):
            super().exec_module(module)


class _LazyModule(ModuleType):
    """Placeholder of a module, which is imported when an attribute is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


class _LazyClasses(ModuleType):
    """Placeholder of a module whose names are imported from it, but seldom used."""

    def __getattr__(self, name: str) -> Any:
        return _LazyClass(name, (), {"__module__": self.__name__})


class _LazyClass(type):
    """Type of placeholders of classes: nothing is an instance until their module is imported."""

    def __instancecheck__(cls, instance: Any) -> bool:
        kind = getattr(sys.modules.get(cls.__module__), cls.__name__, None)
        return isinstance(kind, type) and isinstance(instance, kind)

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        return getattr(import_module(cls.__module__), cls.__name__)(*arguments, **options)


def _import_part(name: str) -> ModuleType:
    """Import a module without its package, whose placeholder has the names of the module."""
    package = name.rpartition(".")[0]
    if package in sys.modules:
        return sys.modules[package]
    found = find_spec(package)
    assert found is not None
    placeholder = _LazyModule(package)
    placeholder.__path__ = found.submodule_search_locations or []
    with _replace_modules(placeholder):
        names = vars(import_module(name))
    vars(placeholder).update({key: value for key, value in names.items() if key[0] != "_"})
    return placeholder


@contextmanager
def _replace_modules(*modules: ModuleType) -> Iterator[None]:
    """Context manager in which import statements find these modules instead of the real ones."""
    places: list[tuple[dict[str, Any], str, ModuleType]] = []
    for module in modules:
        if sys.modules.get(module.__name__) is module:
            continue
        found: list[tuple[dict[str, Any], str]] = [(sys.modules, module.__name__)]
        package, _, name = module.__name__.rpartition(".")
        # Packages that import their modules on first use look among their own names.
        if package in sys.modules and name not in vars(sys.modules[package]):
            found.append((vars(sys.modules[package]), name))
        for place, key in found:
            place[key] = module
            places.append((place, key, module))
    try:
        yield
    finally:
        for place, name, module in places:
            if place.get(name) is module:
                del place[name]
