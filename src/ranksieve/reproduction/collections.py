"""Recognize a published collection by its numbers of rows, queries and features."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ranksieve.data import RankingData
from ranksieve.datasets import Collection, open_collection
from ranksieve.experiments import Trial
from ranksieve.metrics import get_convention
from ranksieve.study import Protocol

OHSUMED_25 = "OHSUMED of LETOR 2"  # has 25 features; since LETOR 3, OHSUMED has 45
N_FOLDS = 5  # the collections in the papers have five folds


class Known(NamedTuple):
    """A collection that papers use; None stands for any number."""

    name: str
    n_rows: int | None
    n_queries: int | None
    n_features: int
    convention: str


KNOWN = (
    Known("MQ2007", 69_623, None, 46, "letor4"),  # papers print 1,700 queries
    Known("MQ2008", 15_211, 784, 46, "letor4"),
    Known("OHSUMED", 16_140, 106, 45, "letor3"),
    Known(OHSUMED_25, 16_140, 106, 25, "letor3"),
    Known("HP2004", 74_409, 75, 64, "letor3"),
    Known("NP2004", 73_834, 75, 64, "letor3"),
    Known("TD2004", None, 75, 44, "letor3"),  # called .gov in the GAS paper
)
CONVENTION = "letor4"  # for unknown collections


@dataclass(frozen=True)
class CollectionFacts:
    """Facts about the collection of a reproduction."""

    title: str  # name of the collection in tables
    known_as: str | None  # name of the collection in the papers; None if no paper has it
    convention: str  # metric convention
    n_queries: int
    n_features: int
    # Name of a published collection that has the same size but other values, as papers use files
    # that are normalized within queries to 0 to 1. None if there is no such collection.
    unnormalized: str | None = None

    @property
    def warning(self) -> str | None:
        """Warning that numbers cannot be compared with published ones; None if they can."""
        if self.unnormalized is None:
            return None
        return (
            f"This collection has the size of {self.unnormalized}, but values that are missing or "
            "outside the range from 0 to 1. Published numbers are for files that were normalized "
            "within queries (LETOR's QueryLevelNorm), so they are not compared with ours. Use "
            "those files, or normalize yours with ranksieve convert --scale min-max."
        )

    def as_dict(self) -> dict[str, Any]:
        """Convert to JSON values."""
        return {
            "collection": self.title,
            "known_as": self.known_as,
            "unnormalized": self.unnormalized,
            "convention": self.convention,
            "ties": get_convention(self.convention).ties,
            "queries": self.n_queries,
            "features": self.n_features,
        }


@dataclass(frozen=True)
class AtHand:
    """The user's collection, as returned by :func:`open_at_hand`."""

    collection: Collection
    trials: list[Trial]  # folds of the collection; files that they share are read once
    facts: CollectionFacts


def open_at_hand(directory: str | os.PathLike[str], convention: str | None = None) -> AtHand:
    """Open a collection with folds and recognize it; reads its first fold.

    The convention is by default that of the papers about the collection, or ``"letor4"``.
    """
    if convention is not None:
        get_convention(convention)
    collection = open_collection(directory)
    trials = Protocol("letor").trials(collection)
    fold = trials[0].open()
    parts = fold.parts
    n_rows, n_queries = sum(part.n_rows for part in parts), sum(part.n_queries for part in parts)
    n_features = fold.train.n_features
    known = recognize(n_rows, n_queries, n_features) if len(trials) == N_FOLDS else None
    convention = convention or (CONVENTION if known is None else known.convention)
    facts = CollectionFacts(collection.name, None, convention, n_queries, n_features)
    if known is not None and all(map(_is_normalized, parts)):
        facts = replace(facts, title=known.name, known_as=known.name)
    elif known is not None:
        facts = replace(facts, title=f"{known.name} (not normalized)", unnormalized=known.name)
    return AtHand(collection, trials, facts)


def _is_normalized(data: RankingData) -> bool:
    """Whether all values are between 0 and 1 and none is missing."""
    values = data.X.data if data.is_sparse else data.X
    return bool(values.size == 0 or (values.min() >= 0 and values.max() <= 1))


def recognize(n_rows: int, n_queries: int, n_features: int) -> Known | None:
    """Return the published collection with these numbers; None if it is unknown.

    >>> recognize(15_211, 784, 46).name
    'MQ2008'
    """
    sizes = (n_rows, n_queries, n_features)
    for known in KNOWN:
        if all(own in (None, size) for own, size in zip(known[1:4], sizes, strict=True)):
            return known
    return None
