"""What the columns of a table are: guesses, what users say, and what is refused."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import Columns, DataError, Missing
from ranksieve.data.columns import ColumnsError, check_distinct, check_named


def resolve(names, columns=None, text=(), **more):
    held = {name: "text" if name in text else "" for name in names}
    return (columns or Columns()).resolve(held, "clicks.csv", **more)


def test_columns_are_recognized_by_their_names():
    roles = resolve(["Query_ID", "Relevance", "docid", "sample_weight", "bm25", "price"])
    assert roles.special == {
        "label": "Relevance",
        "qid": "Query_ID",
        "doc_id": "docid",
        "weight": "sample_weight",
    }
    assert roles.features == ("bm25", "price")
    assert str(roles) == (
        "Columns: label = Relevance, query = Query_ID, document = docid, weight = sample_weight; "
        "2 features: bm25, price"
    )


@pytest.mark.parametrize(
    ("names", "query"),
    [
        (["session_id"], "session_id"),
        (["SessionId", "session_length"], "SessionId"),
        (["session"], "session"),
        (["query_hash"], "query_hash"),
        (["impression_id", "request_id", "session_id"], "request_id"),  # one list of results
        (["search_id", "session_id", "query_id"], "query_id"),
        (["session", "qid"], "qid"),
        (["query", "query_id"], "query_id"),  # its text beside it
    ],
)
def test_sessions_and_requests_are_queries_if_nothing_is_named_like_one(names, query):
    with pytest.raises(ColumnsError, match="column 'title' holds text") as caught:
        resolve(["grade", *names, "f", "title"], text=["title"])
    assert caught.value.complete.qid == query


@pytest.mark.parametrize(
    "names", [["session_id", "query"], ["search_id", "request_id"], ["session", "session_id"]]
)
def test_names_of_one_kind_are_ambiguous(names):
    with pytest.raises(ColumnsError, match=f"query may be column '{names[0]}' or '{names[1]}'"):
        resolve(["grade", *names, "f"])


def test_ordinary_features_are_no_guesses():
    features = ["session_count", "query_length", "request_ms", "hash", "searches", "impressions"]
    assert resolve(["qid", "label", *features]).features == tuple(features)
    assert resolve(["qid", "label", "session", "query"]).features == ("session", "query")
    with pytest.raises(ColumnsError, match="no column is named like the query"):
        resolve(["label", *features])


@pytest.mark.parametrize(
    ("names", "text", "columns"),
    [
        (["session_id", "grade", "at", "url", "f", "user_id"], ["session_id", "at", "url"], {}),
        (["qid", "query_id", "grade", "label", "f", "weight", "query_weight"], [], {}),
        (["a,b", "a\nb", 'q"', "{}", "label", "qid", "f"], ["a,b", "a\nb", 'q"', "{}"], {}),
        (["qid", "label", "f", "title", "a b"], ["title", "a b"], {"ignore": ["a b"]}),
        (["qid", "label", "f", "title", "g"], ["title"], {"features": ["f", "title"]}),
    ],
)
def test_one_message_says_all_that_is_lacking(names, text, columns):
    """What it proposes reads the table, and says the same without any guess."""
    with pytest.raises(ColumnsError) as caught:
        resolve(names, Columns(**columns), text=text)
    error = caught.value
    assert repr(error.complete) in str(error)
    assert eval(repr(error.complete), {"Columns": Columns}) == error.complete
    roles = resolve(names, error.complete, text=text)
    assert roles.columns == error.complete
    assert "f" in roles.features
    assert not set(roles.features).intersection(["label", "query_id", "query_weight", *text])


def test_placeholders_stand_for_what_cannot_be_guessed():
    with pytest.raises(ColumnsError) as caught:
        resolve(["a", "b", "title"], text=["title"])
    assert caught.value.complete == Columns(label="LABEL", qid="QID", ignore="title")
    roles = resolve(
        ["a", "b", "title", "f"],
        Columns(**caught.value.complete.as_dict() | {"label": "a", "qid": "b"}),
        text=["title"],
    )
    assert roles.features == ("f",)


def test_an_error_can_be_sent_to_another_process():
    with pytest.raises(ColumnsError) as caught:
        resolve(["a", "b"])
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.complete) == (str(caught.value), caught.value.complete)


def test_columns_complete_others():
    file = Columns("grade", "session", ignore=["clicked", "url"], weight="w", features=["f", "g"])
    assert Columns().over(file) == file
    assert file.over(Columns()) == file
    assert Columns(label="clicked").over(file).as_dict() == file.as_dict() | {
        "label": "clicked",
        "ignore": ["url"],
    }
    assert Columns(ignore="f").over(file).ignore == ("f", "clicked", "url")
    assert Columns(ignore="f").over(file).features == ("g",)
    assert Columns(weight="g").over(file).features == ("f",)
    assert Columns(features=["w", "url"]).over(file).as_dict() == {
        "label": "grade",
        "qid": "session",
        "ignore": ["clicked"],
        "features": ["w", "url"],
    }


def test_what_is_said_goes_before_guesses():
    names = ["qid", "label", "clicked", "session", "weight", "f"]
    columns = Columns(
        label="clicked", qid="session", ignore=["label", "qid"], features=["weight", "f"]
    )
    roles = resolve(names, columns)
    assert roles.special == {"label": "clicked", "qid": "session"}
    assert roles.features == ("weight", "f")  # named, so it is no weight
    assert roles.left_out == ("qid", "label")


def test_patterns():
    names = ["qid", "label", "bm25_title", "bm25_body", "f[1]", "f1", "debug_a", "shop_id"]
    assert resolve(names, Columns(features="bm25_*")).features == ("bm25_title", "bm25_body")
    assert resolve(names, Columns(features=["f[1]"])).features == ("f[1]",)  # the name of a column
    assert resolve(names, Columns(features=["f[12]"])).features == ("f1",)
    assert resolve(names, Columns(features="*")).features == tuple(names[2:])  # ids if listed
    kept = resolve([*names, "__index_level_0__"], Columns(ignore=["debug_?", "shop_id"]))
    assert kept.features == ("bm25_title", "bm25_body", "f[1]", "f1")
    assert kept.left_out == ("debug_a", "shop_id", "__index_level_0__")  # of pandas


@pytest.mark.parametrize("what", ["ignore", "features"])
def test_a_long_list_of_names_does_not_go_through_all_columns_for_each(what):
    class Table(dict):
        rounds = 0

        def __iter__(self):
            Table.rounds += 1
            return super().__iter__()

    names = [f"f{number}" for number in range(300)]
    table = Table.fromkeys(["label", "qid", *names], "")
    roles = Columns(**{what: names[::2]}).resolve(table, "clicks.csv")
    assert roles.features == tuple(names[1::2] if what == "ignore" else names[::2])
    assert Table.rounds < 30


@pytest.mark.parametrize(
    ("names", "columns", "message"),
    [
        (
            ["qid", "query_id", "label", "f"],
            {},
            "the query may be column 'qid' or 'query_id'.*qid='qid', ignore=.'query_id'.*"
            "if that is not the query, use qid='query_id'$",
        ),
        (
            ["qid", "label", "grade", "f"],
            {},
            "the label may be column 'label' or 'grade'.*ignore=.'grade'.*use label='grade'",
        ),
        (
            ["qid", "f"],
            {},
            r"no column is named like the label \(label, .*the name of the label: label='LABEL'",
        ),
        (
            ["label", "f"],
            {},
            r"no column is named like the query \(qid, .*the name of the query: qid='QID'",
        ),
        (["qid", "label"], {}, "no column is left to be a feature"),
        (
            ["qid", "label", "f"],
            {"label": "y"},
            "there is no column 'y' for label; columns are qid, label, f",
        ),
        (["qid", "label", "f"], {"ignore": "g*"}, r"no column matches 'g\*' of ignore"),
        (["qid", "label", "f"], {"features": ["f", "g"]}, "no column matches 'g' of features"),
        (["qid", "label", "f"], {"label": "f", "qid": "f"}, "'f' cannot be both label and query"),
        (["qid", "label", "f"], {"label": "f", "ignore": "f"}, "'f' cannot be both label and some"),
        (["qid", "label", "f"], {"label": "f", "features": "f"}, "'f' cannot be both label and"),
        (
            ["qid", "label", "f", "shop_id"],
            {},
            "'shop_id' looks like an id.*ignore=.'shop_id'.*add doc_id='shop_id'.*features=",
        ),
        (["qid", "label", "f", "ID"], {}, "'ID' looks like an id"),
        (
            ["qid", "label", "title", "f", "a b"],
            {},
            r"'title' holds text, not numbers; column 'a b' holds text.* to read it, use columns="
            r"Columns\(label='label', qid='qid', ignore=\['title', 'a b'\]\); if 'title' names",
        ),
        (["qid", "label", "f"], {"label": "title"}, "there is no column 'title'"),
        (["qid", " label ", "f"], {}, "is named like the label .* among qid, ' label '"),
        (
            ["qid", "label", "title"],
            {"label": "title"},
            "'title' holds text, but the label must",
        ),
        (["qid", "label", "title"], {"weight": "title"}, "'title' holds text, but the weight must"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(names, columns, message):
    with pytest.raises(DataError, match=f"^clicks.csv: .*{message}"):
        resolve(names, Columns(**columns), text=("title", "a b"))


def test_a_file_that_knows_its_columns_is_not_guessed():
    names = ["label", "qid", "relevance", "shop_id", "weight"]
    roles = resolve(names, known={"label": "label", "qid": "qid"})
    assert roles.features == ("relevance", "shop_id", "weight")
    assert roles.special == {"label": "label", "qid": "qid"}
    other = resolve(names, Columns(label="relevance"), known={"label": "label", "qid": "qid"})
    assert other.label == "relevance"
    assert other.features == ("label", "shop_id", "weight")


def test_columns_aside_are_no_features():
    roles = resolve(["qid", "label", "f", "fold"], text=["fold"], aside=["fold"])
    assert (roles.features, roles.left_out) == (("f",), ())
    with pytest.raises(DataError, match="there is no column 'part'"):
        resolve(["qid", "label", "f"], aside=["part"])
    with pytest.raises(DataError, match="'f' cannot be both label and something else"):
        resolve(["qid", "f", "g"], Columns(label="f"), aside=["f"])


def test_long_tables_are_told_in_a_line_and_strange_names_are_escaped():
    names = ["qid", "label", "\x1b[31m\n", *(f"f{number}" for number in range(300))]
    told = str(resolve(names))
    assert told.startswith(
        "Columns: label = label, query = qid; 301 features: '\\x1b[31m\\n', f0, f1"
    )
    assert told.endswith("f6 and 293 more")


def test_names_must_differ():
    with pytest.raises(DataError, match="a.csv: 2 columns are named 'f'; rename them"):
        check_distinct(["qid", "f", "f"], "a.csv")
    with pytest.raises(DataError, match="a.csv: column 1 has no name; .*index=False"):
        check_named(["", "f"], "a.csv")
    check_distinct(["", "f"], "a.csv")


@pytest.mark.parametrize(
    "settings", [{"label": 3}, {"ignore": [None]}, {"features": ["f", 2]}, {"qid": b"q"}]
)
def test_names_are_texts(settings):
    with pytest.raises(ValueError, match="must name a column"):
        Columns(**settings)


def test_a_policy_for_missing_values_and_a_unit_of_costs():
    columns = Columns(missing=Missing("query-min", indicators=True), cost_unit="ms")
    assert columns.as_dict() == {"missing": "query-min+indicators", "cost_unit": "ms"}
    with pytest.raises(ValueError, match="missing must be one of keep, query-min"):
        Columns(missing="mean")
    with pytest.raises(ValueError, match="cost_unit must be a text, got 3"):
        Columns(cost_unit=3)


def test_a_value_of_columns_can_be_stored():
    columns = Columns(label="grade", ignore="a", features=("b", "c*"))
    assert columns.as_dict() == {"label": "grade", "ignore": ["a"], "features": ["b", "c*"]}
    assert Columns.from_dict(columns.as_dict()) == columns
    assert not Columns()
    assert columns
    with pytest.raises(ValueError, match="columns have no 'labels'; choose from label, qid, doc"):
        Columns.from_dict({"labels": "grade"})


NAMES = st.sampled_from(
    ["qid", "label", "weight", "doc_id", "bm25", "bm25_title", "price", "shop_id", "title", "f[1]"]
)


@given(
    st.lists(NAMES, unique=True),
    st.sets(st.sampled_from(["title"])),
    st.lists(st.sampled_from(["bm25*", "title", "p*", "shop_id"]), max_size=2),
    st.lists(st.sampled_from(["bm25*", "weight", "*"]), max_size=2),
)
def test_every_column_is_exactly_one_thing(names, text, ignore, features):
    """Or the table is refused; and what is ignored is never used."""
    try:
        roles = resolve(names, Columns(ignore=ignore, features=features), text=text)
    except DataError:
        return
    used = [*roles.special.values(), *roles.features, *roles.left_out]
    assert sorted(used) == sorted(names)
    assert not text & set(roles.features)
    assert list(roles.features) == [name for name in names if name in roles.features]
    if "title" in ignore:
        assert "title" not in roles.features
