"""Import scikit-learn without the modules that a command does not use.

``import sklearn`` loads pandas and ``scipy.stats`` for functions that are rarely called;
``sklearn.feature_selection`` loads half of scikit-learn in addition to the mixin of selectors. That
takes longer than most commands. The command line, which has its own process, avoids it; if
ranksieve is used as a library, imports are not changed.
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


def import_quickly() -> None:
    """Shorten the import of scikit-learn, if and when something imports it."""
    if "sklearn" not in sys.modules:
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if fullname == "sklearn" else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    """Loader of ``sklearn`` that imports the mixin of selectors without its package."""

    def exec_module(self, module: ModuleType) -> None:
        unused = [
            name
            for name in ("pandas", "scipy.stats")
            if name not in sys.modules and find_spec(name)
        ]
        with _replace_modules(*map(_LazyModule, unused)):
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
    for module in modules:
        sys.modules[module.__name__] = module
    try:
        yield
    finally:
        for module in modules:
            if sys.modules.get(module.__name__) is module:
                del sys.modules[module.__name__]
