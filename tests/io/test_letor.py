"""LETOR text: the fast reader against the naive one, its errors, and round trips."""

import gzip
import os
import random
import re
import struct
import tracemalloc
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from ranksieve import (
    DataError,
    RankingData,
    concatenate,
    read_letor,
    write_letor,
)
from ranksieve._kernels.compiling import kernel
from ranksieve._kernels.decimal import BAD, HARD, parse_number
from ranksieve.io import files
from ranksieve.io.files import place_of
from ranksieve.io.letor import read_scores
from ranksieve.io.shards import convert_to_shards, open_shards
from ranksieve.progress import listen
from ranksieve.threads import limit_threads
from tests import oracles

PLAIN = b"""\
2 qid:10 1:0.5 3:1e-3 #docid = GX1 inc = 1 prob = 0.08
0 qid:10 2:-4
1 qid:11 1:7 # second
"""


@pytest.fixture
def write(tmp_path):
    def writer(content: bytes, name: str = "data.txt"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return writer


def as_rows(data: RankingData) -> list:
    dense = data.X.toarray() if data.is_sparse else data.X
    return dense.tolist()


# What is read


def read_as(expected: dict, data: RankingData) -> None:
    """Check the attributes of data that are named."""
    for name, value in expected.items():
        found = as_rows(data) if name == "X" else getattr(data, name)
        np.testing.assert_equal(found.tolist() if hasattr(found, "tolist") else found, value)


NAN = float("nan")
READ = {
    "three rows": (
        PLAIN,
        dict(
            X=[[0.5, 0, 0.001], [0, -4, 0], [7, 0, 0]],
            y=[2, 0, 1],
            qid=[10, 10, 11],
            query_ptr=[0, 2, 3],
            doc_ids=["GX1", "", "second"],
            feature_names=["1", "2", "3"],
        ),
    ),
    "zeros": (b"1 qid:1 1:0 2:5 4:0\n0 qid:1 3:0\n", dict(X=[[0, 5, 0, 0], [0, 0, 0, 0]])),
    "returns": (b"1 qid:1 1:2\r\n", dict(X=[[2]])),
    "no newline": (b"1 qid:1 1:2", dict(X=[[2]], doc_ids=None)),
    "spaces": (b"\t1   qid:1\t1:2  \n", dict(X=[[2]])),
    "blank lines": (b"\n\n  \n1 qid:1 1:2\n\n", dict(X=[[2]])),
    "remarks": (b"# a remark\n1 qid:1 1:2\n# another\n", dict(X=[[2]], doc_ids=None)),
    "numbers": (
        b"1.5 qid:1 1:1e2 2:1.5E-3 3:.5 4:5. 5:+3 6:-2\n-2e-1 qid:1 01:3",
        dict(X=[[100, 0.0015, 0.5, 5, 3, -2], [3, 0, 0, 0, 0, 0]], y=[1.5, -0.2]),
    ),
    "a mark": (b"\xef\xbb\xbf1 qid:1 1:2\n", dict(X=[[2]])),
    "missing": (b"1 qid:1 1:nan 2:NaN 3:1\n", dict(X=[[NAN, NAN, 1]])),
    "LETOR 3": (
        b"1 qid:1 1:NULL 2:1 3:NULL\n0 qid:1 1:2 2:NULL#d\n",
        dict(X=[[NAN, 1, NAN], [2, NAN, 0]], doc_ids=["", "d"]),
    ),
    "scattered": (
        b"0 qid:b 1:1 #d1\n1 qid:a 1:2 #d2\n2 qid:b 1:3 #d3\n",
        dict(
            X=[[1], [3], [2]],
            y=[0, 2, 1],
            qid=["b", "b", "a"],
            doc_ids=["d1", "d3", "d2"],
            row_order=[0, 2, 1],
        ),
    ),
    "names": (
        b"#1:bm25 title\n# 3:page rank\n0 qid:1 2:5\n#1:too late\n",
        dict(X=[[0, 5, 0]], feature_names=["bm25 title", "2", "page rank"]),
    ),
    "documents": (
        b"0 qid:1 1:1 #docid = GX1 inc = 1 prob = 0.1\n0 qid:1 1:1 #docid=GX1\n0 qid:1 1:1"
        b"# docid = two words inc = 1\n0 qid:1 1:1 #docidentity\n0 qid:1 1:1 # any text: 1 #",
        dict(doc_ids=["GX1", "GX1", "two words", "docidentity", "any text: 1 #"]),
    ),
    "texts": (b"0 qid:a 1:1\n0 qid:1 1:1", dict(qid=["a", "1"])),
    "zeros before": (b"0 qid:007 1:1\n0 qid:8 1:1", dict(qid=["007", "8"])),
    "integers": (b"0 qid:-3 1:1\n0 qid:0 1:1", dict(qid=[-3, 0])),
    "long": (b"0 qid:99999999999999999999 1:1\n0 qid:1 1:1", dict(qid=["9" * 20, "1"])),
    "colons": (b"0 qid:qid:1 1:1\n0 qid:2:3 1:1", dict(qid=["qid:1", "2:3"])),
    "bytes": (b"0 qid:caf\xc3\xa9 1:1\n0 qid:caf\xe9 1:1", dict(qid=["caf\u00e9", "caf\\xe9"])),
}


@pytest.mark.parametrize("case", READ)
def test_what_is_read(write, tmp_path, case):
    text, expected = READ[case]
    packed = {
        "": text, ".gz": gzip.compress(text), ".zst": pa.compress(text, "zstd", asbytes=True)
    }  # fmt: skip
    for suffix, content in packed.items():
        data = read_letor(write(content, f"data.txt{suffix}"))
        read_as(expected, data)
    as_csr = read_letor(write(text), sparse=True)
    assert isinstance(as_csr.X, sparse.csr_matrix)
    assert np.all(as_csr.X.data != 0)
    read_as(expected, as_csr)
    write_letor(data, tmp_path / "again.txt")
    assert_identical(read_letor(tmp_path / "again.txt", n_features=data.n_features), data)


def test_ways_to_read(write):
    path = write(PLAIN)
    assert read_letor(path, n_features=5).X.shape == (3, 5)
    single = read_letor(path, dtype="float32")
    assert single.X.dtype == np.float32
    assert single.X[0, 2] == np.float32(0.001)
    assert read_letor(path).qid.dtype == np.int64
    for options, message in (
        ({"dtype": "int64"}, "float64 or float32"),
        ({"n_features": 0}, "from 1 to"),
    ):
        with pytest.raises(ValueError, match=message):
            read_letor(path, **options)
    zero_based = read_letor(write(b"#0:bm25\n0 qid:1 0:5\n"), zero_based=True)
    read_as(dict(X=[[5]], feature_names=["bm25"]), zero_based)
    parts = [write(b"0 qid:1 1:1\n0 qid:2 2:1 #d\n", "a"), write(b"1 qid:2 3:1\n", "b")]
    joined = dict(X=[[1, 0, 0], [0, 1, 0], [0, 0, 1]], qid=[1, 2, 2], doc_ids=["", "d", ""])
    calls: list[tuple[int, int]] = []
    with listen(lambda what, done, total: calls.append((done, total))):
        read_as(joined, read_letor(parts))
    size = sum(part.stat().st_size for part in parts)
    assert calls[-1] == (size, size)
    assert calls == sorted(calls)


def test_many_pieces_and_threads_give_the_same(write, monkeypatch):
    rng = random.Random(0)
    lines = [f"{n % 3} qid:{n // 7} {rng.randint(1, 9)}:{rng.random()!r} #d{n}" for n in range(500)]
    path = write("\n".join(lines).encode())
    whole = read_letor(path)
    for size in (1, 100, 4096):
        monkeypatch.setattr(files, "_CHUNK", size)
        with limit_threads(3):
            assert_identical(read_letor(path), whole)


def test_equal_to_scikit_learn_on_mq2008(mq2008_dir):
    from sklearn.datasets import load_svmlight_file

    for part in range(1, 6):
        path = mq2008_dir / f"S{part}.txt"
        X, y, qid = load_svmlight_file(str(path), n_features=46, query_id=True)
        data = read_letor(path)
        np.testing.assert_array_equal(data.X, X.toarray())
        np.testing.assert_array_equal(data.y, y)
        np.testing.assert_array_equal(data.qid, qid)
        assert (read_letor(path, sparse=True).X != X).nnz == 0


# Numbers


def same_bits(a: float, b: float) -> bool:
    return (a != a and b != b) or struct.pack("d", a) == struct.pack("d", b)


@kernel
def number_at_start(text):
    return parse_number(text, 0)


def parse(text: str) -> tuple[int, float, int]:
    return number_at_start(np.frombuffer(text.encode() + b"\n", np.uint8))


def halfway(significand: int, exponent: int) -> str:
    """Decimal digits of the point between two doubles."""
    value = Fraction(2 * significand + 1) * Fraction(2) ** exponent
    digits = 0
    while value.denominator > 1:
        value, digits = value * 10, digits + 1
    return f"{value.numerator}e-{digits}"


numbers = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.builds("{}.{}e{}".format, st.integers(0), st.integers(0), st.integers(-400, 400)),
    st.builds("{}{}".format, st.integers(0, 10**40), st.sampled_from(["", ".", "e-30", "e5"])),
    st.builds(halfway, st.integers(2**52, 2**53 - 1), st.integers(-80, 20)),
    st.decimals(allow_nan=False, allow_infinity=False, places=25).map(str),
)


