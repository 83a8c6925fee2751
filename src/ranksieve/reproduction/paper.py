"""A paper as a value: its published numbers and its protocol.

read_on_folds and read_means read published tables from the CSV files in papers/.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ranksieve.data import DataError, RankingData
from ranksieve.significance import unified_rank

if TYPE_CHECKING:
    from ranksieve.experiments import TrialData
    from ranksieve.reproduction.statements import Finding
    from ranksieve.reproduction.training import Learned, TrainMethod
    from ranksieve.selectors import FSBFS


FOUR_DIGITS = 0.00005  # tolerance for numbers that are printed with four decimals

OnFolds = Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]
"""Collection -> method -> measure -> value on each fold."""
Means = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Collection -> method -> measure -> mean over the folds."""


class Tolerance(NamedTuple):
    """Largest difference from published numbers of a run that can be repeated exactly.

    None sets no limit.
    """

    mean: float | None
    folds: float | None = None
    measures: tuple[str, ...] = ("MAP",)


@dataclass(frozen=True)
class PaperMethod:
    """A method that a paper compares, and how it is run."""

    note: str = ""  # settings and tuned parameters, for readers
    # Trains the method on a fold. None for a selector of the paper's study; if the paper has no
    # study, only the published numbers are shown.
    train: Callable[[TrainMethod, TrialData], Learned] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)  # parameters on all folds
    # Attribute of the trained ranker with the value that was chosen on validation queries.
    chosen_attribute: str = ""
    # For readers: the parameter that is set as published if known, and otherwise chosen on
    # validation queries.
    chosen: str = ""
    # If the published run can be repeated; with ``chosen``, where that parameter is published.
    # Other numbers are judged by the noise of their difference from the paper's ``base``.
    tolerance: Tolerance | None = None
    label: str = ""  # name in tables, by default that of the method; {n} is the number of features
    reading: str = ""  # interpretation of the paper that it belongs to; empty for all
    # Selector that this is another interpretation of, and with whose published numbers it is
    # compared.
    stands_for: str = ""
    # Learns new features from training queries, if the rankers of the paper's study use new
    # features of the method instead of selected ones.
    construct: Callable[[RankingData], FSBFS] | None = None


class Statement(NamedTuple):
    """A statement of a paper, and the function that checks it on our ``Curves``."""

    paper: str
    find: Callable[[Any], Finding]


class FeatureStatement(Statement):
    """A statement that is checked on the ``Features`` instead."""


