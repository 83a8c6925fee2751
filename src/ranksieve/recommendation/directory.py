"""The files in the directory of a recommendation: write them, and load and check the answer.

The answer has the checksums of its models. All files of an answer are replaced together.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ranksieve.data import DataError
from ranksieve.io.files import file_of, replace_together
from ranksieve.io.model import (
    ANSWER,
    ANSWER_FORMAT,
    MODEL,
    MODEL_OF_ALL,
    TrainedOn,
    check_model_of_answer,
)
from ranksieve.io.records import (
    check_signed,
    checksum_of_file,
    locate_errors,
    read_record,
    sign_record,
    write_text,
)
from ranksieve.io.selection import Selection, write_selection
from ranksieve.recommendation.answer import Recommendation
from ranksieve.recommendation.evidence import Evidence

EVIDENCE, SELECTION = "evidence.json", "selection.json"
LEDGER = "recommendation.jsonl"
# The files of an answer. Its page is written later; until then there is none, rather than that of
# the answer before.
FILES = (ANSWER, EVIDENCE, SELECTION, MODEL, MODEL_OF_ALL, "report.html")

_ADVICE = "; run recommend again"  # what to do if a file is damaged
_VERSION = 4
_EVIDENCE_FORMAT, _EVIDENCE_VERSION = "ranksieve-evidence", 2


def write_answer(
    answer: Recommendation,
    directory: Path,
    selection: Selection,
    models: Mapping[str, Any],
    trained_on: TrainedOn,
) -> Recommendation:
    """Write an answer and its evidence, with the selection and the trained rankers.

    Returns the answer with the checksums of the models.
    """
    with replace_together(directory, FILES) as folder:
        if answer.features:
            write_selection(selection, folder / SELECTION)
        for name, model in models.items():
            chosen = selection if name == MODEL else None
            model.save_model(folder / name, selection=chosen, trained_on=trained_on)
        if models:
            checksums = {name: checksum_of_file(folder / name) for name in models}
            answer = replace(answer, models=checksums, trained_on=trained_on)
        record = sign_record(answer.to_record(), ANSWER_FORMAT, _VERSION)
        write_text(json.dumps(record, indent=2, allow_nan=False) + "\n", folder / ANSWER)
        assert answer.evidence is not None
        parts = {"answer": record["checksum"], "evidence": answer.evidence.to_record()}
        evidence = sign_record(parts, _EVIDENCE_FORMAT, _EVIDENCE_VERSION)
        write_text(json.dumps(evidence, allow_nan=False) + "\n", folder / EVIDENCE)
    return answer


def load_recommendation(directory: str | os.PathLike[str]) -> Recommendation:
    """Load the answer that :func:`ranksieve.recommend` wrote with ``out``; no data is needed.

    Raises
    ------
    DataError
        If there is no answer, if it is damaged, or if a model beside it is not its own.
    """
    folder = Path(directory)
    answer, checksum = _load(folder)
    for name in (MODEL, MODEL_OF_ALL):
        if file_of(folder, name).exists():  # without its models, an answer can still be shown
            model_of(answer, folder, name)
    path = file_of(folder, EVIDENCE)
    if not path.is_file():  # an answer can be shown without its evidence, too
        return answer
    with locate_errors(path, _ADVICE):
        record = read_record(path)
        check_signed(record, _EVIDENCE_FORMAT, _EVIDENCE_VERSION, "evidence of an answer")
        if record.get("answer") != checksum:
            raise DataError(f"it belongs to another answer than the one in {ANSWER}")
        evidence = Evidence.from_record(record.get("evidence"), len(answer.feature_names))
    return replace(answer, evidence=evidence)


def load_answer(directory: str | os.PathLike[str]) -> Recommendation:
    """Load the answer without its evidence, which may be missing or damaged."""
    return _load(Path(directory))[0]


def _load(folder: Path) -> tuple[Recommendation, str]:
    """Load the answer, and its checksum."""
    path = file_of(folder, ANSWER)
    if not path.is_file():
        raise DataError(f"{folder}: there is no {ANSWER}; ranksieve recommend --out writes it")
    with locate_errors(path, _ADVICE):
        record = read_record(path)
        check_signed(record, ANSWER_FORMAT, _VERSION, "the answer of a recommendation")
        return Recommendation.from_record(record), record["checksum"]


def model_of(answer: Recommendation, directory: Path, name: str) -> Path:
    """Return the file of a model; raises DataError if it is not one of the answer."""
    path = file_of(directory, name)
    with locate_errors(path):
        check_model_of_answer(path, answer.models)
    return path