@given(numbers, st.sampled_from(["", "-", "+"]))
@example("5e-324", "")
@example("2.4703282292062327208e-324", "")
@example("1.7976931348623157e308", "")
@example("1.7976931348623159e308", "-")
@example("9007199254740993", "")
@example("0." + "0" * 400 + "1", "-")
@example("1" + "0" * 400, "")
def test_numbers_have_the_bits_of_float(text, sign):
    text = text if text.startswith("-") else sign + text
    status, value, end = parse(text)
    assert status != BAD
    assert end == len(text)
    if status != HARD:
        assert same_bits(value, float(text))


def test_hard_numbers_reach_the_result(write):
    words = [halfway(2**52 + n, -60 + n) for n in range(5)] + ["5e-324", "3e-400", "2.5e-320"]
    pairs = " ".join(f"{index}:{word}" for index, word in enumerate(words, start=1))
    path = write(f"5e-324 qid:1 {pairs}\n".encode())
    for as_csr in (False, True):
        data = read_letor(path, sparse=as_csr)
        assert as_rows(data) == [[float(word) for word in words]]
        assert data.y.tolist() == [5e-324]


# What is refused

LARGE = "9" * 400


@pytest.mark.parametrize(
    ("line", "options", "message"),
    [
        (b"x qid:1 1:2", {}, "the label is not a number: 'x'"),
        (b"1x qid:1 1:2", {}, "the label is not a number: '1x'"),
        (b"NULL qid:1 1:1", {}, "the label is not a number: 'NULL'"),
        (b"nan qid:1 1:2", {}, "the label must be finite: 'nan'"),
        (b"-1e999 qid:1 1:2\nx qid:1 1:1", {}, "the label must be finite: '-1e999'"),
        (LARGE.encode() + b" qid:1 1:2", {}, "the label must be finite: '999"),
        (b"1 1:2", {}, "expected 'qid:' after the label, found '1:2'"),
        (b"1", {}, "expected 'qid:' after the label, found no more text"),
        (b"1 qid: 1:2", {}, "the query id is empty"),
        (b"1 qid:1 1:2 x", {}, "expected index:value, found 'x'"),
        (b"1 qid:1 1", {}, "expected index:value, found '1'"),
        (b"1 qid:1 -1:2", {}, "expected index:value, found '-1:2'"),
        (b"1 qid:1 1:", {}, "the value is not a number: ''"),
        (b"1 qid:1 1:2x", {}, "the value is not a number: '2x'"),
        (b"1 qid:1 1:1_0", {}, "the value is not a number: '1_0'"),
        (b"1 qid:1 1:0x1", {}, "the value is not a number: '0x1'"),
        (b"1 qid:1 1:1e", {}, "the value is not a number: '1e'"),
        (b"1 qid:1 1:.", {}, "the value is not a number: '.'"),
        (b"1 qid:1 1:NULLs", {}, "the value is not a number: 'NULLs'"),
        (b"1 qid:1 1:null", {}, "the value is not a number: 'null'"),
        (b"1 qid:1 1:-NULL", {}, "the value is not a number: '-NULL'"),
        (b"1 qid:1 1:5 02:inf\ninf qid:1 1:1", {}, "the value must be finite: 'inf'"),
        (b"1 qid:1 2:-Infinity", {"sparse": True}, "the value must be finite: '-Infinity'"),
        (b"1 qid:1 2:" + LARGE.encode(), {}, "the value must be finite: '9{40}'"),
        (b"1 qid:1 1:1e39", {"dtype": "float32"}, "the value is too large for float32: '1e39'"),
        (b"1 qid:1 0:2", {}, "index 0, but indices start at 1; .* zero_based=True .--zero-based.$"),
        (b"1 qid:1 2:1 2:1", {}, "index 2 occurs twice"),
        (b"1 qid:1 3:1 2:1", {}, "index 2 comes after a larger one"),
        (b"1 qid:1 4:1", {"n_features": 3}, "index 4 is beyond n_features=3"),
        (b"1 qid:1 3:1", {"n_features": 3, "zero_based": True}, "index 3 is beyond n_features=3"),
        (
            b"1 qid:1 99999999:1",
            {},
            "index 99999999 is too large for a dense array; read with sparse=True",
        ),
        (b"1 qid:1 99999999999999999999:1", {"sparse": True}, "index 9+ is too large"),
        (b"1 qid:1 1:2 \0", {}, "NUL byte"),
        (b"1 qid:1 1:2 #\0", {}, "NUL byte"),
    ],
)
def test_errors_name_the_file_the_line_and_the_trouble(write, line, options, message):
    path = write(b"# 2:inf\n\n1 qid:1 1:2\n" + line + b"\n1 qid:1 1:2\n")
    with pytest.raises(DataError, match=re.escape(f"{path}:4: ") + message):
        read_letor(path, **options)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *((content, "no rows") for content in (b"", b"\n \n", b"# only a remark\n")),
        (b"#1:a\n#2:a\n0 qid:1 1:5 2:6\n", "the header names two features 'a'"),
        (b"#1:2\n0 qid:1 1:5 2:6\n", "the header names two features '2'"),
    ],
)
def test_files_that_are_refused(write, content, message):
    path = write(content)
    with pytest.raises(DataError, match=rf"^{re.escape(str(path))}(:\d+)?: {message}"):
        read_letor(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1\n\nnan\n", ":3: the score must be finite: 'nan'"),
        (b"1\nx\n", ":2: the score is not a number: 'x'"),
        (b"1 2\n", ":1: expected one score per line, found 2 words"),
        (b"\n", ":1: no scores"),
    ],
)
def test_scores_that_are_refused(write, content, message):
    path = write(content)
    with pytest.raises(DataError, match=re.escape(f"{path}{message}")):
        read_scores(path)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_truncated_and_damaged_compression(write, suffix):
    text = b"".join(b"1 qid:%d 1:%f\n" % (n, random.random()) for n in range(50_000))
    packed = gzip.compress(text) if suffix == ".gz" else pa.compress(text, "zstd", asbytes=True)
    path = write(packed[: len(packed) // 2], "cut" + suffix)
    with pytest.raises(DataError, match=r"^.*cut\.\w+(:\d+)?: the compressed file is truncated"):
        read_letor(path)
    path = write(b"not compressed at all", "plain" + suffix)
    with pytest.raises(DataError, match=r"^.*plain\.\w+: the compressed file is damaged"):
        read_letor(path)


def test_a_zstd_frame_that_asks_for_gigabytes_is_refused(write):
    window, comment = b"\xa0", 2**17  # 2 ** 30 bytes, for a block that repeats one byte
    block = (comment << 3 | 0b011).to_bytes(3, "little") + b"#"
    path = write(b"\x28\xb5\x2f\xfd\x00" + window + block, "wide.zst")
    with pytest.raises(
        DataError, match=r"wide\.zst: the compressed file is damaged .*too much mem"
    ):
        read_letor(path)


@pytest.mark.parametrize("index", [2_000_000_000, 10_000_000])
def test_memory_stays_in_proportion_to_the_text(write, tmp_path, index):
    path = write(b"0 qid:1 1:1 %d:2\n1 qid:1 2:1\n" % index)
    message = f"index {index} is out of proportion to the 3[0-9] bytes .* n_features={index}$"
    header = write(b"#%d:name\n1 qid:1 2:1\n" % index, "header.txt")
    read_letor(path, sparse=True, n_features=index)  # compiles what is compiled
    tracemalloc.start()
    try:
        for file in (path, header):
            with pytest.raises(DataError, match=rf"{file}: index {index} is out of proportion"):
                read_letor(file, sparse=True)
        with pytest.raises(DataError, match=message):
            convert_to_shards(path, tmp_path / "d", sparse=True)
        data = read_letor(path, sparse=True, n_features=index)
        convert_to_shards(path, tmp_path / "d", sparse=True, n_features=index)
        with open_shards(tmp_path / "d") as shards:
            assert_same_entries(shards.read(), data)
            assert_same_entries(concatenate([data]), data)
        assert (data.n_features, data.has_feature_names) == (index, False)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2e6


def assert_same_entries(a: RankingData, b: RankingData) -> None:
    assert a.X.shape == b.X.shape
    assert a.X.indices.tolist() == b.X.indices.tolist()


@pytest.mark.parametrize("header", [b"", b"0 qid:7 1:1 1048576:1\n"])
def test_a_small_text_makes_no_large_array(write, tmp_path, header):
    rows = b"".join(b"0 qid:%d 1:1\n" % n for n in range(50))
    path = write(header + rows + b"0 qid:7 1:1 1048576:1\n" * (not header))
    message = "index 1048576 makes an array of [0-9]+ MB from [0-9]+ bytes of text; .*sparse=True"
    for size in (30, 2**20):
        chunk, files._CHUNK = files._CHUNK, size
        try:
            for read in (read_letor, lambda path: convert_to_shards(path, tmp_path / "d")):
                with pytest.raises(DataError, match=f"{path}: {message}; .* n_features=1048576"):
                    read(path)
        finally:
            files._CHUNK = chunk
    assert read_letor(path, sparse=True).X.shape == (51, 1048576)
    assert read_letor(write(b"0 qid:1 1048576:1\n")).X.shape == (1, 1048576)


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_line_beyond_all_measure_is_refused(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(files, "_CHUNK", 1000)
    monkeypatch.setattr(files, "_LONGEST_LINE", 50_000)
    path = tmp_path / f"data{suffix}"
    for line in (b"#" * 60_000, b"1 qid:1 " + b" " * 60_000, b"9" * 60_000):
        with files.compressed_writer(path) as file:
            file.write(b"1 qid:1 1:2\n# remark\n" + line + b"\n")
        with pytest.raises(
            DataError, match=rf"data{suffix}:3: the line has more than 50,000 bytes"
        ):
            read_letor(path)
        with files.compressed_writer(path) as file:
            file.write(b"1\n2\n" + line)
        with pytest.raises(
            DataError, match=rf"data{suffix}:3: the line has more than 50,000 bytes"
        ):
            read_scores(path)


VALID = [
    b"2 qid:10 1:0.5 2:1e-3 3:-4 # docid = GX1 inc = 1",
    b"0 qid:q7 1:1 4:.25\r",
    b"#1:name of it",
    b"1.5 qid:10",
    b"",
    b"1 qid:3 2:123456789012345678901234567890 3:nan 4:1e300",
    b"0 qid:3 1:NULL 2:1 3:NULL#d",
]
PIECES = [
    b"",
    b"\0",
    b"\n",
    b" ",
    b"#",
    b":",
    b"qid:",
    b"1:",
    b"0:",
    b"e",
    b"-",
    b".",
    b"9" * 25,
    b"\xff",
]


@st.composite
def damaged_text(draw):
    """A few valid lines with some pieces cut out, put in or replaced."""
    lines = draw(st.lists(st.sampled_from(VALID), min_size=1, max_size=5))
    text = b"\n".join(lines)
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 4)))
        insert = draw(st.one_of(st.sampled_from(PIECES), st.binary(max_size=3)))
        text = text[:start] + insert + text[end:]
    return text


