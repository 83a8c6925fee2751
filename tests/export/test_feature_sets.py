"""Feature sets of engines, cut to what models use."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve.costs import FeatureCosts
from ranksieve.data import DataError
from ranksieve.export import export_model
from ranksieve.export.feature_sets import FeatureSet, read_feature_set
from tests.export.trained import NAMES, ranker_of, rows_for


def template(name, **more):
    query = {"match": {"title": "{{keywords}}", "odd": [1.50, name]}}
    return {"name": name, "params": ["keywords"], "template": query} | more


def store(tmp_path, content):
    path = tmp_path / "set.json"
    path.write_text(json.dumps(content))
    return path


MANY = [f"f{n}" for n in range(136)]


class TestPlugin:
    def test_keeps_what_is_needed_in_order_and_untouched(self, tmp_path):
        features = [template(name) for name in MANY]
        path = store(tmp_path, {"featureset": {"name": "all", "features": features}})
        found = read_feature_set(path, "plugin")
        assert (found.name, len(found.entries)) == ("all", 136)
        kept = found.prune(["f90", "f7", "f8"])
        assert list(kept.values()) == [features[7], features[8], features[90]]

    def test_what_others_refer_to(self, tmp_path):
        script = {"lang": "painless", "source": "params.feature_vector.get('mean') * 2"}
        features = [
            template("title"),
            template("body"),
            template("title_x"),
            template("mean", template_language="derived_expression", template="(title + body) / 2"),
            template("script", template_language="script_feature", template=script),
            template("other", template={"match": {"body": "mean"}}),
        ]
        found = read_feature_set(store(tmp_path, {"features": features}), "plugin")
        assert list(found.prune(["mean"])) == ["title", "body", "mean"]
        assert list(found.prune(["script"])) == ["title", "body", "mean", "script"]
        assert list(found.prune(["other"])) == ["other"]  # its words are fields, not features

    def test_thousands_that_refer_to_each_other(self, tmp_path):
        """Each name was searched for in each definition, which would take many minutes."""
        features = [template("f0")] + [
            template(f"f{n}", template_language="derived_expression", template=f"f{n - 1} * 1.5")
            for n in range(1, 3000)
        ]
        found = read_feature_set(store(tmp_path, {"features": features}), "plugin")
        assert list(found.prune(["f2999"]).values()) == features
        assert list(found.prune(["f1"])) == ["f0", "f1"]

    @given(
        names=st.lists(st.text("ab_.-é ", max_size=4), min_size=1, max_size=8, unique=True),
        text=st.text("ab_.-é ", max_size=12),
    )
    def test_names_stand_alone(self, names, text):
        entry = {"template_language": "derived_expression", "template": text}
        entries = {name: entry | {"name": name} for name in names}
        found = FeatureSet("plugin", "set.json", "", entries)
        refers = r"(?<![A-Za-z0-9_.]){}(?![A-Za-z0-9_])"
        expected = [
            n for n in names if n == names[0] or re.search(refers.format(re.escape(n)), text)
        ]
        assert list(found.prune(names[:1])) == expected


def test_solr(tmp_path):
    features = [
        {"store": "s", "name": "a", "class": "x.SolrFeature", "params": {"q": "{!func}b"}},
        {"store": "s", "name": "b", "class": "x.FieldValueFeature", "params": {"field": "c"}},
        {"store": "s", "name": "c", "class": "my.Product", "params": {"features": ["a", "b"]}},
    ]
    found = read_feature_set(store(tmp_path, features), "solr")
    assert found.name == "s"
    assert list(found.prune(["a"])) == ["a"]
    assert list(found.prune(["c"])) == ["a", "b", "c"]
    assert found.prune(["b"])["b"] == features[1]


PLUGIN = [template("a"), template("b")]
EXTRACTORS = [
    {"query_extractor": {"feature_name": name, "query": {"match": {"t": "{{query}}"}}}}
    for name in ("a", "b")
]
CONFIG = {"learning_to_rank": {"feature_extractors": EXTRACTORS}}


@pytest.mark.parametrize(
    ("kind", "content", "entries"),
    [
        ("plugin", {"features": PLUGIN}, PLUGIN),
        ("plugin", PLUGIN, PLUGIN),
        ("plugin", {"_source": {"featureset": {"name": "x", "features": PLUGIN}}}, PLUGIN),
        ("elasticsearch", CONFIG, EXTRACTORS),
        ("elasticsearch", {"inference_config": CONFIG}, EXTRACTORS),
        ("elasticsearch", EXTRACTORS, EXTRACTORS),
    ],
)
def test_forms(tmp_path, kind, content, entries):
    found = read_feature_set(store(tmp_path, content), kind)
    assert list(found.entries) == ["a", "b"]
    assert list(found.prune(["b"]).values()) == entries[1:]


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        *(
            (kind, content, "")
            for kind in ("plugin", "solr", "elasticsearch")
            for content in ({"a": 1}, 3, ["x"], {"features": 5})
        ),
        *(
            ("solr", [{"name": "a", "params": params}], "'params' of feature 'a' should be an obj")
            for params in (3, 0.5, "q", [1])
        ),
        ("plugin", [{"name": "a"}, {"name": "a"}], "two features are named 'a'"),
        ("plugin", [{"nam": "a"}], "feature 1 of the list has no name"),
    ],
)
def test_what_is_no_feature_set(tmp_path, kind, content, message):
    with pytest.raises(DataError, match=f"set.json: .*{message}"):
        read_feature_set(store(tmp_path, content), kind)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "set.json").write_text("[{")
    for name, message in (("set.json", "set.json:1: not JSON"), ("none.json", "no such file")):
        with pytest.raises(DataError, match=message):
            read_feature_set(tmp_path / name, "solr")


class TestExports:
    @pytest.mark.parametrize(
        ("target", "options", "message"),
        [
            ("opensearch-ltr", {"feature_set": "set.json"}, "lacks 'clicks', which the model uses"),
            ("c", {"feature_set": "set.json"}, "c does not use a feature set"),
            ("c", {"costs": "none.csv"}, "none.csv"),
        ],
    )
    def test_what_is_refused(self, tmp_path, target, options, message):
        store(tmp_path, {"features": [template(name) for name in NAMES[:-1]]})
        files = {name: tmp_path / value for name, value in options.items()}
        with pytest.raises(DataError, match=message):
            export_model(ranker_of("ranksvm"), target, tmp_path / "out", **files)
        assert not (tmp_path / "out").exists()

    def test_what_can_be_switched_off(self, tmp_path):
        names = ["x", *NAMES[::-1], "y"]
        path = store(
            tmp_path, {"featureset": {"name": "all", "features": list(map(template, names))}}
        )
        out = tmp_path / "out"
        made = export_model(
            ranker_of("ranksvm"), "elasticsearch-ltr", out, feature_set=path, costs={"y": 2.5}
        )
        assert made.switched_off == {"x": None, "y": 2.5}
        assert made.saved == 2.5
        written = json.loads((out / "featureset.json").read_text())["featureset"]["features"]
        assert written == [template(name) for name in NAMES[::-1]]
        assert "/_ltr/_featureset/all_pruned\n" in (out / "README.md").read_text()

    def test_costs_of_groups(self, tmp_path):
        costs = FeatureCosts(
            {"clicks": 1, "x": 2, "y": 3, "z": 4},
            groups={"clicks": "log", "x": "log", "y": "net", "z": "net"},
            group_costs={"log": 10, "net": 20},
        )
        made = export_model(ranker_of("ranksvm"), "c", tmp_path, costs=costs)
        assert made.switched_off == {"x": 2.0, "y": 3.0, "z": 4.0}
        assert made.saved == 29  # the log is still read

    def test_solr(self, tmp_path):
        features = [
            {"store": "s", "name": name, "class": "x", "params": {"q": name}} for name in NAMES
        ]
        path = store(tmp_path, features)
        out = tmp_path / "out"
        export_model(ranker_of("ranksvm"), "solr", out, feature_set=path)
        assert json.loads((out / "features.json").read_text()) == features
        assert json.loads((out / "model.json").read_text())["store"] == "s"

    def test_elasticsearch_knows_fields_and_queries(self, tmp_path):
        """Extracted features are float32, fields are float64, and both are verified as such."""
        extractors = [
            {"query_extractor": {"feature_name": name, "query": {}, "default_score": 7}}
            for name in NAMES[:2]
        ]
        path, out = store(tmp_path, extractors), tmp_path / "out"
        ranker = ranker_of("lightgbm", gaps=True)
        data = rows_for(ranker, gaps=True)
        for rule, expected in (("zero", 0.0), ("nan", None)):
            made = export_model(
                ranker, "elasticsearch", out, missing=rule, feature_set=path, verify=data
            )
            model = json.loads((out / "model.json").read_text())
            config = model["inference_config"]["learning_to_rank"]["feature_extractors"]
            assert [e["query_extractor"].get("default_score") for e in config] == [expected] * 2
            assert made.verification.n_changed == 0
