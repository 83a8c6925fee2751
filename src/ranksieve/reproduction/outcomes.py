"""Our numbers next to published ones, and the results of one method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Number(NamedTuple):
    """Our number, the published one, and the tolerance; each is None if there is none."""

    ours: float | None
    published: float | None
    tolerance: float | None = None

    @property
    def difference(self) -> float | None:
        """Our number minus the published one; None if either is missing."""
        return None if None in self[:2] else self.ours - self.published  # type: ignore[operator]

    @property
    def is_within(self) -> bool | None:
        """Whether the difference is within the tolerance; None if there is no tolerance."""
        if self.difference is None or self.tolerance is None:
            return None
        return abs(self.difference) <= self.tolerance

    def as_dict(self) -> dict[str, Any]:
        """Convert to JSON values."""
        return {
            "published": self.published,
            "ours": self.ours,
            "difference": self.difference,
            "within": self.is_within,
        }


@dataclass(frozen=True)
class MethodOutcome:
    """Results of one method.

    Attributes
    ----------
    values : mapping of str to sequence of sequences of float
        Measure -> ``[seed][fold]``, means over test queries; one seed if the method is not random.
    n_features : sequence of float
        Mean over the folds of the number of features, for each seed.
    chosen : sequence of mappings
        Parameters chosen on each fold; empty for the selectors of a study.
    models : sequence
        Model of each fold for figures, if there are any.
    """

    values: Mapping[str, Sequence[Sequence[float]]]
    n_features: Sequence[float]
    chosen: Sequence[Mapping[str, Any]] = ()
    models: Sequence[Any] = ()
