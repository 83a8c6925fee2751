"""Feature logs: responses as engines write them, in all ways to save them; joins; errors."""

import gzip
import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import DataError, RankingData
from ranksieve.datasets.demo import render_responses
from ranksieve.io import files
from ranksieve.io.feature_logs import read_feature_log, reading, table
from ranksieve.io.feature_logs.reading import json_values

GRADES = {"rambo": {"7555": 4, "1370": 3, "1369": 3}, "rocky": {"4241": 2}}

# As the plugins of Elasticsearch and OpenSearch answer the request of their documentation.
ELASTICSEARCH = """\
{
  "took": 3,
  "timed_out": false,
  "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
  "hits": {
    "total": {"value": 2, "relation": "eq"},
    "max_score": 0.0,
    "hits": [
      {
        "_index": "tmdb",
        "_id": "7555",
        "_score": 0.0,
        "_source": {"title": "Rambo {[\\"", "hits": [1]},
        "fields": {
          "_ltrlog": [
            {
              "log_entry1": [
                {"name": "title_query", "value": 9.510193},
                {"name": "body_query", "value": 10.7808075},
                {"value": {"shard": 3}, "name": "extra_logging"}
              ]
            }
          ]
        },
        "matched_queries": ["logged_featureset"]
      },
      {
        "_index": "tmdb",
        "_id": "1370",
        "_score": 0.0,
        "fields": {
          "_ltrlog": [
            {"log_entry1": [{"name": "title_query"}, {"name": "body_query", "value": 6.8449354}]}
          ]
        },
        "matched_queries": ["logged_featureset"]
      }
    ]
  }
}"""

# As Solr's reference guide shows it; Solr indents by default.
SOLR = """\
{
  "responseHeader":{
    "status":0,
    "QTime":0,
    "params":{
      "q":"rambo",
      "fl":"id,score,[features]"}},
  "response":{"numFound":2,"start":0,"maxScore":1.959392,"docs":[
      {
        "id":"7555",
        "score":1.959392,
        "[features]":"documentRecency=0.020893794,isBook=0.0,originalScore=1.959392"},
      {
        "id":"1370",
        "score":1.5513437,
        "[features]":"documentRecency=2.0893794E-5,isBook=NaN,originalScore=1.5513437"}]
  }}"""


def hit(document, **features):
    """A hit; None is a feature without a value."""
    entries = [
        {"name": name} if value is None else {"name": name, "value": value}
        for name, value in features.items()
    ]
    return {"_id": document, "fields": {"_ltrlog": [{"log": entries}]}}


def response(*hits):
    return {"hits": {"hits": list(hits)}}


def doc(document, features):
    return {"id": document, "[features]": features}


def solr_response(query, *docs, **params):
    header = {"status": 0, "params": {"q": query, **params}}
    return {"responseHeader": header, "response": {"docs": list(docs)}}


@pytest.fixture
def save(tmp_path):
    def saver(*values, name="log.jsonl"):
        path = tmp_path / name
        lines = [v if isinstance(v, str) else json.dumps(v) for v in values]
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return saver


def rows_of(data):
    """Query, document, grade and values of each row; None is missing."""
    values = [[None if np.isnan(v) else v for v in row] for row in data.X.tolist()]
    ids = (data.qid.tolist(), data.doc_ids.tolist(), data.y.tolist())
    return list(zip(*ids, values, strict=True))


def read_rows(path, judgments=GRADES, **how):
    return rows_of(read_feature_log(path, judgments, **how)[0])


def check_error(path, message, judgments=GRADES, **how):
    with pytest.raises(DataError) as error:
        read_feature_log(path, judgments, **how)
    assert str(error.value).startswith(f"{path}{message}"), str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 700


# What engines write


