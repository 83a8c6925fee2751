"""From what a command line names to data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ranksieve.text import counted

if TYPE_CHECKING:
    from ranksieve.data import RankingData
    from ranksieve.engine import Source
    from ranksieve.io.shards.shards import Verify


@contextmanager
def opened(
    paths: list[Path] | None,
    demo: bool,
    dask: str | None,
    workers: int | None,
    verify: bool | None,
    **how: Any,
) -> Iterator[Source]:
    """Shards where they lie, on a cluster if one is named; other data, or the demo, in memory."""
    from ranksieve.data import DataError

    if demo == bool(paths):
        raise typer.BadParameter("name a file, or use --demo")
    on_cluster = dask is not None or workers is not None
    if not paths:
        from ranksieve.datasets import load_demo

        if on_cluster:
            raise typer.BadParameter("a cluster works on shards, not on the demo")
        yield load_demo()[0]
        return
    if not are_shards(paths):
        if on_cluster:
            raise DataError(
                f"{paths[0]}: a cluster works on shards; make them with: "
                f"ranksieve convert {paths[0]} {paths[0].stem}.shards"
            )
        yield load(paths, **how)
        return
    from ranksieve.io.shards.shards import open_shards

    with ExitStack() as stack:
        client = None
        if on_cluster:
            from ranksieve.engine.dask import connect

            client = stack.enter_context(connect(dask, workers))
        yield stack.enter_context(open_shards(paths[0], client=client, verify=_when(verify)))


def _when(verify: bool | None) -> Verify:
    return "first-read" if verify is None else verify


def title_of(paths: list[Path] | None) -> str:
    """What to call the data in headings."""
    if not paths:
        return "embedded demo"
    others = f" and {counted(len(paths) - 1, 'more file')}" if len(paths) > 1 else ""
    return str(paths[0]) + others


@contextmanager
def held_out(path: Path, like: Source, verify: bool | None, **how: Any) -> Iterator[Source]:
    """Data with the features of ``like``; shards are on the same cluster, if that is on one."""
    from ranksieve.data import DataError
    from ranksieve.io.shards.shards import Shards, open_shards

    with ExitStack() as stack:
        source: Source
        if are_shards([path]):
            client = like.client if isinstance(like, Shards) else None
            source = stack.enter_context(open_shards(path, client=client, verify=_when(verify)))
        else:
            source = load([path], n_features=like.n_features, **how)
        if source.n_features != like.n_features:
            raise DataError(
                f"{path}: there are {source.n_features} features, but {like.n_features} in the "
                "training data"
            )
        both_named = source.has_feature_names and like.has_feature_names
        if both_named and (source.feature_names != like.feature_names).any():
            raise DataError(f"{path}: its features are not named as in the training data")
        yield source


def load(paths: list[Path], **how: Any) -> RankingData:
    """Read shards, a collection's directory or files into memory."""
    if are_shards(paths):
        from ranksieve.io.shards.shards import open_shards

        with open_shards(paths[0]) as shards:
            return shards.read()
    if len(paths) == 1 and os.path.isdir(paths[0]):
        from ranksieve.datasets import open_collection

        return open_collection(paths[0]).read_all(**how)
    from ranksieve.io import read_data

    return read_data(paths, **how)


def are_shards(paths: list[Path]) -> bool:
    """Whether the paths name a directory of shards."""
    return len(paths) == 1 and (paths[0] / "manifest.json").is_file()


def files_of(paths: list[Path]) -> list[Path]:
    """The paths, or the files of the collection whose directory they name."""
    if len(paths) == 1 and os.path.isdir(paths[0]):
        from ranksieve.datasets import open_collection

        return list(open_collection(paths[0]).whole)
    return paths
