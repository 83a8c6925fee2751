"""Model files in JSON; nothing in such a file is ever executed or unpickled."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ranksieve.data import DataError
from ranksieve.data.columns import Columns
from ranksieve.data.encoding import TargetEncoding
from ranksieve.data.missing import Missing
from ranksieve.io import records
from ranksieve.io.files import PathLike, file_of, replace_on_success
from ranksieve.io.records import Count
from ranksieve.io.selection import Selection

FORMAT = "ranksieve-model"
VERSION = 1
# The models of a recommendation, and its answer beside them, which has their checksums.
MODEL, MODEL_OF_ALL = "model.json", "model-all.json"
ANSWER, ANSWER_FORMAT = "recommendation.json", "ranksieve-answer"


@dataclass(frozen=True)
class TrainedOn:
    """The queries that trained a model."""

    queries: str  # in words, such as "the training and validation queries"
    n_queries: Count
    fingerprint: str  # of the data with these queries, before features were selected

    @property
    def in_words(self) -> str:
        """Which queries, and how many."""
        return f"{self.queries} ({self.n_queries:,})"


@dataclass(frozen=True)
class SavedModel:
    """A trained ranker as numbers and texts."""

    ranker: str  # name of its class in ``ranksieve.rankers``
    parameters: dict[str, Any]
    n_features_in: Count  # number of features that it was trained on
    feature_names: list[str] | None  # None if they are numbers
    selection: Selection | None  # how the features were selected
    missing: Missing | None  # treatment of missing values of the training data
    learned: dict[str, Any]  # result of training
    ranksieve: str  # version of the program
    trained_on: TrainedOn | None = None  # None if nobody has said it
    columns: Columns | None = None  # of the table that it was trained on; None if it was no table
    categories: dict[str, tuple[str, ...]] | None = None  # of the features that have some
    encoding: TargetEncoding | None = None  # numbers for categories, if they were used instead

    def __post_init__(self) -> None:
        if self.selection is not None and len(self.selection.features) != self.n_features_in:
            raise DataError(
                f"{len(self.selection.features)} selected for {self.n_features_in} features"
            )
        if self.feature_names is not None and len(self.feature_names) != self.n_features_in:
            raise DataError(
                f"{len(self.feature_names)} feature names for {self.n_features_in} features"
            )

        if self.missing is not None:
            self.missing.check_learned()
        if self.encoding is not None:
            self.encoding.check_fits(self.categories or {})

    def to_json(self) -> str:
        """Text for :func:`read_model`, with a line for each field."""
        record = records.sign_record(self, FORMAT, VERSION)
        lines = [
            f"{json.dumps(name)}: {json.dumps(value, allow_nan=False)}"
            for name, value in record.items()
        ]
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
    if known != records.checksum_of_file(path):
        raise DataError(
            f"it is not the model that belongs to {ANSWER} beside it: run recommend again, or move "
            "the model to another directory"
        )


def _model(record: Any) -> SavedModel:
    return records.convert_signed(record, SavedModel, FORMAT, VERSION, "a model of ranksieve")
