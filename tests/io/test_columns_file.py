"""Columns in files of TOML: what is written is read, and people can edit it."""

import tomllib
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import Columns, DataError, RankingData, read_csv, read_parquet, recommend
from ranksieve.data.columns import list_fields
from ranksieve.io.columns_file import write_columns

HOSTILE = st.one_of(
    st.text(min_size=1),
    st.sampled_from(
        [
            "a,b",
            "it's",
            '"""',
            "'''",
            "a\nb",
            "\r\n",
            "\x00",
            "\x7f",
            "\x1b[2J",
            "]",
            "# no comment",
        ]
    ),
    st.sampled_from(["小", "\u202e", "\\u0041", "\\", "x = 1", "[table]", "\ufeff", "\U0001f600"]),
)
NAMES = st.lists(HOSTILE, max_size=4)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(
                ["label", "qid", "doc_id", "weight", "row_weight", "position", "cost_unit"], HOSTILE
            ),
            **dict.fromkeys(list_fields(), NAMES),
            "missing": st.sampled_from(["keep", "query-min", "zero+indicators"]),
        },
    ),
    st.dictionaries(HOSTILE, HOSTILE, max_size=3),
)
def test_what_is_written_is_read(tmp_path_factory, settings, held):
    path = tmp_path_factory.getbasetemp() / "columns.toml"
    columns = Columns(**settings)
    columns.save(path)
    assert Columns.load(path) == columns
    write_columns(columns, path, held)
    assert Columns.load(path) == columns
    assert tomllib.loads(path.read_text(encoding="utf-8")) == columns.as_dict()


def test_every_setting_is_explained(tmp_path):
    """Also those that are not given, which can be filled in where they stand."""
    path = tmp_path / "columns.toml"
    columns = Columns(label="grade", ignore=["url", "clicked"])
    write_columns(columns, path, {"url": "text,\nor so"})
    text = path.read_text()
    paragraphs = text.strip().split("\n\n")[1:]
    assert len(paragraphs) == len(fields(Columns))
    assert all(paragraph.startswith("# ") for paragraph in paragraphs)
    assert '\n# The label: a number, and larger is more relevant.\nlabel = "grade"\n' in text
    assert '    "url",  # text, or so\n    "clicked",\n]' in text
    path.write_text(
        text.replace('# qid = "NAME"', 'qid = "session"').replace('# missing = "k', 'missing = "k')
    )
    edited = Columns("grade", "session", ignore=["url", "clicked"], missing="keep")
    assert Columns.load(path) == edited
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert Columns.load(path) == edited


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"label = ", "not TOML: Invalid value .at end of document."),
        (b'label = "a"\nlabel = "b"', "not TOML: Cannot overwrite a value .at"),
        (b"label = 3", "label must name a column, got 3"),
        (b'label = ""', "label must name a column, got ''"),
        (b"qid = ['a']", r"qid must name a column, got \['a'\]"),
        (b"ignore = ['a', 1]", "ignore must name a column, got 1"),
        (b"features = 1.5", "features must name columns, got 1.5"),
        (b"[ignore]\na = 1", "ignore must name columns, got {'a': 1}"),
        (b"labels = 'a'", "columns have no 'labels'; choose from label, qid"),
        (b"missing = 'mean'", "missing must be one of keep, .* got 'mean'"),
        (b"\xff\xfe", "not UTF-8 text"),
        (b"ignore = " + 10**5 * b"[", "not TOML"),
    ],
)
def test_files_of_no_use(tmp_path, text, message):
    path = tmp_path / "columns.toml"
    path.write_bytes(text)
    with pytest.raises(DataError, match=f"^{path}: {message}"):
        Columns.load(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="none.toml: no such file"):
        Columns.load(tmp_path / "none.toml")
    with pytest.raises(DataError, match=f"^{tmp_path}: "):
        Columns.load(tmp_path)


def test_a_path_stands_for_columns(tmp_path):
    file, table = str(tmp_path / "columns.toml"), tmp_path / "t.csv"
    table.write_text("session,grade,f,url\ns,1,,u\ns,0,2,v\n")
    Columns("grade", "session", ignore="url", missing="zero").save(file)
    data = read_csv(table, file)
    assert (data.X.tolist(), data.feature_names.tolist()) == ([[0], [2]], ["f"])
    assert data.missing.name == "zero"
    assert data.table_columns == Columns("grade", "session", ignore="url")
    assert data.take_queries([0]).take_features([0]).table_columns == data.table_columns
    pl = pytest.importorskip("polars")
    frame = pl.read_csv(table)
    assert RankingData.from_frame(frame, tmp_path / "columns.toml").X.tolist() == [[0], [2]]
    frame.write_parquet(tmp_path / "t.parquet")
    assert read_parquet(tmp_path / "t.parquet", file).table_columns == data.table_columns
    with pytest.raises(ValueError, match="columns must be Columns or the path of a file, got 3"):
        RankingData.from_frame(frame, 3)
    with pytest.raises(DataError, match=r"none.toml: no such file"):
        recommend(frame, columns=tmp_path / "none.toml")
