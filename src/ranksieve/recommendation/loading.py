"""Load a recommendation from its directory."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from ranksieve.data import DataError
from ranksieve.io.records import get_missing, locate_errors
from ranksieve.io.typed import check_types
from ranksieve.recommendation.answer import Recommendation
from ranksieve.recommendation.evidence import Evidence
from ranksieve.recommendation.files import ADVICE, ANSWER, EVIDENCE, read_answer, read_evidence

_REFERENCE = 4  # number of values in ``reference`` for each feature
_SETTINGS: dict[str, Any] = dict(
    ranksieve=str, fingerprint=str, division=str, measure=str, convention=str, scale=str,
    ranker=str, ranker_parameters=dict[str, Any], selectors=list[str], rule=str, margin=float,
    level=float, seed=int, budget=float | None, keep=list[str], drop=list[str],
    treated=dict[str, Any] | None, costs=dict[str, dict[str, Any]],
)  # fmt: skip


def load_recommendation(directory: str | os.PathLike[str]) -> Recommendation:
    """Load the answer that :func:`ranksieve.recommend` wrote with ``out``; no data is needed.

    Raises
    ------
    DataError
        If there is no answer, or if it is damaged.
    """
    folder = Path(directory)
    record = read_answer(folder)
    answer = _answer_of(record, folder)
    evidence = read_evidence(folder, record)
    if evidence is None:
        return answer
    with locate_errors(folder / EVIDENCE, ADVICE):
        return replace(answer, evidence=Evidence.of_record(evidence, len(answer.feature_names)))


def load_answer(directory: str | os.PathLike[str]) -> Recommendation:
    """Load the answer without its evidence, which may be missing or damaged."""
    folder = Path(directory)
    return _answer_of(read_answer(folder), folder)


def _answer_of(record: dict[str, Any], folder: Path) -> Recommendation:
    with locate_errors(folder / ANSWER, ADVICE):
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
    if "all" not in {point.selector for point in answer.front}:
        raise DataError("the candidates in 'front' do not include all features")
    if not all(len(row) == _REFERENCE for row in answer.reference.values()):
        raise DataError(f"'reference' should have {_REFERENCE} numbers for each feature")
    treated = get_missing({"missing": answer.settings["treated"]})
    if treated is not None and not all(feature in known for feature in treated.indicated):
        raise DataError("it has indicators of features that the data does not have")
    assert answer.sentence
    assert answer.protocol
