"""The files of a study: its plan in TOML, and the ledger of finished results with its checks."""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ranksieve.data import DataError
from ranksieve.data.columns import Columns
from ranksieve.datasets.opening import paths_of
from ranksieve.datasets.split_rules import SplitRule
from ranksieve.io.files import read_file
from ranksieve.io.record_log import RecordLog, checksum, key_of
from ranksieve.io.records import check_kinds, write_text
from ranksieve.study.plan import PLAN_SETTINGS, Plan, RecordedPlan
from ranksieve.study.settings import NULL, check_settings

LEDGER, PLAN = "ledger.jsonl", "study.toml"
_OTHER_KEYS = (
    "data", "vali", "test", "pool", "columns", "split", "title", "protocol", "resamples"
)  # fmt: skip
_MARK = "# checksum: "  # so that `report` knows whether this is the plan that was run

Record = dict[str, Any]

_HEAD = dict(
    format=str,
    version=int,
    ranksieve=str,
    protocol=str,
    measures=list,
    tune=str,
    convention=str,
    scale=str,
    missing=str,
    folds=list,
)
# Keys of the cells and of their results.
_OF_FOLD = dict(fold=str)
_FOLD = dict(fingerprint=str, train=int, vali=int, test=list, features=list, file_order=dict)
OF_SELECTION = dict(fold=str, selector=str, parameters=dict, seed=object, k=int)
SELECTION = dict(features=list, seconds=float)
_OF_TRAINING = dict(fold=str, ranker=str, parameters=dict, grid=list, seed=object, features=list)
_TRAINING = dict(
    parameters=dict, validation=float, validation_error=float, test=dict, seconds=float
)
_ROUNDING = 1e-9
_TINY, _FAR = 5e-324, 1.7e308  # smallest weight of a query, and largest number


def read_settings(path: Path) -> dict[str, Any]:
    """Read settings of a study from a TOML file: those of :class:`Plan`, data and protocol.

    Raises a DataError with the file and the reason.
    """
    return _settings(_text_of(path), path)


def data_facts(
    data: Any, columns: Columns | None, split: SplitRule | None, pool: bool
) -> dict[str, Any]:
    """Settings of a plan file for the data, if it is read from files."""
    parts = data if isinstance(data, tuple) else (data,)
    names = {1: ("data",), 2: ("data", "test"), 3: ("data", "vali", "test")}[len(parts)]
    paths = {
        name: [os.path.abspath(path) for path in paths_of(part)]
        for name, part in zip(names, parts, strict=True)
        if part is not None
    }
    if not all(paths.values()):
        return {}
    facts: dict[str, Any] = dict(paths) | ({"pool": True} if pool else {})
    if columns:
        facts["columns"] = columns.as_dict()
    if split is not None:
        plain = (str, int, float)  # a time is not
        facts["split"] = {
            name: value if isinstance(value, plain) else value.isoformat()
            for name, value in vars(split).items()
        }
    return facts


def write_plan(directory: Path, plan: Plan, others: Mapping[str, Any]) -> None:
    """Write the plan of a study, with its data, title and protocol."""
    text = _toml(dict(others) | plan.as_dict())
    write_text(text + _MARK + checksum(text.encode()) + "\n", directory / PLAN)


def read_plan(directory: Path) -> tuple[RecordedPlan, str]:
    """Read the plan and title of a study that :func:`write_plan` wrote; nothing is imported."""
    path = directory / PLAN
    whole = _text_of(path)
    text, _, expected = whole.rpartition(_MARK)
    if expected != checksum(text.encode()) + "\n":
        raise DataError(
            f"{path}: the file was changed after the study ran; to run the changed plan: "
            f"ranksieve compare --plan {shlex.quote(str(path))} --out {shlex.quote(str(directory))}"
        )
    settings = _settings(text, path)
    others = {name: settings.pop(name) for name in _OTHER_KEYS if name in settings}
    try:
        return RecordedPlan(**settings), others.get("title", directory.name)
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None


def _text_of(path: Path) -> str:
    try:
        return read_file(path).decode()
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8 text") from None


def _settings(text: str, path: Path) -> dict[str, Any]:
    try:
        settings = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not TOML: {error}") from None
    for name in settings:
        if name not in (*PLAN_SETTINGS, *_OTHER_KEYS):
            known = ", ".join((*_OTHER_KEYS, *PLAN_SETTINGS))
            raise DataError(f"{path}: unknown setting {name!r}; choose from {known}")
    try:
        return check_settings(settings)
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None


def _toml(settings: Mapping[str, Any], prefix: str = "") -> str:
    """Format as TOML: plain values first, then a table for each nonempty mapping."""
    tables = {k: v for k, v in settings.items() if isinstance(v, Mapping) and v}
    plain = [f"{_key(k)} = {_value(v)}" for k, v in settings.items() if k not in tables]
    lines = [f"[{prefix}]", *plain] if prefix and plain else plain
    text = "\n".join(lines) + "\n" if lines else ""
    for name, value in tables.items():
        path = f"{prefix}.{_key(name)}" if prefix else _key(name)
        text += ("\n" if text else "") + _toml(value, path)
    return text


def _key(name: str) -> str:
    bare = name.replace("-", "").replace("_", "").isalnum() and name.isascii()
    return name if bare else _quote(name)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + "}"
    if value is None:  # TOML has no null
        return _quote(NULL)
    return _quote(value) if isinstance(value, str) else json.dumps(value)


