"""Random trees in every engine: each row of float32 numbers ends in the leaf where it belongs."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve.data import DataError
from ranksieve.export import TARGETS
from ranksieve.export.directory import write_files
from ranksieve.export.forms import TreeBuilder
from ranksieve.export.reading import TrainedRanker
from ranksieve.export.single_precision import next_above, round_down
from ranksieve.export.targets.target import Job

NAMES = ["a", "b c", "\u00fc"]
scales = st.floats(-8, 8).map(lambda exponent: 10.0**exponent)
signs = st.sampled_from([-1.0, 1.0, 0.0])
thresholds = st.tuples(scales, signs).map(lambda pair: pair[0] * pair[1])


@st.composite
def forests(draw):
    """Trees whose leaves are powers of two, so that a sum in float32 tells all leaves."""
    builder = TreeBuilder()

    def add(depth):
        if depth == 0 or draw(st.integers(0, 4)) == 0:
            return builder.add_leaf(draw(st.integers(-4, 4)) / 8)
        feature, cut, left = draw(st.integers(0, 2)), draw(thresholds), draw(st.booleans())
        return builder.add_split(feature, cut, left, add(depth - 1), add(depth - 1))

    for _ in range(draw(st.integers(1, 3))):
        builder.end_tree(add(draw(st.integers(0, 3))))
    return builder.build(3)


def rows_at(trees, rng):
    """Rows at, right above and between thresholds, with zeros and gaps."""
    cuts = round_down(trees.threshold[trees.splits])
    picks = np.concatenate([cuts, next_above(cuts), np.float32([0, 1, -1e30, 1e30])])
    X = rng.choice(picks, (60, 3)).astype(np.float64)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


@pytest.mark.parametrize(
    "target",
    [name for name, target in TARGETS.items() if target.is_engine and name != "solr"] + ["python"],
)
@given(trees=forests(), seed=st.integers(0, 99), rule=st.sampled_from(["nan", "zero"]))
def test_rows_end_in_their_leaves(target, trees, seed, rule):
    check(target, trees, seed, rule)


@given(trees=forests(), seed=st.integers(0, 99), rule=st.sampled_from(["nan", "zero"]))
def test_solr_is_right_or_refuses(trees, seed, rule):
    try:
        check("solr", trees, seed, rule)
    except DataError as error:
        if "Solr adds 1e-6 to thresholds, and cannot reach" not in str(error):
            raise


def check(target, trees, seed, rule):
    X = rows_at(trees, np.random.default_rng(seed))
    model = trees.with_missing_as_zero() if rule == "zero" else trees
    served = np.where(np.isnan(X), 0.0, X) if rule == "zero" else X
    trained = TrainedRanker(None, "", trees, NAMES, True)
    job = Job(trained, model, NAMES, "model", rule)
    with tempfile.TemporaryDirectory() as directory:
        write_files(Path(directory), TARGETS[target].write(job).files)
        found = TARGETS[target].scores(Path(directory), X, NAMES)
    np.testing.assert_array_equal(found, trees.scores(served))
