"""Cells for tests of the runner, and a procedure of them in a process of its own."""

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from ranksieve import limit_threads, make_ranking
from ranksieve.data import DataError
from ranksieve.experiments import (
    Head,
    Key,
    Ledger,
    QuerySets,
    Record,
    Runner,
    Trial,
    TrialSource,
    gather,
)

HEAD = Head(purpose="test", protocol="none", measures=["MAP"], tune="MAP", convention="standard")


class Noted(Record):
    value: float
    seconds: float = 0.0


class NoteKey(Key, tag="note"):
    number: int
    Result: ClassVar[type] = Noted


@dataclass
class Note:
    """A cell that does what a function does."""

    number: int
    do: object = None
    method: object = None
    runs: list = field(default_factory=list)

    def key(self, trial):
        return NoteKey(trial, self.number)

    def run(self, trial):
        self.runs.append(trial.name)
        value = self.do(trial) if self.do else self.number / 2
        return Noted(float(value), 0.5)


def open_ledger(directory):
    return Ledger(Path(directory) / "ledger.jsonl", HEAD, NoteKey)


def nap(trial):
    """A short rest, after which the value is that of the data."""
    time.sleep(0.01)
    return trial.train.X.sum()


async def add_up(run, n_trials=6, n_cells=10):
    """Cells that depend on one another, on several trials."""
    source = TrialSource.of(make_ranking(12, random_state=0)[0])
    trials = [Trial(str(n), source, QuerySets(np.arange(n))) for n in range(2, 2 + n_trials)]

    async def on(trial):
        first = await run(Note(0, nap), trial)
        others = await gather(*(run(Note(n, nap), trial) for n in range(1, n_cells)))
        return first.value + sum(other.value for other in others)

    return await gather(*(on(trial) for trial in trials))


def run_in_process(directory, address=None):
    """Run the procedure, on a cluster if its address is given; say what an error says."""
    client = None
    if address is not None:
        from distributed import Client

        client = Client(address)
    try:
        with limit_threads(2), Runner(open_ledger(directory), client) as run:
            found = run.finish(add_up(run))
            sys.stdout.write(f"{run.n_computed} {found}")
    except DataError as error:
        sys.stdout.write(str(error))
