"""Files of every target, evaluated by the real thing where it can be installed, else by oracles."""

import ctypes
import json
import shutil
import subprocess

import numpy as np
import pytest
from markdown_it import MarkdownIt

from ranksieve.data import DataError
from ranksieve.export import TARGETS, export_model
from ranksieve.export.targets.c import c_string, load_c
from ranksieve.export.targets.vespa import _vespa_names
from tests import oracles_engines as engines
from tests.export.trained import KINDS, NAMES, TREES, documents, need, ranker_of, rows_for

CASES = [(kind, False, None) for kind in KINDS] + [
    (kind, True, rule) for kind in ("lightgbm", "xgboost", "catboost") for rule in ("nan", "zero")
]


def exported(tmp_path, target, kind, gaps, rule):
    """An export, the data that it was verified with, and the scores to expect."""
    need(target)
    ranker = ranker_of(kind, gaps=gaps)
    data = rows_for(ranker, gaps=gaps, sharp=target != "solr")
    if rule is None and kind == "xgboost":
        rule = "nan"
    made = export_model(ranker, target, tmp_path, missing=rule, verify=data)
    X = np.where(np.isnan(data.X), 0.0, data.X) if made.missing == "zero" else data.X
    return made, data, ranker._scores(X)


@pytest.mark.parametrize(("kind", "gaps", "rule"), CASES)
class TestEngines:
    def test_plugins(self, tmp_path, kind, gaps, rule):
        for target in ("elasticsearch-ltr", "opensearch-ltr"):
            made, data, expected = exported(tmp_path, target, kind, gaps, rule)
            text = (tmp_path / "model.json").read_text()
            for puts_zero in {False, made.missing == "zero"}:
                found = [
                    engines.plugin_score(text, document, puts_zero=puts_zero)
                    for document in documents(data, NAMES)
                ]
                np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)
            if kind == "xgboost":  # it adds in float32, too
                np.testing.assert_array_equal(found, expected)

    def test_solr(self, tmp_path, kind, gaps, rule):
        _, data, expected = exported(tmp_path, "solr", kind, gaps, rule)
        text = (tmp_path / "model.json").read_text()
        found = [engines.solr_score(text, document) for document in documents(data, NAMES)]
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)

    def test_elasticsearch(self, tmp_path, kind, gaps, rule):
        if kind == "ranksvm":
            with pytest.raises(DataError, match="elasticsearch does not support linear models"):
                exported(tmp_path, "elasticsearch", kind, gaps, rule)
            return
        _, data, expected = exported(tmp_path, "elasticsearch", kind, gaps, rule)
        text = (tmp_path / "model.json").read_text()
        found = [engines.elasticsearch_score(text, d) for d in documents(data, NAMES)]
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)

    def test_vespa(self, tmp_path, kind, gaps, rule):
        made, data, expected = exported(tmp_path, "vespa", kind, gaps, rule)
        used = dict(zip(made.features, _vespa_names(made.features), strict=True))
        given = documents(data, [used.get(name, name) for name in NAMES])
        if kind == "ranksvm":
            profile = (tmp_path / "rank-profile.txt").read_text()
            found = [engines.vespa_sum(profile, document) for document in given]
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
            return
        text = (tmp_path / "models" / "ranksieve.json").read_text()
        for single in (True, False):
            found = [engines.vespa_score(text, document, single=single) for document in given]
            np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)

    def test_programs_give_the_same_bits(self, tmp_path, kind, gaps, rule):
        """The function of the module itself, and the C file, which verification compiles."""
        _, data, expected = exported(tmp_path, "python", kind, gaps, rule)
        scope = {}
        exec((tmp_path / "model.py").read_text(), scope)
        found = [scope["score"](document) for document in documents(data, NAMES)]
        np.testing.assert_array_equal(found, expected)
        made, _, _ = exported(tmp_path, "c", kind, gaps, rule)
        assert made.verification.largest_difference == 0

    def test_onnx(self, tmp_path, kind, gaps, rule):
        made, _, expected = exported(tmp_path, "onnx", kind, gaps, rule)
        scale = np.abs(expected).max()
        assert made.verification.largest_difference <= 1e-6 * scale
        assert made.verification.n_strayed == 0


@pytest.mark.parametrize("kind", TREES)
def test_library_files(tmp_path, kind):
    ranker = ranker_of(kind, gaps=True)
    data = rows_for(ranker, gaps=True)
    library = {"lambdamart": "lightgbm"}.get(kind, kind.split()[0])
    for target in ("lightgbm", "xgboost", "catboost"):
        if target != library:
            with pytest.raises(DataError, match=f"only trees of {target} can be written"):
                export_model(ranker, target, tmp_path)
            continue
        made = export_model(ranker, target, tmp_path, verify=data)
        assert made.verification.largest_difference == 0
        assert made.switched_off == {}


