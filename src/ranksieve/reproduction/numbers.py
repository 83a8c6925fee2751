"""A number of ours beside a published one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ranksieve.data import RankingData
from ranksieve.metrics import evaluate


class Number(NamedTuple):
    """A number of ours, the published one, and how near they should be; None if there is none."""

    ours: float | None
    published: float | None
    tolerance: float | None = None

    @property
    def difference(self) -> float | None:
        """Ours minus the published one, if there are both."""
        return None if None in self[:2] else self.ours - self.published  # type: ignore[operator]

    @property
    def is_within(self) -> bool | None:
        """Whether it is as near as asked; None if nothing is asked."""
        if self.difference is None or self.tolerance is None:
            return None
        return abs(self.difference) <= self.tolerance

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "published": self.published,
            "ours": self.ours,
            "difference": self.difference,
            "within": self.is_within,
        }


def measure_scores(
    data: RankingData, scores: np.ndarray, measures: Sequence[str], convention: str
) -> dict[str, float]:
    """Means over queries."""
    found = evaluate(data.y, scores, data.qid, measures, convention, doc_ids=data.doc_ids)
    return found.mean
