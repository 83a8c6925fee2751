"""Options and arguments of commands, made from the parameters of functions and help texts.

:func:`command` turns a function into a command. The options that several commands share are in
``SHARED``, by the name of the parameter. Those that come together are the fields of a dataclass,
such as :class:`Reading`: a command that has a parameter of this type has all of these options.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property, wraps
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from ranksieve.data.columns import Columns
    from ranksieve.datasets.split_rules import SplitRule
    from ranksieve.report.formats import FormatName
    from ranksieve.report.sheets.sheet import Sheet


def option(text: str, *names: str, **limits: Any) -> Any:
    """Make an option from a text ``METAVAR: help``, or only help if its type lists the values.

    Without ``names`` it has the name of the command's parameter; ``limits`` are those of typer.
    """
    metavar, text = _divide(text)
    return typer.Option(*names, metavar=metavar, help=text, **limits)


def argument(text: str) -> Any:
    """Make an argument from a text ``METAVAR: help``."""
    metavar, text = _divide(text)
    return typer.Argument(metavar=metavar, help=text)


def _divide(text: str) -> tuple[str | None, str]:
    metavar, colon, rest = text.partition(": ")
    return (metavar, rest) if colon and metavar.isupper() else (None, text)


def command(**own: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator that turns a function into a command.

    ``own`` has an option, an argument or the text of an option for each parameter that is not
    ``SHARED``. Options for true and false are flags.
    """

    def make(function: Callable[..., None]) -> Callable[..., None]:
        kinds = get_type_hints(function)
        groups: dict[str, Any] = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}
        parameters = list(_parameters_of(function, SHARED | own))

        @wraps(function)
        def run(**values: Any) -> None:
            for name, kind in groups.items():
                values[name] = kind(**{part.name: values.pop(part.name) for part in fields(kind)})
            function(**values)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return make


def _parameters_of(function: Any, options: Mapping[str, Any]) -> Iterator[inspect.Parameter]:
    """Parameters of a function or dataclass for typer, with the fields of those that are groups."""
    kinds = get_type_hints(function)
    for name, parameter in inspect.signature(function).parameters.items():
        kind = kinds[name]
        if is_dataclass(kind):
            yield from _parameters_of(kind, options)
            continue
        if kind is not typer.Context:
            found = options[name]
            if isinstance(found, str):
                flag = [f"--{name.replace('_', '-')}"] if kind is bool else []
                found = option(found, *flag)
            kind = Annotated[kind, found]
        yield parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=kind)


def _finite(value: float | None) -> float | None:
    """Refuse infinity, which typer's limits accept, before any work is done."""
    if value is not None and not isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number")
    return value


def missing_help(default: str) -> str:
    """Help of ``--missing`` for a command with this default."""
    return (
        "POLICY: How to treat missing values: keep leaves them to methods that accept them, such "
        "as trees (filters rank documents without a value last); query-min, query-median or zero "
        "fills them in, query by query, for methods that do not. With +indicators, such as "
        "zero+indicators, 0/1 features that mark missing "
        f"values are added. Default: {default}"
    )


N_FEATURES_OF_MODEL = (
    "N: Number of features in LETOR or SVMlight text. Default: that of the data on which the model "
    "was trained."
)

PARAM_FILE = (
    "FILE: Read the parameters of the ranker from this file: JSON in the form of LightGBM, XGBoost "
    "or CatBoost, or a trained model (LightGBM's text, XGBoost's save_config, CatBoost's cbm, or "
    "one that train wrote). Other options take precedence. Default: none."
)

COSTS = (
    "FILE: Costs of features: CSV, TSV or Parquet with the columns feature and cost (or such as "
    "cost_ms, or the only column of numbers), and group for features that share a cost. It may "
    "list more features than the data has."
)

