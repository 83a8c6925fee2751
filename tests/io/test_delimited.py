"""CSV and TSV: against Python's own reader, and what is refused."""

import csv
import gzip
import io
import json
import logging
import time
import weakref

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import Columns, DataError, read_csv, read_feature_log, write_parquet
from ranksieve.io import delimited
from ranksieve.io.formats import open_if_tables, read_data
from ranksieve.io.shards import convert_to_shards, open_shards

VALUES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**18), 10**18).map(str),
    st.sampled_from(["", "NULL", "nan", "1e300", "-0", "0.1", "1E5", "+3"]),
)
# Without points: 1 and 1.0 would be one query.
IDS = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\0."), min_size=1, max_size=5
).filter(str.strip)


@pytest.fixture
def write(tmp_path):
    def write_text(text, name="clicks.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write_text


def as_number(text):
    missing = text in ("", "NULL", "nan")
    return float("nan") if missing else float(text)


@given(
    st.lists(st.tuples(IDS, st.integers(0, 4), IDS, VALUES, VALUES), min_size=1, max_size=12),
    st.sampled_from([".csv", ".tsv", ".csv.gz", ".tsv.zst"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_rows_are_those_of_pythons_reader(tmp_path_factory, rows, suffix, ends, small_blocks):
    text = io.StringIO(newline="")
    separator = "," if suffix.startswith(".csv") else "\t"
    writer = csv.writer(text, delimiter=separator, lineterminator=ends)
    writer.writerow(["qid", "label", "doc_id", "a", "b"])
    writer.writerows(rows)
    path = tmp_path_factory.getbasetemp() / f"random{suffix}"
    content = text.getvalue().encode()
    if suffix.endswith(".gz"):
        content = gzip.compress(content)
    elif suffix.endswith(".zst"):
        content = pa.compress(content, "zstd", asbytes=True)
    path.write_bytes(content)
    block, delimited._BLOCK = delimited._BLOCK, 256 if small_blocks else delimited._BLOCK
    try:
        data = read_csv(path)
    finally:
        delimited._BLOCK = block
    order = data.row_order
    plain = list(csv.reader(io.StringIO(text.getvalue(), newline=""), delimiter=separator))[1:]
    assert [str(query) for query in data.qid.tolist()] == [plain[row][0].strip() for row in order]
    assert data.y.tolist() == [float(plain[row][1]) for row in order]
    assert data.doc_ids.tolist() == [plain[row][2].strip() for row in order]
    expected = [[as_number(value) for value in plain[row][3:]] for row in order]
    assert data.X.tobytes() == np.array(expected).tobytes() or np.array_equal(
        data.X, expected, equal_nan=True
    )


LONG = "123456789012345678901"


WHOLE = "All query ids are whole numbers, so 1.0 is the same query as 1"
TEXT = "Query ids are text, because {!r} is not a plain whole number: 1 and 1.0 are two queries"


@pytest.mark.parametrize(
    ("ids", "expected", "note"),
    [
        ([" 1 ", " 1", "1", "1.0"], [1, 1, 1, 1], WHOLE),
        (["1.00", "-2.0", "0", "1"], [1, 1, -2, 0], WHOLE),
        (["1", "2"], [1, 2], None),
        (["1", "1.0", "x"], ["1", "1.0", "x"], TEXT.format("x")),  # text as it is written
        ([" a", "a ", "a b"], ["a", "a", "a b"], None),
        (["007", "7", "7.0"], ["007", "7", "7.0"], TEXT.format("007")),
        (["1.1", "1.10"], ["1.1", "1.10"], None),  # parts of something, perhaps
        ([LONG, LONG[:-1] + "2", f"{LONG}.0"], [LONG, LONG, LONG[:-1] + "2"], WHOLE),
        (["1e3", "1000"], ["1e3", "1000"], TEXT.format("1e3")),
    ],
)
def test_the_type_of_query_ids_is_decided_once_for_the_column(write, caplog, ids, expected, note):
    caplog.set_level(logging.INFO)
    path = write("qid,label,f\n" + "".join(f"{query},1,{n}\n" for n, query in enumerate(ids)))
    assert read_csv(path).qid.tolist() == expected
    notes = [text for text in caplog.messages if not text.startswith("Columns: ")]
    assert notes == ([note] if note else [])
    log = [
        {"qid": query, "docs": [{"id": f" {n}", "[features]": f"f={n}"}]}
        for n, query in enumerate(ids)
    ]
    judgments = {query: {f"{n}.0": 1} for n, query in enumerate(ids)}
    path = write("".join(json.dumps(response) + "\n" for response in log), "log.jsonl")
    data, _ = read_feature_log(path, judgments)
    assert data.qid.tolist() == expected
    assert sorted(data.doc_ids.tolist()) == [str(n) for n in range(len(ids))]


def test_shards_refuse_an_id_that_is_written_in_two_ways(write, tmp_path):
    path = write("qid,label,f\n 1,1,2\n1 ,0,3\n2.0,1,2\n")
    convert_to_shards([path], tmp_path / "shards")
    with open_shards(tmp_path / "shards") as shards:
        assert shards.read().qid.tolist() == [1, 1, 2]
    path = write("qid,label,f\n1,1,2\n1.0,0,3\n")
    with pytest.raises(DataError, match="queries '1' and '1.0' have the same id as a number: wri"):
        convert_to_shards([path], tmp_path / "other")


def test_missing_values_flags_and_types(write):
    path = write("\ufeffquery,grade,new,f,weight\n7,1,true,,2\n\n8,0,false,NA,1\n7,2,true,0.1,2\n")
    data = read_csv(path)
    assert data.qid.tolist() == [7, 7, 8]
    assert data.query_weights.tolist() == [2, 1]
    assert data.feature_names.tolist() == ["new", "f"]
    np.testing.assert_array_equal(data.X, [[1, np.nan], [1, 0.1], [0, np.nan]])
    single, as_csr = read_csv(path, dtype="float32"), read_csv(path, sparse=True)
    np.testing.assert_array_equal(single.X, data.X.astype(np.float32))
    assert (single.X.dtype, data.X.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(as_csr.X.toarray(), data.X)


def test_several_files_are_one_data_set(write, tmp_path, caplog):
    first = write("qid,label,f,g\n1,0,1,2\n2,1,3,4\n", "a.csv")
    second = write("g\tf\tlabel\tqid\n6\t5\t1\t1\n", "b.tsv")
    with caplog.at_level(logging.INFO, logger="ranksieve"):
        data = read_csv([first, second])
    assert caplog.messages == ["Columns: label = label, query = qid; 2 features: f, g"]
    assert data.qid.tolist() == [1, 1, 2]
    assert data.X.tolist() == [[1, 2], [5, 6], [3, 4]]
    assert data.row_order.tolist() == [0, 2, 1]
    write_parquet(data, tmp_path / "c.parquet")
    both = read_data([tmp_path / "c.parquet", second])
    assert both.X.tolist() == [[1, 2], [5, 6], [5, 6], [3, 4]]
    texts = write("qid,label,f,g\nx,1,1,1\n", "d.csv")
    assert read_csv([first, texts]).qid.tolist() == ["1", "2", "x"]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("qid,label,f\n1,0,1\n", r"b.csv: its columns are not those of .*a.csv: it lacks 'g'"),
        ("qid,label,f,g,h\n1,0,1,1,1\n", r"b.csv: .*a.csv: it has, in addition, 'h'"),
        ("query,label,f,g\n1,0,1,1\n", r"b.csv: .*qid is 'query', but there .*qid is 'qid'"),
        ("qid,label,f,g\n", r"b.csv: no rows"),
    ],
)
def test_columns_of_several_files_must_agree(write, other, message):
    first = write("qid,label,f,g\n1,0,1,2\n2,1,3,4\n", "a.csv")
    with pytest.raises(DataError, match=message):
        read_csv([first, write(other, "b.csv")])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "clicks.csv: no rows"),
        ("qid,label,f\n", "clicks.csv: no rows"),
        ("qid;label;f\n1;0;2\n", "row 1: there is only one column, 'qid;label;f'; .*by commas"),
        ("qid,label,f,f\n1,0,2,3\n", "2 columns are named 'f'"),
        (",qid,label,f\n0,1,0,2\n", "column 1 has no name; .*index=False"),
        ("qid,label,f\n1,0,2\n1,1\n", "row 3: Expected 3 columns, got 2"),
        ("qid,label,f\n1,0,2\n1,1,2,3\n", "row 3: Expected 3 columns, got 4"),
        ("qid,label,f\n1,0,2\n1,1,x\n", "column 'f' holds text, such as 'x' in row 3, not numbers"),
        ("qid,label,f\n1,0,2\n1,a,3\n", "column 'label' holds text, such as 'a' in row 3, but"),
        ("qid,label,f\n1,0,2\n1,,3\n", "row 3: column 'label' has no value"),
        ("qid,label,f\n1,0,2\n,1,3\n", "row 3: column 'qid' has no value"),
        ("qid,label,f\n1,0,2\n1,inf,3\n", "row 3: column 'label' is inf"),
        ("qid,label,g,f\n1,0,1,2\n1,1,3,-inf\n", "row 3: column 'f' is -inf; values must be fin"),
        ("qid,label,f\n1,0,1e999\n", "row 2: column 'f' is inf; values must be finite"),
        ("qid,label,weight,f\n1,0,1,2\n1,0,,2\n", "row 3: column 'weight' has no value"),
        ("qid,label,weight,f\n1,0,1,2\n1,0,3,2\n", "'weight' is used as the weight of queries"),
        ('qid,label,f,doc_id\n1,0,2,"a\n1,1,3,b\n', "a quotation mark near the end is not closed"),
        ('qid,label,f,doc_id\n1,0,2,"a\n1,1,3,b', "a quotation mark near the end is not closed"),
        (b"qid,label,f\xff\n1,0,2\n", "row 1: not UTF-8 text"),
        ("qid,label,f\n1,0,2\n".encode("utf-16"), "not UTF-8 text; if it is UTF-16, convert it"),
        (b"qid,label,f,doc_id\n1,0,2,\xff\n", "row 2: column 'doc_id': not UTF-8 text"),
    ],
)
def test_bad_files_are_refused_with_the_row(write, text, message):
    path = write(text)
    with pytest.raises(DataError, match=message) as caught:
        read_csv(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_what_is_no_number_later_is_told_with_its_row(write, monkeypatch):
    monkeypatch.setattr(delimited, "_BLOCK", 64)
    path = write("qid,label,f\n" + "1,0,2\n" * 50 + "1,1,x\n")
    with pytest.raises(
        DataError, match="clicks.csv: row 52: column 'f': 'x' is not a number; .*--ignore"
    ):
        read_csv(path)
    path = write("qid,label,f\n1,0," + "9" * 200 + "\n")
    with pytest.raises(DataError, match="clicks.csv: a row is longer than 64 bytes"):
        read_csv(path)
    columns = Columns(ignore="title")  # where a quotation mark is left open, or closed later
    path = write('qid,label,f,title\n1,0,2,a\n1,1,3,"b\n1,2,4,c\n')
    with pytest.raises(DataError, match="a quotation mark near the end is not closed"):
        read_csv(path, columns)
    path = write('qid,label,f,title\n1,0,2,a\n1,1,3,"b\nof two lines"\n1,2,4,c\n')
    assert read_csv(path, columns).X.ravel().tolist() == [2, 3, 4]


def test_short_reads_make_no_short_blocks(write, monkeypatch):
    """Arrow takes a row that goes over two ends of blocks for one that is too long."""

    class Slow(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, 3))

    path = write("qid,label,f\n" + "1,0,2.123456\n" * 20)
    monkeypatch.setattr(delimited, "open_decompressed", lambda file, path: Slow(file.read()))
    assert read_csv(path).n_rows == 20


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("qid;label;f" + "\n1;0;2" * 20, "there is only one column"),
        ("qid,label,qid", "2 columns are named 'qid'"),
        ("qid,label,f" + "\n1,0,2" * 20 + "\n1,oops,2", "row 22: column 'label': 'oops'"),
    ],
)
def test_nobody_reads_on_after_an_error(write, monkeypatch, start, message):
    """A thread of Arrow that reads when the interpreter ends would abort it."""
    opened = []

    class Slow(io.BytesIO):
        def read(self, size=-1):
            time.sleep(0.01)
            return super().read(size)

    def open_slowly(file, path):
        stream = Slow(file.read())
        opened.append(weakref.ref(stream))
        return stream

    monkeypatch.setattr(delimited, "_BLOCK", 64)
    monkeypatch.setattr(delimited, "open_decompressed", open_slowly)
    path = write(start + "\n1,1,2" * 500)
    with pytest.raises(DataError, match=message) as raised:
        read_csv(path)
    assert raised.tb is not None  # it refers to all that the functions had
    assert opened
    assert all(stream() is None for stream in opened)


def test_columns_are_known_before_rows_are_read(write, monkeypatch):
    monkeypatch.setattr(delimited, "_BLOCK", 64)
    path = write("qid,label,f,fold\n" + "1,0,2,x\n" * 20 + "1,oops,3,y\n")
    tables = open_if_tables([path], None, {}, ["fold"])
    assert tables.roles.features == ("f",)
    with pytest.raises(DataError, match="row 22: column 'label': 'oops' is not a number"):
        tables.read()
