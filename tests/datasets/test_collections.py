"""Layouts of known collections on disk."""

import gzip

import numpy as np
import pyarrow
import pytest

from ranksieve import DataError, concatenate
from ranksieve.datasets import fold_files, open_collection
from ranksieve.io.letor import read_letor
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
def test_parts_are_rotated_into_folds(tmp_path, suffix):
    collection = open_collection(write_parts(tmp_path / "MQ0", suffix))

    assert (collection.name, collection.layout) == ("MQ0", "parts")
    assert [fold.name for fold in collection.folds] == [f"Fold{number}" for number in range(1, 6)]
    assert [path.name for path in collection.folds[4].train] == [
        f"S{number}{suffix}" for number in (5, 1, 2)
    ]
    assert [queries(collection.read_fold(fold)) for fold in range(5)] == LETOR_FOLDS
    assert [queries(read()) for read in collection.fold_readers()] == LETOR_FOLDS


@pytest.mark.parametrize("sparse", [False, True])
def test_narrow_files_get_the_features_of_the_widest(tmp_path, sparse):
    collection = open_collection(write_parts(tmp_path))

    train, vali, test = collection.read_fold(4, sparse=sparse, dtype="float32")

    for part in (train, vali, test):
        assert part.n_features == 6
        assert part.is_sparse == sparse
        assert part.X.dtype == np.float32
        assert part.feature_names.tolist() == list("123456")
    dense = train.X.toarray() if sparse else train.X
    expected = np.zeros((6, 6))
    expected[:, 0] = [5.5, 5.5, 1.5, 1.5, 2.5, 2.5]
    expected[[0, 1], 5] = expected[[2, 3], 1] = expected[[4, 5], 2] = [1, 2]
    np.testing.assert_array_equal(dense, expected)


def test_rotation_has_the_rows_of_the_files_of_each_fold(tmp_path):
    collection = open_collection(write_parts(tmp_path))

    for read, files in zip(collection.fold_readers(), collection.folds, strict=True):
        for part, paths in zip(read(), (files.train, files.vali, files.test), strict=True):
            other = concatenate([read_letor(path, n_features=6) for path in paths])
            np.testing.assert_array_equal(part.X, other.X)
            np.testing.assert_array_equal(part.y, other.y)
            np.testing.assert_array_equal(part.qid, other.qid)


def test_rotation_reads_each_file_once(tmp_path, monkeypatch):
    opened, original = [], fold_files.read_letor

    def counting(path, **options):
        opened.append(path.name)
        return original(path, **options)

    monkeypatch.setattr(fold_files, "read_letor", counting)
    assert len([read() for read in open_collection(write_parts(tmp_path)).fold_readers()]) == 5
    assert sorted(opened) == [f"S{number}.txt" for number in range(1, 6)]


@pytest.mark.parametrize(
    "names",
    [
        ("train", "vali", "test"),
        ("trainingset", "validationset", "testset"),
        ("Train", "Vali", "Test"),
    ],
)
def test_fold_directories(tmp_path, names):
    for fold in (1, 2, 10):
        for offset, name in enumerate(names):
            write(tmp_path / f"Fold{fold}" / f"{name}.txt", text(3 * fold + offset))

    collection = open_collection(tmp_path)

    assert collection.layout == "folds"
    assert [fold.name for fold in collection.folds] == ["Fold1", "Fold2", "Fold10"]
    assert queries(collection.read_fold(0)) == [[3], [4], [5]]
    assert [queries(read()) for read in collection.fold_readers()][2] == [[30], [31], [32]]
    assert open_collection(tmp_path, subset="fold2").folds == collection.folds[1:2]
    assert open_collection(tmp_path / "Fold1").layout == "single"


def test_folds_below_query_level_norm(tmp_path):
    for version in ("Feature-min", "QueryLevelNorm"):
        for offset, name in enumerate(("trainingset", "validationset", "testset")):
            write(tmp_path / version / "Fold1" / f"{name}.txt", text(1 + offset))

    chosen = open_collection(tmp_path).folds[0].train[0]
    other = open_collection(tmp_path, subset="Feature-min").folds[0].train[0]

    assert chosen.parts[-3:] == ("QueryLevelNorm", "Fold1", "trainingset.txt")
    assert other.parts[-3:] == ("Feature-min", "Fold1", "trainingset.txt")


def test_fold_directories_come_before_the_parts_they_are_made_of(tmp_path):
    write_parts(tmp_path)
    write(tmp_path / "Fold1" / "train.txt", text(1))
    write(tmp_path / "Fold1" / "test.txt", text(2))

    assert open_collection(tmp_path).layout == "folds"


def test_yahoo(tmp_path):
    for number in (1, 2):
        for offset, name in enumerate(("train", "valid", "test")):
            write(tmp_path / f"set{number}.{name}.txt", text(10 * number + offset))

    collection = open_collection(tmp_path)
    second = open_collection(tmp_path, subset="set2")

    assert collection.layout == "sets"
    assert [fold.name for fold in collection.folds] == ["set1", "set2"]
    assert queries(collection.read_fold(0)) == [[10], [11], [12]]
    assert queries(second.read_fold(0)) == [[20], [21], [22]]
    assert second.read_all().query_ids.tolist() == [20, 21, 22]
    with pytest.raises(DataError, match="open it with subset='set1' or 'set2'"):
        collection.read_all()
    with pytest.raises(DataError, match="did not find a fold or directory 'set3'"):
        open_collection(tmp_path, subset="set3")