def test_elasticsearch(save):
    line = f'{{"qid": "rambo", "response": {ELASTICSEARCH}}}'
    data, summary = read_feature_log(save(line), GRADES)
    assert data.feature_names.tolist() == ["title_query", "body_query"]
    assert rows_of(data) == [
        ("rambo", "7555", 4, [9.510193, 10.7808075]),
        ("rambo", "1370", 3, [None, 6.8449354]),
    ]
    assert summary.engine == "Elasticsearch or OpenSearch"
    assert (summary.qid, summary.doc_id) == ("qid", "_id")
    assert (summary.n_logged, summary.n_missing, summary.n_unlogged) == (2, 1, 2)
    assert (summary.n_unjudged, summary.n_unjudged_queries) == (0, 0)


def test_solr(save):
    data, summary = read_feature_log(save(SOLR), GRADES)
    assert data.feature_names.tolist() == ["documentRecency", "isBook", "originalScore"]
    assert rows_of(data) == [
        ("rambo", "7555", 4, [0.020893794, 0, 1.959392]),
        ("rambo", "1370", 3, [2.0893794e-05, None, 1.5513437]),
    ]
    assert (summary.engine, summary.doc_id, summary.unlisted) == ("Solr", "id", "missing")
    assert summary.qid == "responseHeader.params.q"


def test_sparse_logs_of_solr(save):
    """What they leave out has its default value; a dense log has all features."""
    told = solr_response("rambo", doc("7555", "a=1.0"), fl="id,[features format=sparse]")
    seen = solr_response("rocky", doc("4241", "b=3.0"), doc("x", ""))
    plain = solr_response("rocky", doc("4241", "b=3.0"), doc("x", "b=1.0"))
    for other, rest in ((told, plain), (solr_response("rambo", doc("7555", "a=1.0")), seen)):
        data, summary = read_feature_log(save(other, rest), GRADES)
        assert (data.X.tolist(), summary.unlisted) == ([[1, 0], [0, 3]], "zero")
        assert "Features that a document does not list are 0" in str(summary)
    path = save(solr_response("rambo", doc("7555", "a=1.0")), plain)
    data, summary = read_feature_log(path, GRADES)
    assert ([row[3] for row in rows_of(data)], summary.unlisted) == (
        [[1, None], [None, 3]],
        "missing",
    )
    assert read_feature_log(path, GRADES, unlisted="zero")[0].X.tolist() == [[1, 0], [0, 3]]
    nothing = save(told, seen)
    assert read_rows(nothing, unlisted="missing")[0] == ("rambo", "7555", 4, [1, None])


def test_several_logs_of_a_hit(save):
    """They are one, unless they contradict each other or have one name."""
    both = hit("7555", a=1.5)
    logs = both["fields"]["_ltrlog"]
    logs[0]["rescore[0]"] = [{"name": "b", "value": 2}, {"name": "a", "value": 1.5}]
    path = save({"qid": "rambo", **response(both)})
    assert read_rows(path) == [("rambo", "7555", 4, [1.5, 2])]
    data, _ = read_feature_log(path, GRADES, log="rescore[0]")
    assert (data.feature_names.tolist(), data.X.tolist()) == (["b", "a"], [[2, 1.5]])
    check_error(path, ":1: hit 1: there is no log 'x'; logs of the hit: 'log', 'res", log="x")
    logs[0]["log"][0]["value"] = 3
    path = save({"qid": "rambo", **response(both)})
    check_error(path, ":1: hit 1: feature 'a' occurs twice, with the values 3.0 and 1.5")
    assert read_rows(path, log="log") == [("rambo", "7555", 4, [3])]
    logs += [{"other": [{"name": "c", "value": 3}]}, {"log": [{"name": "b", "value": 1}]}]
    path = save({"qid": "rambo", **response(both)})
    message = ":1: hit 1: several logs are named 'log', in entries 1 and 3 of _ltrlog; give each"
    for how in ({}, {"log": "log"}):
        check_error(path, message, **how)
    assert read_rows(path, log="other") == [("rambo", "7555", 4, [3])]


def test_a_field_of_another_name(save):
    """As of fl=id,values:[features], or of a transformer that is called otherwise."""
    path = save({"qid": "rambo", "docs": [{"id": "7555", "[fv]": "a=1,b=-2.5e3"}]})
    assert read_rows(path, log="[fv]") == [("rambo", "7555", 4, [1, -2500])]
    check_error(path, ":1: document 1: there is no field '[features]'; ask for it in fl=")


