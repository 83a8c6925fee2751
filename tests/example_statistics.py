"""Statistics that the engine's tests run; Dask workers import them from here."""

import time

import numpy as np

from ranksieve.engine import changes_state, starts_over


def count_rows(block, factor=1, *, more=0):
    """A function of a block, and nothing else."""
    return len(block.y) * factor, np.full(2, more)


class Sizes:
    """Returns of every kind that may be added up."""

    def __init__(self, block, factor):
        self.block = block
        self.factor = factor

    def rows(self):
        return len(self.block.y) * self.factor

    def several(self):
        return len(self.block.y), np.bincount(self.block.y.astype(int), minlength=10), 0.5

    def kept(self):
        """An array that stays in use: the engine must not add to it."""
        self.own = getattr(self, "own", np.ones(2))
        return self.own

    def broken(self):
        raise ValueError("broken on purpose")


class DoubleSizes(Sizes):
    """A subclass that has one method of its own."""

    def rows(self):
        return 2 * super().rows()


class Rounds:
    """State over many rounds that depends on every call so far."""

    def __init__(self, block, seconds=0.0):
        self.block = block
        self.seconds = seconds
        self.state = np.zeros(len(block.y))

    @changes_state
    def step(self, weights):
        time.sleep(self.seconds)
        self.state = np.tanh(self.state + self.block.X @ weights)
        return self.block.X.T @ self.state

    @starts_over()
    def begin(self, value):
        self.state = np.full(len(self.block.y), value)

    def products(self, weights):
        """Nothing that later calls depend on."""
        return self.state @ (self.block.X @ weights)


class Awkward:
    """A sum that depends on the order of its terms."""

    def __init__(self, block):
        self.first_row = block.first_row

    def term(self):
        return np.array([1e16 if self.first_row == 0 else 1.0])


class ColumnTotals:
    """Sums of features, and whether missing values are kept."""

    def __init__(self, block):
        self.block = block

    def totals(self):
        return np.asarray(self.block.X).sum(axis=0)

    def keeps(self):
        return int(self.block.keeps_missing)
