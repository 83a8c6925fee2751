"""Columns that are remembered: nothing is guessed about a new table, and what is said wins."""

import pytest

from ranksieve import Columns, DataError
from ranksieve.data.columns import ColumnsError
from ranksieve.data.remembered import RememberedColumns

OLD = Columns("grade", "session", "doc", weight="w", ignore=["url", "debug_*", "fold"])
NEW = ["session", "grade", "w", "doc", "f", "g"]


def resolve(table, given=None, *, remembered=OLD, text=(), known=None, **others):
    columns = RememberedColumns.of(remembered, given, what="the model", **others)
    held = {name: "text" if name in text else "" for name in table}
    return columns.resolve(held, "new.csv", known=known)


def test_roles_are_those_of_the_earlier_table():
    roles = resolve([*NEW, "qid", "label", "url", "debug_1", "fold"])
    assert roles.special == {"label": "grade", "qid": "session", "doc_id": "doc", "weight": "w"}
    assert roles.features == ("f", "g", "qid", "label")  # which were not there, or were features
    assert roles.left_out == ("url", "debug_1", "fold")


def test_what_cannot_be_a_feature_is_left_out_if_it_is_new():
    roles = resolve([*NEW, "title", "shop_id", "h"], text=["title"])
    assert roles.features == ("f", "g", "h")
    assert resolve([*NEW, "shop_id"], names=["shop_id"]).features == ("f", "g", "shop_id")
    with pytest.raises(ColumnsError, match="column 'g' holds text, not numbers"):
        resolve(NEW, names=["f", "g"], text=["g"])


def test_what_is_said_wins():
    roles = resolve([*NEW, "relevance"], Columns(label="relevance", ignore="g"))
    assert (roles.label, roles.qid, roles.weight) == ("relevance", "session", "w")
    assert roles.features == ("grade", "f")
    with pytest.raises(
        DataError, match="there is no column 'relevance' for label; columns are session"
    ):
        resolve(NEW, Columns(label="relevance"))
    whole = Columns("grade", "session")  # says all, so that there need be no weight
    assert resolve(["session", "grade", "f", "g"], whole).weight is None
    with pytest.raises(ColumnsError, match="column 'url' holds text"):
        resolve(["session", "grade", "f", "url"], whole, text=["url"])
    assert resolve(NEW, Columns(features="f")).features == ("f",)


@pytest.mark.parametrize(
    ("role", "option"), [("grade", "--label"), ("session", "--qid"), ("w", "--weight")]
)
def test_a_column_that_is_lacking_is_named_with_what_to_do(role, option):
    names = [name for name in NEW if name != role]
    with pytest.raises(
        DataError,
        match=f"^new.csv: there is no column '{role}', which the model remembers as the .*: name "
        f"it with {option} NAME .*--columns FILE",
    ):
        resolve([*names, "qid", "label"])


def test_scores_need_no_labels():
    names = ["session", "f", "g"]
    roles = resolve(names, names=["g", "f"], only_names=True, needs_label=False)
    assert roles.special == {"qid": "session"}
    assert roles.features == ("f", "g")
    said = resolve(names, Columns(label="grade"), needs_label=False)
    assert said.label is None
    guessed = resolve(["qid", "f"], remembered=None, needs_label=False)
    assert guessed.special == {"qid": "qid"}
    with pytest.raises(DataError, match="no column 'session', which the model remembers"):
        resolve(["f", "g"], needs_label=False)
    with pytest.raises(DataError, match="there is no column 'doc_2'"):
        resolve(names, Columns(doc_id="doc_2"), remembered=None, needs_label=False)


def test_features_that_are_lacking_are_named():
    with pytest.raises(DataError, match="^new.csv: it lacks feature 'h', which the model needs"):
        resolve(NEW, names=["f", "h"])


def test_a_table_that_knows_its_columns_is_believed():
    names, known = ["label", "qid", "f", "g", "title"], {"label": "label", "qid": "qid"}
    roles = resolve(names, known=known, names=["f"], only_names=True)
    assert roles.special == known
    assert roles.features == ("f",)
    assert resolve([*names, "w"], Columns(weight="w"), known=known).weight == "w"


def test_without_a_memory_names_are_guessed():
    assert resolve(["qid", "grade", "f"], remembered=None).special == {
        "label": "grade",
        "qid": "qid",
    }
    with pytest.raises(ColumnsError, match="column 'url' holds text"):
        resolve(["qid", "grade", "f", "url"], remembered=None, text=["url"])


def test_features_that_were_listed_are_still_the_only_ones():
    listed = Columns("grade", "session", features=["f", "bm25_*", "gone"])
    roles = resolve([*NEW, "bm25_a"], remembered=listed, names=["g"])
    assert roles.features == ("f", "g", "bm25_a")
