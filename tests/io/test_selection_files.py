"""Selections on disk: round trips, every way to be wrong, and streaming conversion with them."""

import json
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ranksieve import DataError, RankingData, make_ranking, write_letor, write_parquet
from ranksieve.io import files
from ranksieve.io.records import to_values
from ranksieve.io.selection import SelectedFeature, Selection, read_selection, write_selection
from ranksieve.io.shards import convert_to_shards, open_shards
from ranksieve.io.shards.filler import ShardFiller
from tests.io.test_letor import assert_identical

FEATURES = [SelectedFeature(3, "clicks", 0.5, "cluster 1"), SelectedFeature(0, "bm25", None, "")]
SELECTION = Selection("gas-e", {"c": 0.1, "solver": None}, 5, ["a.txt", "b"], "0.1", FEATURES)


def selected(*indices, n_features_in, names=None):
    """A selection of these indices; features have numbers unless they have names."""
    if names is None:
        names = [str(number + 1) for number in range(n_features_in)]
    features = [SelectedFeature(i, names[i], None, "") for i in indices]
    return Selection("top", {}, n_features_in, [], "0.1", features)


@pytest.mark.parametrize(
    ("own", "n_features", "names", "message"),
    [
        (None, 3, None, None),
        (None, 3, ["a", "b", "c"], None),
        (None, 2, None, "there are 2 features, but the .* 3; if"),
        (None, 4, None, "there are 4 features, .* from 3$"),
        (["a", "b", "c"], 3, ["a", "x", "c"], None),  # a feature that is left out anyway
        (["a", "b", "c"], 3, ["1", "2", "3"], None),  # numbers are no names
        (["a", "b", "c"], 3, None, None),
        (["a", "b", "c"], 3, ["a", "c", "b"], "feature 3 is 'b', but 'c' in the sel"),
    ],
)
def test_whether_it_fits(own, n_features, names, message):
    selection = selected(0, 2, n_features_in=3, names=own)
    wrong = pytest.raises(DataError, match=rf"^data\.txt: {message}")
    with wrong if message else nullcontext():
        selection.check_fits(n_features, names, "data.txt")


@given(
    st.lists(st.integers(0, 30), min_size=1, unique=True),
    st.lists(st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)), min_size=31),
    st.dictionaries(st.text(), st.one_of(st.none(), st.booleans(), st.integers(), st.text())),
)
def test_writing_and_reading_back_is_the_identity(tmp_path_factory, indices, scores, parameters):
    features = [SelectedFeature(i, f"f\u00e9{i}", scores[i], "why " * (i % 2)) for i in indices]
    selection = replace(SELECTION, n_features_in=31, features=features, parameters=parameters)
    path = tmp_path_factory.getbasetemp() / "selected.json"
    write_selection(selection, path)
    assert read_selection(path) == selection


def test_what_is_written(tmp_path):
    path = tmp_path / "selected.json"
    write_selection(SELECTION, path)
    record = json.loads(path.read_text())
    checksum = record.pop("checksum")
    assert record == {
        "method": "gas-e",
        "parameters": {"c": 0.1, "solver": None},
        "n_features_in": 5,
        "data": ["a.txt", "b"],
        "ranksieve": "0.1",
        "features": [
            {"index": 3, "name": "clicks", "score": 0.5, "reason": "cluster 1"},
            {"index": 0, "name": "bm25", "score": None, "reason": ""},
        ],
        "missing": None,
    }
    record["features"][0]["index"] = 4
    path.write_text(json.dumps(record))  # by hand, or by another program
    assert read_selection(path).features[0].index == 4
    more = record | {"seconds": 3, "features": [record["features"][1] | {"cost": 2}]}
    path.write_text(json.dumps(more))  # more than is needed may be there
    assert read_selection(path).features == FEATURES[1:]
    path.write_text(json.dumps(record | {"checksum": checksum}))
    with pytest.raises(
        DataError, match=r"selected.json: the file was changed after it was written; if"
    ):
        read_selection(path)
    assert SELECTION.columns.tolist() == [0, 3]


