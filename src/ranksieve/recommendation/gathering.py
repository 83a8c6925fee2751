"""Gather the evidence of a recommendation, during the search and after it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence, Set

import numpy as np

from ranksieve.data import RankingData
from ranksieve.recommendation.answer import Recommendation
from ranksieve.recommendation.asking import PlannedCell
from ranksieve.recommendation.cells import RecommendationLog
from ranksieve.recommendation.evidence import Alone, Evidence, Likeness, Outcome, Spent
from ranksieve.recommendation.procedure import Choice, Task
from ranksieve.study.first_fold import installed_versions
from ranksieve.sums.importance import Importance

MOST_COMPARED = 150
"""Largest number of features whose similarity is stored."""

_DIGITS = 4  # decimals of a stored similarity


class Effort:
    """Counts the fits of a recommendation, each once, and adds up their time."""

    def __init__(self, command: Sequence[str] = ()) -> None:
        self.command, self.started = list(command), time.monotonic()
        self._seconds: dict[str, tuple[str, float]] = {}
        self._computed: set[str] = set()

    def note(self, cells: Sequence[PlannedCell], new: Set[str], ledger: RecommendationLog) -> None:
        """Count cells of the ledger; those with keys in ``new`` were computed by this run."""
        for cell in cells:
            key, seconds = str(cell.key()), float(ledger.get(cell.key())["seconds"])
            self._seconds[key] = (cell.cell.method.name, seconds)
            if key in new:
                self._computed.add(key)

    @property
    def n_resumed(self) -> int:
        """Number of fits that an earlier run had finished."""
        return len(self._seconds) - len(self._computed)

    @property
    def spent(self) -> list[Spent]:
        """Fits and seconds by method, the longest first."""
        by_method: dict[str, list[float]] = {}
        for method, seconds in self._seconds.values():
            by_method.setdefault(method, []).append(seconds)
        spent = [Spent(name, len(times), math.fsum(times)) for name, times in by_method.items()]
        return sorted(spent, key=lambda item: (-item.seconds, item.method))


def gather_evidence(
    task: Task,
    choices: Sequence[Choice | None],
    similarity: np.ndarray,
    answer: Recommendation,
    effort: Effort,
) -> Evidence:
    """Gather the evidence of an answer."""
    settings = answer.settings
    alone = alone_of(task.division.whole, settings["measure"], settings["convention"])
    copies = [other.feature for kept in answer.kept for other in kept.substitutes]
    others = sorted(task.allowed, key=lambda feature: -alone.values[feature])
    return Evidence(
        outcomes=outcomes_of(task, choices),
        alone=alone,
        likeness=likeness_of(similarity, [*answer.features, *copies], others),
        spent=effort.spent,
        elapsed=time.monotonic() - effort.started,
        n_resumed=effort.n_resumed,
        versions=installed_versions(),
        command=effort.command,
    )


def outcomes_of(task: Task, choices: Sequence[Choice | None]) -> list[Outcome]:
    """Return the outcome for each part of the queries that judged."""
    division, outcomes = task.division, []
    for stage, choice in zip(division.stages, choices, strict=True):
        if stage.judge is None or choice is None or choice.values is None or choice.base is None:
            continue
        queries = division.whole.query_ids[division.parts[stage.judge]]
        weights = division.weights([stage.judge])
        outcomes.append(
            Outcome(
                stage.judge,
                choice.candidate.selector,
                choice.candidate.size,
                task.costs.total(choice.features),
                [int(feature) for feature in choice.features],
                [str(query) for query in queries.tolist()],
                choice.base.tolist(),
                choice.values.tolist(),
                None if weights is None else weights.tolist(),
            )
        )
    return outcomes


def alone_of(data: RankingData, measure: str, convention: str) -> Alone:
    """Measure how well each feature ranks alone."""
    quality = Importance(measure, convention=convention)(data)
    return Alone(np.abs(quality.values).tolist(), quality.directions.tolist())


def likeness_of(similarity: np.ndarray, first: Sequence[int], others: Sequence[int]) -> Likeness:
    """Return the similarities of the first ``MOST_COMPARED`` features, sorted by index."""
    features = sorted(list(dict.fromkeys([*first, *others]))[:MOST_COMPARED])
    values = similarity[np.ix_(features, features)].round(_DIGITS)
    return Likeness(features, [values[i, :i].tolist() for i in range(len(features))])