def test_several_files(save, tmp_path):
    second = tmp_path / "second.jsonl.gz"
    second.write_bytes(gzip.compress(json.dumps({"qid": "rocky", **TWO}).encode()))
    assert len(read_rows([save({"qid": "rambo", **ONE}), second])) == 3


# How responses are saved

ONE = response(hit("7555", a=1.0), hit("1370", a=2.0))
TWO = response(hit("4241", a=3.0))
BOTH = [{"qid": "rambo", "response": ONE}, {"qid": "rocky", "response": TWO}]
SAVED = {
    "a line each": BOTH,
    "id beside the hits": [{"query_id": "rambo", **ONE}, {"query_id": "rocky", **TWO}],
    "only the hits": [
        {"keywords": "rambo", "hits": ONE["hits"]["hits"]},
        {"keywords": "rocky", "hits": TWO["hits"]["hits"]},
    ],
    "a list": [BOTH],
    "without line breaks": ["".join(map(json.dumps, BOTH))],
    "indented": [json.dumps(BOTH[0], indent=2), "", json.dumps(BOTH[1], indent="\t")],
    "an indented list": [json.dumps(BOTH, indent=1)],
    "a multi-search": [{"qid": ["rambo", "rocky"], "took": 1, "responses": [ONE, TWO]}],
    "a multi-search inside": [
        {"qid": ["rambo", "rocky"], "docs": 3 * [1], "response": {"responses": [ONE, TWO]}}
    ],
    "a multi-search with ids inside": [
        {"responses": [{"qid": "rambo", **ONE}, {"qid": "rocky", **TWO}]}
    ],
    "hits one by one": [
        {"qid": line["qid"], **one} for line in BOTH for one in line["response"]["hits"]["hits"]
    ],
    "ids in the hits": [
        response({**one, "_source": {"qid": line["qid"]}})
        for line in BOTH
        for one in line["response"]["hits"]["hits"]
    ],
    "ids as fields of the hits": [
        response(
            *(
                {**one, "fields": {**one["fields"], "query_id": [line["qid"]]}}
                for line in BOTH
                for one in line["response"]["hits"]["hits"]
            )
        )
    ],
    "several responses to a query": [
        {"qid": "rambo", **response(hit("7555", a=1.0))},
        {"qid": "rocky", **TWO},
        {"qid": "rambo", **response(hit("1370", a=2.0), hit("7555", a=1.0))},
    ],
    "answers without hits": [{"qid": "none", **response()}, *BOTH],
    "Solr, queries named by a parameter": [
        solr_response("id:(7555 1370)", doc("7555", "a=1.0"), doc("1370", "a=2.0"), qid="rambo"),
        solr_response("id:4241", doc("4241", "a=3.0"), qid="rocky"),
    ],
    "Solr, only the documents": [
        {"qid": "rambo", "docs": [doc("7555", "a=1"), doc(1370, "a=2.0")]},
        {"qid": "rocky", "docs": [doc("4241", "a=3")]},
    ],
    "Solr, documents one by one": [
        {"qid": "rambo", "keywords": ["a"], **doc("7555", "a=1")},
        {"qid": "rambo", "hits": 3, **doc("1370", "a=2")},
        {"qid": "rocky", **doc("4241", "a=3")},
    ],
}  # fmt: skip


@pytest.mark.parametrize("saved", SAVED.values(), ids=SAVED)
def test_ways_to_save_responses(save, saved):
    data, summary = read_feature_log(save(*saved), GRADES)
    assert sorted(rows_of(data)) == [
        ("rambo", "1370", 3, [2.0]),
        ("rambo", "7555", 4, [1.0]),
        ("rocky", "4241", 2, [3.0]),
    ]
    assert data.query_ids.tolist() == ["rambo", "rocky"]
    assert (summary.n_logged, summary.n_unlogged, summary.n_unjudged_queries) == (3, 1, 0)


