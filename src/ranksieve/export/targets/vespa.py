"""Export to Vespa: trees in LightGBM's JSON dump format, weights as a ranking expression.

Vespa turns splits into ``x < threshold``, or ``!(x >= threshold)`` if missing values (NaN) go left,
although LightGBM means ``x <= threshold``. Vespa evaluates large forests in float32. Thresholds are
chosen so that both evaluations make the same decisions.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve.export.forms import SINGLE, LinearModel, TreeBuilder, add_up, zero_for_missing
from ranksieve.export.single_precision import next_above, single_thresholds, to_single
from ranksieve.export.targets.c import c_name
from ranksieve.export.targets.target import Artifact, Job, Target, distinct, read_json

# Matches Vespa's built-in rank features, such as bm25(title) or fieldMatch(title).completeness.
_RANK_FEATURE = re.compile(r"[A-Za-z]\w*\([\w., \"-]*\)(\.[\w.]+)?", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)

_README = """# A model for Vespa

{files}Put the rank profile of `rank-profile.txt` into the schema.

Each function of the profile computes a feature. It reads an attribute of the same name until you
change it. Features that are rank features of Vespa, such as bm25(title), need no function.

Missing values: {missing}

Names of the features in Vespa, and in the model:

{features}
"""


class Vespa(Target):
    """Writes a model file or a ranking expression, and the rank profile that uses it."""

    name = "vespa"
    about = "model file or ranking expression of Vespa, and a rank profile"
    unit = SINGLE

    def write(self, job: Job) -> Artifact:
        """Write the model and the profile."""
        names = _vespa_names(job.names)
        profile = c_name(job.name)
        notes: list[str] = []
        files: dict[str, Any] = {}
        if isinstance(job.model, LinearModel):
            terms = zip(job.model.weights.tolist(), map(_term, names), strict=True)
            expression = " + ".join(
                f"{weight!r} * if (isNan({term}), 0.0, {term})" for weight, term in terms
            )
            instruction = ""
        else:
            dump, notes = self._dump(job, names)
            files[f"models/{profile}.json"] = dump
            expression = f'lightgbm("{profile}.json")'
            instruction = f"Put `models/{profile}.json` into `models/` of the application package. "
        functions = "".join(
            f"    function {name}() {{\n        expression: attribute({name})\n    }}\n"
            for name in names
            if _IDENTIFIER.fullmatch(name)
        )
        files["rank-profile.txt"] = (
            f"rank-profile {profile} inherits default {{\n{functions}    second-phase {{\n"
            f"        expression {{\n            {expression}\n        }}\n    }}\n}}\n"
        )
        rule = (
            "they count as 0."
            if job.missing == "zero"
            else "attributes without a value are NaN, which each split sends where it has learned "
            "to."
        )
        pairs = "\n".join(
            f"    {json.dumps(name)}: {json.dumps(old)}"
            for name, old in zip(names, job.names, strict=True)
        )
        files["README.md"] = _README.format(files=instruction, missing=rule, features=pairs)
        return Artifact(files, notes)

    def _dump(self, job: Job, names: list[str]) -> tuple[dict[str, Any], list[str]]:
        """Convert the trees to LightGBM's dump format, with thresholds adapted to Vespa."""
        trees = job.trees
        thresholds = single_thresholds(trees, job.known)
        cuts = next_above(thresholds.wanted).astype(np.float64).tolist()
        values = trees.value.tolist()

        def split(node: int, left: Any, right: Any) -> dict[str, Any]:
            return {
                "split_feature": int(trees.feature[node]),
                "threshold": cuts[node],
                "decision_type": "<=",
                "default_left": bool(trees.missing_left[node]),
                "missing_type": "NaN",
                "left_child": left,
                "right_child": right,
            }

        roots = trees.nested(lambda node: {"leaf_value": values[node]}, split)
        dump = {
            "name": "tree",
            "version": "v4",
            "objective": "lambdarank",
            "feature_names": names,
            "feature_infos": {},
            "tree_info": [
                {"tree_index": index, "tree_structure": root} for index, root in enumerate(roots)
            ],
            "pandas_categorical": [],
        }
        return dump, job.clash_notes(thresholds.clashes)

    def scores(self, directory: Path, X: np.ndarray, names: list[str]) -> np.ndarray:
        """Score rows with trees in float32, or with a ranking expression in float64."""
        known = _vespa_names(names)
        rows = to_single(X)
        models = list((directory / "models").glob("*.json"))
        if not models:
            return _evaluate_sum((directory / "rank-profile.txt").read_text(), rows, known)
        dump = read_json(models[0])
        order = [known.index(name) for name in dump["feature_names"]]
        builder = TreeBuilder()
        for tree in dump["tree_info"]:
            builder.add_tree(tree["tree_structure"], _read_node)
        return builder.build_in_single(len(order)).sums(rows[:, order], np.float32, strict=True)


def _evaluate_sum(profile: str, rows: np.ndarray, names: list[str]) -> np.ndarray:
    """Evaluate the sum in the second phase of a rank profile."""
    found = re.search(r"second-phase \{\s*expression \{\s*(.*?)\s*\}", profile, re.DOTALL)
    assert found is not None
    served = zero_for_missing(rows)
    terms = re.findall(r"(\S+) \* if \(isNan\((.+?)\), 0\.0, \2\)", found[1])
    parts = [
        float(weight) * served[:, names.index(term.removesuffix("()"))] for weight, term in terms
    ]
    return add_up(np.stack(parts, axis=1), np.float64)


def _read_node(node: dict[str, Any]) -> Any:
    if "leaf_value" in node:
        return node["leaf_value"]
    decision = node["split_feature"], np.float32(node["threshold"]), node["default_left"]
    return *decision, node["left_child"], node["right_child"]


def _term(name: str) -> str:
    """Format a feature for an expression; functions get parentheses."""
    return f"{name}()" if _IDENTIFIER.fullmatch(name) else name


def _vespa_names(names: list[str]) -> list[str]:
    """Keep rank features, and turn other names into distinct names of functions."""
    return distinct(name if _RANK_FEATURE.fullmatch(name) else c_name(name) for name in names)
