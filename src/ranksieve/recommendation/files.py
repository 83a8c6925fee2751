"""The answer and the models of a recommendation in its directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ranksieve.data import DataError
from ranksieve.io.records import (
    check_format,
    checksum_of,
    get,
    matches_checksum,
    read_record,
    write_text,
)

ANSWER, MODEL, MODEL_OF_ALL = "recommendation.json", "model.json", "model-all.json"
LEDGER, SELECTION = "recommendation.jsonl", "selection.json"

_FORMAT, _VERSION = "ranksieve-answer", 1


def write_answer(record: dict[str, Any], directory: Path) -> None:
    """Write an answer, as :meth:`Recommendation.to_record` has it."""
    whole = {"format": _FORMAT, "version": _VERSION, **record}
    text = json.dumps(whole | {"checksum": checksum_of(whole)}, indent=2, allow_nan=False)
    write_text(text + "\n", directory / ANSWER)


def read_answer(directory: Path) -> dict[str, Any]:
    """Read an answer; a DataError if there is none, or if it is not what was written."""
    path = directory / ANSWER
    if not path.is_file():
        raise DataError(f"{directory}: there is no {ANSWER}; ranksieve recommend --out writes it")
    record = read_record(path)
    try:
        check_format(record, _FORMAT, _VERSION, "the answer of a recommendation")
        get(record, "checksum", str)
        if not matches_checksum(record):
            raise DataError("damaged: its checksum is not that of its content")
    except DataError as error:
        raise DataError(f"{path}: {error}; run recommend again") from None
    return dict(record)