@given(damaged_text(), st.booleans(), st.sampled_from([7, 2**20]))
def test_damaged_text_is_read_like_the_naive_reader_does_or_refused(
    tmp_path_factory, text, sparse_, size
):
    path = tmp_path_factory.getbasetemp() / "damaged.txt"
    path.write_bytes(text)
    expected = oracles.read_letor(text, n_features=50)
    chunk, files._CHUNK = files._CHUNK, size
    try:
        if isinstance(expected, oracles.LetorProblem):
            with pytest.raises(DataError, match=re.escape(f"{place_of(path, expected.line)}: ")):
                read_letor(path, n_features=50, sparse=sparse_)
        else:
            assert_equal_rows(read_letor(path, n_features=50, sparse=sparse_), expected)
    finally:
        files._CHUNK = chunk


def assert_equal_rows(data: RankingData, expected: oracles.LetorRows) -> None:
    order, pointer = oracles.group(expected.qids)
    assert data.row_order.tolist() == order
    assert data.query_ptr.tolist() == pointer
    assert [str(query) for query in data.qid.tolist()] == [expected.qids[row] for row in order]
    assert data.y.tolist() == [expected.labels[row] for row in order]
    names = [expected.names.get(f, str(f + 1)) for f in range(data.n_features)]
    assert data.feature_names.tolist() == names
    docs = [""] * len(order) if data.doc_ids is None else data.doc_ids.tolist()
    assert docs == [expected.docs[row] for row in order]
    dense = np.zeros(data.X.shape)
    for place, row in enumerate(order):
        for feature, value in expected.rows[row].items():
            dense[place, feature] = value
    np.testing.assert_array_equal(as_rows(data), dense)


