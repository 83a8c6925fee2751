"""Models on disk, as JSON: nothing in such a file is ever run or unpickled."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ranksieve.data import DataError
from ranksieve.data.missing import Missing
from ranksieve.io.records import (
    PathLike,
    check_format,
    checksum_of,
    get,
    get_count,
    get_missing,
    get_texts,
    matches_checksum,
    read_record,
    write_text,
)
from ranksieve.io.selection import Selection, selection_of

FORMAT = "ranksieve-model"
VERSION = 1


@dataclass(frozen=True)
class SavedModel:
    """A trained ranker, in numbers and texts.

    Attributes
    ----------
    ranker : str
        Its class in ``ranksieve.rankers``.
    parameters : dict
        Parameters of the class.
    n_features_in : int
        Features that it was trained on.
    feature_names : list of str or None
        Their names, if they say more than their numbers.
    selection : Selection or None
        How they were chosen from more.
    missing : Missing or None
        What was done with missing values of the training data.
    learned : dict
        What training has found.
    ranksieve : str
        Version of the program.
    """

    ranker: str
    parameters: dict[str, Any]
    n_features_in: int
    feature_names: list[str] | None
    selection: Selection | None
    missing: Missing | None
    learned: dict[str, Any]
    ranksieve: str

    def to_json(self) -> str:
        """Text for :func:`read_model`: a line for each part."""
        selection = None if self.selection is None else self.selection.to_record()
        missing = None if self.missing is None else self.missing.to_record()
        parts = vars(self) | {"selection": selection, "missing": missing}
        record = {"format": FORMAT, "version": VERSION} | parts
        lines = [
            f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}"
            for key, value in record.items()
        ]
        lines.append(f'"checksum": "{checksum_of(record)}"')
        return "{\n" + ",\n".join(lines) + "\n}\n"


def write_model(model: SavedModel, path: PathLike) -> None:
    """Write JSON that :func:`read_model` reads back; replaced only when all is written."""
    write_text(model.to_json(), path)


def read_model(path: PathLike) -> SavedModel:
    """Read and check a model, as :func:`write_model` writes it.

    Raises
    ------
    DataError
        ``file:line: what is wrong``, or ``file: what is wrong`` where there is no one line.
    """
    record = read_record(path)
    try:
        return _model(record)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _model(record: Any) -> SavedModel:
    check_format(record, FORMAT, VERSION, "a model of ranksieve")
    for key, kind in (("version", int), ("checksum", str)):
        get(record, key, kind)
    if not matches_checksum(record):
        raise DataError("the model is damaged: its checksum is not that of its content")
    n_features_in = get_count(record, "n_features_in")
    named, chosen = record.get("feature_names"), record.get("selection")
    names = None if named is None else get_texts(record, "feature_names")
    if names is not None and len(names) != n_features_in:
        raise DataError(f"{len(names)} feature names for {n_features_in} features")
    selection = None if chosen is None else selection_of(chosen)
    if selection is not None and len(selection.features) != n_features_in:
        raise DataError(f"{len(selection.features)} selected for {n_features_in} features")
    return SavedModel(
        ranker=get(record, "ranker", str),
        parameters=get(record, "parameters", dict),
        n_features_in=n_features_in,
        feature_names=names,
        selection=selection,
        missing=get_missing(record),
        learned=get(record, "learned", dict),
        ranksieve=get(record, "ranksieve", str),
    )