def test_ids_of_documents_do_not_count_as_queries(save):
    """A document may have keywords of its own, which say nothing of the query."""
    own = {"keywords": "wrong", "query": "wrong", "qid": "wrong", **doc("7555", "a=1")}
    assert read_rows(save(solr_response("rambo", own, qid="rambo")))[0][0] == "rambo"
    del own["qid"]
    assert read_rows(save(solr_response("rambo", own)))[0][0] == "rambo"


def test_where_ids_are_can_be_said(save):
    one = {"_id": "x", "_source": {"sku": 7555}, "fields": {"a.b": ["q"], **hit("", a=1)["fields"]}}
    path = save({"search": {"id": 12}, "qid": "other", "response": response(one)})
    here = {12: {7555: 1}, "q": {"x": 2}}
    found = read_rows(path, here, qid="search.id", doc_id="_source.sku")
    assert found == [(12, "7555", 1, [1])]
    assert read_rows(path, here, qid="fields.a.b") == [("q", "x", 2, [1])]
    check_error(path, ":1: hit 1: there is no 'nowhere', which should have the q", qid="nowhere")
    check_error(path, ":1: hit 1: there is no 'sku', which should have the doc", doc_id="sku")


# Joining with judgments


def log_of(save):
    return save(
        {"qid": "1", **response(hit("a", x=1, y=2), hit("b", x=3, z=4), hit("c", x=5))},
        {"qid": "2", **response(hit("a", x=6))},
        {"qid": "3", **response(hit("a", w=7), hit("b", w=8))},
    )


def test_documents_without_judgments(save, tmp_path):
    path = log_of(save)
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("1 0 a 2\n1 0 b 1\n2 0 b 0\n4 0 a 1\n")
    data, summary = read_feature_log(path, qrels)
    assert data.feature_names.tolist() == ["x", "y", "z"]
    assert rows_of(data) == [(1, "a", 2, [1, 2, None]), (1, "b", 1, [3, None, 4])]
    assert str(summary).splitlines() == [
        "Log of Elasticsearch or OpenSearch: query id 'qid', document id '_id'",
        "Judgments: TREC qrels",
        "Dropped: 1 query without any judgment",
        "Dropped: 2 documents without a judgment",
        "Not in the log: 2 judged documents",
        "Missing: 2 feature values",
    ]
    data, summary = read_feature_log(path, qrels, unjudged="zero")
    assert [row[:3] for row in rows_of(data)] == [
        (1, "a", 2),
        (1, "b", 1),
        (1, "c", 0),
        (2, "a", 0),
    ]
    assert "Given grade 0: 2 documents without a judgment" in str(summary)


def test_nothing_in_common(save):
    check_error(
        log_of(save),
        ": no logged document is judged: the log has query '1' with document 'a', and the "
        "judgments have query 'rambo' with document '7555'; check that both",
    )


def test_repeated_documents(save):
    same = {"qid": "rambo", **response(hit("7555", a=1.0, b=None))}
    order = {"qid": "rambo", **response(hit("7555", b=None, a=1))}
    assert read_rows(save(same, same, order)) == [("rambo", "7555", 4, [1, None])]
    for other, was in (({"a": 2.0}, "2.0 here but 1.0"), ({"a": None}, "missing here but 1.0")):
        path = save(same, {"qid": "rambo", **response(hit("x", a=0), hit("7555", **other))})
        check_error(
            path,
            ":2: hit 2: document '7555' is logged twice for query 'rambo', and feature 'a' is "
            + was,
        )
    unjudged = [{"qid": "rambo", **response(hit("x", a=number))} for number in range(3)]
    data, summary = read_feature_log(save(same, *unjudged), GRADES)
    assert (data.n_rows, summary.n_logged, summary.n_unjudged) == (1, 2, 1)


def test_types(save):
    path = log_of(save)
    data, _ = read_feature_log(path, {1: {"a": 0.5}}, dtype="float32")
    assert (data.X.dtype, data.qid.dtype, data.y.tolist()) == (np.float32, np.int64, [0.5])
    data, _ = read_feature_log(save({"qid": "01", **TWO}), {"01": {"4241": 1}})
    assert data.qid.tolist() == ["01"]
    huge = save({"qid": 1, **response(hit("a", x=1e300))})
    assert read_feature_log(huge, {1: {"a": 1}})[0].X.tolist() == [[1e300]]
    check_error(
        huge,
        ": feature 'x' of document 'a' for query '1' is too large",
        {1: {"a": 1}},
        dtype="float32",
    )