# Round trips


words = st.text(
    st.characters(blacklist_categories=["Cs", "Cc", "Zs", "Zl", "Zp"], blacklist_characters="#"),
    min_size=1,
    max_size=8,
)


@st.composite
def ranking_data(draw):
    n, f = draw(st.integers(1, 8)), draw(st.integers(1, 5))
    width = draw(st.sampled_from([32, 64]))
    finite = st.floats(allow_nan=False, allow_infinity=False, width=width)
    values = draw(st.lists(finite, min_size=n * f, max_size=n * f))
    X = np.array(values, dtype=f"float{width}").reshape(n, f)
    y = draw(st.lists(st.floats(-1e6, 1e6), min_size=n, max_size=n))
    ids = st.integers(-(10**17), 10**17) if draw(st.booleans()) else words.map("q".__add__)
    qid = draw(st.lists(ids, min_size=n, max_size=n))
    docs = draw(st.none() | st.lists(words | st.just(""), min_size=n, max_size=n))
    names = draw(st.none() | st.lists(words, min_size=f, max_size=f, unique=True))
    return RankingData(X, y, qid, feature_names=names, doc_ids=docs)


def assert_identical(a: RankingData, b: RankingData) -> None:
    assert a.X.dtype == b.X.dtype
    dense_a, dense_b = (d.X.toarray() if d.is_sparse else d.X for d in (a, b))
    assert dense_a.tobytes() == dense_b.tobytes()
    np.testing.assert_array_equal(a.y, b.y)
    assert a.qid.tolist() == b.qid.tolist()
    assert a.feature_names.tolist() == b.feature_names.tolist()
    documents_a, documents_b = (
        [""] * d.n_rows if d.doc_ids is None else d.doc_ids.tolist() for d in (a, b)
    )
    assert documents_a == documents_b
    weights_a, weights_b = (
        None if d.query_weights is None else d.query_weights.tolist() for d in (a, b)
    )
    assert weights_a == weights_b


