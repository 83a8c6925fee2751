"""Open the data that a command line names, on a cluster if one is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from ranksieve.cli.options import Cluster, ReadingRows
    from ranksieve.data.missing import Missing
    from ranksieve.engine import Source
    from ranksieve.io.selection import Selection
    from ranksieve.io.shards import Verify
    from ranksieve.rankers.base import Ranker


@contextmanager
def open_training_data(
    paths: list[Path] | None,
    demo: bool,
    cluster: Cluster,
    verify: bool | None,
    missing: str | Missing | None = None,
    **read_options: Any,
) -> Iterator[Source]:
    """Open shards in place, on a cluster if one is named; other data, or the demo, in memory."""
    from ranksieve.datasets.opening import open_source

    if demo == bool(paths):
        raise typer.BadParameter("name a file, or use --demo")
    if cluster.is_named:
        _check_shards(paths)
    mode = _verify_mode(verify)
    with (
        cluster.connect() as client,
        open_source(paths or None, client=client, verify=mode, **read_options) as source,
    ):
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
            f"ranksieve convert {quote(str(paths[0]))} {quote(f'{paths[0].stem}.shards')}"
        )


def _verify_mode(verify: bool | None) -> Verify:
    return "first-read" if verify is None else verify


@contextmanager
def open_validation_data(
    path: Path, train: Source, verify: bool | None, **read_options: Any
) -> Iterator[Source]:
    """Open data with the features of the training data, on the same cluster if there is one.

    Its missing values are treated as those of the training data.
    """
    from ranksieve.data.joining import with_features_of
    from ranksieve.datasets.opening import are_text_files, open_source, options_for, paths_of
    from ranksieve.io.shards import Shards

    client = train.client if isinstance(train, Shards) else None
    indicated = train.missing.indicated if train.missing else ()
    own = options_for([path], read_options)
    if are_text_files(paths_of(path)):
        own["n_features"] = train.n_features - len(indicated)
    with open_source([path], client=client, verify=_verify_mode(verify), **own) as source:
        if train.missing is not None:
            source = source.with_missing(train.missing)
        yield with_features_of(source, train, path)


@contextmanager
def open_for(
    ranker: Ranker, data: list[Path], reading: ReadingRows, *, needs_label: bool = True
) -> Iterator[Source]:
    """Open data with the features of a trained ranker, or all features before selection."""
    from ranksieve.data import DataError
    from ranksieve.data.columns import Columns
    from ranksieve.data.remembered import RememberedColumns
    from ranksieve.datasets.opening import are_table_files, are_text_files, open_source, paths_of

    paths, read_options = paths_of(data), reading.read_options
    names: Any = getattr(ranker, "feature_names_in_", None)
    trained = getattr(ranker, "missing_", None)
    indicated = trained.indicated if trained else ()  # files have no indicators
    columns, is_text, is_table = None, are_text_files(paths), are_table_files(paths)
    are_named = is_table and names is not None and not reading.features and not indicated
    if is_table:
        said = replace(reading.roles, features=()) if are_named else reading.roles
        categories = list(getattr(ranker, "categories_", ()))
        if not hasattr(ranker, "columns_") and categories:
            said = said.over(Columns(categorical=categories))
        read_options["columns"] = RememberedColumns.of(
            getattr(ranker, "columns_", None),
            said,
            what="the model",
            names=names.tolist() if are_named else (),
            only_names=are_named,
            needs_label=needs_label,
        )
    if not is_table or reading.features or indicated:
        columns = _numbers(names)
        names = None
        selection = getattr(ranker, "selection_", None)
        n_features = ranker.n_features_in_ if selection is None else selection.n_features_in
        if is_text and reading.n_features is None:
            # If features are named by numbers, their total number is unknown.
            read_options["n_features"] = n_features - len(indicated) if columns is None else None
    with ExitStack() as stack:
        source = stack.enter_context(open_source(paths, **read_options))
        if columns is not None and source.n_features <= max(columns):
            if not is_text:
                raise DataError(
                    f"{paths[0]}: there are {source.n_features} features, but the model uses "
                    f"feature {max(columns) + 1}"
                )
            # Text leaves out zeros: read it again with all features of the model.
            stack.close()
            read_options["n_features"] = max(columns) + 1
            source = stack.enter_context(open_source(paths, **read_options))
        if names is not None or columns is not None:  # columns may be in any order
            source = source.take_features(columns if names is None else names)
        yield source


def _numbers(names: Any) -> list[int] | None:
    """Columns of features that are named by their numbers (from 1) in a file with more features."""
    if names is None or not all(re.fullmatch("[1-9][0-9]{0,9}", name) for name in names):
        return None
    return [int(name) - 1 for name in names]


def check_output(out: Path | None, data: list[Path] | None, *others: Path | None) -> None:
    """Raise a DataError if the output cannot be written, or would replace one of the inputs."""
    from ranksieve.datasets.opening import paths_of
    from ranksieve.io.files import check_replaceable

    if out is not None:
        check_replaceable(out, [*paths_of(data or []), *others])


def missing_policy(policy: str | None, selection: Selection | None) -> Missing | None:
    """Treatment of missing values: as given, or else that of the data of the selection.

    If both are the same, the indicators are those of the selection.
    """
    from ranksieve.data.missing import Missing

    declared = Missing.make(policy)
    recorded = None if selection is None else selection.missing
    if recorded is not None and (declared is None or declared.name == recorded.name):
        return recorded
    return declared
