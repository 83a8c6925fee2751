"""Weights of rows and positions: they stay with their rows, wherever these go."""

import numpy as np
import pytest

from ranksieve import Columns, DataError, RankingData, read_parquet
from ranksieve.data.joining import concatenate
from ranksieve.data.ranking_data import fingerprint
from ranksieve.engine import engine_of
from ranksieve.engine.engines import block_runs
from ranksieve.io.delimited import read_csv
from ranksieve.io.letor import write_letor
from ranksieve.io.parquet import write_parquet
from ranksieve.io.shards import convert_to_shards, open_shards, write_shards


@pytest.fixture(scope="module")
def data():
    """Each row has a feature, a weight and a position that tell which row it is."""
    rows = np.arange(60)
    return RankingData(
        rows[:, None].astype(float),
        rows % 3,
        np.random.default_rng(0).integers(0, 9, 60),  # rows of a query are not adjacent
        row_weights=rows / 8,
        positions=2 * rows,
    )


def assert_with_their_rows(part):
    dense = np.asarray(part.X).ravel()
    np.testing.assert_array_equal(part.row_weights, dense / 8)
    np.testing.assert_array_equal(part.positions, 2 * dense)
    assert part.positions.dtype == np.int64


def test_grouping_and_parts(data):
    assert not np.array_equal(data.row_order, np.arange(60))
    assert_with_their_rows(data)
    parts = data.take_queries([5, 1, 3]), data.take_queries([6, 7, 8])
    for part in (*parts, concatenate(parts), data.take_features([0])):
        assert_with_their_rows(part)
    for first, last in block_runs(data, 64):
        assert_with_their_rows(data.take_queries(range(first, last)))
    assert len(block_runs(data, 64)) > 3
    engine_of(data, 64).collect(assert_with_their_rows)


def test_joining_parts_of_which_one_has_none(data):
    parts = data.take_queries([0, 1]), data.take_queries([2]).with_row_weights(None)
    ones = parts[1].n_rows
    assert concatenate(parts).row_weights.tolist()[-ones:] == [1.0] * ones
    with pytest.raises(DataError, match="part 2 has no positions, which others have"):
        concatenate([parts[0], parts[1].with_positions(None)])


def test_replacing_takes_the_order_of_the_input(data):
    bare = data.with_row_weights(None).with_positions(None)
    assert bare.row_weights is None
    assert bare.positions is None
    rows = np.arange(60)
    again = bare.with_row_weights(rows / 8).with_positions(2 * rows)
    assert_with_their_rows(again)
    assert fingerprint(again) == fingerprint(data)
    others = bare, data.with_positions(None), data.with_row_weights(None)
    assert len({fingerprint(one) for one in (data, *others)}) == 4
    with pytest.raises(DataError, match="part of a larger input"):
        data.take_queries([8]).with_row_weights(np.ones(data.group_counts[8]))


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("row_weights", [1, -1], "row_weights must be finite and not negative"),
        ("row_weights", [1, np.nan], "row_weights must be finite"),
        ("row_weights", [1], r"row_weights has shape \(1,\), but there are 2 rows"),
        ("positions", [1, 1.5], "whole numbers from 0 on, but row 1 has 1.5; give documents that"),
        ("positions", [-1, 1], "row 0 has -1"),
        ("positions", ["a", "b"], "positions must be whole numbers"),
        ("positions", [1, 2, 3], "positions has 3 entries but X has 2 rows"),
    ],
)
def test_what_is_refused(name, values, message):
    with pytest.raises(DataError, match=message):
        RankingData([[1.0], [2.0]], [0, 1], [1, 1], **{name: values})


def test_files(data, tmp_path):
    write_parquet(data, tmp_path / "rows.parquet")
    assert_with_their_rows(read_parquet(tmp_path / "rows.parquet"))
    convert_to_shards(tmp_path / "rows.parquet", tmp_path / "converted", shard_bytes=200)
    write_shards(data, tmp_path / "written", shard_bytes=200)
    for directory in ("converted", "written"):
        with open_shards(tmp_path / directory) as shards:
            assert shards.n_shards > 2
            assert_with_their_rows(shards.read())
            assert_with_their_rows(shards.read_shard(1))
            engine_of(shards).collect(assert_with_their_rows)
            bare = shards.with_row_weights(None)
            assert bare.row_weights is None
            assert bare.read().row_weights is None
            assert bare.block(0).row_weights is None
            assert bare.with_positions(None).read_shard(0).positions is None
            with pytest.raises(DataError, match="cannot be changed: write shards with them"):
                shards.with_positions(data.positions)
    for part in (data, data.with_row_weights(None)):
        with pytest.raises(DataError, match="LETOR text cannot store the (weights of rows|posit)"):
            write_letor(part, tmp_path / "rows.txt")


def test_shards_of_which_some_have_none(data, tmp_path):
    few = data.take_queries([0, 1]), data.take_queries([2, 3]).with_row_weights(None)
    write_shards(few, tmp_path / "some", shard_bytes=10)
    with open_shards(tmp_path / "some") as shards:
        expected = np.concatenate([few[0].row_weights, np.ones(few[1].n_rows)])
        np.testing.assert_array_equal(shards.row_weights, expected)
    with pytest.raises(DataError, match=r"(shard|part) \d has no positions"):
        write_shards([few[0], few[1].with_positions(None)], tmp_path / "none", shard_bytes=10)


def test_columns_are_named_and_never_guessed(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(
        "query,label,row_weight,position,bm25\na,1,2.5,3,7\na,0,1,1,8\n", encoding="utf-8"
    )
    assert read_csv(path).feature_names.tolist() == ["row_weight", "position", "bm25"]
    log = read_csv(path, Columns(row_weight="row_weight", position="position"))
    assert log.feature_names.tolist() == ["bm25"]
    assert (log.row_weights.tolist(), log.positions.tolist()) == ([2.5, 1.0], [3, 1])
    path.write_text("query,label,shown,bm25\na,1,,7\na,0,1,8\n", encoding="utf-8")
    with pytest.raises(DataError, match="log.csv: row 2: column 'shown' has no value"):
        read_csv(path, Columns(position="shown"))
