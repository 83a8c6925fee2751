"""Open the data that a command line names, on a cluster if one is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from ranksieve.engine import Source
    from ranksieve.io.selection import Selection
    from ranksieve.io.shards import Verify
    from ranksieve.missing import Missing


@contextmanager
def open_training_data(
    paths: list[Path] | None,
    demo: bool,
    dask: str | None,
    workers: int | None,
    verify: bool | None,
    missing: str | Missing | None = None,
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
        opened = open_source(paths or None, client=client, verify=_when(verify), **read_options)
        source = stack.enter_context(opened)
        yield source if missing is None else source.with_missing(missing)


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
    """Open data with the features of the training data, on the same cluster if there is one.

    Its missing values are treated as those of the training data.
    """
    from ranksieve.data import DataError
    from ranksieve.datasets.opening import open_source
    from ranksieve.io.shards import Shards

    client = train.client if isinstance(train, Shards) else None
    indicated = train.missing.indicated if train.missing else ()
    read_options["n_features"] = train.n_features - len(indicated)
    with open_source([path], client=client, verify=_when(verify), **read_options) as source:
        if train.missing is not None:
            source = source.with_missing(train.missing)
        if source.n_features != train.n_features:
            raise DataError(
                f"{path}: it has {source.n_features} features, but the training data has "
                f"{train.n_features}"
            )
        both_named = source.has_feature_names and train.has_feature_names
        if both_named and (source.feature_names != train.feature_names).any():
            raise DataError(f"{path}: the names of its features differ from the training data")
        yield source


def missing_policy(given: str | None, selection: Selection | None) -> Missing | None:
    """What is done with missing values: as given, or as in the data that features were chosen on.

    If both are the same, indicators are of the features that had them when features were chosen.
    """
    from ranksieve.missing import Missing

    declared = Missing.of(given)
    recorded = None if selection is None else selection.missing
    if recorded is not None and (declared is None or declared.name == recorded.name):
        return recorded
    return declared