def test_names_in_the_files_of_libraries(tmp_path):
    from catboost import CatBoost
    from lightgbm import Booster as LightGBM
    from xgboost import Booster as XGBoost

    export_model(ranker_of("lightgbm"), "lightgbm", tmp_path)
    booster = LightGBM(model_file=str(tmp_path / "model.txt"))
    assert booster.feature_name() == ["bm25_title", "say__hi_", "\u5c0f\u00fc", "a_b_<c", "clicks"]
    booster.dump_model()  # whose JSON quotes would break
    export_model(ranker_of("xgboost"), "xgboost", tmp_path)
    booster = XGBoost(model_file=str(tmp_path / "model.json"))
    assert booster.feature_names == ["bm25 title", 'say "hi"', "\u5c0f\u00fc", "a_b__c", "clicks"]
    export_model(ranker_of("catboost"), "catboost", tmp_path)
    model = CatBoost().load_model(str(tmp_path / "model.cbm"))
    assert model.feature_names_ == NAMES


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("kind", ["lightgbm", "xgboost", "ranksvm"])
def test_c_compiles_without_warnings(tmp_path, kind):
    export_model(ranker_of(kind), "c", tmp_path, name="2 my-model??/")
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-c"]
    for compiler_flags in (flags, [*flags, "-O2", "-Wshadow", "-Wconversion"]):
        command = ["gcc", *compiler_flags, "model.c", "-o", "model.o"]
        subprocess.run(command, cwd=tmp_path, check=True)
    library = load_c(tmp_path / "model.c", tmp_path)
    prefix = "model_2_my_model___"
    n = ctypes.c_int.in_dll(library, f"{prefix}_n_features").value
    found = [bytes(t) for t in (ctypes.c_char_p * n).in_dll(library, f"{prefix}_features")]
    assert found == [name.encode() for name in NAMES]


def test_strings_of_c():
    assert c_string('a"b\\c??/\u00fc\n1') == '"a\\042b\\134c\\077\\077/\\303\\274\\0121"'


def test_infinite_thresholds():
    from ranksieve.export.targets.c import _literal
    from ranksieve.export.targets.python import _tuple

    assert _literal(-np.inf) == "-INFINITY"
    assert eval(_tuple([np.inf, -np.inf, 1.5])) == (np.inf, -np.inf, 1.5)


def test_json_is_what_the_calls_take(tmp_path):
    export_model(ranker_of("lightgbm"), "elasticsearch-ltr", tmp_path, name="m")
    model = json.loads((tmp_path / "model.json").read_text())["model"]
    assert (model["name"], model["model"]["type"]) == ("m", "model/xgboost+json")
    assert isinstance(model["model"]["definition"], str)
    export_model(ranker_of("ranksvm"), "opensearch-ltr", tmp_path, name="m")
    model = json.loads((tmp_path / "model.json").read_text())["model"]["model"]
    assert model["type"] == "model/linear"
    assert list(json.loads(model["definition"])) == NAMES


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_says_how_it_is_used(tmp_path, target):
    need(target)
    kind = target if target in ("xgboost", "catboost") else "lightgbm"
    ranker, rule = ranker_of(kind), "zero" if kind == "xgboost" else None
    data = rows_for(ranker, sharp=False)
    made = export_model(ranker, target, tmp_path, missing=rule, verify=data)
    assert tmp_path / "README.md" in made.files
    text = (tmp_path / "README.md").read_text()
    assert text.startswith("# A ")
    assert "bm25 title" in text or "bm25_title" in text or target == "c"


@pytest.mark.parametrize("target", TARGETS)
def test_instructions_have_no_markup_of_names(tmp_path, target):
    need(target)
    kinds = {"xgboost": "xgboost", "catboost": "catboost", "solr": "ranksvm"}
    ranker = ranker_of(kinds.get(target, "lightgbm"))
    name = "\"}`<b>'[a](u)\n# H\n\n<i>$(x)\u202e\x1b"
    export_model(ranker, target, tmp_path, missing="zero", name=name)
    text = (tmp_path / "README.md").read_text()
    assert text.replace("\n", "").isprintable()
    tokens = MarkdownIt("commonmark").parse(text)
    inner = [child for token in tokens for child in token.children or ()]
    kinds = [token.type for token in (*tokens, *inner)]
    assert not {kind for kind in kinds if kind.startswith(("html", "link", "image", "em"))}
    assert kinds.count("heading_open") == 1
    if target == "solr":
        assert f"rq={{!ltr model={json.dumps(name)} reRankDocs=100" in text