SHARED: dict[str, Any] = {
    "data": argument(
        "DATA: Ranking data: files of LETOR / SVMlight text (also .gz, .zst), Parquet, CSV or TSV, "
        "or a pattern such as 'part-*.parquet' (several files are one data set); or one directory: "
        "shards, or a collection (LETOR, MSLR, Yahoo, Istella)."
    ),
    "demo": "Use the embedded demo as data. Default: read DATA.",
    "form": option("Format of the printed tables; json prints the whole result.", "--format"),
    "convention": "NAME: Metric convention, because programs compute measures differently: "
    "standard, letor3, letor4, mslr, lightgbm, xgboost, ranklib, trec or sklearn. With NAME:2, "
    "only labels of 2 or more count as relevant.",
    "dask": "ADDRESS: Run on the Dask cluster of this scheduler, such as tcp://host:8786. Default: "
    "run in this process.",
    "workers": option(
        "N: Start a local Dask cluster of N processes and run on it. Default: run in this process.",
        min=1,
    ),
    "verify": "Verify the checksums of all shards first, or of none. Default: verify each shard "
    "when it is first read.",
    "include": "NAMES: Features that must be selected, in this order, separated by commas: names, "
    "or numbers from 1 if features have no names. They count toward the number to select. May be "
    "repeated. Default: none.",
    "exclude": "NAMES: Features that must not be selected, separated by commas: the others are "
    "selected as if these were not in the data. May be repeated. Default: none.",
    "groups": "FILE: Groups of features that are selected or left out together: CSV with the "
    "columns feature and group, or JSON with lists of features. Default: none.",
    "costs": f"{COSTS} Default: every feature costs 1.",
    "group_costs": "FILE: Costs of the groups of --costs, paid once if any feature of a group is "
    "used: CSV, TSV or Parquet with the columns group and cost. Default: none.",
    "cost_unit": "UNIT: Unit of the costs, such as ms, for tables and texts. Default: that in the "
    "name of their column, such as cost_ms.",
    "budget": option(
        "COST: Largest total cost of the selected features, in the unit of --costs. Default: no "
        "limit.",
        min=0,
        callback=_finite,
    ),
    "scale": "HOW: Scale features within each query: none, min-max or standard. Default: none, but "
    "min-max for the demo.",
    "no_figures": "Do not write figures to files. Default: write them.",
    "param_file": PARAM_FILE,
    "ranker_param_file": PARAM_FILE,
    "seed": option(
        "N: Random seed, for methods that draw random numbers. Default: that of the method.", min=0
    ),
    # Fields of ReadingRows and Reading.
    "columns": "FILE: What the columns of Parquet and CSV files are, in TOML, as inspect "
    "--write-columns writes it; other options take precedence. Default: no file.",
    "label": "NAME: Column with the label, in Parquet and CSV files. Default: found by its name, "
    "such as label or relevance.",
    "qid": "NAME: Column with the query id. Default: found by its name, such as qid or query_id.",
    "doc_id": "NAME: Column with the document id. Default: found by its name, such as doc_id or "
    "docid, if there is one.",
    "weight": "NAME: Column with the weight of the query, the same in all of its rows. Default: "
    "found by its name, such as weight or sample_weight, if there is one.",
    "row_weight": "NAME: Column with the weight of each row, such as an inverse propensity of "
    "clicks. Default: every row counts alike.",
    "position": "NAME: Column with the position where each document was shown, for rankers that "
    "estimate the bias of clicks (see docs/clicks.md). Default: none.",
    "ignore": "NAME,..: Columns to leave out, separated by commas; patterns such as 'debug_*' are "
    "allowed. May be repeated. Default: none.",
    "features": "NAME,..: Columns that are features, separated by commas; patterns such as "
    "'bm25_*' are allowed. May be repeated. Default: all remaining columns.",
    "categorical": "NAME,..: Features whose values are categories, separated by commas; patterns "
    "are allowed. May be repeated. Default: columns of a categorical type, and columns of text of "
    "2 to 50 values, each in 50 rows or more on average.",
    "n_features": "N: Number of features in LETOR or SVMlight text. Default: the largest index in "
    "it.",
    "zero_based": "Feature indices in LETOR or SVMlight text start at 0. Default: they start at 1.",
    "missing": missing_help("keep."),
    # Fields of Splitting.
    "vali": "FILE: Validation data, to tune on. Needs --test. May be repeated. Default: one in "
    "five training queries.",
    "test": "FILE: Test data; DATA is then the training data. May be repeated. Default: the split "
    "that DATA comes with, or folds of its queries.",
    "split_column": "NAME: Column that splits the queries of Parquet or CSV files: train, vali and "
    "test, or fold numbers. Default: none.",
    "time_column": "NAME: Column of Parquet or CSV files with dates, times or numbers, for "
    "--test-queries-after. Default: none.",
    "test_queries_after": "TIME: Test on the queries whose rows are all after this time or number, "
    "and train on the others. A date stands for the whole day. Needs --time-column. Default: none.",
    "pool": "Treat several files as one data set and split its queries. Default: refuse several "
    "files, which could be a split.",
}


