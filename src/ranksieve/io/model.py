"""Model files in JSON; nothing in such a file is ever executed or unpickled."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ranksieve.data import DataError
from ranksieve.data.missing import Missing
from ranksieve.io import records
from ranksieve.io.files import PathLike, replace_on_success
from ranksieve.io.selection import Selection, selection_of
from ranksieve.io.together import checksum_of_file, file_of

FORMAT = "ranksieve-model"
VERSION = 1
# The models of a recommendation, and its answer beside them, which has their checksums.
MODEL, MODEL_OF_ALL = "model.json", "model-all.json"
ANSWER, ANSWER_FORMAT = "recommendation.json", "ranksieve-answer"


@dataclass(frozen=True)
class TrainedOn:
    """The queries that trained a model."""

    queries: str  # in words, such as "the training and validation queries"
    n_queries: int
    fingerprint: str  # of the data with these queries, before features were selected

    @property
    def in_words(self) -> str:
        """Which queries, and how many."""
        return f"{self.queries} ({self.n_queries:,})"

    def to_record(self) -> dict[str, Any]:
        """Fields as JSON values, for :meth:`of_record`."""
        return asdict(self)

    @classmethod
    def of_record(cls, record: Any) -> TrainedOn:
        """Restore what :meth:`to_record` returned; raises a DataError for anything else."""
        records.check_kinds(record, {"queries": str, "n_queries": int, "fingerprint": str})
        return cls(record["queries"], records.get_count(record, "n_queries"), record["fingerprint"])


@dataclass(frozen=True)
class SavedModel:
    """A trained ranker as numbers and texts."""

    ranker: str  # name of its class in ``ranksieve.rankers``
    parameters: dict[str, Any]
    n_features_in: int  # number of features that it was trained on
    feature_names: list[str] | None  # None if they are numbers
    selection: Selection | None  # how the features were selected
    missing: Missing | None  # treatment of missing values of the training data
    learned: dict[str, Any]  # result of training
    ranksieve: str  # version of the program
    trained_on: TrainedOn | None = None  # None if nobody has said it

    def to_json(self) -> str:
        """Text for :func:`read_model`, with a line for each field."""
        selection = None if self.selection is None else self.selection.to_record()
        missing = None if self.missing is None else self.missing.to_record()
        trained_on = None if self.trained_on is None else self.trained_on.to_record()
        parts = vars(self) | {"selection": selection, "missing": missing, "trained_on": trained_on}
        record = {"format": FORMAT, "version": VERSION} | parts
        lines = [
            f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}"
            for key, value in record.items()
        ]
        lines.append(f'"checksum": "{records.checksum_of(record)}"')
        return "{\n" + ",\n".join(lines) + "\n}\n"


def write_model(model: SavedModel, path: PathLike, check: Callable[[SavedModel], None]) -> None:
    """Write JSON and read it back; ``check`` gets what was read, and raises a DataError if need be.

    An older file is replaced only by one that was read back.
    """
    with replace_on_success(Path(path)) as temporary:
        temporary.write_text(model.to_json(), encoding="utf-8")
        if not temporary.is_file():  # /dev/stdout, say
            return
        try:
            check(_model(records.parse_record(temporary.read_bytes())))
        except ValueError as error:  # also a DataError
            raise DataError(f"{path}: not written, as it could not be read back: {error}") from None


def read_model(path: PathLike) -> SavedModel:
    """Read and check a model written by :func:`write_model`.

    A model in the directory of a recommendation must be one of its models.
    """
    with records.locate_errors(path):
        model = _model(records.read_record(path))
        _check_answer_beside(Path(path))
    return model


def _check_answer_beside(path: Path) -> None:
    answer = file_of(path.parent, ANSWER)
    if path.name not in (MODEL, MODEL_OF_ALL) or not answer.is_file():
        return
    record = records.read_record(answer)
    if isinstance(record, dict) and record.get("format") == ANSWER_FORMAT:
        check_model_of_answer(path, record.get("models"))


def check_model_of_answer(path: Path, checksums: Any) -> None:
    """Raise a DataError unless a file is the model that an answer lists, by name and checksum."""
    known = checksums.get(path.name) if isinstance(checksums, dict) else None
    if known != checksum_of_file(path):
        raise DataError(
            f"it is not the model that belongs to {ANSWER} beside it: run recommend again, or move "
            "the model to another directory"
        )


def _model(record: Any) -> SavedModel:
    records.check_format(record, FORMAT, VERSION, "a model of ranksieve")
    records.get(record, "version", int)
    records.check_checksum(record)
    n_features_in = records.get_count(record, "n_features_in")
    stored, stored_queries = record.get("selection"), record.get("trained_on")
    selection = None if stored is None else selection_of(stored)
    if selection is not None and len(selection.features) != n_features_in:
        raise DataError(f"{len(selection.features)} selected for {n_features_in} features")
    return SavedModel(
        ranker=records.get(record, "ranker", str),
        parameters=records.get(record, "parameters", dict),
        n_features_in=n_features_in,
        feature_names=records.get_feature_names(record, n_features_in),
        selection=selection,
        missing=records.get_missing(record),
        learned=records.get(record, "learned", dict),
        ranksieve=records.get(record, "ranksieve", str),
        trained_on=None if stored_queries is None else TrainedOn.of_record(stored_queries),
    )
