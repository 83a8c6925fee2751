"""Export to Solr's learning to rank.

Solr parses thresholds as float32, adds 1e-6 to them in float32, and sends ``x <= threshold`` left.
The number written must give the intended threshold after that; near 0, there may be none.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve.data import DataError
from ranksieve.export.feature_sets import quote_some
from ranksieve.export.forms import SINGLE, TreeBuilder, zero_for_missing
from ranksieve.export.single_precision import (
    add_in_single,
    single_thresholds,
    subtract_slack,
    to_single,
    weighted_sums,
)
from ranksieve.export.targets.target import Artifact, Job, Target, list_names, read_json

SLACK = np.float32(1e-6)
_PACKAGE = "org.apache.solr.ltr.model"

_README = """# A model for Solr's learning to rank

Upload it:

{features_call}    curl -XPUT 'http://localhost:8983/solr/COLLECTION/schema/model-store' \\
      --data-binary @model.json -H 'Content-type:application/json'

Rerank with it; `efi` parameters are those of your features:

    rq={{!ltr model={name} reRankDocs=100 efi.user_query='...'}}

Missing values: {missing}

The model uses these features{where}:

{features}
"""
_FEATURES_CALL = """    curl -XPUT 'http://localhost:8983/solr/COLLECTION/schema/feature-store' \\
      --data-binary @features.json -H 'Content-type:application/json'
"""


class Solr(Target):
    """Writes a ``MultipleAdditiveTreesModel`` or a ``LinearModel``."""

    name = "solr"
    about = "features.json and model.json of Solr's learning to rank"
    feature_set_kind = "solr"
    unit = SINGLE

    def write(self, job: Job) -> Artifact:
        """Write the model and, if there is one, the pruned feature store."""
        notes: list[str] = []
        if job.trained.is_linear:
            kind, params = "LinearModel", {"weights": job.weights}
        else:
            kind, (params, notes) = "MultipleAdditiveTreesModel", self._trees(job)
        model: dict[str, Any] = {
            "class": f"{_PACKAGE}.{kind}",
            "name": job.name,
            "features": [{"name": name} for name in job.names],
            "params": params,
        }
        files: dict[str, Any] = {}
        if job.feature_set is not None:
            files["features.json"] = list(job.feature_set.prune(job.names).values())
            if job.feature_set.name:
                model["store"] = job.feature_set.name
        rule = (
            "they count as 0, which is what Solr's features return if they have neither a value "
            "nor a default."
            if job.missing == "zero"
            else "each split sends them where it has learned to. This needs a version of Solr "
            "whose trees support isNullSameAsZero, and features with the default NaN."
        )
        files |= {
            "model.json": model,
            "README.md": _README.format(
                name=json.dumps(job.name),  # quoted as in Solr's local parameters
                features_call="" if job.feature_set is None else _FEATURES_CALL,
                where=", which must be in a feature store" if job.feature_set is None else "",
                missing=rule,
                features=list_names(job.names),
            ),
        }
        return Artifact(files, notes)

    def _trees(self, job: Job) -> tuple[dict[str, Any], list[str]]:
        trees = job.trees
        thresholds = single_thresholds(trees, job.known)
        cuts, solved = subtract_slack(thresholds, SLACK)
        unsolved = np.flatnonzero(~solved & (trees.feature >= 0))
        if len(unsolved):
            _refuse(job, unsolved)
        values = trees.value.astype(np.float32)
        keeps_nan = job.missing == "nan"

        def split(node: int, left: Any, right: Any) -> dict[str, Any]:
            side = {"missing": "left" if trees.missing_left[node] else "right"}
            return {
                "feature": job.names[trees.feature[node]],
                "threshold": str(cuts[node]),
                **(side if keeps_nan else {}),
                "left": left,
                "right": right,
            }

        roots = trees.nested(lambda node: {"value": str(values[node])}, split)
        params: dict[str, Any] = {"trees": [{"weight": "1", "root": root} for root in roots]}
        if keeps_nan:
            params["isNullSameAsZero"] = False
        return params, job.clash_notes(thresholds.clashes)

    def scores(self, directory: Path, X: np.ndarray, names: list[str]) -> np.ndarray:
        """Score rows in float32, as Solr does."""
        model = read_json(directory / "model.json")
        params = model["params"]
        order = [names.index(feature["name"]) for feature in model["features"]]
        rows = to_single(X[:, order])
        if "weights" in params:
            return weighted_sums(rows, [params["weights"][f["name"]] for f in model["features"]])
        if params.get("isNullSameAsZero", True):
            rows = zero_for_missing(rows)
        columns = {feature["name"]: column for column, feature in enumerate(model["features"])}

        def read(node: dict[str, Any]) -> Any:
            if "feature" not in node:
                return np.float32(node["value"])
            threshold = float(add_in_single(np.float32(node["threshold"]), SLACK))
            goes_left = node.get("missing") == "left"
            return columns[node["feature"]], threshold, goes_left, node["left"], node["right"]

        builder = TreeBuilder()
        for tree in params["trees"]:
            assert np.float32(tree["weight"]) == 1
            builder.add_tree(tree["root"], read)
        return builder.build_in_single(len(order)).sums(rows, np.float32)


def _refuse(job: Job, nodes: np.ndarray) -> None:
    thresholds = job.trees.threshold[nodes]
    # LightGBM separates negative values from 0 at -1e-35, whatever their scale.
    is_zero = np.abs(thresholds) < 1e-34
    cures = []
    if is_zero.any():
        cures.append(
            f"add a number to {_names_of(job, nodes[is_zero])} so that no value is negative"
        )
    if not is_zero.all():
        cures.append(f"multiply {_names_of(job, nodes[~is_zero])} by a large number")
    instead = "" if job.known is not None else ", or verify with data, which may allow others"
    raise DataError(
        f"Solr adds 1e-6 to thresholds, and cannot reach {len(nodes)} of them, such as "
        f"{float(thresholds[0])!r}: {' and '.join(cures)}, in training and in Solr{instead}"
    )


def _names_of(job: Job, nodes: np.ndarray) -> str:
    return quote_some(sorted({job.names[feature] for feature in job.trees.feature[nodes]}))
