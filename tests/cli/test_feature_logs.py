"""Feature logs on the command line: convert, and what other commands say about them."""

import json

import pytest

from ranksieve import DataError, RankingData, read_letor, read_parquet
from ranksieve.datasets.opening import open_data
from ranksieve.io.shards import open_shards

LINES = [
    {"qid": "rambo", "search": 1, "docs": [
        {"id": "a", "sku": 7, "[features]": "title=1.5,body=0.0"},
        {"id": "b", "sku": 8, "[features]": "title=NaN,body=2.0"},
    ]},
    {"qid": "rocky", "search": 2, "docs": [
        {"id": "a", "sku": 7, "[features]": "title=3.0,body=4.0"},
        {"id": "c", "sku": 9, "[features]": "title=1.0,body=4.0"},
    ]},
]  # fmt: skip
TOLD = """\
Log of Solr: query id 'qid', document id 'id'
Judgments: TREC qrels
Dropped: 1 document without a judgment
"""


@pytest.fixture
def files(tmp_path):
    log, judgments = tmp_path / "log.jsonl", tmp_path / "qrels.txt"
    log.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    judgments.write_text("rambo 0 a 2\nrocky 0 a 1\nrocky 0 c 0\n")
    return log, judgments


def test_convert(run, files, tmp_path):
    log, judgments = files
    for name, read in (("d.parquet", read_parquet), ("d.txt", read_letor)):
        out = tmp_path / name
        found = run("convert", log, out, "--judgments", judgments)
        assert found == (0, f"{TOLD}{out}: 3 rows, 2 queries, 2 features\n", "")
        data = read(out)
        assert (data.X.tolist(), data.y.tolist()) == ([[1.5, 0], [3, 4], [1, 4]], [2, 1, 0])
        assert data.feature_names.tolist() == ["title", "body"]
        assert data.doc_ids.tolist() == ["a", "a", "c"]


def test_convert_to_shards(succeed, files, tmp_path):
    log, judgments = files
    out = tmp_path / "d.shards"
    how = ("--judgments", judgments, "--dtype", "float32", "--sparse", "--unjudged", "zero")
    told = succeed("convert", log, out, *how)
    assert "Given grade 0: 1 document without a judgment\nMissing: 1 feature value\n" in told
    with open_shards(out) as shards:
        data = shards.read()
    assert (data.X.dtype, data.is_sparse, data.y.tolist()) == ("float32", True, [2, 0, 1, 0])


def test_where_ids_are(run, files, tmp_path):
    log, _ = files
    judgments, out = tmp_path / "judgments.csv", tmp_path / "d.parquet"
    judgments.write_text("query,document,grade\n1,7,2\n2,7,1\n")
    how = ("--judgments", judgments, "--qid", "search", "--doc-id", "sku")
    assert run("convert", log, out, *how)[0] == 0
    assert read_parquet(out).qid.tolist() == [1, 2]


def test_selected_features_and_scaling(run, files, tmp_path):
    log, judgments = files
    out, chosen = tmp_path / "d.parquet", tmp_path / "selected.json"
    run("convert", log, out, "--judgments", judgments)
    assert run("select", out, "--method", "top", "-k", "1", "--out", chosen)[0] == 0
    small, shards = tmp_path / "small.parquet", tmp_path / "small.shards"
    how = ("--judgments", judgments, "--selection", chosen)
    assert run("convert", log, small, *how, "--scale", "min-max")[0] == 0
    assert run("convert", log, shards, *how)[0] == 0
    assert read_parquet(small).X.tolist() == [[0], [1], [0]]
    with open_shards(shards) as opened:
        assert opened.read().X.tolist() == [[1.5], [3], [1]]


def test_open_data(files):
    log, judgments = files
    data = open_data(log, judgments=judgments, sparse=True)
    assert isinstance(data, RankingData)
    assert data.is_sparse
    assert data.n_rows == 3
    with pytest.raises(DataError, match="leave out --zero-based: only for LETOR text, not for fea"):
        open_data(log, judgments=judgments, zero_based=True)