@dataclass(frozen=True)
class ReadingRows:
    """How to read data: the columns of tables, and the features of text."""

    columns: Path | None = None
    label: str | None = None
    qid: str | None = None
    doc_id: str | None = None
    weight: str | None = None
    row_weight: str | None = None
    position: str | None = None
    ignore: list[str] | None = None
    features: list[str] | None = None
    categorical: list[str] | None = None
    n_features: int | None = None
    zero_based: bool = False

    @cached_property
    def given(self) -> Columns:
        """What the options say about columns, and what the file says beside them."""
        from ranksieve.cli.columns import split_names
        from ranksieve.data.columns import Columns

        ignore, features = split_names(self.ignore), split_names(self.features)
        roles = self.label, self.qid, self.doc_id, self.weight
        own = Columns(
            *roles,
            ignore,
            features,
            self.row_weight,
            self.position,
            categorical=split_names(self.categorical),
        )
        return own if self.columns is None else own.over(Columns.load(self.columns))

    @property
    def roles(self) -> Columns:
        """The same without the treatment of missing values."""
        return replace(self.given, missing=None)

    @property
    def read_options(self) -> dict[str, Any]:
        """Arguments of the functions that open data."""
        return {
            "columns": self.roles,
            "n_features": self.n_features,
            "zero_based": self.zero_based,
        }


@dataclass(frozen=True)
class Reading(ReadingRows):
    """How to read data, and how to treat its missing values."""

    missing: str | None = None

    @property
    def policy(self) -> str | None:
        """How to treat missing values, by the option or the file of columns."""
        return self.missing or self.given.missing


@dataclass(frozen=True)
class Splitting:
    """How to divide the queries of the data, and how to treat several files."""

    vali: list[Path] | None = None
    test: list[Path] | None = None
    split_column: str | None = None
    time_column: str | None = None
    test_queries_after: str | None = None
    pool: bool = False

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


@dataclass(frozen=True)
class Cluster:
    """The Dask cluster to run on; by default none, but this process."""

    dask: str | None = None
    workers: int | None = None

    @property
    def is_named(self) -> bool:
        """Whether there is one."""
        return self.dask is not None or self.workers is not None

    @contextmanager
    def connect(self) -> Iterator[Any]:
        """Context manager that yields the client of the cluster, or None."""
        if not self.is_named:
            yield None
            return
        from ranksieve.engine.dask import connect

        with connect(self.dask, self.workers) as client:
            yield client


def show_result(sheets: Sequence[Sheet], form: FormatName, document: str) -> None:
    """Print the tables of a result, or, as JSON, the whole result (``document``)."""
    from ranksieve.report.formats.terminal import show_sheets

    if form == "json":
        typer.echo(document)
    else:
        show_sheets(sheets, form)
