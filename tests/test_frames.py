"""Frames of pandas or polars: which library, and how missing values arrive."""

import sys

import pandas as pd
import polars as pl
import pytest

from ranksieve.frames import make_frame
from tests.report.browser import HOSTILE

COLUMNS = {"feature": list(HOSTILE), "rank": [1, 2, *[None] * (len(HOSTILE) - 2)]}


@pytest.mark.parametrize(("library", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
class TestEachLibrary:
    def test_columns_keep_their_order_and_names_are_unchanged(self, library, kind):
        frame = make_frame(COLUMNS, library)
        assert isinstance(frame, kind)
        assert list(frame.columns) == ["feature", "rank"]
        assert list(frame["feature"]) == list(HOSTILE)

    def test_surrogates_are_escaped(self, library, kind):
        """They stand for bytes that are no text, and neither library can store them."""
        frame = make_frame({"feature": ["a\udcff"], "names": [["\udcff"]]}, library)
        assert (frame["feature"][0], list(frame["names"][0])) == ("a\\udcff", ["\\udcff"])

    def test_missing_values(self, library, kind):
        frame = make_frame({"some": [0.5, None], "none": [None, None]}, library)
        assert frame["some"][0] == 0.5
        assert frame["some"].is_null()[1] if library == "polars" else frame["some"].isna()[1]
        assert all(frame["none"].is_null() if library == "polars" else frame["none"].isna())
        assert str(frame["none"].dtype).lower() == "float64"

    def test_whole_numbers_stay_whole(self, library, kind):
        assert str(make_frame(COLUMNS, library)["rank"].dtype) == "Int64"

    def test_lists_and_no_rows(self, library, kind):
        assert list(make_frame({"names": [["a", "b"], []]}, library)["names"][0]) == ["a", "b"]
        assert make_frame({"names": []}, library).shape == (0, 1)


def test_polars_if_it_is_imported(monkeypatch):
    assert isinstance(make_frame(COLUMNS), pl.DataFrame)
    monkeypatch.delitem(sys.modules, "polars")
    assert isinstance(make_frame(COLUMNS), pd.DataFrame)


def test_what_to_install(monkeypatch):
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    with pytest.raises(ImportError, match=r"needs pandas or polars.*: pip install pandas$"):
        make_frame(COLUMNS)
    with pytest.raises(ImportError, match=r"needs polars.*: pip install polars$"):
        make_frame(COLUMNS, "polars")


def test_another_library_is_refused():
    with pytest.raises(ValueError, match="must be 'pandas' or 'polars', got 'dask'"):
        make_frame(COLUMNS, "dask")
