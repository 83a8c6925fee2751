"""Export to ONNX: trees as a float64 ``TreeEnsembleRegressor``, weights as a matrix product."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ranksieve.data import DataError
from ranksieve.export.forms import SINGLE, LinearModel
from ranksieve.export.targets.target import Artifact, Job, Target, list_names

_README = """# A model for ONNX Runtime

    import onnxruntime
    session = onnxruntime.InferenceSession("model.onnx")
    session.run(None, {{"features": rows}})[0]  # float64 rows, one score for each

Missing values: {missing}

The columns, in this order:

{features}
"""


class Onnx(Target):
    """Writes an ONNX file."""

    name = "onnx"
    about = "a file for ONNX Runtime, with features in float64"
    is_engine = False
    result_unit = SINGLE

    def write(self, job: Job) -> Artifact:
        """Write the graph."""
        try:
            from onnx import TensorProto, helper
        except ImportError:
            raise DataError("onnx is not installed: pip install 'ranksieve[onnx]'") from None

        make = _linear if isinstance(job.model, LinearModel) else _forest
        nodes, constants, opsets = make(job)
        kind = TensorProto.FLOAT if opsets else TensorProto.DOUBLE
        graph = helper.make_graph(
            nodes,
            "ranking",
            [helper.make_tensor_value_info("features", TensorProto.DOUBLE, [None, len(job.names)])],
            [helper.make_tensor_value_info("score", kind, [None, 1])],
            initializer=constants,
        )
        model = helper.make_model(
            graph,
            producer_name="ranksieve",
            opset_imports=[helper.make_opsetid("", 17), *opsets],
            ir_version=8,
        )
        rule = "pass NaN, which each split sends where it has learned to."
        if job.missing == "zero":
            rule = "pass 0" + ("." if job.trained.is_linear else " or NaN, which counts as 0.")
        readme = _README.format(missing=rule, features=list_names(job.names))
        return Artifact({"model.onnx": model.SerializeToString(), "README.md": readme})

    def scores(self, directory: Path, X: np.ndarray, names: list[str]) -> np.ndarray:
        """Score with ONNX Runtime."""
        try:
            import onnxruntime
        except ImportError:
            raise DataError("the ONNX file cannot be verified: pip install onnxruntime") from None

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            str(directory / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        is_linear = session.get_outputs()[0].type == "tensor(double)"
        rows = np.nan_to_num(X, nan=0.0) if is_linear else X
        scores = session.run(None, {"features": np.ascontiguousarray(rows, dtype=np.float64)})[0]
        return np.asarray(scores, dtype=np.float64)[:, 0]


def _linear(job: Job) -> tuple[list[Any], list[Any], list[Any]]:
    from onnx import helper, numpy_helper

    assert isinstance(job.model, LinearModel)
    weights = numpy_helper.from_array(job.model.weights.reshape(-1, 1), "weights")
    intercept = numpy_helper.from_array(np.array([job.model.intercept]), "intercept")
    nodes = [
        helper.make_node("MatMul", ["features", "weights"], ["sum"]),
        helper.make_node("Add", ["sum", "intercept"], ["score"]),
    ]
    return nodes, [weights, intercept], []


def _forest(job: Job) -> tuple[list[Any], list[Any], list[Any]]:
    from onnx import helper, numpy_helper

    trees = job.trees
    is_leaf = trees.feature < 0
    tree_of = np.zeros(len(is_leaf), dtype=np.int64)
    tree_of[trees.roots] = np.arange(len(trees.roots))
    for node in trees.splits[::-1].tolist():  # parents before their children
        tree_of[[trees.left[node], trees.right[node]]] = tree_of[node]
    # ONNX Runtime expects the nodes of a tree together, root first.
    order = np.lexsort((-np.arange(len(is_leaf)), tree_of))
    leaves = order[is_leaf[order]]
    thresholds = np.where(is_leaf, 0.0, trees.threshold)[order]
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["features"],
        ["score"],
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=tree_of[order].tolist(),
        nodes_nodeids=order.tolist(),
        nodes_featureids=np.maximum(trees.feature, 0)[order].tolist(),
        nodes_modes=np.where(is_leaf, "LEAF", "BRANCH_LEQ")[order].tolist(),
        nodes_values_as_tensor=numpy_helper.from_array(thresholds, "thresholds"),
        nodes_truenodeids=np.where(is_leaf, 0, trees.left)[order].tolist(),
        nodes_falsenodeids=np.where(is_leaf, 0, trees.right)[order].tolist(),
        nodes_missing_value_tracks_true=trees.missing_left[order].astype(int).tolist(),
        target_treeids=tree_of[leaves].tolist(),
        target_nodeids=leaves.tolist(),
        target_ids=[0] * len(leaves),
        target_weights_as_tensor=numpy_helper.from_array(trees.value[leaves], "values"),
    )
    return [node], [], [helper.make_opsetid("ai.onnx.ml", 3)]