def test_wrong_choices(save):
    path = log_of(save)
    for how in ({"unjudged": "keep"}, {"unlisted": "nan"}, {"dtype": "int64"}):
        with pytest.raises(ValueError, match=f"{next(iter(how))} must be"):
            read_feature_log(path, GRADES, **how)
    with pytest.raises(DataError, match="no file to read"):
        read_feature_log([], GRADES)


# Round trips

NAMES = st.lists(st.text(max_size=8), min_size=1, max_size=5, unique=True)
# Any character but the comma, which Solr does not escape.
SOLR_NAMES = st.lists(
    st.text(min_size=1, max_size=8).filter(lambda name: "," not in name),
    min_size=1,
    max_size=5,
    unique=True,
)
VALUES = st.one_of(st.floats(allow_infinity=False), st.just(0.0))
IDS = st.text(max_size=5).map(str.strip).filter(bool)


@st.composite
def logged_data(draw, names=NAMES, ids=IDS):
    names = draw(names)
    pairs = draw(st.lists(st.tuples(ids, ids), min_size=1, max_size=12, unique=True))
    X = [draw(st.lists(VALUES, min_size=len(names), max_size=len(names))) for _ in pairs]
    y = draw(st.lists(st.integers(0, 4), min_size=len(pairs), max_size=len(pairs)))
    queries, documents = (np.array(column, dtype=object) for column in zip(*pairs, strict=True))
    return RankingData(np.array(X), y, queries, feature_names=names, doc_ids=documents)


@given(
    st.one_of(
        st.tuples(logged_data(), st.just("elasticsearch")),
        st.tuples(logged_data(names=SOLR_NAMES), st.just("solr")),
    )
)
def test_round_trip(tmp_path_factory, drawn):
    data, engine = drawn
    path = tmp_path_factory.getbasetemp() / "round.jsonl"
    lines = list(render_responses(data, engine))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    grades: dict = {}
    for query, document, grade in zip(data.qid, data.doc_ids, data.y, strict=True):
        grades.setdefault(query, {})[document] = grade
    back, summary = read_feature_log(path, grades)
    np.testing.assert_array_equal(back.X, data.X)
    for attribute in ("y", "doc_ids", "feature_names", "query_ptr"):
        assert getattr(back, attribute).tolist() == getattr(data, attribute).tolist()
    assert [str(query) for query in back.qid] == data.qid.tolist()
    assert (summary.n_unjudged, summary.n_unlogged) == (0, 0)
    assert summary.n_missing == np.isnan(data.X).sum()


# What is wrong with a log


def entry(value):
    return {"qid": "rambo", **response(hit("7555", a=value))}


def features(text):
    return {"qid": "rambo", "docs": [doc("7555", text)]}


def with_log(log):
    return {"qid": "rambo", **response({"_id": "7555", "fields": {"_ltrlog": log}})}