def weighted(data: RankingData, draw) -> RankingData:
    """The data, with weights of queries or without."""
    weights = st.lists(st.floats(0, 1e6), min_size=data.n_queries, max_size=data.n_queries).filter(
        any
    )
    return data.with_weights(draw(st.none() | weights))


@given(ranking_data(), st.booleans(), st.booleans(), st.sampled_from(["", ".gz", ".zst"]))
def test_writing_and_reading_back_is_the_identity(
    tmp_path_factory, data, as_csr, zero_based, suffix
):
    if as_csr:
        data = data._replace(X=sparse.csr_matrix(np.where(data.X > 0, data.X, 0)))
    path = tmp_path_factory.getbasetemp() / f"round-trip{suffix}"
    write_letor(data, path, zero_based=zero_based)
    back = read_letor(path, dtype=data.X.dtype.name, zero_based=zero_based, sparse=as_csr)
    assert_identical(data, back)
    assert not as_csr or back.X.nnz == data.X.nnz


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qid": ["a b"]}, "query id 'a b' cannot be written"),
        ({"qid": ["a#b"]}, "query id 'a#b' cannot"),
        ({"qid": [""]}, "query id '' cannot"),
        ({"doc_ids": ["a\nb"]}, "document id .* cannot"),
        ({"doc_ids": ["a inc = 1"]}, "document id 'a inc = 1' cannot"),
        ({"doc_ids": [" a"]}, "document id ' a' cannot"),
        ({"feature_names": ["a\n"]}, "feature name .* cannot"),
        ({"sample_weight": [2]}, r"data.txt: LETOR text cannot store .*\.parquet"),
        ({"X": [[np.inf]]}, "infinity in row 0"),
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_is_lost(tmp_path, change, message):
    path = tmp_path / "data.txt"
    path.write_text("precious")
    with pytest.raises(DataError, match=message):
        write_letor(RankingData(**{"X": [[1.0]], "y": [0], "qid": [1]} | change), path)
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == ["data.txt"]
