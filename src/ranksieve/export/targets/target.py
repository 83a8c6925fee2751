"""What all targets share."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from ranksieve.data import DataError
from ranksieve.export.feature_sets import FeatureSet, Kind
from ranksieve.export.forms import DOUBLE, LinearModel, Model, TreeEnsemble
from ranksieve.export.reading import Trained

MissingRule = Literal["nan", "zero"]

_DEEPEST = 200


@dataclass(frozen=True)
class Job:
    """What is to be written.

    Attributes
    ----------
    trained : Trained
        The ranker, with all features it was trained on.
    model : TreeEnsemble or LinearModel
        Its model on the features that it uses alone, with the rule for missing values.
    names : list of str
        Names of these features.
    name : str
        Name of the model in the engine.
    missing : {"nan", "zero"}
        What is served where a value is missing.
    feature_set : FeatureSet or None
        The user's.
    known : array of shape (rows, features) or None
        Rows that are known to be served.
    """

    trained: Trained
    model: Model
    names: list[str]
    name: str
    missing: MissingRule
    feature_set: FeatureSet | None = None
    known: np.ndarray | None = None

    @property
    def trees(self) -> TreeEnsemble:
        """The model, of which is known that it has trees."""
        assert isinstance(self.model, TreeEnsemble)
        return self.model

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each feature, of a model of which is known that it is linear."""
        assert isinstance(self.model, LinearModel)
        return dict(zip(self.names, self.model.weights.tolist(), strict=True))


@dataclass
class Artifact:
    """Files of an export, by name, and what a user should know about them."""

    files: dict[str, str | bytes]
    notes: list[str] = field(default_factory=list)


class Target(ABC):
    """A place where models run."""

    name: ClassVar[str]
    about: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]] = ("trees", "linear")
    is_engine: ClassVar[bool] = True  # which decides itself what is served for missing values
    feature_set_kind: ClassVar[Kind | None] = None
    unit: ClassVar[float] = DOUBLE  # relative error of a number in its sums
    result_unit: ClassVar[float] = DOUBLE  # and of the score that comes out

    def check(self, trained: Trained) -> None:
        """Raise a DataError if a model cannot run there."""
        kind = "linear" if trained.is_linear else "trees"
        if kind not in self.kinds:
            what = "linear models" if trained.is_linear else "trees"
            raise DataError(f"{self.name} does not take {what}")

    @abstractmethod
    def write(self, job: Job) -> Artifact:
        """Make the files; a DataError says why that is impossible."""

    @abstractmethod
    def scores(self, directory: Path, X: np.ndarray, names: list[str]) -> np.ndarray:
        """Score rows with the files of a directory, in the arithmetic of the target.

        Parameters
        ----------
        directory : Path
        X : array of shape (rows, features)
            NaN where there is no value.
        names : list of str
            Names of the columns.
        """


def nested(trees: TreeEnsemble, leaf: Callable[[int], Any], split: Callable[..., Any]) -> list[Any]:
    """Trees as values in each other: ``leaf(node)``, and ``split(node, left, right)`` of values."""
    if trees.depth > _DEEPEST:
        raise DataError(
            f"a tree has {trees.depth} levels of splits, and engines read at most {_DEEPEST}: "
            "train with a smaller max_depth"
        )
    made: list[Any] = [None] * len(trees.feature)
    for node in range(len(made)):  # children come first
        if trees.feature[node] < 0:
            made[node] = leaf(node)
        else:
            made[node] = split(node, made[trees.left[node]], made[trees.right[node]])
    return [made[root] for root in trees.roots.tolist()]


def to_json(value: Any) -> str:
    """JSON as files have it."""
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


def read_json(path: Path) -> Any:
    """Read a file of :func:`to_json`, whose trees may be deeper than other records."""
    return json.loads(path.read_text(encoding="utf-8"))


def listed(names: list[str]) -> str:
    """Names for a README, one in each line of an indented block, as JSON writes them."""
    return "\n".join(f"    {json.dumps(name)}" for name in names) or "    (none)"


def distinct(names: Iterable[str]) -> list[str]:
    """Names, with a number behind those that are there already."""
    made: dict[str, None] = {}
    for name in names:
        unique, number = name, 2
        while unique in made:
            unique, number = f"{name}_{number}", number + 1
        made[unique] = None
    return list(made)


def clash_notes(job: Job, clashes: list[tuple[int, float, float]]) -> list[str]:
    """What to say of values that single precision cannot tell apart."""
    if not clashes:
        return []
    node, below, above = clashes[0]
    name = job.names[job.trees.feature[node]]
    return [
        f"{len(clashes)} thresholds are between values of the data that are equal in single "
        f"precision, such as {below!r} and {above!r} of feature {name!r}: scale such features"
    ]
