"""Judgments: layouts that people have, and errors."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import DataError
from ranksieve.io.feature_logs import read_judgments
from ranksieve.io.feature_logs.judgments import as_judgments

GRADES = {"rambo": {"7555": 4, "1370": 3}, "rocky": {"4241": 4}}


@pytest.fixture
def write(tmp_path):
    def writer(text, name="judgments"):
        path = tmp_path / name
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        return path

    return writer


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("rambo 0 7555 4\nrambo 0 1370 3\n\nrocky 0 4241 4\n", "TREC qrels"),
        ("rambo\tQ0\t7555\t4\nrambo\tQ0\t1370\t3\nrocky\tQ0\t4241\t4", "TREC qrels"),
        ("rambo,7555,4\nrambo, 1370 ,3.0\nrocky,4241,4\n", "query, document, grade"),
        ("rambo;7555;4\r\nrambo;1370;3\r\nrocky;4241;4\r\n", "query, document, grade"),
        ("rambo 7555 4\nrambo 1370 3\nrocky 4241 4\n", "query, document, grade"),
        # As in the documentation of the plugins.
        (
            "grade,keywords,docId\n4,rambo,7555\n3,rambo,1370\n4,rocky,4241\n",
            "columns 'keywords', 'docId', 'grade'",
        ),
        # As BEIR has them.
        (
            "query-id\tcorpus-id\tscore\nrambo\t7555\t4\nrambo\t1370\t3\nrocky\t4241\t4\n",
            "columns 'query-id', 'corpus-id', 'score'",
        ),
        (
            '\ufeff"Query ID";Note;"Doc_ID";RATING\nrambo;"a;b";7555;4\nrambo;;1370;3\n'
            "rocky;x;4241;4\n",
            "columns 'Query ID', 'Doc_ID', 'RATING'",
        ),
        (
            "query,query_id,document,rel\nx y,rambo,7555,4\nx y,rambo,1370,3\nz,rocky,4241,4\n",
            "columns 'query_id', 'document', 'rel'",
        ),
        (
            "topic docno rel\nrambo 7555 4\nrambo 1370 3\nrocky 4241 4",
            "columns 'topic', 'docno', 'rel'",
        ),
    ],
)  # fmt: skip
def test_layouts_are_guessed(write, text, layout):
    assert read_judgments(write(text)) == (GRADES, layout)


def test_ids_with_spaces_and_commas(tmp_path, write):
    path = tmp_path / "judgments.csv.gz"
    path.write_bytes(gzip.compress(b'first blood,"a, b",-1\nfirst blood,"a, b",-1.0\n'))
    assert read_judgments(path).grades == {"first blood": {"a, b": -1}}
    assert read_judgments(write("1 0 a,b 2\n")).grades == {"1": {"a,b": 2}}


@given(
    st.dictionaries(
        st.text("abc,;\"' 0\t\u00e9", min_size=1).filter(lambda text: text.strip() == text),
        st.dictionaries(st.sampled_from(["d1", "d 2", "'", "3"]), st.integers(-2, 4), min_size=1),
        min_size=1,
    )
)
def test_quoted_ids(tmp_path_factory, grades):
    def quoted(text):
        return '"' + text.replace('"', '""') + '"'

    rows = [(q, d, g) for q, documents in grades.items() for d, g in documents.items()]
    lines = [",".join([quoted(query), quoted(document), str(g)]) for query, document, g in rows]
    path = tmp_path_factory.getbasetemp() / "quoted.csv"
    path.write_text("\n".join(["qid,docid,grade", *lines]))
    assert read_judgments(path).grades == grades


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": no judgments: the file is empty"),
        ("\n \n", ": no judgments: the file is empty"),
        ("qid,docid,grade\n", ": no judgments: there is only a header"),
        ("q,d\nq,d\n", ":1: no column for the document among 'q, d'; name it 'docid'"),
        ("q,d,1\nq,d\n", ":2: expected 3 columns (query, document, grade), found 2"),
        ("q 0 d 1\nq 0 d 1 2\n", ":2: expected 4 columns (TREC qrels), found 5"),
        ("q,d,e,f,1\n", ":1: expected query, document and grade"),
        ("q,d,1\nq,e,x\n", ":2: the grade should be a finite number, not 'x'"),
        ("q,d,1\nq,e,nan\n", ":2: the grade should be a finite number, not 'nan'"),
        ("q,d,1\nq,e,1e999\n", ":2: the grade should be a finite number, not '1e999'"),
        ("q,d,1\nq,e,1_0\n", ":2: the grade should be a finite number, not '1_0'"),
        ("q,d,1\nq,e,\n", ":2: the grade should be a finite number, not ''"),
        ("q,d,1\n,e,1\n", ":2: the query is missing"),
        ("q,d,1\n\nq, ,1\n", ":3: the document is missing"),
        ("q,d,1\nq,d,2\n", ":2: document 'd' has the grade 2 for query 'q', but 1 "),
        ('q,d,1\n"q,e,1\n', ":2: unexpected end of data"),
        (f"q,d,1\n{'x' * 200_000},e,1\n", ":2: field larger than field limit"),
        ("q,d,1\nq\udcff,e,1\n", ":2: not UTF-8"),
    ],
)  # fmt: skip
def test_errors(write, text, message):
    path = write(text)
    with pytest.raises(DataError) as error:
        read_judgments(path)
    assert str(error.value).startswith(f"{path}{message}")


def test_judgments_that_are_passed():
    assert as_judgments({1: {"a": 2, 5: 0.5}}).grades == {"1": {"a": 2, "5": 0.5}}
    for wrong in (None, [("q", "d", 1)], {"q": 1}, {"q": ["d"]}):
        with pytest.raises(DataError, match="a path or {query: {document: grade}}"):
            as_judgments(wrong)
    with pytest.raises(DataError, match="judgments: query 'q': the grade should be a finite"):
        as_judgments({"q": {"d": float("nan")}})
