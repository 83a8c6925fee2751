"""Export to a Python module without dependencies."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve.data import DataError
from ranksieve.export.forms import LinearModel, TreeBuilder, zero_for_missing
from ranksieve.export.targets.target import Artifact, Job, Preorder, Target, list_names, to_preorder

_RUN = 200  # rows that are also scored by the slow function of the file

_HEAD = '''"""A ranking model. score(features) takes a dict of feature names to numbers.

{missing}
Larger scores are better. This file needs nothing but Python.
"""

{imports}FEATURES = (
{features})
'''

_TREES = """
# The nodes of all trees: the left child of a node is the next one. Leaves have feature -1.
_FEATURE = {feature}
_NUMBER = {number}  # threshold of a split, or value of a leaf
_MISSING_LEFT = {missing_left}
_SKIP = {skip}  # how far the right child is
_ROOTS = {roots}
_SINGLE = {single}  # whether sums are rounded to float32, as in the library that trained it
"""

_SCORE_TREES = '''

def score(features):
    """Score of a document."""
    row = [_value(features, name) for name in FEATURES]
    total = 0.0
    for node in _ROOTS:
        while _FEATURE[node] >= 0:
            x = row[_FEATURE[node]]
            if x <= _NUMBER[node] or (x != x and _MISSING_LEFT[node]):
                node += 1
            else:
                node += _SKIP[node]
        total += _NUMBER[node]
        if _SINGLE:
            total = struct.unpack("f", struct.pack("f", total))[0]
    return total
'''

_SCORE_LINEAR = '''
_WEIGHTS = {weights}
_INTERCEPT = {intercept}


def score(features):
    """Score of a document."""
    total = _INTERCEPT
    for name, weight in zip(FEATURES, _WEIGHTS):
        total += _value(features, name) * weight
    return total
'''

_VALUE = """

def _value(features, name):
    value = features.get(name)
    return {missing} if value is None or value != value else float(value)
"""


class PythonModule(Target):
    """Writes a Python module with one function."""

    name = "python"
    about = "a Python module without dependencies, with a function score(features)"
    is_engine = False

    def write(self, job: Job) -> Artifact:
        """Write the tables and the function."""
        zero = job.missing == "zero"
        rule = "0" if zero else "NaN, for which each split has learned a side"
        features = "".join(f"    {name!a},\n" for name in job.names)
        single = not job.trained.is_linear and job.trees.sums_in_single
        text = _HEAD.format(
            missing=f"Features that are absent, None or NaN count as {rule}.",
            imports="import struct\n\n" if single else "",
            features=features,
        )
        if isinstance(job.model, LinearModel):
            text += _SCORE_LINEAR.format(
                weights=_tuple(job.model.weights.tolist()), intercept=repr(job.model.intercept)
            )
        else:
            table = to_preorder(job.trees)
            parts = {name: _tuple(column) for name, column in table._asdict().items()}
            text += _TREES.format(**parts, single=single)
            text += _SCORE_TREES if single else _SCORE_TREES.replace(_ROUNDING, "")
        text += _VALUE.format(missing="0.0" if zero else 'float("nan")')
        readme = (
            "# A ranking model in Python\n\n    from model import score\n\n    score({...})\n\n"
            "The argument maps feature names to values. The model uses these features:\n\n"
            f"{list_names(job.names)}\n"
        )
        return Artifact({"model.py": text, "README.md": readme})

    def scores(self, directory: Path, X: np.ndarray, names: list[str]) -> np.ndarray:
        """Score rows with the tables of the file, and the first rows also with its function."""
        source = (directory / "model.py").read_text(encoding="utf-8")
        constants = _constants(source)
        order = [names.index(name) for name in constants["FEATURES"]]
        rows = X[:, order]
        scope: dict[str, Any] = {}
        exec(compile(source, str(directory / "model.py"), "exec"), scope)  # safe: we wrote it
        if math.isfinite(scope["_value"]({}, "")):
            rows = zero_for_missing(rows)
        scores = _model_of(constants, len(order)).scores(rows)
        documents = [dict(zip(names, row, strict=True)) for row in X[:_RUN].tolist()]
        if [scope["score"](document) for document in documents] != scores[:_RUN].tolist():
            raise DataError(f"{directory / 'model.py'}: score() does not give the model's scores")
        return scores


_ROUNDING = """        if _SINGLE:
            total = struct.unpack("f", struct.pack("f", total))[0]
"""


def _model_of(constants: dict[str, Any], n_features: int) -> Any:
    if "_WEIGHTS" in constants:
        return LinearModel(np.array(constants["_WEIGHTS"]), constants["_INTERCEPT"])
    table = Preorder(*(constants[f"_{field.upper()}"] for field in Preorder._fields))

    def read(node: int) -> Any:
        if table.feature[node] < 0:
            return table.number[node]
        decision = table.feature[node], table.number[node], bool(table.missing_left[node])
        return *decision, node + 1, node + table.skip[node]

    builder = TreeBuilder()
    for root in table.roots:
        builder.add_tree(root, read)
    return builder.build(n_features, sums_in_single=constants["_SINGLE"])


def _constants(source: str) -> dict[str, Any]:
    return {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def _tuple(values: list[Any]) -> str:
    """Write values as a Python tuple, 12 on each line."""
    words = [repr(value).replace("inf", "1e999") for value in values]
    lines = [", ".join(words[start : start + 12]) for start in range(0, len(words), 12)]
    return "(\n    " + ",\n    ".join(lines) + ",\n)"
