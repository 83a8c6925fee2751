"""Convert a trained ranker to a record for a file, and back."""

from __future__ import annotations

from functools import partial
from typing import Any, NoReturn, Protocol

from ranksieve._version import __version__
from ranksieve.data import DataError
from ranksieve.io.model import SavedModel
from ranksieve.io.selection import Selection
from ranksieve.values import plain_value


class Trained(Protocol):
    """Methods that a ranker needs to be written to a file."""

    n_features_in_: int

    def _settings(self) -> dict[str, Any]:
        """Parameters of the class."""

    def _learned(self) -> dict[str, Any]:
        """What training found, as JSON values."""


def model_of(ranker: Trained, selection: Selection | None) -> SavedModel:
    """Make a record of a trained ranker; raise a ValueError if JSON cannot store a parameter."""
    if selection is not None and len(selection.features) != ranker.n_features_in_:
        raise DataError(
            f"the selection has {len(selection.features)} features, but the ranker was trained on "
            f"{ranker.n_features_in_}"
        )
    names = getattr(ranker, "feature_names_in_", None)
    given = ranker._settings().items()
    return SavedModel(
        ranker=type(ranker).__name__,
        parameters={name: plain_value(value, partial(_refuse, name)) for name, value in given},
        n_features_in=int(ranker.n_features_in_),
        feature_names=None if names is None else [str(name) for name in names],
        selection=selection,
        learned=ranker._learned(),
        ranksieve=__version__,
    )


def _refuse(name: str, value: Any) -> NoReturn:
    raise ValueError(
        f"parameter {name}={value!r} cannot be written to a file; give it a name or a number with "
        f"set_params({name}=...)"
    )