GOOD = entry(1.0)
WRONG = [
    # JSON
    ([""], ": no documents in the log"),
    (["{}"], ":1: expected a search response: 'hits' (Elasticsearch, OpenSearch) or 'resp"),
    ([GOOD, "2 qid:1 1:0.5"], ":2: not JSON: Expecting value"),
    ([GOOD, '{"a": 1', GOOD], ":3: not JSON: Expecting ',' delimiter"),
    ([GOOD, '{"qid": "a'], ":2: not JSON: Unterminated string"),
    ([GOOD, '{"qid": "a", "qid": "b", "hits": []}'], ":2: not JSON: 'qid' appears twice in an obj"),
    ([GOOD, "[1, 2]"], ":2: expected a search response, found 1"),
    ([GOOD, json.dumps(GOOD).replace("1.0", "NaN")], ":2: not JSON: NaN is not a valid number"),
    ([json.dumps(GOOD).replace("1.0", "1e999")], ":1: not JSON: 1e999 is not a valid number"),
    ([json.dumps(GOOD).replace("1.0", "9" * 400)], ":1: not JSON: 99999"),
    ([GOOD, "[" * 100_000], ":2: not JSON: lists or objects are nested too deeply"),
    ([GOOD, "[" * 200 + "]" * 200], ":2: not JSON: lists or objects are nested too"),
    # responses
    ([GOOD, {"error": {"reason": "No query named [x]"}, "status": 400}],
     ":2: the engine answered with an error: 'No query named [x]'"),
    ([GOOD, {"qid": ["a", "b"], "responses": [ONE, {"error": {"type": "x"}}]}],
     ":2: response 2: the engine answered with an error: {'type': 'x'}"),
    ([{"responseHeader": {"status": 400}, "error": {"msg": "Missing store: x", "code": 400}}],
     ":1: the engine answered with an error: 'Missing store: x'"),
    ([{"grouped": {}}], ":1: grouped results of Solr are not supported"),
    ([{"qid": "a", "hits": 3}], ":1: 'hits' should have a list of hits, not 3"),
    ([{"qid": "a", "hits": [3]}], ":1: hit 1: expected an object, found 3"),
    ([{"qid": "a", "response": 3}], ":1: expected a search response"),
    ([GOOD, features("a=1")], ":2: document 1: this is a document of Solr, but the log beg"),
    ([features("a=1"), GOOD], ":2: hit 1: this is a document of Elasticsearch or OpenSearch, b"),
    # ids
    ([ONE], ':1: hit 1: the response has no query id; save each response with its query'),
    ([{"qid": "", "query_id": 1.5, "query": {}, **ONE}], ":1: hit 1: the response has no query id"),
    ([GOOD, ONE], ":2: hit 1: there is no 'qid', which should have the query id"),
    ([GOOD, {"qid": 1.5, **ONE}], ":2: hit 1: query id 'qid' should be a text or a whole number"),
    ([GOOD, {"qid": "\ud800", **ONE}], ":2: hit 1: query id 'qid' is not text: '\\ud800'"),
    ([{"qid": ["a"], "responses": [ONE, TWO]}],
     ":1: 'qid' has 1 query id, but there are 2 responses"),
    ([GOOD, {"qid": ["a", "b", "c"], "responses": [ONE, TWO]}],
     ":2: 'qid' has 3 query ids, but there are 2 responses"),
    ([{"qid": "a", **response({"fields": hit("", a=1)["fields"]})}],
     ":1: hit 1: there is no '_id', which should have the document id"),
    ([{"qid": "a", **response(hit({}, a=1))}], ":1: hit 1: document id '_id' should be a text"),
    # features of Elasticsearch
    ([{"qid": "a", **response({"_id": "x"})}], ":1: hit 1: the hit has no features: there is no"),
    ([{"qid": "a", **response({"_id": "x", "fields": {"title": ["y"]}})}],
     ":1: hit 1: the hit has no features: there is no 'fields._ltrlog'; ask for it"),
    ([with_log(3)], ":1: hit 1: _ltrlog should contain an object of logs, not 3"),
    ([with_log([[]])], ":1: hit 1: _ltrlog should contain an object of logs, not [[]]"),
    ([with_log([{"l": {"a": 1}}])], ":1: hit 1: log 'l' should be a list of features, not {'a"),
    ([with_log([{"l": [3]}])], ":1: hit 1: _ltrlog should list features with a name, not 3"),
    ([with_log([{"l": [{"value": 3}]}])], ":1: hit 1: _ltrlog should list features with a name"),
    ([with_log([{}])], ": no feature is logged for any judged document"),
    ([entry("NaN")], ":1: hit 1: feature 'a' is 'NaN', not a finite number"),
    ([entry(True)], ":1: hit 1: feature 'a' is True, not a finite number"),
    ([entry({})], ":1: hit 1: feature 'a' is {}, not a finite number"),
    ([{"qid": "rambo", **response(hit("7555", **{"\udfff": 1}))}],
     ":1: hit 1: the name of a feature is not text: '\\udfff'"),
    # features of Solr
    ([features("a:1 b:2")], ":1: document 1: [features] has 'a:1 b:2', but name=value is expected"),
    ([features("a=NaN b=2e-3 c=NaN")], ":1: document 1: [features] has 'a=NaN b=2e-3 c=NaN', but"),
    ([features("a=1,")], ":1: document 1: [features] has '', but name=value is expected"),
    ([features("=1")], ":1: document 1: [features] has '=1', but name=value is expected"),
    ([features("a,b=1")], ":1: document 1: [features] has 'a', but name=value is expected"),
    ([features("a=x")], ":1: document 1: feature 'a' is 'x', not a finite number"),
    ([features("a=Infinity")], ":1: document 1: feature 'a' is 'Infinity', not a finite"),
    ([features("a=1e999")], ":1: document 1: feature 'a' is '1e999', not a finite number"),
    ([features("a=1_0")], ":1: document 1: feature 'a' is '1_0', not a finite number"),
    ([features("a= 1")], ":1: document 1: feature 'a' is ' 1', not a finite number"),
    ([features("a=1,a=2")], ":1: document 1: feature 'a' occurs twice, with the values 1.0 and"),
    ([{"qid": "a", "docs": [{"id": "x", "[features]": {"a": 1}}]}],
     ":1: document 1: {'a': 1} is not a text of features in field '[features]'"),
    ([{"qid": "a", "docs": [{"[features]": "a=1"}]}], ":1: document 1: there is no 'id', which"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "message"), WRONG, ids=[message for _, message in WRONG])
