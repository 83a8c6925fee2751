"""Typed records: what is read has its type, and errors say where and why not."""

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Literal, get_origin

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import DataError
from ranksieve.io.records import (
    Count,
    Finite,
    convert_record,
    convert_signed,
    parse_record,
    read_record,
    sign_record,
    to_values,
)


class Fold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    queries: tuple[Count, ...]
    kind: Literal["train", "test"] = "train"

    def __post_init__(self) -> None:
        if len(set(self.queries)) < len(self.queries):
            raise ValueError(f"{self.name} lists a query twice")


@dataclass(frozen=True)
class Facts:
    folds: Annotated[list[Fold], msgspec.Meta(min_length=1)]
    means: dict[str, list[Finite]]
    weight: float | None = None


FACTS = Facts([Fold("a", (3, 1)), Fold("b", (), "test")], {"MAP": [0.5, 1.0]})


def test_what_is_written_is_read_back(tmp_path):
    assert convert_record(to_values(FACTS), Facts) == FACTS
    signed = sign_record(FACTS, "facts", 2)
    assert list(signed) == ["format", "version", "folds", "means", "weight", "checksum"]
    assert convert_signed(signed, Facts, "facts", 2, "the facts") == FACTS
    assert type(convert_record(2, float)) is float
    for value in (None, 3, [], "x"):
        with pytest.raises(DataError, match="^it should be an object, not "):
            convert_record(value, Facts)
    path = tmp_path / "record.json"
    path.write_text('{"folds": 3}')
    with pytest.raises(DataError, match=rf"^{path}: 'folds' should be a list, not 3"):
        read_record(path, Facts)
    assert read_record(path) == {"folds": 3}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"folds": 3}, "'folds' should be a list, not 3"),
        ({"folds": []}, r"'folds' should be a list of length >= 1, not \[\]"),
        ({"folds": [{"name": "a"}]}, r"'folds\[0\].queries' is missing"),
        ({"folds": [{"name": None}]}, r"'folds\[0\].name' should be a text, not None"),
        ({"folds": [{"name": "a", "queries": [True]}]}, r"queries\[0\]' should be a whole numb"),
        ({"folds": [{"name": "a", "queries": [1.0]}]}, r"queries\[0\]' should .* not 1.0"),
        ({"folds": [{"name": "a", "queries": [2**63]}]}, r"queries\[0\]' should .* <= 922"),
        ({"folds": [{"name": "a", "queries": [], "k": 1}]}, r"'folds\[0\].k' is not a known fi"),
        ({"folds": [{"name": "a", "queries": [4, 4]}]}, r"folds\[0\]: a lists a query twice"),
        ({"folds": [{"name": "a", "queries": [], "kind": "x"}]}, r"kind' is 'x', which is not kn"),
        ({"means": {"a": [1.0], "b": ["x"]}}, r"'means.b\[0\]' should be a number, not 'x'"),
        ({"means": {"a": [1.0], "b": 3}}, "'means.b' should be a list, not 3"),
        ({"means": {"a": [math.nan]}}, r"'means.a\[0\]' should be a number >= -1.797.*, not nan"),
        (  # msgspec does not say which
            {"means": {"a": [1.0], "b": [math.inf]}},
            r"'means\[...\]\[0\]' should be a number <= 1.797\d+e\+308$",
        ),
        ({"weight": "x"}, "'weight' should be a number or null, not 'x'"),
        ({"weight": 10**400}, "weight: Number out of range"),
    ],
)
def test_errors_say_where_and_what(changes, message):
    with pytest.raises(DataError, match=message):
        convert_record(to_values(FACTS) | changes, Facts)


@dataclass(frozen=True)
class Nested:
    by_name: dict[str, dict[str, Fold]]


GOOD = {"name": "a", "queries": [1]}


@pytest.mark.parametrize(
    ("by_name", "message"),
    [
        ({"a": {"b": GOOD, "c": {"name": "c"}}, "d": 3}, "'by_name.a.c.queries' is missing"),
        ({"a": {"b": GOOD | {"x": 1}, "c": [], "d": "x"}}, "'by_name.a.b.x' is not a known field"),
        ({"a": {"b": GOOD | {"queries": ["1"]}}, "c": None}, r"'by_name.a.b.queries\[0\]' should"),
        ({"a": 3, "b": {"c": []}}, "'by_name.a' should be an object, not 3"),
        (
            {"a": {"b": GOOD, "c": GOOD | {"queries": [-1]}}},
            r"'by_name\[...\]\[...\].queries\[0\]'",
        ),
    ],
)
def test_keys_of_mappings_are_named_where_they_are_known(by_name, message):
    with pytest.raises(DataError, match=message):
        convert_record({"by_name": by_name}, Nested)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2**64) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "queries", "kind", "folds", "a"]), inner)
    ),
)


@given(ANYTHING)
def test_nothing_but_a_data_error(values):
    for kind in (Nested, Facts, Fold, dict[str, Nested], list[dict[str, Facts]]):
        for wrapped in (values, {"by_name": values}, {"folds": values, "means": values}, [values]):
            with suppress(DataError):
                assert isinstance(convert_record(wrapped, kind), get_origin(kind) or kind)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "x"}, "^not the facts: its format is 'x'"),
        ({"version": 1}, "^written by an older version of ranksieve: format 1, this one reads 2"),
        ({"version": 3}, "^written by a newer version of ranksieve: format 3, this one reads 2"),
        ({"version": None}, "^'version' should be a whole number, not None"),
        ({"weight": 1.0}, "^it is damaged: its checksum is not that of its content"),
        ({"checksum": None}, "^it is damaged: its checksum is not that of its content"),
    ],
)
def test_signed_records(changes, message):
    with pytest.raises(DataError, match=message):
        convert_signed(sign_record(FACTS, "facts", 2) | changes, Facts, "facts", 2, "the facts")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": 1, "a": 2}', "'a' appears twice in an object"),
        (b"[" * 101 + b"]" * 101, "nested too deeply"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"1" + b"0" * 300, "is not a valid number"),
        (b"NaN", "NaN is not a valid number"),
        (b"-Infinity", "-Infinity is not a valid number"),
        (b"", "Expecting value"),
        (b'{"a": 1', "Expecting ',' delimiter"),
        (b"1e999", "1e999 is not a valid number"),
        (b"\xff", "utf-8"),
        (b"{]", "Expecting property name"),
    ],
)
def test_text_that_is_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        parse_record(text)
    path = tmp_path / "record.json"
    path.write_bytes(text)
    with pytest.raises(DataError, match=rf"^{path}:(1:)? not JSON: .*{message}"):
        read_record(path)
