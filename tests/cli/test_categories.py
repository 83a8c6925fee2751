"""The command line on features that are categories."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ranksieve.rankers import load_model
from tests.rankers.test_categories import data_of, frame_of

TREES = ("--ranker", "lightgbm", "--param", "n_estimators=5", "--param", "n_jobs=1")


@pytest.fixture
def files(tmp_path):
    """A table to train on, and a later one with a category that is new."""
    for number, name in enumerate(("train", "later")):
        frame, y = frame_of(number, 40, unused=["brand\nnew"])
        if name == "later":
            frame.loc[:6, "shop"] = "brand\nnew"
        texts = {column: frame[column].astype(object) for column in ("shop", "kind")}
        frame = frame.assign(**texts, grade=y, qid=np.arange(len(frame)) // 8, city="Ghent")
        pq.write_table(
            pa.Table.from_pandas(frame, preserve_index=False), tmp_path / f"{name}.parquet"
        )
    return tmp_path / "train.parquet", tmp_path / "later.parquet"


def test_from_declared_columns_to_later_data(run, files, tmp_path):
    train, later = files
    model = tmp_path / "model.json"
    columns = ("--categorical", "shop", "--ignore", "city")
    status, _, told = run("train", train, *columns, *TREES, "--out", model)
    assert status == 0, told
    assert "categories: shop, kind" in told  # the second of them is guessed
    assert "No target of export takes categories (shop, kind): if the model is to run" in told
    status, out, told = run("predict", model, later)
    assert status == 0, told
    assert "Feature shop has categories that were not in training, in 7 rows: 'brand\\nnew'" in told
    frame, y = frame_of(1, 40, unused=["brand\nnew"])
    frame.loc[:6, "shop"] = "brand\nnew"
    expected = load_model(model).predict(data_of(frame, y))
    np.testing.assert_array_equal(np.array(out.split(), dtype=float), expected)
    for target in ("python", "opensearch-ltr", "onnx", "lightgbm"):
        status, _, told = run("export", model, "--to", target, "--out", tmp_path / target)
        assert status == 1
        assert "trained on categories (shop, kind), which no target holds: leave these" in told
        assert not (tmp_path / target).exists()


def test_what_is_text_and_not_a_category_is_refused_with_the_option(run, files):
    train, _ = files
    table = pq.read_table(train)
    titles = pa.array([f"title {n}" for n in range(len(table))])
    pq.write_table(table.append_column("title", titles), train)
    status, _, told = run("select", train, "-k", 1)
    assert status == 1
    assert "column 'title' holds text, not numbers" in told
    assert "--categorical" in told