def test_errors(save, lines, message):
    check_error(save(*lines), message)


def test_values_are_bounded(save, monkeypatch):
    path = save(entry(1), json.dumps(entry(2), indent=1))
    monkeypatch.setattr(reading, "_LARGEST_VALUE", 200)
    check_error(path, ":2: the value that begins here has more than 200 bytes, or does not end; w")
    monkeypatch.setattr(files, "_LONGEST_LINE", 20)
    monkeypatch.setattr(files, "_CHUNK", 10)
    check_error(path, ":1: the line has more than 20 bytes")


def test_an_array_out_of_proportion_is_refused(save, monkeypatch):
    monkeypatch.setattr(table, "_ARRAY_BYTES", 1000)
    hits = [hit(str(n), **{f"f{n}": 1}) for n in range(2000)]
    path = save(*({"qid": 1, **response(one)} for one in hits))
    judged = {1: {str(n): 1 for n in range(2000)}}
    check_error(path, ": 2,000 different features make an array of 32 MB from 2,000 val", judged)


@pytest.mark.slow
def test_documents_that_are_left_out_take_no_memory(save, monkeypatch):
    monkeypatch.setattr(files, "_CHUNK", 2**14)
    many = {f"feature_{n}": n / 7 for n in range(50)}
    path = save(*({"qid": q, **response(hit("a", **many), hit("b", **many))} for q in range(250)))
    assert path.stat().st_size > 10**6
    tracemalloc.start()
    try:
        read_feature_log(path, {"0": {"a": 1}})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * 10**5


@pytest.mark.parametrize(
    "text",
    [b'"\\"' * 200_000, b'"' + b'\\"' * 500_000, b"{" * 10**6, b'{"' * 10**6],
    ids=["closed", "escaped", "open", "open in strings"],
)
def test_odd_text_takes_no_time(tmp_path, text):
    """Quotes that are escaped or left open are not looked at again and again."""
    path = tmp_path / "odd.json"
    path.write_bytes(text)
    with pytest.raises(DataError, match="odd.json:1: not JSON"):
        list(json_values(path, lambda n_bytes: None))


def test_text_of_another_encoding(tmp_path):
    path = tmp_path / "latin.jsonl"
    path.write_bytes(json.dumps(entry(1)).encode() + b'\n{"a":\n "\xe9"}\n')
    check_error(path, ":3: not JSON: not UTF-8 text")
