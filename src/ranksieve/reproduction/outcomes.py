"""Numbers of ours beside published ones, and what came out for one method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


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


@dataclass(frozen=True)
class MethodOutcome:
    """What came out for one method.

    Attributes
    ----------
    values : mapping of str to sequence of sequences of float
        Measure -> ``[seed][fold]``, means over test queries; one seed if nothing is random.
    n_features : sequence of float
        Mean over the folds of the number of features, for each seed.
    chosen : sequence of mappings
        On each fold, what was chosen there; empty if a study knows it.
    models : sequence
        On each fold, what figures are drawn of, if anything.
    """

    values: Mapping[str, Sequence[Sequence[float]]]
    n_features: Sequence[float]
    chosen: Sequence[Mapping[str, Any]] = ()
    models: Sequence[Any] = ()
