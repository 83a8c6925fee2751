"""The ledger: an append-only file of finished cells, which survives crashes and interruptions.

The first line is the :class:`Head`, everything that all results depend on. Every other line has the
key of a cell and its result; one of each trial comes before its results and describes its data.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from ranksieve._version import __version__
from ranksieve.data import DataError
from ranksieve.experiments.cells import (
    DescribeKey,
    Facts,
    Key,
    Record,
    Selected,
    SelectKey,
    Trained,
    TrainKey,
)
from ranksieve.experiments.trials import Trial
from ranksieve.io import record_log
from ranksieve.io.record_log import RecordLog
from ranksieve.io.records import Count, convert_record
from ranksieve.metrics import parse_measure

LEDGER = "ledger.jsonl"
_ROUNDING = 1e-9


class Head(Record, kw_only=True):
    """Everything that all results of a ledger depend on, apart from the data."""

    purpose: str  # what the results are of, such as "study"
    protocol: str  # how the queries are divided, in words
    measures: Annotated[list[str], Meta(min_length=1)]  # of the queries that judge
    tune: str  # measure by which something is chosen
    convention: str
    scale: str = "none"
    missing: str = "none"
    trials: list[str] = msgspec.field(default_factory=list)  # names, if they are known in advance
    ranksieve: str = __version__


class TrialFacts(Record):
    """What results must fit."""

    fingerprint: str
    n_features: Annotated[int, Meta(ge=1)]
    train: Annotated[int, Meta(ge=1)]  # number of queries
    vali: Count
    judged: dict[str, Count]


class TrialKey(Key, tag="trial"):
    """Key of the facts about the data of a trial."""

    Result: ClassVar[type[Record]] = TrialFacts


class Ledger(RecordLog):
    """Results of cells by key, in a :class:`~ranksieve.io.record_log.RecordLog`.

    Lines are typed: one that is not what it should be, or that does not fit its trial, is an error,
    which names the file and the line.

    Parameters
    ----------
    path : path
        The file; a new one begins with the head.
    head : Head, optional
        An existing file must have the same. Without a head, the file is only read.
    keys : types of Key
        Types of cells whose results can be in the file, in addition to those of this package.
    """

    FORMAT = "ranksieve-ledger"
    VERSION = 1
    WHAT = "a ledger of ranksieve"
    INSTEAD = "name another directory"
    OLDER = ("ranksieve-study", "ranksieve-recommendation", "ranksieve-reproduction")

    def __init__(self, path: Path, head: Head | None = None, *keys: type[Key]) -> None:
        self._key_types: Any = TrialKey | DescribeKey | SelectKey | TrainKey
        for key in keys:
            self._key_types |= key
        self._trials: dict[str, TrialFacts] = {}
        # Lines whose trial is not known yet: its own line was lost, and will be written again.
        self._waiting: dict[str, list[tuple[str, Any, Any]]] = {}
        super().__init__(path, None if head is None else msgspec.to_builtins(head))

    @property
    def settings(self) -> Head:
        """What all results depend on, as the first line has it."""
        return convert_record(self.head, Head)

    def __contains__(self, key: Key) -> bool:
        return super().__contains__(msgspec.to_builtins(key))

    def __getitem__(self, key: Key) -> Any:
        found = self.find(key)
        if found is None:
            raise DataError(
                f"{self.path}: the work is not finished; run the command that started it to resume"
            )
        return found

    def find(self, key: Key) -> Any:
        """Result of a cell; None if there is none."""
        return self.get(msgspec.to_builtins(key))

    def add(self, key: Key, result: Record) -> None:
        """Write a result, unless another process has already written it."""
        super().add(msgspec.to_builtins(key), msgspec.to_builtins(result))

    def add_trial(self, trial: Trial) -> None:
        """Record the data of a trial; raise a DataError if the ledger has other data for it."""
        sets = trial.sets
        facts = TrialFacts(
            trial.fingerprint,
            trial.source.parts[0].n_features,
            len(sets.train),
            0 if sets.vali is None else len(sets.vali),
            {name: len(own) for name, own in sets.judged.items()},
        )
        self.add(TrialKey(trial.name), facts)
        if self[TrialKey(trial.name)] != facts:
            raise DataError(
                f"{self.path}: {trial.name} of these results has other data; {self.INSTEAD}"
            )

    def _is_work(self, cell: Any) -> bool:
        return not isinstance(cell, dict) or cell.get("kind") not in ("trial", "describe")

    def _differs(self, name: str, found: Any, wanted: Any) -> str:
        return (
            f"these are results with {name} {found!r:.200}, not {wanted!r:.200}; {self.INSTEAD}, "
            "or use the same setting"
        )

    def _check_head(self, head: dict[str, Any]) -> None:
        for name in ("format", "version"):
            del head[name]
        for name in Head.__struct_fields__:
            if name not in head:
                raise ValueError(f"{name!r} is missing")
        convert_record(head, Head)

    def _check_result(self, cell: Any, result: Any, where: str) -> Any:
        key: Any = convert_record(cell, self._key_types)
        found: Any = convert_record(result, key.Result)
        _check(key, found, self.head["measures"])
        if isinstance(key, TrialKey):
            for place, other, own in self._waiting.pop(key.trial, ()):
                try:
                    _check_fits(other, own, found)
                except ValueError as error:
                    raise ValueError(f"{place} does not match it: {error}") from None
            self._trials[key.trial] = found
        elif key.trial in self._trials:
            _check_fits(key, found, self._trials[key.trial])
        else:
            self._waiting.setdefault(key.trial, []).append((where, key, found))
        return found


def key_of(key: Key) -> str:
    """Text that identifies a cell on a trial; the same for equal keys."""
    return record_log.key_of(msgspec.to_builtins(key))


def _check(key: Key, result: Any, measures: list[str]) -> None:
    """Raise a ValueError if features or numbers are not what their names say."""
    features = result.features if isinstance(key, SelectKey) else getattr(key, "features", [])
    if len(set(features)) != len(features):
        raise ValueError("`features` lists a feature twice")
    if isinstance(result, Trained):
        for name, values in result.values.items():
            if values.keys() != set(measures):
                raise ValueError(f"{name!r:.40} should have values of {', '.join(measures)}")
            for measure, own in values.items():
                _check_values(own, measure)
    elif isinstance(result, Facts):
        for measure, both in result.file_order.items():
            for own in both:
                _check_values(own, measure)


def _check_values(values: list[float], measure: str) -> None:
    # The name of a measure may set another value for queries without relevant documents.
    most = 1 + _ROUNDING if parse_measure(measure).is_bounded else math.inf
    if "empty" not in measure and not all(-_ROUNDING <= own <= most for own in values):
        raise ValueError(f"a value of {measure} is out of range")


def _check_fits(key: Key, result: Any, trial: TrialFacts) -> None:
    """Raise a ValueError if a result does not fit the data of its trial."""
    features = result.features if isinstance(result, Selected) else getattr(key, "features", [])
    if max(features, default=0) >= trial.n_features:
        raise ValueError(f"feature {max(features)} of {trial.n_features}, numbered from 0")
    if isinstance(result, Trained):
        if result.values.keys() != trial.judged.keys():
            raise ValueError(f"values should be of {', '.join(trial.judged) or 'no queries'}")
        for name, values in result.values.items():
            for measure, own in values.items():
                if len(own) != trial.judged[name]:
                    raise ValueError(
                        f"{len(own)} values of {measure} for {trial.judged[name]} {name} queries"
                    )
    if isinstance(result, Facts) and (
        len(result.queries) != sum(trial.judged.values())
        or len(result.features) != trial.n_features
    ):
        raise ValueError("not as many queries and features as the trial has")