@dataclass(frozen=True)
class Paper:
    """Published results, and the protocol that reproduces them."""

    name: str  # on the command line
    title: str  # in tables
    about: str  # protocol, our choices and reference, in paragraphs of plain text
    measures: Sequence[str]
    candidates: Mapping[str, PaperMethod]  # by name; in a study, these are names of selectors
    # What candidates are called if users can pick some of them; empty if all are always run.
    what: Literal["method", "ranker", ""] = ""
    always: Sequence[str] = ()  # candidates that are always run
    # Arguments of ranksieve.study.Study for candidates that are selectors; ``ks`` may depend on
    # the number of features.
    study: Mapping[str, Any] | None = None
    # Interpretations of a paper that is ambiguous: name -> arguments of the study that differ; the
    # first has none.
    readings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    convention: str | None = None  # metric convention; None for that of the collection
    conventions: Mapping[str, str] = field(default_factory=dict)  # by collection, where it differs
    on_folds: OnFolds = field(default_factory=dict)
    means: Means = field(default_factory=dict)
    # Collection -> candidate -> published choice on each fold.
    choices: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]] = field(default_factory=dict)
    # Collection -> candidate -> parameter -> published value on each fold.
    settings: Mapping[str, Mapping[str, Mapping[str, Sequence[Any]]]] = field(default_factory=dict)
    # Selector and ranker -> collection -> number of features at the best result.
    best_numbers: Mapping[tuple[str, str], Mapping[str, int]] = field(default_factory=dict)
    # Collection -> statements about it.
    statements: Mapping[str, Sequence[Statement]] = field(default_factory=dict)
    general_statements: Sequence[Statement] = ()  # for collections that the paper does not have
    # Table -> candidate -> unified rank over all collections.
    unified_ranks: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    # Candidate from which all others must be told apart: the ranker on all features. Empty if all
    # published runs can be repeated.
    base: str = ""
    fold_measures: Sequence[str] = ()  # in the tables of folds
    mean_measures: Sequence[str] = ()  # in those of means
    # Title of a table of means -> candidates; {title} is the collection.
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # Collection, or empty for all -> tables of the paper that the numbers are from.
    sources: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()  # for readers of the tables
    shows_curves: bool = False  # whether to show tables of measures by the number of features
    figures: str = ""  # figures of the paper that ours correspond to
    figure_lams: tuple[float, ...] = ()  # regularization parameters in the figures

    @property
    def paragraphs(self) -> list[str]:
        """Paragraphs of ``about``, each on one line."""
        return [" ".join(part.split()) for part in self.about.split("\n\n")]

    @property
    def rankers(self) -> Sequence[str]:
        """Rankers of the study."""
        return () if self.study is None else self.study["rankers"]

    def choose(self, wanted: Iterable[str] | None, reading: str | None = None) -> list[str]:
        """Return the candidates to run, in the order of the paper, of one reading or of all."""
        names = list(self.candidates if wanted is None else wanted)
        check_known(self.what or "method", self.candidates, names)
        if reading is not None:
            check_known("reading", self.readings, [reading])
        return [
            name
            for name, candidate in self.candidates.items()
            if (name in names or name in self.always or candidate.stands_for in names)
            and (reading is None or candidate.reading in ("", reading))
        ]

    def study_of(self, name: str) -> str:
        """Return the reading in whose study a candidate is run; empty for the first."""
        reading = self.candidates[name].reading
        return reading if reading in list(self.readings)[1:] else ""

    def recompute_ranks(
        self, table: str, collections: Iterable[str] | None = None
    ) -> dict[str, float]:
        """Recompute the unified ranks of a table from published means, by default all of them.

        >>> from ranksieve.reproduction import PAPERS
        >>> PAPERS["fs-scpr"].recompute_ranks("Table 11")
        {'fsmrank': 17.5, 'fs-scpr': 15.5, 'gas-e': 9.5, 'fsmsvm': 8.0}
        """
        names = list(self.unified_ranks[table])
        used = self.means if collections is None else collections
        cells = [(collection, measure) for collection in used for measure in self.mean_measures]
        rows = [[self.means[c][name][measure] for c, measure in cells] for name in names]
        return dict(zip(names, unified_rank(rows).round(10).tolist(), strict=True))


def check_known(what: str, known: Collection[str], names: Sequence[str]) -> None:
    """Raise a ValueError that lists the known names if one is unknown or there are none."""
    listed = ", ".join(known)
    if not names:
        raise DataError(f"there is no {what} to compare: name some of {listed}")
    for name in names:
        if name not in known:
            others = f"its {what}s are {listed}" if known else f"it has no {what}s to choose from"
            raise ValueError(f"{what} {name!r} is not in this paper; {others}")


def read_on_folds(name: str) -> OnFolds:
    """Read a table whose columns are folds."""
    tables: dict[str, dict[str, dict[str, tuple[float, ...]]]] = {}
    for collection, method, measure, *folds in _rows(name)[1:]:
        values = tables.setdefault(collection, {}).setdefault(method, {})
        values[measure] = tuple(map(float, folds))
    return tables


def read_means(name: str) -> Means:
    """Read a table whose columns are measures."""
    tables: dict[str, dict[str, dict[str, float]]] = {}
    (_, _, *measures), *rows = _rows(name)
    for collection, method, *values in rows:
        means = dict(zip(measures, map(float, values), strict=True))
        tables.setdefault(collection, {})[method] = means
    return tables


def _rows(name: str) -> list[list[str]]:
    text = (Path(__file__).parent / "papers" / f"{name}.csv").read_text(encoding="ascii")
    return list(csv.reader(text.splitlines()))
