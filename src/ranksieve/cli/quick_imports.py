"""Import scikit-learn without what it loads and a command does not use.

``import sklearn`` loads pandas and ``scipy.stats`` for a function of each that is rarely called;
``sklearn.feature_selection`` loads half of scikit-learn beside the mixin of selectors. That takes
longer than most commands. The command line, which is alone in its process, does without; where
ranksieve is used as a library, nothing of this is done.
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
    """Runs the package ``sklearn``, and imports the mixin of selectors as if it stood alone."""

    def exec_module(self, module: ModuleType) -> None:
        unused = [
            name
            for name in ("pandas", "scipy.stats")
            if name not in sys.modules and find_spec(name)
        ]
        with _in_place(*map(_Later, unused)):
            super().exec_module(module)
        bare = ModuleType("sklearn.feature_selection")
        bare.__path__ = [str(Path(self.path).parent / "feature_selection")]
        with _in_place(bare):
            import_module("sklearn.feature_selection._base")


class _Later(ModuleType):
    """Stands for a module, which is imported when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def _in_place(*modules: ModuleType) -> Iterator[None]:
    """Modules that import statements find for a while. Later ones find the real modules."""
    for module in modules:
        sys.modules[module.__name__] = module
    try:
        yield
    finally:
        for module in modules:
            if sys.modules.get(module.__name__) is module:
                del sys.modules[module.__name__]
