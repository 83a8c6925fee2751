"""Targets of exports, one module each, by name."""

from __future__ import annotations

from ranksieve.export.targets.c import CFile
from ranksieve.export.targets.elasticsearch import Elasticsearch
from ranksieve.export.targets.library_files import CatBoostFile, LightGBMFile, XGBoostFile
from ranksieve.export.targets.onnx import Onnx
from ranksieve.export.targets.plugin import ElasticsearchPlugin, OpenSearchPlugin
from ranksieve.export.targets.python import PythonModule
from ranksieve.export.targets.solr import Solr
from ranksieve.export.targets.target import Target
from ranksieve.export.targets.vespa import Vespa

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        LightGBMFile(),
        XGBoostFile(),
        CatBoostFile(),
        ElasticsearchPlugin(),
        OpenSearchPlugin(),
        Elasticsearch(),
        Solr(),
        Vespa(),
        Onnx(),
        PythonModule(),
        CFile(),
    )
}
"""Targets by name."""


def find_target(name: str) -> Target:
    """Return a target by name; raises ValueError with the known names if it is unknown."""
    if name not in TARGETS:
        raise ValueError(f"unknown target {name!r:.40}; choose from {', '.join(TARGETS)}")
    return TARGETS[name]
