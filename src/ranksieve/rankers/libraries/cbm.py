"""Read CatBoost's binary files (cbm) as far as it takes to check them.

CatBoost checks that the parts of a file are where it says, but not that splits, nodes and leaves
exist: it would read foreign memory. A file is the letters ``CBM1``, a size, and tables of
FlatBuffers: a table begins with the distance to a list of the distances to its fields, and a field
holds a number, or the distance to a table or vector.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

from ranksieve.data import DataError

# Places of fields in their tables.
_TREES, _INFO = 1, 2
_DIMENSION, _SPLITS, _SIZES, _STARTS = range(4)
_FLOAT_FEATURES = 5
_CATEGORIES, _ONE_HOT, _COUNTERS = 4, 6, 7  # features, and splits by their values or statistics
_OTHER_FEATURES = (12, 13, 18)  # texts and embeddings
_LEAF_VALUES, _LEAF_WEIGHTS, _STEPS, _LEAVES_OF_NODES = range(8, 12)
_BIASES, _BINS = 16, 17
_FLAT_INDEX, _BORDERS = 2, 3  # of a feature that is a number
_FLAT_INDEX_OF_CATEGORY = 1
_OF_CATEGORY, _VALUES = 0, 1  # of splits by values: the position of the category, its hashes
_COUNTER, _BORDERS_OF_COUNTER = 0, 1
_COUNTED, _COMBINED = 0, 0  # what a statistic is of, and the categories that it combines

_BORDERS_PER_BUCKET = 254  # values of a feature with more borders take several bytes
_MOST_FEATURES, _DEEPEST = 2**20, 16
_STEP = np.dtype([("left", "<u2"), ("right", "<u2")])
_BIN = np.dtype([("bucket", "<u2"), ("mask", "u1"), ("border", "u1")])


def check_cbm(content: bytes) -> None:
    """Raise a DataError unless the trees of a file are valid and have one score for each row."""
    try:
        trees = _core(content).table(_TREES)
        if any(trees.tables(field) for field in _OTHER_FEATURES):
            raise DataError("some of its features are texts or embeddings")
        if trees.integer(_DIMENSION) != 1 or len(trees.vector(_BIASES, "<f8")) > 1:
            raise DataError("the model has several scores for each row, but a ranker needs one")
        _check_trees(trees)
    except (struct.error, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("it is damaged or cut off") from None


def check_numbers(content: bytes) -> None:
    """Raise a DataError if a file has categories, whose codes in data it does not know."""
    try:
        trees = _core(content).table(_TREES)
        if any(trees.tables(field) for field in (_CATEGORIES, _ONE_HOT, _COUNTERS)):
            raise DataError("some of its features are categories or texts, not numbers")
    except (struct.error, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("it is damaged or cut off") from None


def read_training_parameters(content: bytes) -> Any:
    """Return what a file says of its training; raises a DataError if it is damaged."""
    try:
        for entry in _core(content).tables(_INFO):
            if entry.text(0) == "params":
                return json.loads(entry.text(1))
    except (struct.error, ValueError, RecursionError):
        raise DataError("it is damaged or cut off") from None
    return None


def _check_trees(trees: _Table) -> None:
    features = trees.tables(_FLOAT_FEATURES)
    columns = np.array([feature.integer(_FLAT_INDEX, -1) for feature in features], dtype=np.int64)
    of_categories = [c.integer(_FLAT_INDEX_OF_CATEGORY, -1) for c in trees.tables(_CATEGORIES)]
    categories = np.array(of_categories, dtype=np.int64)
    for kind in (columns, categories):
        _check(_ascend(kind) and _are_in(kind, _MOST_FEATURES), "features")
    _check(not np.intersect1d(columns, categories).size, "features")
    n_borders = np.array(
        [len(feature.vector(_BORDERS, "<f4")) for feature in features]
        + _count_splits_of_categories(trees, len(categories)),
        dtype=int,
    )
    n_buckets = int((-(-n_borders // _BORDERS_PER_BUCKET)).sum())

    splits, sizes = trees.vector(_SPLITS, "<i4"), trees.vector(_SIZES, "<i4").astype(np.int64)
    ends = np.cumsum(sizes)
    starts = trees.vector(_STARTS, "<i4")
    _check(_are_in(sizes, len(splits) + 1), "sizes of trees")
    _check(len(splits) == sizes.sum() and np.array_equal(starts, ends - sizes), "starts of trees")
    bins, steps = trees.vector(_BINS, _BIN), trees.vector(_STEPS, _STEP)
    at_least = 1 if len(steps) else 0  # single leaves have a split that is not used
    _check(_are_in(splits, max(at_least, int(n_borders.sum()))), "splits")
    _check(_are_in(bins["bucket"], max(at_least, n_buckets)), "splits")
    _check(len(bins) in (0, len(splits)), "splits")

    n_leaves = len(trees.vector(_LEAF_VALUES, "<f8"))
    _check(len(trees.vector(_LEAF_WEIGHTS, "<f8")) in (0, n_leaves), "weights of leaves")
    if not len(steps):
        _check(_are_in(sizes, _DEEPEST + 1) and (2**sizes).sum() == n_leaves, "leaves")
        return
    leaves = trees.vector(_LEAVES_OF_NODES, "<u4")
    _check(len(steps) == len(leaves) == len(splits) and bool((sizes > 0).all()), "nodes")
    last = np.repeat(ends, sizes) - np.arange(len(splits))  # steps lead ahead, within the tree
    _check(bool(((steps["left"] < last) & (steps["right"] < last)).all()), "nodes")
    ends_there = (steps["left"] == 0) | (steps["right"] == 0)
    _check(_are_in(leaves[ends_there], n_leaves), "leaves")


def _count_splits_of_categories(trees: _Table, n_categories: int) -> list[int]:
    """Splits of each category by its values, and of each statistic of categories by its borders.

    What the statistics are is not in the trees; a second process tries them.
    """
    by_value, counters = trees.tables(_ONE_HOT), trees.tables(_COUNTERS)
    used = [split.integer(_OF_CATEGORY, -1) for split in by_value]
    for counter in counters:
        combined = counter.table(_COUNTER).table(_COUNTED).table(_COMBINED)
        used += combined.vector(0, "<i4").tolist()
    _check(_are_in(np.array(used, dtype=np.int64), n_categories), "categories")
    return [
        *(len(split.vector(_VALUES, "<i4")) for split in by_value),
        *(len(counter.vector(_BORDERS_OF_COUNTER, "<f4")) for counter in counters),
    ]


def _are_in(values: np.ndarray, end: int) -> bool:
    return bool(((values >= 0) & (values < end)).all())


def _ascend(values: np.ndarray) -> bool:
    return bool((np.diff(values) > 0).all())


def _check(is_valid: bool, what: str) -> None:
    if not is_valid:
        raise DataError(f"the {what} do not fit together")


def _core(content: bytes) -> _Table:
    if content[:4] != b"CBM1":
        raise DataError("it should begin with CBM1")
    (size,) = struct.unpack_from("<I", content, 4)
    core = content[8 : 8 + size]
    if len(core) < size:
        raise DataError("it is cut off")
    return _Table(core, _follow(core, 0))


class _Table:
    """A table in a buffer; reading beyond the buffer raises a ValueError or struct.error."""

    def __init__(self, buffer: bytes, start: int) -> None:
        self._buffer, self._start = buffer, start
        self._fields = start - _unpack("<i", buffer, start)
        self._n_fields = (_unpack("<H", buffer, self._fields) - 4) // 2

    def _place(self, field: int) -> int | None:
        """Place of a field; None if it has its default."""
        if field >= self._n_fields:
            return None
        distance = _unpack("<H", self._buffer, self._fields + 4 + 2 * field)
        return self._start + distance if distance else None

    def integer(self, field: int, default: int = 0) -> int:
        place = self._place(field)
        return default if place is None else _unpack("<i", self._buffer, place)

    def table(self, field: int) -> _Table:
        place = self._place(field)
        if place is None:
            raise ValueError("no table")
        return _Table(self._buffer, _follow(self._buffer, place))

    def vector(self, field: int, kind: Any) -> np.ndarray:
        place = self._place(field)
        if place is None:
            return np.zeros(0, dtype=kind)
        start = _follow(self._buffer, place)
        return np.frombuffer(self._buffer, kind, _unpack("<I", self._buffer, start), start + 4)

    def tables(self, field: int) -> list[_Table]:
        place = self._place(field)
        if place is None:
            return []
        start = _follow(self._buffer, place) + 4
        places = start + 4 * np.arange(len(self.vector(field, "<u4")))
        return [_Table(self._buffer, _follow(self._buffer, at)) for at in places.tolist()]

    def text(self, field: int) -> str:
        return self.vector(field, "u1").tobytes().decode()


def _follow(buffer: bytes, place: int) -> int:
    return place + _unpack("<I", buffer, place)


def _unpack(form: str, buffer: bytes, place: int) -> int:
    if place < 0:  # it would count from the end
        raise ValueError("before the buffer")
    (value,) = struct.unpack_from(form, buffer, place)
    return int(value)
