"""What a paper prints and how it came about, as a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ranksieve.data import DataError
from ranksieve.reproduction.collections import CollectionFacts
from ranksieve.significance import unified_rank

if TYPE_CHECKING:
    import numpy as np

    from ranksieve.reproduction.curves import Curves, Finding
    from ranksieve.reproduction.features import Features
    from ranksieve.study import StudyFold

FOUR_DIGITS = 0.00005  # nearer than this is the same number of four digits

OnFolds = Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]
"""Collection -> method -> measure -> values on the folds."""
Means = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Collection -> method -> measure -> mean of the folds."""


class Asked(NamedTuple):
    """How near ours should be to what is published; None asks for nothing."""

    mean: float | None
    folds: float | None = None
    measures: tuple[str, ...] = ("MAP",)


class FoldAtHand(NamedTuple):
    """A fold that methods are trained on.

    Attributes
    ----------
    place : int
        Its place among the folds.
    data : StudyFold
    facts : CollectionFacts
    settings : mapping
        Method -> parameter -> published values on the folds.
    shared : dict
        What methods leave there for others on the same fold.
    """

    place: int
    data: StudyFold
    facts: CollectionFacts
    settings: Mapping[str, Mapping[str, Sequence[Any]]]
    shared: dict[str, Any]


class TrainedMethod(NamedTuple):
    """A method that was trained on a fold: its test scores, and what was chosen on the way."""

    scores: np.ndarray
    n_features: int
    chosen: Mapping[str, Any]
    model: Any = None


@dataclass(frozen=True)
class PaperMethod:
    """A method that a paper compares, and how it is run.

    Attributes
    ----------
    note : str
        Its settings and what is tuned, for readers.
    train : callable or None
        From its name, this candidate and a fold to what was trained. None if it is a selector of
        the paper's study; without a study, its numbers are only printed.
    settings : mapping
        Parameters on all folds.
    kept : str
        Attribute of the trained ranker that says what the validation queries chose.
    chosen : str
        For readers, what is as published where that is known, and else chosen by validation.
    asked : Asked or None
    label : str
        What tables call it; by default its name. ``{n}`` is the number of features.
    reading : str
        The reading of the paper that it belongs to; empty if it does not depend on that.
    stands_for : str
        The candidate of which it is another reading: what is published about it, and the selector.
    """

    note: str = ""
    train: Callable[[str, PaperMethod, FoldAtHand], TrainedMethod] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    kept: str = ""
    chosen: str = ""
    asked: Asked | None = None
    label: str = ""
    reading: str = ""
    stands_for: str = ""


class Statement(NamedTuple):
    """A sentence of a paper, and how to find what it says in curves of ours."""

    paper: str
    find: Callable[[Curves], Finding]


class FeatureStatement(NamedTuple):
    """A sentence of a paper, and how to find what it says in the features of the collection."""

    paper: str
    find: Callable[[Features], Finding]


