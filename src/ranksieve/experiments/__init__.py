"""The engine of experiments, under studies, recommendations and reproductions.

A :class:`Trial` says which queries of a :class:`TrialSource` train, tune and judge. A cell, such as
:class:`Select` and :class:`Train`, is a unit of work on a trial. A :class:`Ledger` keeps the
results of cells, and a :class:`Runner` runs those that it lacks, for procedures that are
coroutines.
"""

from ranksieve.experiments.cells import (
    Cell,
    Describe,
    Facts,
    Key,
    Record,
    Select,
    Selected,
    Train,
    Trained,
    query_values,
)
from ranksieve.experiments.ledger import LEDGER, Head, Ledger
from ranksieve.experiments.runner import OutOfTimeError, Runner, TimeLimit, gather
from ranksieve.experiments.trials import (
    QuerySets,
    Trial,
    TrialData,
    TrialSource,
    check_distinct,
    prepare_trials,
)

__all__ = [
    "Trial",
    "TrialData",
    "QuerySets",
    "TrialSource",
    "prepare_trials",
    "check_distinct",
    "Cell",
    "Select",
    "Selected",
    "Train",
    "Trained",
    "Describe",
    "Facts",
    "Key",
    "Record",
    "query_values",
    "Ledger",
    "Head",
    "LEDGER",
    "Runner",
    "gather",
    "TimeLimit",
    "OutOfTimeError",
]
