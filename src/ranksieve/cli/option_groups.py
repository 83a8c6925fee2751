"""Options that several commands share as one value: how to read data, and how to divide it.

A command takes such a value as a parameter; :func:`with_option_groups` replaces it by the options
of its fields.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ranksieve.cli.options import option

if TYPE_CHECKING:
    from ranksieve.data.columns import Columns
    from ranksieve.datasets.split_rules import SplitRule


@dataclass(frozen=True)
class ReadingRows:
    """How to read data: the columns of tables, and the features of text."""

    label: Annotated[
        str | None,
        option(
            "NAME",
            "Column with the label, in Parquet and CSV files. Default: found by its name, such as "
            "label or relevance.",
        ),
    ] = None
    qid: Annotated[
        str | None,
        option(
            "NAME",
            "Column with the query id. Default: found by its name, such as qid or query_id.",
        ),
    ] = None
    doc_id: Annotated[
        str | None,
        option(
            "NAME",
            "Column with the document id. Default: found by its name, such as doc_id or docid, if "
            "there is one.",
        ),
    ] = None
    weight: Annotated[
        str | None,
        option(
            "NAME",
            "Column with the weight of the query, the same in all of its rows. Default: found by "
            "its name, such as weight or sample_weight, if there is one.",
        ),
    ] = None
    drop: Annotated[
        list[str] | None,
        option(
            "NAME,..",
            "Columns to leave out, separated by commas; patterns such as 'debug_*' are allowed. "
            "May be repeated. Default: none.",
        ),
    ] = None
    features: Annotated[
        list[str] | None,
        option(
            "NAME,..",
            "Columns that are features, separated by commas; patterns such as 'bm25_*' are "
            "allowed. May be repeated. Default: all remaining columns.",
        ),
    ] = None
    n_features: Annotated[
        int | None,
        option(
            "N",
            "Number of features in LETOR or SVMlight text. Default: the largest index in it.",
        ),
    ] = None
    zero_based: Annotated[
        bool,
        typer.Option(
            "--zero-based",
            help="Feature indices in LETOR or SVMlight text start at 0. Default: they start at 1.",
        ),
    ] = False

    @property
    def columns(self) -> Columns:
        """Roles of columns given by the options."""
        from ranksieve.data.columns import Columns

        drop, features = _split(self.drop), _split(self.features)
        return Columns(self.label, self.qid, self.doc_id, self.weight, drop, features)

    @property
    def read_options(self) -> dict[str, Any]:
        """Arguments of the functions that open data."""
        return {
            "columns": self.columns,
            "n_features": self.n_features,
            "zero_based": self.zero_based,
        }


@dataclass(frozen=True)
class Reading(ReadingRows):
    """How to read data, and how to treat its missing values."""

    missing: Annotated[
        str | None,
        option(
            "POLICY",
            "How to treat missing values: query-min, query-median or zero fills them in, query by "
            "query; keep leaves them to methods that accept them (filters rank documents without "
            "a value last). With +indicators, such as zero+indicators, 0/1 features that mark "
            "missing values are added. Default: as recorded in the selection or model, if there is "
            "one; otherwise methods that do not accept missing values refuse the data.",
        ),
    ] = None


@dataclass(frozen=True)
class Splitting:
    """How to divide the queries of the data, and how to treat several files."""

    vali: Annotated[
        list[Path] | None,
        option(
            "FILE",
            "Validation data, to tune on. Needs --test. May be repeated. Default: one in five "
            "training queries.",
        ),
    ] = None
    test: Annotated[
        list[Path] | None,
        option(
            "FILE",
            "Test data; DATA is then the training data. May be repeated. Default: test on folds of "
            "DATA.",
        ),
    ] = None
    split_column: Annotated[
        str | None,
        option(
            "NAME",
            "Column that splits the queries of Parquet or CSV files: train, vali and test, or fold "
            "numbers. Default: none.",
        ),
    ] = None
    time_column: Annotated[
        str | None,
        option(
            "NAME",
            "Column of Parquet or CSV files with dates, times or numbers, for "
            "--test-queries-after. Default: none.",
        ),
    ] = None
    test_queries_after: Annotated[
        str | None,
        option(
            "TIME",
            "Test on the queries whose rows are all after this time or number, and train on the "
            "others. A date stands for the whole day. Needs --time-column. Default: none.",
        ),
    ] = None
    pool: Annotated[
        bool,
        typer.Option(
            "--pool",
            help="Treat several files as one data set and split its queries. Default: refuse "
            "several files, which could be a split.",
        ),
    ] = False

    @property
    def rule(self) -> SplitRule | None:
        """Rule that divides the data by a column; None if there is none."""
        from ranksieve.datasets.split_rules import SplitByColumn, SplitByTime

        if (self.time_column is None) != (self.test_queries_after is None):
            raise typer.BadParameter("use --time-column and --test-queries-after together")
        if self.time_column is not None:
            if self.split_column is not None:
                raise typer.BadParameter("use either --split-column or --time-column, not both")
            return SplitByTime(self.time_column, self.test_queries_after)
        return None if self.split_column is None else SplitByColumn(self.split_column)


def _split(texts: list[str] | None) -> list[str]:
    return [name for text in texts or () for name in text.split(",") if name]


def with_option_groups(command: Callable[..., Any]) -> Callable[..., Any]:
    """Replace parameters of a command that are dataclasses by options for their fields."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind):
            groups[parameter.name] = kind
            parameters += _parameters_of(kind)
        else:
            parameters.append(
                parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY)
            )

    @wraps(command)
    def run(**values: Any) -> Any:
        for name, kind in groups.items():
            own = {field.name: values.pop(field.name) for field in fields(kind)}
            values[name] = kind(**own)
        return command(**values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameters_of(kind: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=hints[field.name],
        )
