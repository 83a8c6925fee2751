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
from ranksieve.export.targets.c import _literal, c_string, load_c
from ranksieve.export.targets.python import _tuple
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


def plugin_scores(directory, data, made):
    """Of both ways to serve missing values that the rule stands for."""
    text = (directory / "model.json").read_text()
    rows = documents(data, NAMES)
    for puts_zero in {False, made.missing == "zero"}:
        yield [engines.plugin_score(text, row, puts_zero=puts_zero) for row in rows]


def solr_scores(directory, data, made):
    text = (directory / "model.json").read_text()
    yield [engines.solr_score(text, row) for row in documents(data, NAMES)]


def elasticsearch_scores(directory, data, made):
    text = (directory / "model.json").read_text()
    yield [engines.elasticsearch_score(text, row) for row in documents(data, NAMES)]


def vespa_scores(directory, data, made):
    used = dict(zip(made.features, _vespa_names(made.features), strict=True))
    rows = documents(data, [used.get(name, name) for name in NAMES])
    path = directory / "models" / "ranksieve.json"
    if not path.exists():  # a linear model is an expression
        profile = (directory / "rank-profile.txt").read_text()
        yield [engines.vespa_sum(profile, row) for row in rows]
        return
    for single in (True, False):
        yield [engines.vespa_score(path.read_text(), row, single=single) for row in rows]


def python_scores(directory, data, made):
    scope = {}
    exec((directory / "model.py").read_text(), scope)
    yield [scope["score"](row) for row in documents(data, NAMES)]


SCORERS = {
    "elasticsearch-ltr": plugin_scores,
    "opensearch-ltr": plugin_scores,
    "solr": solr_scores,
    "elasticsearch": elasticsearch_scores,
    "vespa": vespa_scores,
    "python": python_scores,
}


@pytest.mark.parametrize("target", SCORERS)
@pytest.mark.parametrize(("kind", "gaps", "rule"), CASES)
def test_engines_give_the_scores(tmp_path, target, kind, gaps, rule):
    if (target, kind) == ("elasticsearch", "ranksvm"):
        with pytest.raises(DataError, match="elasticsearch does not support linear models"):
            exported(tmp_path, target, kind, gaps, rule)
        return
    made, data, expected = exported(tmp_path, target, kind, gaps, rule)
    # XGBoost adds in float32, too, as plugins do.
    exact = target == "python" or (kind == "xgboost" and SCORERS[target] is plugin_scores)
    linear = (target, kind) == ("vespa", "ranksvm")
    rtol, atol = (0, 0) if exact else (1e-6, 1e-9) if linear else (2e-6, 2e-6)
    for found in SCORERS[target](tmp_path, data, made):
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize(("kind", "gaps", "rule"), CASES)
def test_what_verification_runs(tmp_path, kind, gaps, rule):
    """The C file, which it compiles, and ONNX."""
    made, _, expected = exported(tmp_path / "c", "c", kind, gaps, rule)
    assert made.verification.largest_difference == 0
    made, _, expected = exported(tmp_path / "onnx", "onnx", kind, gaps, rule)
    assert made.verification.largest_difference <= 1e-6 * np.abs(expected).max()
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


def test_literals():
    assert c_string('a"b\\c??/\u00fc\n1') == '"a\\042b\\134c\\077\\077/\\303\\274\\0121"'
    assert _literal(-np.inf) == "-INFINITY"
    assert eval(_tuple([np.inf, -np.inf, 1.5])) == (np.inf, -np.inf, 1.5)


@pytest.mark.parametrize("target", TARGETS)
def test_instructions_have_no_markup_of_names(tmp_path, target):
    need(target)
    kinds = {"xgboost": "xgboost", "catboost": "catboost", "solr": "ranksvm"}
    ranker = ranker_of(kinds.get(target, "lightgbm"))
    name = "\"}`<b>'[a](u)\n# H\n\n<i>$(x)\u202e\x1b"
    data = rows_for(ranker, sharp=False)
    made = export_model(ranker, target, tmp_path, missing="zero", name=name, verify=data)
    assert tmp_path / "README.md" in made.files
    text = (tmp_path / "README.md").read_text()
    assert text.startswith("# A ")
    assert "bm25 title" in text or "bm25_title" in text or target == "c"
    assert text.replace("\n", "").isprintable()
    tokens = MarkdownIt("commonmark").parse(text)
    inner = [child for token in tokens for child in token.children or ()]
    kinds = [token.type for token in (*tokens, *inner)]
    assert not {kind for kind in kinds if kind.startswith(("html", "link", "image", "em"))}
    assert kinds.count("heading_open") == 1
    if target == "solr":
        assert f"rq={{!ltr model={json.dumps(name)} reRankDocs=100" in text


def test_json_is_what_the_calls_take(tmp_path):
    export_model(ranker_of("lightgbm"), "elasticsearch-ltr", tmp_path, name="m")
    model = json.loads((tmp_path / "model.json").read_text())["model"]
    assert (model["name"], model["model"]["type"]) == ("m", "model/xgboost+json")
    assert isinstance(model["model"]["definition"], str)
    export_model(ranker_of("ranksvm"), "opensearch-ltr", tmp_path, name="m")
    model = json.loads((tmp_path / "model.json").read_text())["model"]["model"]
    assert model["type"] == "model/linear"
    assert list(json.loads(model["definition"])) == NAMES
