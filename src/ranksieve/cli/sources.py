"""Open the data that a command line names, on a cluster if one is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from ranksieve.engine import Source
    from ranksieve.io.shards import Verify


@contextmanager
def open_training_data(
    paths: list[Path] | None,
    demo: bool,
    dask: str | None,
    workers: int | None,
    verify: bool | None,
    **read_options: Any,
) -> Iterator[Source]:
    """Open shards in place, on a cluster if one is named; other data, or the demo, in memory."""
    from ranksieve.datasets.opening import open_source

    if demo == bool(paths):
        raise typer.BadParameter("name a file, or use --demo")
    with ExitStack() as stack:
        client = None
        if dask is not None or workers is not None:
            _check_shards(paths)
            from ranksieve.engine.dask import connect

            client = stack.enter_context(connect(dask, workers))
        source = open_source(paths or None, client=client, verify=_when(verify), **read_options)
        yield stack.enter_context(source)


def _check_shards(paths: list[Path] | None) -> None:
    """Raise an error unless the paths are shards, which a cluster needs."""
    from ranksieve.data import DataError
    from ranksieve.datasets.opening import are_shards

    if not paths:
        raise typer.BadParameter("a cluster works on shards, not on the demo")
    if not are_shards(paths):
        raise DataError(
            f"{paths[0]}: a cluster works on shards; make them with: "
            f"ranksieve convert {paths[0]} {paths[0].stem}.shards"
        )


def _when(verify: bool | None) -> Verify:
    return "first-read" if verify is None else verify


@contextmanager
def open_validation_data(
    path: Path, train: Source, verify: bool | None, **read_options: Any
) -> Iterator[Source]:
    """Open data with the features of the training data, on the same cluster if there is one."""
    from ranksieve.data import DataError
    from ranksieve.datasets.opening import open_source
    from ranksieve.io.shards import Shards

    client = train.client if isinstance(train, Shards) else None
    read_options["n_features"] = train.n_features
    with open_source([path], client=client, verify=_when(verify), **read_options) as source:
        if source.n_features != train.n_features:
            raise DataError(
                f"{path}: it has {source.n_features} features, but the training data has "
                f"{train.n_features}"
            )
        both_named = source.has_feature_names and train.has_feature_names
        if both_named and (source.feature_names != train.feature_names).any():
            raise DataError(f"{path}: the names of its features differ from the training data")
        yield source
