"""Slow evaluators of the files that search engines read, one document at a time.

Each follows what the documentation and the source of the engine say, in its arithmetic, and shares
nothing with the library. ``document`` maps names of features to values; a feature that is not in
it has no value.
"""

import json
import math
import re

import numpy as np

f32 = np.float32


def plugin_score(model_json: str, document: dict, *, puts_zero: bool) -> float:
    """The learning-to-rank plugin of Elasticsearch and OpenSearch.

    Versions with dense vectors put zeros; others have NaN, and follow ``missing``.
    """
    model = json.loads(model_json)["model"]["model"]
    definition = json.loads(model["definition"])
    total = f32(0)
    if model["type"] == "model/linear":
        for name, weight in definition.items():
            total = f32(total + f32(f32(weight) * f32(document.get(name, 0.0))))
        return float(total)
    assert model["type"] == "model/xgboost+json"
    if isinstance(definition, dict):
        puts_zero = puts_zero or definition.get("missing_as_zero", False)
        definition = definition["splits"]
    for tree in definition:
        node, depth = tree, 0
        while "leaf" not in node:
            assert node["depth"] == depth
            yes, no = node["children"]
            assert (node["yes"], node["no"]) == (yes["nodeid"], no["nodeid"])
            assert node["missing"] in (node["yes"], node["no"])
            value = f32(document.get(node["split"], 0.0 if puts_zero else math.nan))
            if np.isnan(value):
                node = yes if node["missing"] == node["yes"] else no
            else:
                node = yes if f32(node["split_condition"]) > value else no
            depth += 1
        total = f32(total + f32(node["leaf"]))
    return float(total)


def solr_score(model_json: str, document: dict) -> float:
    """Solr's MultipleAdditiveTreesModel and LinearModel."""
    model = json.loads(model_json)
    params = model["params"]
    known = [feature["name"] for feature in model["features"]]
    as_zero = params.get("isNullSameAsZero", True)
    vector = {name: f32(document.get(name, 0.0 if as_zero else math.nan)) for name in known}
    total = f32(0)
    if model["class"].endswith(".LinearModel"):
        for name in known:
            total = f32(total + f32(vector[name] * f32(params["weights"][name])))
        return float(total)
    assert model["class"].endswith(".MultipleAdditiveTreesModel")
    for tree in params["trees"]:
        node = tree["root"]
        while "feature" in node:
            threshold = f32(f32(node["threshold"]) + f32(1e-6))
            value = vector[node["feature"]]
            if np.isnan(value) and not as_zero:
                node = node["left" if node["missing"] == "left" else "right"]
            else:
                node = node["left" if value <= threshold else "right"]
        total = f32(total + f32(f32(tree["weight"]) * f32(node["value"])))
    return float(total)


def elasticsearch_score(model_json: str, document: dict) -> float:
    """The inference of Elasticsearch's own learning to rank."""
    model = json.loads(model_json)
    row = {name: float(value) for name, value in document.items()}
    config = model["inference_config"]["learning_to_rank"]
    for entry in config["feature_extractors"]:
        extractor = entry["query_extractor"]
        name = extractor["feature_name"]
        if name in row:
            row[name] = float(f32(row[name]))
        elif "default_score" in extractor:
            row[name] = float(f32(extractor["default_score"]))
    ensemble = model["definition"]["trained_model"]["ensemble"]
    total = 0.0
    for trained in ensemble["trained_models"]:
        nodes = {node["node_index"]: node for node in trained["tree"]["tree_structure"]}
        node = nodes[0]
        while "leaf_value" not in node:
            value = row.get(ensemble["feature_names"][node["split_feature"]])
            left = node["default_left"] if value is None else value <= node["threshold"]
            node = nodes[node["left_child" if left else "right_child"]]
        total += node["leaf_value"]
    return float(f32(total))


def vespa_score(dump_json: str, document: dict, *, single: bool) -> float:
    """What Vespa makes of LightGBM's dump; ``document`` has the names of functions."""
    dump = json.loads(dump_json)
    kind = f32 if single else float
    total = kind(0)
    for tree in dump["tree_info"]:
        node = tree["tree_structure"]
        while "leaf_value" not in node:
            value = kind(document.get(dump["feature_names"][node["split_feature"]], math.nan))
            threshold = kind(node["threshold"])
            left = not value >= threshold if node["default_left"] else value < threshold
            node = node["left_child" if left else "right_child"]
        total = kind(total + kind(node["leaf_value"]))
    return float(total)


def vespa_sum(profile: str, document: dict) -> float:
    """Value of a sum in the second phase of a rank profile."""
    expression = re.search(r"second-phase \{\s*expression \{\s*(.*?)\s*\}", profile, re.S)[1]
    total = 0.0
    for term in expression.split(" + "):
        weight, name = re.fullmatch(r"(\S+) \* if \(isNan\((.+)\), 0.0, \2\)", term).groups()
        value = document.get(name.removesuffix("()"), math.nan)
        total += float(weight) * (0.0 if math.isnan(value) else value)
    return total
