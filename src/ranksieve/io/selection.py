"""Selection files: the features that a method chose, as JSON for people and programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from ranksieve.data import DataError, RankingData
from ranksieve.data.inputs import are_numbers, widen
from ranksieve.data.missing import Missing
from ranksieve.io import records
from ranksieve.io.files import PathLike
from ranksieve.io.records import Count, Finite


@dataclass(frozen=True)
class SelectedFeature:
    """A selected feature."""

    index: Count  # 0-based
    name: str  # in the data, or its 1-based number
    score: Finite | None  # when it was chosen, if the method has scores
    reason: str  # why it was chosen, in a few words; may be empty


@dataclass(frozen=True)
class Selection:
    """The features that a method chose, in the order of selection, and how it chose them."""

    method: str  # its name, as on the command line
    parameters: dict[str, Any]  # all of the method
    n_features_in: Count  # number of features to choose from
    data: list[str]  # files from which they were chosen
    ranksieve: str  # version of the program
    features: Annotated[list[SelectedFeature], Meta(min_length=1)]
    # Treatment of missing values before selection; indicators count as features to choose from.
    missing: Missing | None = None

    def __post_init__(self) -> None:
        seen: set[int | str] = set()
        for feature in self.features:
            if feature.index >= self.n_features_in:
                raise DataError(
                    f"index {feature.index} ({feature.name}) is out of range: there are "
                    f"{self.n_features_in} features, numbered from 0"
                )
            if feature.index in seen:
                raise DataError(f"index {feature.index} ({feature.name}) is selected twice")
            if feature.name in seen:
                raise DataError(f"two features are named {feature.name!r}")
            seen |= {feature.index, feature.name}
        if self.missing is not None:
            self.missing.check_learned()
            self.missing.check_fits(self.n_features_without_indicators)

    @property
    def n_features_without_indicators(self) -> int:
        """Number of features of the data without indicators."""
        return self.n_features_in - len(self.missing.indicated if self.missing else ())

    @property
    def columns(self) -> np.ndarray:
        """0-based indices of the features in the order of the data."""
        return np.sort([feature.index for feature in self.features])

    @property
    def has_feature_names(self) -> bool:
        """Whether the features have names other than their numbers."""
        return any(feature.name != str(feature.index + 1) for feature in self.features)

    def to_json(self) -> str:
        """Text for people and for :func:`read_selection`.

        It has a checksum, which must be removed if the text is edited by hand.
        """
        record = records.to_values(self)
        return json.dumps(
            record | {"checksum": records.checksum_of(record)}, indent=2, allow_nan=False
        )

    def check_fits(
        self, n_features: int, names: Sequence[str] | np.ndarray | None, place: PathLike
    ) -> None:
        """Raise a DataError that begins with ``place`` if data has other features.

        ``names`` are the names of all features, or None. They are compared if both sides have names
        other than numbers.
        """
        if n_features != self.n_features_in:
            zeros = "; if the other features are all zero, pass that number as n_features"
            raise DataError(
                f"{place}: there are {n_features} features, but the selection was made from "
                f"{self.n_features_in}{zeros if n_features < self.n_features_in else ''}"
            )
        if names is None or not self.has_feature_names or are_numbers(names):
            return
        for feature in self.features:
            if names[feature.index] != feature.name:
                raise DataError(
                    f"{place}: feature {feature.index + 1} is {str(names[feature.index])!r}, "
                    f"but {feature.name!r} in the selection"
                )

    def take_from(self, X: Any) -> Any:
        """Selected columns of a matrix, in its order; columns beyond its width are zero."""
        return widen(X, max(X.shape[1], self.columns[-1] + 1))[:, self.columns]

    def applied_to(self, X: Any) -> Any:
        """Keep the selected features of data with all features; return other data unchanged.

        X may be a RankingData, opened shards, an array, a sparse matrix or a frame.
        """
        if isinstance(X, RankingData):
            if X.n_features != self.n_features_in:
                return X
            self.check_fits(X.n_features, X.feature_names if X.has_feature_names else None, "data")
            return X.take_features(self.columns)
        if np.ndim(X) != 2 or X.shape[1] != self.n_features_in:
            return X
        if hasattr(X, "iloc"):
            return X.iloc[:, self.columns]
        return X[:, self.columns.tolist()]


def write_selection(selection: Selection, path: PathLike) -> None:
    """Write JSON that :func:`read_selection` reads back; replaced only when all is written."""
    records.write_text(selection.to_json() + "\n", path)


def read_selection(path: PathLike) -> Selection:
    """Read and check a selection written by :func:`write_selection`."""
    record = records.read_record(path)
    with records.locate_errors(path):
        if not isinstance(record, dict):
            raise DataError("not a selection: it should be an object with the features selected")
        if not records.matches_checksum(record, if_any=True):
            raise DataError(
                "the file was changed after it was written; if that is intended, remove its "
                "'checksum'"
            )
        return records.convert_record(record, Selection)
