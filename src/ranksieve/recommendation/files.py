"""Write and read the files in the directory of a recommendation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ranksieve.data import DataError
from ranksieve.io.records import (
    check_checksum,
    check_format,
    checksum_of,
    get,
    locate_errors,
    read_record,
    write_text,
)

ANSWER, MODEL, MODEL_OF_ALL = "recommendation.json", "model.json", "model-all.json"
LEDGER, SELECTION = "recommendation.jsonl", "selection.json"

EVIDENCE = "evidence.json"
ADVICE = "; run recommend again"  # what to do if a file is damaged

_FORMAT, _VERSION = "ranksieve-answer", 1
_EVIDENCE_FORMAT, _EVIDENCE_VERSION = "ranksieve-evidence", 1


def write_answer(answer: dict[str, Any], evidence: dict[str, Any], directory: Path) -> None:
    """Write an answer, as :meth:`Recommendation.to_record` returns it, and its evidence."""
    whole = {"format": _FORMAT, "version": _VERSION, **answer}
    checksum = checksum_of(whole)
    (directory / EVIDENCE).unlink(missing_ok=True)  # it may belong to an earlier answer
    text = json.dumps(whole | {"checksum": checksum}, indent=2, allow_nan=False)
    write_text(text + "\n", directory / ANSWER)
    record = {"format": _EVIDENCE_FORMAT, "version": _EVIDENCE_VERSION, "answer": checksum}
    record |= {"evidence": evidence}
    text = json.dumps(record | {"checksum": checksum_of(record)}, allow_nan=False)
    write_text(text + "\n", directory / EVIDENCE)


def read_answer(directory: Path) -> dict[str, Any]:
    """Read an answer; raises DataError if there is none or its checksum does not match."""
    path = directory / ANSWER
    if not path.is_file():
        raise DataError(f"{directory}: there is no {ANSWER}; ranksieve recommend --out writes it")
    with locate_errors(path, ADVICE):
        return _read_checked(path, _FORMAT, _VERSION, "the answer of a recommendation")


def read_evidence(directory: Path, answer: dict[str, Any]) -> dict[str, Any] | None:
    """Read the evidence of an answer; None if there is none, as older versions wrote none."""
    path = directory / EVIDENCE
    if not path.is_file():
        return None
    with locate_errors(path, ADVICE):
        record = _read_checked(path, _EVIDENCE_FORMAT, _EVIDENCE_VERSION, "evidence of an answer")
        if record.get("answer") != answer["checksum"]:
            raise DataError(f"it belongs to another answer than the one in {ANSWER}")
        evidence: dict[str, Any] = get(record, "evidence", dict)
        return evidence


def _read_checked(path: Path, form: str, version: int, what: str) -> dict[str, Any]:
    record = read_record(path)
    check_format(record, form, version, what)
    check_checksum(record)
    return dict(record)
