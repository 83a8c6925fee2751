"""Load a recommendation from its directory."""

from __future__ import annotations

import os
from pathlib import Path

from ranksieve.data import DataError
from ranksieve.recommendation.answer import Recommendation
from ranksieve.recommendation.evidence import Evidence
from ranksieve.recommendation.files import ANSWER, EVIDENCE, located, read_answer, read_evidence


def load_recommendation(directory: str | os.PathLike[str]) -> Recommendation:
    """Load the answer that :func:`ranksieve.recommend` wrote with ``out``; no data is needed.

    Raises
    ------
    DataError
        If there is none, or if it is not what was written.
    """
    place = Path(directory)
    record = read_answer(place)
    rests_on = read_evidence(place, record)
    with located(place / ANSWER):
        try:
            answer = Recommendation.of_record(record)
            _check(answer)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise DataError(f"not an answer that this version reads: {error!r:.80}") from None
    if rests_on is None:
        return answer
    with located(place / EVIDENCE):
        evidence = Evidence.of_record(rests_on, len(answer.feature_names))
    return Recommendation.of_record(record, evidence)


def _check(answer: Recommendation) -> None:
    """Raise an error unless all that people read of an answer can be told."""
    known = range(len(answer.feature_names))
    told = [kept.feature for kept in answer.kept] + [gone.feature for gone in answer.dropped]
    told += [one.feature for kept in answer.kept for one in kept.substitutes]
    if not all(feature in known for feature in [*answer.features, *told]):
        raise DataError("it names features that the data does not have")
    if [one.feature for one in answer.kept] != answer.features:
        raise DataError("what it says of features is not about those to keep")
    if "all" not in {point.selector for point in answer.front}:
        raise DataError("it lacks all features among the candidates")
    assert answer.sentence
    assert answer.protocol