@pytest.mark.parametrize("inner", ["", "full", "sample"])
def test_istella(tmp_path, inner):
    write(tmp_path / "istella" / inner / "train.txt", text(1, width=7))
    write(tmp_path / "istella" / inner / "test.txt", text(2, width=3))

    collection = open_collection(tmp_path / "istella")
    train, vali, test = collection.read_fold(0)

    assert (collection.name, collection.layout) == ("istella", "single")
    assert collection.folds[0].vali == ()
    assert vali is None
    assert train.n_features == test.n_features == 7
    assert collection.read_all().query_ids.tolist() == [1, 2]


def test_istella_with_two_versions_needs_a_choice(tmp_path):
    for inner, query in (("full", 1), ("sample", 5)):
        for offset, name in enumerate(("train", "vali", "test")):
            write(tmp_path / inner / f"{name}.txt", text(query + offset))

    with pytest.raises(DataError, match="several collections: pass subset='full' or 'sample'"):
        open_collection(tmp_path)
    assert queries(open_collection(tmp_path, subset="sample").read_fold(0)) == [[5], [6], [7]]


def test_read_all_joins_the_files_and_reports_progress_over_all_of_them(tmp_path):
    collection = open_collection(write_parts(tmp_path))
    size = sum(path.stat().st_size for path in collection.folds[0].files)
    reports = []

    with listen(lambda what, done, total: reports.append((done, total))):
        data = collection.read_all()

    assert data.query_ids.tolist() == [1, 2, 3, 4, 5]
    assert data.n_features == 6
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)
    assert {total for _, total in reports} == {size}
    assert reports[-1][0] == size


def test_rows_that_were_not_grouped_remember_their_order(tmp_path):
    write(tmp_path / "train.txt", "0 qid:1 1:1\n1 qid:2 1:2\n2 qid:1 1:3\n")
    write(tmp_path / "test.txt", text(3, width=4))

    train = open_collection(tmp_path).read_fold(0)[0]

    assert train.n_features == 4
    assert train.to_input_order(train.y).tolist() == [0, 1, 2]


def test_names_in_a_header_hold_for_all_files(tmp_path):
    write(tmp_path / "train.txt", "#1:bm25\n#2:links\n0 qid:1 1:1 2:1\n")
    write(tmp_path / "test.txt", text(3, width=4))

    train, _, test = open_collection(tmp_path).read_fold(0)

    assert train.feature_names.tolist() == ["bm25", "links", "3", "4"]
    assert test.feature_names.tolist() == ["bm25", "links", "3", "4"]


def test_different_names_in_headers_are_an_error(tmp_path):
    write(tmp_path / "train.txt", "#1:bm25\n" + text(1))
    write(tmp_path / "test.txt", "#1:links\n" + text(2))

    with pytest.raises(DataError, match=r"train\.txt: its feature names differ from those"):
        open_collection(tmp_path).read_fold(0)


def test_a_query_in_two_files_is_an_error(tmp_path):
    write_parts(tmp_path)
    write(tmp_path / "S2.txt", text(1))

    with pytest.raises(DataError, match="query 1 occurs in parts 1 and 2"):
        open_collection(tmp_path).read_fold(0)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "no known layout; did not find any of Fold1/train.txt .* S1.txt.*Yahoo!.*Istella"),
        (["notes.txt", "full/notes.txt"], "no known layout"),
        (["S1.txt", "S2.txt", "S4.txt", "S5.txt"], "S3 of S1..S5 is missing"),
        (
            [f"Fold1/{part}.txt" for part in ("train", "vali", "test")]
            + [f"Fold2/{part}.txt" for part in ("train", "test")],
            "Fold2: there is no vali or validationset file, which other folds have",
        ),
        (["Fold1/train.txt"], "train.txt: there is no test file next to it"),
        (["Fold1/train.txt", "Fold1/test.txt", "Fold2/test.txt"], "Fold2: there is no train or"),
        (["set1.train.txt", "set1.valid.txt"], "set1.train.txt: there is no test file next to it"),
    ],
)
def test_unknown_and_incomplete_layouts(tmp_path, files, message):
    for name in files:
        write(tmp_path / name, text(1))

    with pytest.raises(DataError, match=message):
        open_collection(tmp_path)


def test_bad_paths_and_folds(tmp_path):
    write(tmp_path / "train.txt", text(1))
    write(tmp_path / "test.txt", text(2))

    with pytest.raises(DataError, match="no such directory"):
        open_collection(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"train\.txt: is a file; read it with read_letor"):
        open_collection(tmp_path / "train.txt")
    with pytest.raises(DataError, match="has folds 0 to 0, got 1"):
        open_collection(tmp_path).read_fold(1)
    with pytest.raises(TypeError, match="widht"):
        open_collection(tmp_path).read_fold(0, widht=3)


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
