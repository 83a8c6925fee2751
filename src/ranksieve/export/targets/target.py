"""The base class of export targets, and helpers that targets share.

Targets write trees as nested values (``TreeEnsemble.nested``) or as tables in preorder
(:func:`to_preorder`): the left child of a split is the next node, and the right child is ``skip``
nodes after the split.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ranksieve.data import DataError
from ranksieve.export.feature_sets import FeatureSet, Kind
from ranksieve.export.forms import DOUBLE, LinearModel, Model, TreeEnsemble
from ranksieve.export.reading import TrainedRanker
from ranksieve.text import quantity

MissingRule = Literal["nan", "zero"]


@dataclass(frozen=True)
class Job:
    """A model to write, with the names and settings that a target needs."""

    trained: TrainedRanker  # the ranker, with all features that it was trained on
    model: Model  # reduced to the features that it uses, with the rule for missing values applied
    names: list[str]  # of the features of ``model``
    name: str  # of the model in the engine
    missing: MissingRule  # value that the target gets for a missing value
    feature_set: FeatureSet | None = None  # the user's
    # (rows, features) of the data to verify with, on which decisions should stay the same
    known: np.ndarray | None = None

    @property
    def trees(self) -> TreeEnsemble:
        """The model, which must consist of trees."""
        assert isinstance(self.model, TreeEnsemble)
        return self.model

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each feature; the model must be linear."""
        assert isinstance(self.model, LinearModel)
        return dict(zip(self.names, self.model.weights.tolist(), strict=True))

    def clash_notes(self, clashes: list[tuple[int, float, float]]) -> list[str]:
        """Write a note about values that single precision cannot distinguish, if there are any."""
        if not clashes:
            return []
        node, below, above = clashes[0]
        name = self.names[self.trees.feature[node]]
        return [
            f"{quantity(len(clashes), 'threshold')} cannot separate values of the data that are "
            f"equal in single precision, such as {below!r} and {above!r} of feature {name!r}: "
            "scale such features"
        ]


@dataclass
class Artifact:
    """Files of an export by name, and notes for the user."""

    files: dict[str, Any]  # given as bytes, as text, or as values that JSON can store
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.files = {name: _to_bytes(content) for name, content in self.files.items()}


def _to_bytes(content: Any) -> bytes:
    if isinstance(content, bytes):
        return content
    is_text = isinstance(content, str)
    text = content if is_text else json.dumps(content, indent=1, allow_nan=False) + "\n"
    return text.encode("utf-8", "replace")


class Preorder(NamedTuple):
    """Nodes of all trees in preorder."""

    feature: list[int]  # -1 for leaves
    number: list[float]  # value of a leaf, or threshold of a split
    missing_left: list[bool]
    skip: list[int]  # from a split to its right child; 0 for leaves
    roots: list[int]


class Target(ABC):
    """An engine, library or language that models are exported to."""

    name: ClassVar[str]
    about: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]] = ("trees", "linear")
    is_engine: ClassVar[bool] = True  # engines serve missing values in their own way
    feature_set_kind: ClassVar[Kind | None] = None
    unit: ClassVar[float] = DOUBLE  # unit roundoff of its sums
    result_unit: ClassVar[float] = DOUBLE  # unit roundoff of the final score

    def check(self, trained: TrainedRanker) -> None:
        """Raise DataError if the target cannot run a model."""
        kind = "linear" if trained.is_linear else "trees"
        if kind not in self.kinds:
            what = "linear models" if trained.is_linear else "trees"
            raise DataError(f"{self.name} does not support {what}")

    @abstractmethod
    def write(self, job: Job) -> Artifact:
        """Make the files; raises DataError with the reason if that is impossible."""

    @abstractmethod
    def scores(self, directory: Path, X: np.ndarray, names: list[str]) -> np.ndarray:
        """Score rows with the files of a directory, in the arithmetic of the target.

        ``X`` has the values of the features, NaN if missing, and ``names`` those of its columns.
        """


def to_preorder(trees: TreeEnsemble) -> Preorder:
    """Convert trees to a table in which each split comes right before its left child."""
    table = Preorder([], [], [], [], [])
    feature, left, right = trees.feature.tolist(), trees.left.tolist(), trees.right.tolist()
    number = np.where(trees.feature < 0, trees.value, trees.threshold).tolist()
    missing_left = trees.missing_left.tolist()
    for root in trees.roots.tolist():
        table.roots.append(len(table.feature))
        waiting = [(root, -1)]
        while waiting:
            node, parent = waiting.pop()
            row = len(table.feature)
            if parent >= 0:
                table.skip[parent] = row - parent
            table.feature.append(feature[node])
            table.number.append(number[node])
            table.missing_left.append(missing_left[node])
            table.skip.append(0)
            if feature[node] >= 0:
                waiting += [(right[node], row), (left[node], -1)]
    return table


def read_json(path: Path) -> Any:
    """Read a JSON file of an export; trees may be nested more deeply than records."""
    return json.loads(path.read_text(encoding="utf-8"))


def list_names(names: list[str]) -> str:
    """Format names for a README: an indented block with one JSON string per line."""
    return "\n".join(f"    {json.dumps(name)}" for name in names) or "    (none)"


def distinct(names: Iterable[str]) -> list[str]:
    """Make names distinct by appending a number to repeated ones."""
    taken: dict[str, None] = {}
    for name in names:
        unique, number = name, 2
        while unique in taken:
            unique, number = f"{name}_{number}", number + 1
        taken[unique] = None
    return list(taken)
