"""The files in the directory of a recommendation: write them, and load and check the answer.

The answer has the checksums of its models. All files of an answer are replaced together.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from ranksieve.data import DataError
from ranksieve.data.missing import Missing
from ranksieve.io.files import file_of
from ranksieve.io.model import ANSWER, ANSWER_FORMAT, MODEL, MODEL_OF_ALL, check_model_of_answer
from ranksieve.io.records import (
    check_checksum,
    check_format,
    checksum_of,
    convert_record,
    get,
    locate_errors,
    read_record,
    write_text,
)
from ranksieve.io.typed import check_types
from ranksieve.recommendation.answer import Recommendation
from ranksieve.recommendation.evidence import Evidence
from ranksieve.significance.claims import check_margin

EVIDENCE, SELECTION = "evidence.json", "selection.json"
LEDGER = "recommendation.jsonl"
# The files of an answer. Its pages are written later; until then there is none, rather than that of
# the answer before.
FILES = (ANSWER, EVIDENCE, SELECTION, MODEL, MODEL_OF_ALL, "report.html", "report.md")

_ADVICE = "; run recommend again"  # what to do if a file is damaged
_VERSION = 1
_EVIDENCE_FORMAT, _EVIDENCE_VERSION = "ranksieve-evidence", 1
_REFERENCE = 4  # number of values in ``reference`` for each feature
# Settings of an answer, with their types.
_SETTINGS: dict[str, Any] = dict(
    ranksieve=str, fingerprint=str, division=str, measure=str, convention=str, scale=str,
    ranker=str, ranker_parameters=dict[str, Any], selectors=list[str], rule=str, margin=float,
    level=float, seed=int, budget=float | None, keep=list[str], drop=list[str],
    treated=dict[str, Any] | None, costs=dict[str, dict[str, Any]],
)  # fmt: skip


def write_answer(answer: dict[str, Any], evidence: dict[str, Any], directory: Path) -> None:
    """Write an answer, as :meth:`Recommendation.to_record` returns it, and its evidence."""
    whole = {"format": ANSWER_FORMAT, "version": _VERSION, **answer}
    checksum = checksum_of(whole)
    text = json.dumps(whole | {"checksum": checksum}, indent=2, allow_nan=False)
    write_text(text + "\n", directory / ANSWER)
    record = {"format": _EVIDENCE_FORMAT, "version": _EVIDENCE_VERSION, "answer": checksum}
    record |= {"evidence": evidence}
    text = json.dumps(record | {"checksum": checksum_of(record)}, allow_nan=False)
    write_text(text + "\n", directory / EVIDENCE)


def load_recommendation(directory: str | os.PathLike[str]) -> Recommendation:
    """Load the answer that :func:`ranksieve.recommend` wrote with ``out``; no data is needed.

    Raises
    ------
    DataError
        If there is no answer, if it is damaged, or if a model beside it is not its own.
    """
    folder = Path(directory)
    record = read_answer(folder)
    answer, path = _answer_of(record, folder), file_of(folder, EVIDENCE)
    for name in (MODEL, MODEL_OF_ALL):
        if file_of(folder, name).exists():  # without its models, an answer can still be shown
            model_of(answer, folder, name)
    if not path.is_file():  # older versions wrote none
        return answer
    with locate_errors(path, _ADVICE):
        whole = _read_checked(path, _EVIDENCE_FORMAT, _EVIDENCE_VERSION, "evidence of an answer")
        if whole.get("answer") != record["checksum"]:
            raise DataError(f"it belongs to another answer than the one in {ANSWER}")
        evidence = Evidence.of_record(get(whole, "evidence", dict), len(answer.feature_names))
    return replace(answer, evidence=evidence)


def load_answer(directory: str | os.PathLike[str]) -> Recommendation:
    """Load the answer without its evidence, which may be missing or damaged."""
    folder = Path(directory)
    return _answer_of(read_answer(folder), folder)


def model_of(answer: Recommendation, directory: Path, name: str) -> Path:
    """Return the file of a model; raises DataError if it is not one of the answer."""
    path = file_of(directory, name)
    with locate_errors(path):
        check_model_of_answer(path, answer.models)
    return path


def read_answer(directory: Path) -> dict[str, Any]:
    """Read an answer; raises DataError if there is none or its checksum does not match."""
    path = file_of(directory, ANSWER)
    if not path.is_file():
        raise DataError(f"{directory}: there is no {ANSWER}; ranksieve recommend --out writes it")
    with locate_errors(path, _ADVICE):
        return _read_checked(path, ANSWER_FORMAT, _VERSION, "the answer of a recommendation")


def _read_checked(path: Path, form: str, version: int, what: str) -> dict[str, Any]:
    record = read_record(path)
    check_format(record, form, version, what)
    check_checksum(record)
    return dict(record)


def _answer_of(record: dict[str, Any], folder: Path) -> Recommendation:
    with locate_errors(folder / ANSWER, _ADVICE):
        try:
            answer = Recommendation.of_record(record)
            check_types(answer, Recommendation)
            for name, kind in _SETTINGS.items():
                check_types(answer.settings[name], kind, f"settings.{name}")
            _check(answer)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise DataError(f"this version cannot read the answer: {error!r:.80}") from None
    return answer


def _check(answer: Recommendation) -> None:
    """Raise an error unless the parts of an answer fit together and its texts can be made."""
    known = range(len(answer.feature_names))
    described = [kept.feature for kept in answer.kept]
    others = [dropped.feature for dropped in answer.dropped]
    others += [substitute.feature for kept in answer.kept for substitute in kept.substitutes]
    if not all(feature in known for feature in [*answer.features, *described, *others]):
        raise DataError("it lists features that the data does not have")
    if described != answer.features:
        raise DataError("'kept' does not describe the features to keep")
    # Without time, nothing was tried or tested.
    was_tried = bool(answer.front) or answer.claim.n_queries > 0
    if was_tried and "all" not in {point.selector for point in answer.front}:
        raise DataError("the candidates in 'front' do not include all features")
    if not all(len(row) == _REFERENCE for row in answer.reference.values()):
        raise DataError(f"'reference' should have {_REFERENCE} numbers for each feature")
    if (answer.trained_on is None) != (not answer.models):
        raise DataError("'trained_on' should say which queries trained the models")
    try:
        check_margin(answer.settings["margin"], answer.settings["level"])
    except ValueError as error:
        raise DataError(f"settings: {error}") from None
    treated = convert_record(answer.settings["treated"], Missing | None)
    if treated is not None and not all(feature in known for feature in treated.indicated):
        raise DataError("it has indicators of features that the data does not have")
    assert answer.sentence
    assert answer.protocol