@dataclass(frozen=True)
class Paper:
    """Published results, and the protocol by which they are made again.

    Attributes
    ----------
    name : str
        On the command line.
    title : str
        What tables call it.
    about : str
        Protocol, choices of ours and reference, in paragraphs of plain text.
    measures : sequence of str
    candidates : mapping of str to PaperMethod
        By name; those of a study are names of selectors.
    what : {"method", "ranker", ""}
        What candidates are called where some of them are asked for; empty if all are always run.
    always : sequence of str
        Candidates that are run whichever are asked for.
    study : mapping or None
        Arguments of :class:`ranksieve.study.Study` for candidates that are selectors; ``ks`` may
        depend on the number of features.
    readings : mapping
        Where a paper can be read in several ways, name -> arguments of the study that differ; the
        first has none.
    convention : str or None
        Convention of the measures; None for that of the collection.
    conventions : mapping of str to str
        Collection -> another convention.
    on_folds, means : mapping
        Published numbers.
    choices : mapping
        Collection -> candidate -> what the paper chose on each fold.
    settings : mapping
        Collection -> candidate -> parameter -> published values on each fold.
    best_numbers : mapping
        Selector and ranker -> collection -> number of features at the best result.
    statements : mapping
        Collection -> sentences about it.
    general_statements : sequence of Statement
        Sentences about all collections, for those that the paper does not have.
    unified_ranks : mapping
        Table -> candidate -> unified rank over all collections.
    asked_on : sequence of str
        Collections on which ours are asked to be as near as each method says.
    asked_elsewhere : Asked or None
        The same on other collections, for methods of which something is asked.
    fold_measures, mean_measures : sequence of str
        Measures of the tables of folds, and of means.
    groups : mapping of str to sequence of str
        Titles of the tables of means -> candidates; ``{title}`` is the collection.
    sources : mapping of str to str
        Collection, or empty for all -> which tables of the paper the numbers are from.
    notes : sequence of str
        For readers of the tables.
    shows_curves : bool
        Whether tables of measures by the number of features belong to it.
    figures : str
        Which figures of the paper ours are like.
    figure_lams : tuple of float
        Regularizations in its figures.
    """

    name: str
    title: str
    about: str
    measures: Sequence[str]
    candidates: Mapping[str, PaperMethod]
    what: Literal["method", "ranker", ""] = ""
    always: Sequence[str] = ()
    study: Mapping[str, Any] | None = None
    readings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    convention: str | None = None
    conventions: Mapping[str, str] = field(default_factory=dict)
    on_folds: OnFolds = field(default_factory=dict)
    means: Means = field(default_factory=dict)
    choices: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Mapping[str, Sequence[Any]]]] = field(default_factory=dict)
    best_numbers: Mapping[tuple[str, str], Mapping[str, int]] = field(default_factory=dict)
    statements: Mapping[str, Sequence[Statement | FeatureStatement]] = field(default_factory=dict)
    general_statements: Sequence[Statement] = ()
    unified_ranks: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    asked_on: Sequence[str] = ("MQ2008",)
    asked_elsewhere: Asked | None = None
    fold_measures: Sequence[str] = ()
    mean_measures: Sequence[str] = ()
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    shows_curves: bool = False
    figures: str = ""
    figure_lams: tuple[float, ...] = ()

    @property
    def paragraphs(self) -> list[str]:
        """What it is about, each paragraph on one line."""
        return [" ".join(part.split()) for part in self.about.split("\n\n")]

    @property
    def rankers(self) -> Sequence[str]:
        """Rankers of the study."""
        return () if self.study is None else self.study["rankers"]

    def choose(self, wanted: Iterable[str] | None, reading: str | None = None) -> list[str]:
        """The candidates to run, in the order of the paper; of one reading, or of all."""
        names = list(self.candidates if wanted is None else wanted)
        check_known(self.what, self.candidates, names)
        if reading is not None:
            check_known("reading", self.readings, [reading])
        return [
            name
            for name, candidate in self.candidates.items()
            if (name in names or name in self.always or candidate.stands_for in names)
            and (reading is None or candidate.reading in ("", reading))
        ]

    def study_of(self, name: str) -> str:
        """The reading in whose study a candidate is run; empty for the first."""
        reading = self.candidates[name].reading
        return reading if reading in list(self.readings)[1:] else ""

    def asked_of(self, name: str, collection: str | None) -> Asked | None:
        """How near a method is asked to be to what is published about a collection."""
        asked = self.candidates[name].asked
        if collection in self.asked_on or asked is None:
            return asked if collection in self.asked_on else None
        return self.asked_elsewhere

    def recompute_ranks(
        self, table: str, collections: Iterable[str] | None = None
    ) -> dict[str, float]:
        """Unified ranks of a table, from its rows for some collections, or for all.

        Examples
        --------
        >>> from ranksieve.reproduction import PAPERS
        >>> PAPERS["fs-scpr"].recompute_ranks("Table 11")
        {'fsmrank': 17.5, 'fs-scpr': 15.5, 'gas-e': 9.5, 'fsmsvm': 8.0}
        """
        names = list(self.unified_ranks[table])
        places = list(self.means if collections is None else collections)
        cells = [(place, measure) for place in places for measure in self.mean_measures]
        rows = [[self.means[place][name][measure] for place, measure in cells] for name in names]
        return dict(zip(names, unified_rank(rows).round(10).tolist(), strict=True))


def check_known(what: str, known: Iterable[str], names: Sequence[str]) -> None:
    """Raise a ValueError that lists the known names if one is unknown or there are none."""
    listed = ", ".join(known)
    if not names:
        raise DataError(f"there is no {what} to compare: name some of {listed}")
    for name in names:
        if name not in known:
            raise ValueError(f"{what} {name!r} is not in this paper; its {what}s are {listed}")
