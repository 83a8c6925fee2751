"""The ledger of methods that are trained outside of a study, from which they resume."""

from __future__ import annotations

from math import isfinite
from typing import Any

from ranksieve.data import DataError
from ranksieve.data.ranking_data import fingerprint
from ranksieve.experiments import TrialData
from ranksieve.io.record_log import RecordLog
from ranksieve.io.records import check_kinds
from ranksieve.reproduction.training import FoldPaths

METHODS = "methods.jsonl"

_FOLD = dict(fingerprint=str)
_CELL = dict(fold=str, method=str, settings=dict)
_RESULT = dict(values=dict, n_features=int, chosen=dict, paths=object)


class MethodLedger(RecordLog):
    """Results of methods on the folds of a collection.

    The result of a cell has the values of each test query by measure, the number of features, the
    parameters that were chosen, and the paths of greedy RankRLS, or None.
    """

    FORMAT = "ranksieve-reproduction"
    VERSION = 1
    WHAT = "the results of a reproduction"
    INSTEAD = "name another directory"

    def add_fold(self, fold: TrialData) -> None:
        """Record the data of a fold; raise a DataError if the ledger has other data for it."""
        description = {"fingerprint": fingerprint(*fold.parts)}
        cell = {"fold": fold.name}
        self.add(cell, description)
        if self.get(cell) != description:
            raise DataError(f"{self.path}: {fold.name} has other data here; {self.INSTEAD}")

    def _differs(self, name: str, found: Any, wanted: Any) -> str:
        return f"these are results with {name} {found!r:.80}, not {wanted!r:.80}; {self.INSTEAD}"

    def _checked(self, cell: Any, result: Any, where: str) -> Any:
        if isinstance(cell, dict) and cell.keys() == {"fold"}:
            check_kinds(result, _FOLD)
            return result
        check_kinds(cell, _CELL)
        check_kinds(result, _RESULT)
        values, measures = result["values"], self.head["measures"]
        if values.keys() != set(measures) or not all(map(_are_numbers, values.values())):
            raise ValueError("'values' should have a list of numbers for each measure")
        paths = result["paths"]
        return result | {"paths": None if paths is None else FoldPaths.of(paths)}


def _are_numbers(values: Any) -> bool:
    return bool(type(values) is list and values) and all(
        type(value) is float and isfinite(value) for value in values
    )