def test_an_error_leaves_the_old_file(tmp_path):
    path = tmp_path / "selected.json"
    path.write_text("old")
    with pytest.raises(ValueError, match="JSON compliant"):
        write_selection(replace(SELECTION, parameters={"c": np.inf}), path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["selected.json"]


# What the types of fields say is checked in test_records.


# What the types of fields say, and what is no JSON, is checked in test_records.
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": KeyError}, "'method' is missing"),
        ({"method": 3}, "'method' should be a text, not 3"),
        ({"data": [1]}, r"'data\[0\]' should be a text, not 1"),
        ({"features": []}, r"'features' should be a list of length >= 1, not \[\]"),
        ({"missing": {"policy": "mean", "indicators": []}}, "missing: missing must be one"),
        ({"missing": {"policy": "zero", "indicators": True}}, "'missing' should list the features"),
        (
            {"missing": {"policy": "zero", "indicators": [4]}},
            "missing has an indicator of feature 4, but there are only 4 features",
        ),
        (
            {"missing": {"policy": "zero", "indicators": ["1"]}},
            r"'missing.indicators\[0\]' should be a whole number, not '1'",
        ),
        (4, r"'features\[1\]' should be an object, not 4"),
        ({"index": KeyError}, r"'features\[1\].index' is missing"),
        ({"index": -1}, r"'features\[1\].index' should be a whole number >= 0, not -1"),
        ({"index": 5}, r"index 5 \(bm25\) is out of range: there are 5"),
        ({"index": 3}, r"index 3 \(bm25\) is selected twice"),
        ({"name": "clicks"}, "two features are named 'clicks'"),
        ({"score": "high"}, r"'features\[1\].score' should be a number or null, not 'high'"),
        ({"score": True}, r"'features\[1\].score' should be a number or null, not True"),
        ({"reason": KeyError}, r"'features\[1\].reason' is missing"),
    ],
)
def test_bad_shapes(tmp_path, changes, message):
    record = json.loads(json.dumps(to_values(SELECTION)))
    if not isinstance(changes, dict):
        record["features"][1] = changes
    else:
        of_feature = changes.keys() <= {"index", "name", "score", "reason"}
        part = record["features"][1] if of_feature else record
        for name, value in changes.items():
            part.pop(name) if value is KeyError else part.update({name: value})
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(record))
    with pytest.raises(DataError, match=r"bad\.json: " + message):
        read_selection(path)


def test_other_files(tmp_path):
    path = tmp_path / "bad.json"
    for text, message in (("[]", ": not a selection"), ('{\n"method": 1,,\n}', ":2: not JSON: ")):
        path.write_text(text)
        with pytest.raises(DataError, match=r"bad\.json" + message):
            read_selection(path)


@given(st.data())
def test_columns_of_narrow_and_wide_matrices(choose):
    n_features = choose.draw(st.integers(1, 8))
    width = choose.draw(st.integers(0, n_features))
    every = range(n_features)
    indices = choose.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    X = np.arange(1.0, 3 * width + 1).reshape(3, width)
    padded = np.column_stack([X, np.zeros((3, n_features - width))])
    selection = selected(*indices, n_features_in=n_features)
    np.testing.assert_array_equal(selection.take_from(X), padded[:, sorted(indices)])
    taken = selection.take_from(sparse.csr_matrix(X))
    np.testing.assert_array_equal(taken.toarray(), padded[:, sorted(indices)])


# Streaming conversion


@pytest.fixture
def named():
    """Data whose last two features come late: they are zero in the first queries."""
    rng = np.random.default_rng(3)
    X = np.where(rng.random((60, 6)) < 0.7, rng.normal(size=(60, 6)), 0)
    X[:40, 4:] = 0
    X[-1] = 1
    names = ["bm25", "tf", "clicks", "age", "links", "depth"]
    documents = np.array([f"d{row}" for row in range(60)], dtype=object)
    qid = np.repeat(np.arange(15), 4)
    return RankingData(X, rng.integers(0, 3, 60), qid, feature_names=names, doc_ids=documents)


@pytest.fixture(params=[".txt", ".txt.gz", ".parquet"])
def named_file(request, named, tmp_path):
    path = tmp_path / f"data{request.param}"
    (write_parquet if request.param == ".parquet" else write_letor)(named, path)
    return path


