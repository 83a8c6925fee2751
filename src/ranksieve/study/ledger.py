"""The ledger: the file of finished results of a study."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ranksieve.data import DataError
from ranksieve.io.record_log import RecordLog
from ranksieve.study.records import Record, check_against_fold, check_head, check_record


class Ledger(RecordLog):
    """Folds, and results of cells, in a :class:`~ranksieve.io.record_log.RecordLog`.

    Parameters
    ----------
    path : Path
        An existing file is read; it must have been started with the same ``head``.
    head : mapping, optional
        Everything that all results depend on, as JSON values. Without it, a study is only read.
    """

    FORMAT = "ranksieve-study"
    VERSION = 2
    WHAT = "the results of a study"
    INSTEAD = "name another directory"

    def __init__(self, path: Path, head: Mapping[str, Any] | None = None) -> None:
        self._folds: dict[str, Record] = {}
        self._earlier: dict[str, list[tuple[str, Record, Record]]] = {}
        super().__init__(path, head)

    def __getitem__(self, cell: Mapping[str, Any]) -> Record:
        found = self.get(cell)
        if found is None:
            raise DataError(
                f"{self.path}: the study is not finished; run the command that started it to resume"
            )
        return found

    def folds(self) -> dict[str, Record]:
        """Record of each fold, by its name."""
        return {name: self[{"fold": name}] for name in self.head["folds"]}

    def _differs(self, name: str, found: Any, wanted: Any) -> str:
        return (
            f"these are results with {name} {found!r}, not {wanted!r}; name another directory, or "
            "use the same setting"
        )

    def _check_head(self, head: Record) -> None:
        check_head(head)

    def _checked(self, cell: Any, result: Any, where: str) -> Record:
        check_record(cell, result, self.head["measures"])
        name = cell["fold"]
        if cell.keys() == {"fold"}:
            self._check_earlier(name, result)
            self._folds[name] = result
        elif name in self._folds:
            check_against_fold(cell, result, self._folds[name])
        else:  # the line of the fold was lost, and will be written again
            self._earlier.setdefault(name, []).append((where, cell, result))
        return result

    def _check_earlier(self, name: str, fold: Record) -> None:
        for where, cell, result in self._earlier.pop(name, []):
            try:
                check_against_fold(cell, result, fold)
            except ValueError as error:
                raise ValueError(f"{where} does not match it: {error}") from None
