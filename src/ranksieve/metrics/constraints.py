"""Parameter constraints for a measure, its convention and ties, as scikit-learn checks them."""

from __future__ import annotations

from typing import Any

from sklearn.utils._param_validation import StrOptions

from ranksieve.metrics.conventions import CONVENTIONS, Convention, get_convention, known_names
from ranksieve.metrics.measures import Measure


class _ConventionName(StrOptions):
    """Anything that :func:`get_convention` accepts."""

    def __init__(self) -> None:
        super().__init__(set(CONVENTIONS))

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether a value is the name of a convention."""
        try:
            return isinstance(val, str) and bool(get_convention(val))
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"the name of a convention ({known_names()})"


MEASURE: dict[str, list[Any]] = {
    "measure": [str, Measure],
    "convention": [_ConventionName(), Convention],
    "ties": [StrOptions({"average", "stable"})],
}
"""For ``_parameter_constraints`` of what judges by a measure."""