@pytest.mark.parametrize("as_csr", [False, True])
def test_conversion_keeps_the_selected_features(named, named_file, tmp_path, as_csr):
    for indices in ((4, 0), (5,), (1, 0), range(6)):
        selection = selected(*indices, n_features_in=6, names=named.feature_names)
        how = dict(sparse=as_csr, shard_bytes=100, overwrite=True)
        convert_to_shards(named_file, tmp_path / "kept", features=selection, **how)
        with open_shards(tmp_path / "kept", verify=True) as shards:
            assert shards.n_shards > 3
            assert shards.is_sparse == as_csr
            back = shards.read()
        assert_identical(named.take_features(sorted(indices)), back)


def test_features_that_come_late_in_sparse_text(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_CHUNK", 2_000)
    path = tmp_path / "late.txt"
    rows = [f"{n % 2} qid:{n // 2} 1:{n}.5\n" for n in range(1_000)]  # several pieces of text
    path.write_text("".join(rows) + "1 qid:last 2:3 4:7\n")
    for as_csr in (False, True):
        convert_to_shards(
            path, tmp_path / f"{as_csr}", features=selected(3, 0, n_features_in=4), sparse=as_csr
        )
        with open_shards(tmp_path / f"{as_csr}") as shards:
            assert shards.feature_names.tolist() == ["1", "4"]  # numbers that they had
            X = shards.read().X
        X = X.toarray() if as_csr else X
        np.testing.assert_array_equal(X[:, 0], [*np.arange(1_000) + 0.5, 0])
        assert X[:, 1].nonzero()[0].tolist() == [1_000]


def test_conversion_refuses_other_features(named_file, tmp_path):
    names = ["bm25", "tf", "price", "age", "links", "depth"]
    for n_features_in, options, message in (
        (7, {}, "there are 6 features, but .* made from 7"),
        (5, {}, "there are 6 features, but .* made from 5"),
        (7, {"n_features": 8}, "there are 8 features, but .* made from 7"),
        (6, {}, "feature 3 is 'clicks', but 'price' in the sel"),
    ):
        own = names if n_features_in == 6 else None
        selection = selected(2, 0, n_features_in=n_features_in, names=own)
        with pytest.raises(DataError, match=f"^{named_file}: {message}"):
            convert_to_shards(named_file, tmp_path / "kept", features=selection, **options)
    assert [path.name for path in tmp_path.iterdir()] == [named_file.name]


def test_width_that_text_cannot_tell(tmp_path):
    path = tmp_path / "narrow.txt"
    path.write_text("1 qid:1 1:3\n0 qid:1 2:4\n")
    selection = selected(4, 1, n_features_in=5)
    with pytest.raises(DataError, match="all zero, pass that number as n_features"):
        convert_to_shards(path, tmp_path / "kept", features=selection)
    convert_to_shards(path, tmp_path / "kept", features=selection, n_features=5)
    with open_shards(tmp_path / "kept") as shards:
        assert shards.read().X.tolist() == [[0, 0], [4, 0]]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".txt", ".parquet"])
def test_conversion_holds_few_values_at_a_time(tmp_path, monkeypatch, suffix):
    data, _ = make_ranking(500, docs_per_query=10)
    path = tmp_path / f"wide{suffix}"
    (write_letor if suffix == ".txt" else write_parquet)(data, path)
    shapes = []
    add = ShardFiller.add

    def spy(filler, piece):
        shapes.append(piece.X.shape)
        add(filler, piece)
        # No more than a shard, which ends with a query of ten rows of 24 bytes, and a piece.
        assert filler._bytes <= 3_000 + 24 * (10 + len(piece.y))

    monkeypatch.setattr(files, "_CHUNK", 2_000)
    monkeypatch.setattr(ShardFiller, "add", spy)
    selection = selected(7, 0, n_features_in=20)
    convert_to_shards(path, tmp_path / "kept", features=selection, shard_bytes=3_000)
    assert sum(rows for rows, _ in shapes) == data.n_rows
    assert max(rows for rows, _ in shapes) < data.n_rows / 50
    assert {width for _, width in shapes} == {2}  # cut before they are kept
