"""Export to the built-in learning to rank of Elasticsearch (8.12 and later).

Trees are evaluated and added in float64, but scores of extractor queries and the final score are
float32 numbers. Features without an extractor are fields of the document.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve.export.forms import SINGLE, TreeBuilder
from ranksieve.export.single_precision import single_thresholds, to_single
from ranksieve.export.targets.plugin import path_name
from ranksieve.export.targets.target import Artifact, Job, Target, list_names, read_json

_README = """# A model for the built-in learning to rank of Elasticsearch (8.12 and later)

Upload the model:

    PUT /_ml/trained_models/{path}
    Content-Type: application/json

    (the content of model.json)

Rescore with it; `params` are the parameters of your extractors:

    POST /INDEX/_search
    {{"query": {{...}},
     "rescore": {{"window_size": 100, "learning_to_rank":
       {{"model_id": {name}, "params": {{"query": "..."}}}}}}}}

Missing values: {missing}

Features that extractors compute with queries:

{extracted}

Features that are fields of the documents:

{fields}
"""


class Elasticsearch(Target):
    """Writes a model for the trained-model API, with an inference configuration."""

    name = "elasticsearch"
    about = "trained model and configuration of Elasticsearch's own learning to rank (8.12+)"
    kinds = ("trees",)
    feature_set_kind = "elasticsearch"
    result_unit = SINGLE

    def write(self, job: Job) -> Artifact:
        """Write the definition of the model and the extractors that it needs."""
        trees = job.trees
        extractors = self._extractors(job)
        extracted = [e["query_extractor"]["feature_name"] for e in extractors]
        is_single = np.array([name in extracted for name in job.names])
        thresholds = single_thresholds(trees, job.known)
        at_single = (trees.feature >= 0) & is_single[trees.feature]
        cuts = np.where(at_single, thresholds.wanted.astype(np.float64), trees.threshold)
        clashes = [clash for clash in thresholds.clashes if at_single[clash[0]]]
        models = [self._tree(job, root, cuts) for root in trees.roots.tolist()]
        ensemble = {
            "feature_names": job.names,
            "trained_models": models,
            "aggregate_output": {"weighted_sum": {"weights": [1.0] * len(models)}},
            "target_type": "regression",
        }
        document = {
            "input": {"field_names": job.names},
            "inference_config": {"learning_to_rank": {"feature_extractors": extractors}},
            "definition": {"preprocessors": [], "trained_model": {"ensemble": ensemble}},
        }
        readme = _README.format(
            path=path_name(job.name),
            name=json.dumps(job.name),
            missing=self._rule(job),
            extracted=list_names(extracted),
            fields=list_names([name for name in job.names if name not in extracted]),
        )
        notes = job.clash_notes(clashes)
        return Artifact({"model.json": document, "README.md": readme}, notes)

    def _extractors(self, job: Job) -> list[Any]:
        """Return the needed extractors of the user, with the default score set by the rule."""
        if job.feature_set is None:
            return []
        extractors = []
        needed = [name for name in job.names if name in job.feature_set.entries]
        for entry in job.feature_set.prune(needed).values():
            extractor = dict(entry["query_extractor"])
            if job.missing == "zero":
                extractor["default_score"] = 0.0
            else:
                extractor.pop("default_score", None)
            extractors.append(entry | {"query_extractor": extractor})
        return extractors

    def _rule(self, job: Job) -> str:
        if job.missing == "zero":
            return (
                "they count as 0. Extractors have a default_score of 0, and each split sends "
                "missing fields where it sends 0."
            )
        return "each split sends them where it has learned to; extractors have no default_score."

    def _tree(self, job: Job, root: int, cuts: np.ndarray) -> dict[str, Any]:
        """Convert a tree to a list of nodes, root first."""
        trees = job.trees
        order, index = [root], {root: 0}
        for node in order:  # the list grows in the loop
            if trees.feature[node] >= 0:
                for child in (int(trees.left[node]), int(trees.right[node])):
                    index[child] = len(order)
                    order.append(child)
        nodes: list[dict[str, Any]] = []
        for node in order:
            if trees.feature[node] < 0:
                nodes.append({"node_index": index[node], "leaf_value": float(trees.value[node])})
                continue
            nodes.append(
                {
                    "node_index": index[node],
                    "decision_type": "lte",
                    "split_feature": int(trees.feature[node]),
                    "threshold": _finite(cuts[node]),
                    "default_left": bool(trees.missing_left[node]),
                    "left_child": index[int(trees.left[node])],
                    "right_child": index[int(trees.right[node])],
                }
            )
        structure = {"feature_names": job.names, "tree_structure": nodes}
        return {"tree": structure | {"target_type": "regression"}}

    def scores(self, directory: Path, X: np.ndarray, names: list[str]) -> np.ndarray:
        """Score rows as the inference of Elasticsearch does."""
        document = read_json(directory / "model.json")
        extractors = document["inference_config"]["learning_to_rank"]["feature_extractors"]
        rows = X.astype(np.float64)
        for entry in extractors:
            extractor = entry["query_extractor"]
            column = rows[:, names.index(extractor["feature_name"])]  # a view
            column[:] = to_single(column)
            if "default_score" in extractor:
                column[np.isnan(column)] = np.float32(extractor["default_score"])
        ensemble = document["definition"]["trained_model"]["ensemble"]
        columns = [names.index(name) for name in ensemble["feature_names"]]
        builder = TreeBuilder()
        for model in ensemble["trained_models"]:
            nodes = model["tree"]["tree_structure"]
            assert [node["node_index"] for node in nodes] == list(range(len(nodes)))
            builder.add_tree(0, partial(_read_node, nodes))
        trees = builder.build(len(columns))
        scores = trees.sums(rows[:, columns], np.float64)
        return scores.astype(np.float32).astype(np.float64)


def _read_node(nodes: list[dict[str, Any]], index: int) -> Any:
    node = nodes[index]
    if "leaf_value" in node:
        return node["leaf_value"]
    assert node["decision_type"] == "lte"
    decision = node["split_feature"], node["threshold"], node["default_left"]
    return *decision, node["left_child"], node["right_child"]


def _finite(threshold: float) -> float:
    largest = float(np.finfo(np.float64).max)
    return float(np.clip(threshold, -largest, largest))
