"""Layouts of known collections on disk."""

import gzip

import numpy as np
import pyarrow
import pytest

from ranksieve import DataError
from ranksieve.datasets import fold_files, open_collection
from ranksieve.progress import listen


def text(query, width=2, rows=2):
    """Rows of one query whose last feature is ``width``."""
    return "".join(f"{row} qid:{query} 1:{query}.5 {width}:{row + 1}\n" for row in range(rows))


def write(path, content):
    """Write text, compressed as the suffix says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zst":
        with pyarrow.CompressedOutputStream(str(path), "zstd") as stream:
            stream.write(content.encode())
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(content.encode()))
    else:
        path.write_text(content)


def write_parts(directory, suffix=".txt"):
    for number in range(1, 6):
        write(directory / f"S{number}{suffix}", text(number, width=number + 1))
    return directory


def queries(fold):
    return [None if part is None else part.query_ids.tolist() for part in fold]


LETOR_FOLDS = [
    [[1, 2, 3], [4], [5]],
    [[2, 3, 4], [5], [1]],
    [[3, 4, 5], [1], [2]],
    [[4, 5, 1], [2], [3]],
    [[5, 1, 2], [3], [4]],
]


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".txt.zst"])
def test_parts_are_rotated_into_folds(tmp_path, suffix, monkeypatch):
    collection = open_collection(write_parts(tmp_path / "MQ0", suffix))
    assert (collection.name, collection.layout) == ("MQ0", "parts")
    assert [fold.name for fold in collection.folds] == [f"Fold{number}" for number in range(1, 6)]
    files = [f"S{number}{suffix}" for number in range(1, 6)]
    assert [path.name for path in collection.folds[4].train] == [files[4], *files[:2]]
    assert [queries(collection.read_fold(fold)) for fold in range(5)] == LETOR_FOLDS
    opened, original = [], fold_files.read_letor
    monkeypatch.setattr(
        fold_files,
        "read_letor",
        lambda path, **how: opened.append(path.name) or original(path, **how),
    )
    assert [queries(read()) for read in collection.fold_readers()] == LETOR_FOLDS
    assert sorted(opened) == files  # each once
    reports = []
    with listen(lambda what, done, total: reports.append((done, total))):
        data = collection.read_all()
    assert (data.query_ids.tolist(), data.n_features) == ([1, 2, 3, 4, 5], 6)
    size = sum(path.stat().st_size for path in collection.folds[0].files)
    assert reports == sorted(reports)
    assert {total for _, total in reports} == {reports[-1][0]} == {size}  # of all files


def test_files_of_a_fold_may_differ(tmp_path):
    """Parts get the features and the names of the widest, and keep the order of their rows."""
    write(tmp_path / "train.txt", "#1:bm25\n#2:links\n0 qid:1 1:1\n1 qid:2 1:2\n2 qid:1 2:3\n")
    write(tmp_path / "test.txt", text(3, width=4))
    for sparse in (False, True):
        train, _, test = open_collection(tmp_path).read_fold(0, sparse=sparse, dtype="float32")
        for part, X in (
            (train, [[1, 0, 0, 0], [0, 3, 0, 0], [2, 0, 0, 0]]),
            (test, [[3.5, 0, 0, 1], [3.5, 0, 0, 2]]),
        ):
            assert (part.is_sparse, part.X.dtype) == (sparse, np.float32)
            assert (part.X.toarray() if sparse else part.X).tolist() == X
            assert part.feature_names.tolist() == ["bm25", "links", "3", "4"]
        assert train.to_input_order(train.y).tolist() == [0, 1, 2]
    write(tmp_path / "test.txt", "#1:links\n" + text(2))
    with pytest.raises(DataError, match=r"train\.txt: its feature names differ from those"):
        open_collection(tmp_path).read_fold(0)


LETOR3 = [f"{name}.txt" for name in ("trainingset", "validationset", "testset")]
LETOR4 = [f"{name}.txt" for name in ("train", "vali", "test")]
YAHOO = [f"set{number}.{name}.txt" for number in (1, 2) for name in ("train", "valid", "test")]
FOLDS = [f"Fold{number}/{name}" for number in (1, 2, 10) for name in LETOR4]
NORMS = [f"{norm}/Fold1/{name}" for norm in ("Feature-min", "QueryLevelNorm") for name in LETOR3]
VERSIONS = [f"{inner}/{name}" for inner in ("full", "sample") for name in LETOR4]
PARTS = [f"S{number}.txt" for number in range(1, 6)]


@pytest.mark.parametrize(
    ("files", "subset", "layout", "names", "first"),
    [
        (FOLDS, None, "folds", ["Fold1", "Fold2", "Fold10"], [[1], [2], [3]]),
        (FOLDS, "fold2", "folds", ["Fold2"], [[4], [5], [6]]),
        ([f"Fold1/{name}" for name in LETOR3], None, "folds", ["Fold1"], [[1], [2], [3]]),
        ([f"Fold1/{name.title()}" for name in LETOR4], None, "folds", ["Fold1"], [[1], [2], [3]]),
        ([*PARTS, "Fold1/train.txt", "Fold1/test.txt"], None, "folds", ["Fold1"], [[6], None, [7]]),
        (NORMS, None, "folds", ["Fold1"], [[4], [5], [6]]),
        (NORMS, "Feature-min", "folds", ["Fold1"], [[1], [2], [3]]),
        (YAHOO, None, "sets", ["set1", "set2"], [[1], [2], [3]]),
        (YAHOO, "set2", "sets", ["set2"], [[4], [5], [6]]),
        (LETOR4, None, "single", ["Fold1"], [[1], [2], [3]]),
        (["train.txt", "test.txt"], None, "single", ["Fold1"], [[1], None, [2]]),
        (["full/train.txt", "full/test.txt"], None, "single", ["Fold1"], [[1], None, [2]]),
        (["sample/train.txt", "sample/test.txt"], None, "single", ["Fold1"], [[1], None, [2]]),
        (VERSIONS, "sample", "single", ["Fold1"], [[4], [5], [6]]),
    ],
)
def test_layouts(tmp_path, files, subset, layout, names, first):
    for number, name in enumerate(files, start=1):
        write(tmp_path / "some" / name, text(number, width=number + 1))
    collection = open_collection(tmp_path / "some", subset=subset)
    assert (collection.name, collection.layout) == ("some", layout)
    assert [fold.name for fold in collection.folds] == names
    parts = collection.read_fold(0)
    assert queries(parts) == first
    assert len({part.n_features for part in parts if part is not None}) == 1
    assert queries(collection.fold_readers()[0]()) == first
    if len(names) == 1 or layout != "sets":
        whole = [query for part in first if part is not None for query in part]
        assert collection.read_all().query_ids.tolist() == whole


@pytest.mark.parametrize(
    ("files", "subset", "message"),
    [
        ([], None, "no known layout; did not find any of Fold1/train.txt .* S1.txt.*Yahoo!.*Istel"),
        (["notes.txt", "full/notes.txt"], None, "no known layout"),
        (PARTS[:2] + PARTS[3:], None, "S3 of S1..S5 is missing"),
        (
            [*FOLDS[:3], "Fold2/train.txt", "Fold2/test.txt"],
            None,
            "Fold2: there is no vali or validationset file, which other folds have",
        ),
        (["Fold1/train.txt"], None, "train.txt: there is no test file next to it"),
        (["Fold1/train.txt", "Fold1/test.txt", "Fold2/test.txt"], None, "Fold2: there is no train"),
        (YAHOO[:2], None, "set1.train.txt: there is no test file next to it"),
        (YAHOO, "set3", "did not find a fold or directory 'set3'"),
        (VERSIONS, None, "several collections: pass subset='full' or 'sample'"),
    ],
)
def test_unknown_and_incomplete_layouts(tmp_path, files, subset, message):
    for name in files:
        write(tmp_path / name, text(1))
    with pytest.raises(DataError, match=message):
        open_collection(tmp_path, subset=subset)


def test_what_cannot_be_read(tmp_path):
    for number, name in enumerate(YAHOO, start=1):
        write(tmp_path / "yahoo" / name, text(number))
    yahoo, twice = open_collection(tmp_path / "yahoo"), write_parts(tmp_path / "twice")
    write(twice / "S2.txt", text(1))
    for attempt, error, message in (
        (lambda: open_collection(tmp_path / "nowhere"), DataError, "no such directory"),
        (
            lambda: open_collection(twice / "S1.txt"),
            DataError,
            "is a file; read it with read_letor",
        ),
        (lambda: yahoo.read_fold(2), DataError, "has folds 0 to 1, got 2"),
        (lambda: yahoo.read_fold(0, widht=3), TypeError, "widht"),
        (yahoo.read_all, DataError, "open it with subset='set1' or 'set2'"),
        (
            lambda: open_collection(twice).read_fold(0),
            DataError,
            "query 1 occurs in parts 1 and 2",
        ),
    ):
        with pytest.raises(error, match=message):
            attempt()


def test_mq2008(mq2008_dir):
    collection = open_collection(mq2008_dir)
    folds = [read() for read in collection.fold_readers()]
    whole = collection.read_all()

    assert (collection.name, collection.layout) == ("MQ2008", "parts")
    assert (whole.n_queries, whole.n_rows, whole.n_features) == (784, 15_211, 46)
    assert np.bincount(whole.y.astype(int)).size == 3
    assert sum(test.n_rows for _, _, test in folds) == 15_211
    for train, vali, test in folds:
        ids = np.concatenate([part.query_ids for part in (train, vali, test)])
        assert set(ids) == set(whole.query_ids)
    np.testing.assert_array_equal(folds[0][0].X, whole.X[: folds[0][0].n_rows])
    train, vali, test = collection.read_fold(4)
    np.testing.assert_array_equal(folds[4][0].X, train.X)
    np.testing.assert_array_equal(folds[4][0].doc_ids, train.doc_ids)
    np.testing.assert_array_equal(folds[4][1].qid, vali.qid)
    np.testing.assert_array_equal(folds[4][2].y, test.y)
