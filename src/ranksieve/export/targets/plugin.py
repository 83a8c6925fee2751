"""Export to the learning-to-rank plugins of Elasticsearch and OpenSearch.

Both read trees in XGBoost's dump format, store thresholds and leaves in float32, send a row left if
``threshold > x``, and add trees in float32. If the query of a feature does not match, older
versions use 0; newer ones treat the value as missing and follow the ``missing`` branch.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve.export.forms import SINGLE, TreeBuilder, zero_for_missing
from ranksieve.export.single_precision import (
    next_above,
    single_thresholds,
    to_single,
    weighted_sums,
)
from ranksieve.export.targets.target import Artifact, Job, Target, list_names, read_json

_README = """# A model for the learning-to-rank plugin of {engine}

{upload}Create the model:

    POST /_ltr/_featureset/{set}/_createmodel
    Content-Type: application/json

    (the content of model.json)

Rescore with it; `params` are the parameters of your templates:

    POST /INDEX/_search
    {{"query": {{...}},
     "rescore": {{"window_size": 100, "query": {{"rescore_query":
       {{"sltr": {{"params": {{"keywords": "..."}}, "model": {name}}}}}}}}}}}

Missing values: {missing}

The model uses these features:

{features}
"""
_UPLOAD = """Create the feature set, which has only the features that the model uses:

    POST /_ltr/_featureset/{set}
    Content-Type: application/json

    (the content of featureset.json)

"""
_EXISTING = """No feature set was given. In the first call, replace `{set}` with the name of one
of your feature sets that has the features below.

"""


class _Plugin(Target):
    """Base of the targets for both plugins."""

    feature_set_kind = "plugin"
    unit = SINGLE
    engine: str

    def write(self, job: Job) -> Artifact:
        """Write the model and, if there is one, the pruned feature set."""
        notes: list[str] = []
        if job.trained.is_linear:
            kind, definition = "model/linear", json.dumps(job.weights)
            rule = "the plugin uses 0 where a feature has no value."
        else:
            kind, (definition, notes) = "model/xgboost+json", self._trees(job)
            rule = self._rule(job)
        model = {"model": {"name": job.name, "model": {"type": kind, "definition": definition}}}
        files: dict[str, Any] = {"model.json": model}
        set_name, upload = path_name(job.name), _EXISTING
        if job.feature_set is not None:
            entries = list(job.feature_set.prune(job.names).values())
            files["featureset.json"] = {"featureset": {"features": entries}}
            upload = _UPLOAD
            if job.feature_set.name:
                set_name = path_name(f"{job.feature_set.name}_pruned")
        files["README.md"] = _README.format(
            engine=self.engine,
            upload=upload.format(set=set_name),
            set=set_name,
            name=json.dumps(job.name),
            missing=rule,
            features=list_names(job.names),
        )
        return Artifact(files, notes)

    def _trees(self, job: Job) -> tuple[str, list[str]]:
        """Convert the trees to XGBoost's dump format."""
        trees = job.trees
        thresholds = single_thresholds(trees, job.known)
        cuts = next_above(thresholds.wanted).astype(np.float64).tolist()
        values = trees.value.astype(np.float32).astype(np.float64).tolist()
        depths = np.zeros(len(values), dtype=int)
        for node in trees.splits[::-1]:  # parents before their children
            depths[[trees.left[node], trees.right[node]]] = depths[node] + 1

        def leaf(node: int) -> dict[str, Any]:
            return {"nodeid": node, "leaf": values[node]}

        def split(node: int, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
            if_missing = left if trees.missing_left[node] else right
            return {
                "nodeid": node,
                "depth": int(depths[node]),
                "split": job.names[trees.feature[node]],
                "split_condition": cuts[node],
                "yes": left["nodeid"],
                "no": right["nodeid"],
                "missing": if_missing["nodeid"],
                "children": [left, right],
            }

        definition = self._definition(trees.nested(leaf, split), job)
        return json.dumps(definition, allow_nan=False), job.clash_notes(thresholds.clashes)

    def _definition(self, roots: list[Any], job: Job) -> Any:
        return roots

    def _rule(self, job: Job) -> str:
        if job.missing == "zero":
            return (
                "they count as 0. Each split names the branch of 0 as that of missing values, so "
                "versions that use 0 and versions that follow `missing` give the same ranking."
            )
        return (
            "each split names the branch that it has learned for them. The version of the plugin "
            "must follow `missing`; for older versions, which use 0, export with --missing zero."
        )

    def scores(self, directory: Path, X: np.ndarray, names: list[str]) -> np.ndarray:
        """Score rows in float32, as the plugin does."""
        model = read_json(directory / "model.json")["model"]["model"]
        definition = json.loads(model["definition"])
        rows = to_single(X)
        if model["type"] == "model/linear":
            return weighted_sums(rows, [definition.get(name, 0) for name in names])
        if isinstance(definition, dict):
            if definition.get("missing_as_zero"):
                rows = zero_for_missing(rows)
            definition = definition["splits"]
        columns = {name: column for column, name in enumerate(names)}

        def read(node: dict[str, Any]) -> Any:
            if "leaf" in node:
                return np.float32(node["leaf"])
            yes, no = node["children"]
            assert (node["yes"], node["no"]) == (yes["nodeid"], no["nodeid"])
            threshold, goes_left = (
                np.float32(node["split_condition"]),
                node["missing"] == node["yes"],
            )
            return columns[node["split"]], threshold, goes_left, yes, no

        builder = TreeBuilder()
        for root in definition:
            builder.add_tree(root, read)
        return builder.build_in_single(len(names)).sums(rows, np.float32, strict=True)


def path_name(name: str) -> str:
    """Quote a name for use in a URL path."""
    from urllib.parse import quote

    return quote(name, safe="", errors="backslashreplace")


class ElasticsearchPlugin(_Plugin):
    """Target for the Elasticsearch plugin by OpenSource Connections."""

    name = "elasticsearch-ltr"
    about = "feature set and model of Elasticsearch's learning-to-rank plugin"
    engine = "Elasticsearch"


class OpenSearchPlugin(_Plugin):
    """Target for the OpenSearch plugin."""

    name = "opensearch-ltr"
    about = "feature set and model of OpenSearch's learning-to-rank plugin"
    engine = "OpenSearch"

    def _definition(self, roots: list[Any], job: Job) -> Any:
        # Versions that send all missing values to the right reject this key, so none misranks.
        return {"splits": roots, "missing_as_zero": True} if job.missing == "zero" else roots

    def _rule(self, job: Job) -> str:
        if job.missing == "zero":
            return (
                "they count as 0 (`missing_as_zero`). A version that does not support this key "
                "rejects the model. If yours uses 0 by itself, remove the key from the definition."
            )
        return super()._rule(job)