def _quote(text: str) -> str:
    """Quote a string, as JSON does except for two kinds of characters."""
    readable = text.encode("utf-8", "backslashreplace").decode(
        "utf-8"
    )  # names of files can be any bytes
    return json.dumps(readable, ensure_ascii=False).replace("\x7f", "\\u007f")


class Ledger(RecordLog):
    """Folds, and results of cells, in a :class:`~ranksieve.io.record_log.RecordLog`.

    ``head`` is everything that all results depend on, as JSON values. An existing file must have
    been started with the same head. Without a head, a study is only read.
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
        check_kinds(head, _HEAD)
        for name in ("measures", "folds"):
            if not head[name] or not all(type(text) is str for text in head[name]):
                raise ValueError(f"{name!r} should be a list of texts")

    def _checked(self, cell: Any, result: Any, where: str) -> Record:
        _check_record(cell, result, self.head["measures"])
        name = cell["fold"]
        if cell.keys() == {"fold"}:
            self._check_earlier(name, result)
            self._folds[name] = result
        elif name in self._folds:
            _check_against_fold(cell, result, self._folds[name])
        else:  # the line of the fold was lost, and will be written again
            self._earlier.setdefault(name, []).append((where, cell, result))
        return result

    def _check_earlier(self, name: str, fold: Record) -> None:
        for where, cell, result in self._earlier.pop(name, []):
            try:
                _check_against_fold(cell, result, fold)
            except ValueError as error:
                raise ValueError(f"{where} does not match it: {error}") from None


def _check_record(cell: Any, result: Any, measures: list[str]) -> None:
    """Raise a ValueError unless a line is a valid fold, or a cell with its result."""
    if not isinstance(cell, dict):
        raise ValueError("a cell should be an object")
    if cell.keys() == _OF_FOLD.keys():
        check_kinds(cell, _OF_FOLD)
        _check_fold(result)
    elif "selector" in cell:
        check_kinds(cell, OF_SELECTION)
        _check_seed(cell["seed"])
        check_kinds(result, SELECTION)
        _check_features(result["features"])
        _check_number(result, "seconds", 0.0)
    else:
        check_kinds(cell, _OF_TRAINING)
        _check_seed(cell["seed"])
        _check_features(cell["features"])
        _check_training(result, measures)


def _check_against_fold(cell: Record, result: Record, fold: Record) -> None:
    """Raise a ValueError if a cell does not fit its fold; each was checked before."""
    features = result["features"] if "selector" in cell else cell["features"]
    if max(features) >= len(fold["features"]):
        raise ValueError(f"feature {max(features)} of {len(fold['features'])}, numbered from 0")
    for measure, values in result.get("test", {}).items():
        if len(values) != len(fold["test"]):
            raise ValueError(
                f"{len(values)} values of {measure} for {len(fold['test'])} test queries"
            )


def _check_fold(result: Any) -> None:
    # Weights are recorded only if queries have weights.
    weights = {"weights": list} if isinstance(result, dict) and "weights" in result else {}
    check_kinds(result, _FOLD | weights)
    for role in ("train", "vali"):
        if result[role] < 1:
            raise ValueError(f"{role!r} should be a number of queries, not {result[role]}")
    if not result["test"] or not all(type(query) in (int, str) for query in result["test"]):
        raise ValueError("'test' should be a list of queries")
    own = result.get("weights", result["test"])
    are_weights = not weights or all(_is_number(weight, _TINY, _FAR) for weight in own)
    if not are_weights or len(own) != len(result["test"]):
        raise ValueError("'weights' should have a weight above 0 for each test query")
    if not result["features"] or not all(type(name) is str for name in result["features"]):
        raise ValueError("'features' should be a list of names")
    for measure, columns in result["file_order"].items():
        if type(columns) is not list or len(columns) != 2:
            raise ValueError(f"'file_order' should have two lists of values of {measure}")
        for values in columns:
            _check_values(values, measure, "file_order")
            if len(values) != len(result["test"]):
                raise ValueError(f"'file_order' should have a value of {measure} for each query")


def _check_training(result: Any, measures: list[str]) -> None:
    check_kinds(result, _TRAINING)
    key_of(result["parameters"])  # raises an error for NaN and infinity
    _check_number(result, "seconds", 0.0)
    _check_number(result, "validation")
    _check_number(result, "validation_error", 0.0)
    if result["test"].keys() != set(measures):
        raise ValueError(f"'test' should have {', '.join(measures)}")
    for measure, values in result["test"].items():
        _check_values(values, measure, "test")


def _check_values(values: Any, measure: str, name: str) -> None:
    # The name of a measure may set another value for queries without relevant documents.
    low, high = (-_FAR, _FAR) if "empty" in measure else (-_ROUNDING, 1 + _ROUNDING)
    if type(values) is not list or not all(_is_number(value, low, high) for value in values):
        raise ValueError(f"{name!r} should have a list of values of {measure}")


def _check_features(features: list[Any]) -> None:
    if not features or not all(type(feature) is int and feature >= 0 for feature in features):
        raise ValueError("'features' should be a list of whole numbers")
    if len(set(features)) != len(features):
        raise ValueError("'features' lists a feature twice")


def _check_seed(seed: Any) -> None:
    if seed is not None and (type(seed) is not int or seed < 0):
        raise ValueError(f"'seed' should be a whole number or null, not {seed!r:.40}")


def _check_number(record: Record, name: str, low: float = -_FAR) -> None:
    if not _is_number(record[name], low, _FAR):
        raise ValueError(f"{name!r} should be a number, not {record[name]!r:.40}")


def _is_number(value: Any, low: float, high: float) -> bool:
    return type(value) is float and low <= value <= high
