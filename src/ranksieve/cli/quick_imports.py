"""Import scipy and scikit-learn without the modules that a command does not use.

scikit-learn imports pandas, ``scipy.stats`` and ``scipy.special`` for functions that are rarely
called; it and scipy import all of numpy to copy its names; ``sklearn.feature_selection`` imports
half of scikit-learn in addition to the mixin of selectors. That takes longer than most commands.
The command line, which has its own process, avoids it; if ranksieve is used as a library, imports
are not changed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

# Module -> modules that it need not load.
_UNUSED = {
    "scipy._lib.array_api_compat.numpy": ("numpy.f2py", "numpy.testing"),
    "sklearn": ("pandas", "scipy.stats", "scipy.special", "numpy.f2py", "numpy.testing"),
}


def import_quickly() -> None:
    """Shorten the imports of scipy and scikit-learn, if and when something imports them."""
    if "sklearn" not in sys.modules:
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if fullname in _UNUSED else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            loader = _SklearnLoader if fullname == "sklearn" else _Loader
            spec.loader = loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    """Loader of a module, without the modules that it need not load."""

    def exec_module(self, module: ModuleType) -> None:
        unused = [
            name for name in _UNUSED[self.name] if name not in sys.modules and find_spec(name)
        ]
        with _replace_modules(*map(_LazyModule, unused)):
            super().exec_module(module)


class _SklearnLoader(_Loader):
    """Loader of ``sklearn`` that also imports the mixin of selectors without its package."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        bare = ModuleType("sklearn.feature_selection")
        bare.__path__ = [str(Path(self.path).parent / "feature_selection")]
        with _replace_modules(bare):
            import_module("sklearn.feature_selection._base")


class _LazyModule(ModuleType):
    """Placeholder of a module, which is imported when an attribute is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def _replace_modules(*modules: ModuleType) -> Iterator[None]:
    """Context manager in which import statements find these modules instead of the real ones."""
    places: list[tuple[dict[str, Any], str, ModuleType]] = []
    for module in modules:
        places.append((sys.modules, module.__name__, module))
        package, _, name = module.__name__.rpartition(".")
        # Packages that import their modules on first use look among their own names.
        if package in sys.modules and name not in vars(sys.modules[package]):
            places.append((vars(sys.modules[package]), name, module))
    for place, name, module in places:
        place[name] = module
    try:
        yield
    finally:
        for place, name, module in places:
            if place.get(name) is module:
                del place[name]
