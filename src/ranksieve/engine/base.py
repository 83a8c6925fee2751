"""Interface of engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from ranksieve.progress import track


class Engine(ABC):
    """Owns the blocks of a source."""

    @abstractmethod
    def start(self, statistic: type, *parameters: Any) -> Workers:
        """Make ``statistic(block, *parameters)`` for each block."""


class Workers(ABC):
    """Instances of a statistic, one per block; see :mod:`ranksieve.engine`."""

    def __init__(self, statistic: type, n_blocks: int) -> None:
        self.n_blocks = n_blocks
        self._title = getattr(statistic, "title", statistic.__name__)

    def sum(self, method: str, *arguments: Any) -> Any:
        """Sum over blocks, in block order, of the results of ``method(*arguments)``."""
        results = self._track_progress(method, arguments)
        total = _copy_result(next(results))
        for result in results:
            total = _add_results(total, result)
        return total

    def collect(self, method: str, *arguments: Any) -> list[Any]:
        """List, in block order, of the results of ``method(*arguments)``."""
        return list(self._track_progress(method, arguments))

    def _track_progress(self, method: str, arguments: tuple[Any, ...]) -> Iterator[Any]:
        advance = track(self._title, self.n_blocks)
        for result in self._results(method, arguments):
            advance(1)
            yield result

    @abstractmethod
    def _results(self, method: str, arguments: tuple[Any, ...]) -> Iterator[Any]:
        """Yield the results of all instances, in block order."""

    @abstractmethod
    def close(self) -> None:
        """Release the instances and their memory."""

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _copy_result(result: Any) -> Any:
    """Copy of a result, so that adding others to it does not change arrays of an instance."""
    if isinstance(result, tuple):
        return tuple(_copy_result(part) for part in result)
    return np.array(result) if isinstance(result, np.ndarray) else result


def _add_results(total: Any, result: Any) -> Any:
    """Sum of two results; arrays of ``total`` are updated in place."""
    if isinstance(total, tuple):
        return tuple(_add_results(a, b) for a, b in zip(total, result, strict=True))
    if isinstance(total, np.ndarray):
        total += result
        return total
    return total + result
