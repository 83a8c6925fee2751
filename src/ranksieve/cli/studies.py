"""Commands that compare selectors."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from ranksieve.cli.options import DaskAddress, DaskWorkers, NFeatures, ZeroBased
from ranksieve.text import on_one_line

_Data = Annotated[
    list[Path] | None,
    typer.Argument(
        help="A collection's directory, whose folds are used; or files or shards, whose "
        "queries are divided. Without it, the embedded demo."
    ),
]
_Selectors = Annotated[
    str | None,
    typer.Option("--selectors", metavar="A,B,..", help="See select --methods."),
]
_Rankers = Annotated[
    str | None, typer.Option("--rankers", metavar="A,B,..", help="See train --rankers.")
]
_Ks = Annotated[
    str | None,
    typer.Option("--ks", metavar="K,K,..", help="Numbers of features; all is one, too."),
]
_Measures = Annotated[
    str | None,
    typer.Option("--measures", metavar="M,M,..", help="Of the test queries: map,ndcg@10"),
]
_Tune = Annotated[
    str | None,
    typer.Option("--tune", metavar="M", help="Measure of the validation queries to choose by."),
]
_Convention = Annotated[
    str | None, typer.Option("--convention", help="Of the measures; see evaluate --help.")
]
_Protocol = Annotated[
    str | None,
    typer.Option(
        "--protocol", metavar="P", help="letor (folds of a collection), kfold:N or six-trials."
    ),
]
_Scale = Annotated[
    str | None,
    typer.Option("--scale", help="Features within queries: none, min-max or standard."),
]
_Choose = Annotated[
    str | None,
    typer.Option(
        "--choose", help="Number of features: best, or one_se for the fewest nearly as good."
    ),
]
_Seeds = Annotated[
    int | None,
    typer.Option("--seeds", min=1, help="Runs of methods that draw random numbers."),
]
_Seed = Annotated[int | None, typer.Option("--seed", min=0, help="The first of these.")]
_NoBaselines = Annotated[
    bool, typer.Option("--no-baselines", help="Leave out all features and random orders.")
]
_Settings = Annotated[
    list[str] | None,
    typer.Option("--param", metavar="METHOD.NAME=VALUE", help="A parameter; repeatable."),
]
_Grids = Annotated[
    list[str] | None,
    typer.Option("--grid", metavar="METHOD.NAME=V,V,..", help="Values to tune over."),
]
_Plan = Annotated[
    Path | None,
    typer.Option("--plan", metavar="FILE", help="TOML with these settings; options win."),
]
_Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Ledger, tables and figures go there.")
]
_NoFigures = Annotated[bool, typer.Option("--no-figures", help="Write tables only.")]


def compare(
    data: _Data = None,
    selectors: _Selectors = None,
    rankers: _Rankers = None,
    ks: _Ks = None,
    measures: _Measures = None,
    tune: _Tune = None,
    convention: _Convention = None,
    protocol: _Protocol = None,
    scale: _Scale = None,
    choose: _Choose = None,
    seeds: _Seeds = None,
    seed: _Seed = None,
    no_baselines: _NoBaselines = False,
    settings: _Settings = None,
    grids: _Grids = None,
    plan: _Plan = None,
    out: _Out = Path("study"),
    no_figures: _NoFigures = False,
    n_features: NFeatures = None,
    zero_based: ZeroBased = False,
    dask: DaskAddress = None,
    workers: DaskWorkers = None,
) -> None:
    """Compare selectors: who is better, and is it real.

    Each selector is run with each ranker over folds of the queries; all is chosen on validation
    queries and tested once. Finished work is kept in --out: the same command again goes on where
    it was, and more selectors, rankers or numbers can be added.
    """
    given: dict[str, Any] = {
        "selectors": selectors and _listed(selectors),
        "rankers": rankers and _listed(rankers),
        "ks": ks and [_size(text) for text in _listed(ks)],
        "measures": measures and _listed(measures),
        "tune": tune,
        "convention": convention,
        "protocol": protocol,
        "scale": scale,
        "choose": choose,
        "seeds": seeds,
        "seed": seed,
        "baselines": False if no_baselines else None,
    }
    from ranksieve.study.plan_files import read_settings

    wanted = read_settings(plan) if plan is not None else {}
    wanted |= {name: value for name, value in given.items() if value is not None}
    _leave_out_others(wanted)
    _add_parameters(wanted, settings or [], grids or [])
    named = wanted.pop("data", None)
    source = data or named
    if source is None:
        wanted.setdefault("scale", "min-max")  # the demo's features are as logged
        wanted.setdefault("seeds", 3)  # and it should not take long
    how = {"n_features": n_features, "zero_based": zero_based}
    _compare(source, out, wanted, how, no_figures, dask, workers)


def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Of a study: compare --out.")],
) -> None:
    """Write the tables and figures of a study again."""
    from ranksieve.report.study import show_report, write_report
    from ranksieve.study import load_study

    result = load_study(directory)
    write_report(result, directory)
    show_report(result, directory)


def _compare(
    source: Any,
    out: Path,
    wanted: dict[str, Any],
    how: dict[str, Any],
    no_figures: bool,
    dask: str | None,
    workers: int | None,
) -> None:
    from ranksieve.data import DataError
    from ranksieve.progress import progress_bar
    from ranksieve.report.study import show_report, write_data_figures, write_report
    from ranksieve.study import Study

    try:
        with _termination_as_interrupt(), progress_bar(), ExitStack() as stack:
            study = Study(source, out=out, read_options=how, **wanted)
            client = None
            if dask is not None or workers is not None:
                from ranksieve.engine.dask import connect

                stack.enter_context(_without_logs())
                client = stack.enter_context(connect(dask, workers))
            result = study.run(client)
            if not no_figures:
                write_data_figures(study, out)
            write_report(result, out, figures=not no_figures)
    except KeyboardInterrupt as stopped:
        _say_how_to_go_on(
            out, signal.SIGTERM if isinstance(stopped, _Terminated) else signal.SIGINT
        )
    except Exception as error:
        if not _is_lack_of_memory(error):
            raise
        raise DataError(
            f"out of memory ({error or 'no more to be had'}); what is finished is kept in {out}: "
            "go on with the same command, with more memory or fewer cores"
        ) from None
    show_report(result, out)


def _is_lack_of_memory(error: Exception) -> bool:
    """Also where Python, or a library in C++, does not say so."""
    told = ("can't start new thread", "std::bad_alloc")
    return isinstance(error, MemoryError) or any(text in str(error) for text in told)


class _Terminated(KeyboardInterrupt):
    """The program was asked to end, as batch systems do."""


@contextmanager
def _without_logs() -> Iterator[None]:
    """Silence what Dask logs of each broken connection: the error that ends the program says it."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)  # not after an error: some of it comes late


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Let SIGTERM end the program as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield  # where no signals arrive
        return

    def stop(*_: Any) -> NoReturn:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _say_how_to_go_on(out: Path, reason: signal.Signals) -> NoReturn:
    """End the program at once: threads within a cell cannot be interrupted, nor need they be."""
    kept = on_one_line(str(out))
    sys.stderr.write(
        f"\nstopped; what is finished is kept in {kept}\ngo on with the same command\n"
    )
    sys.stderr.flush()
    os._exit(128 + reason)


def _leave_out_others(wanted: dict[str, Any]) -> None:
    """Drop what a plan file says about methods that options have left out."""
    if "selectors" in wanted and "rankers" in wanted:
        kept = {*wanted["selectors"], *wanted["rankers"], "all", "random"}
        for what in ("parameters", "grids"):
            wanted[what] = {k: v for k, v in wanted.get(what, {}).items() if k in kept}


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _size(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _add_parameters(wanted: dict[str, Any], settings: list[str], grids: list[str]) -> None:
    """Add METHOD.NAME=VALUE to the parameters, and METHOD.NAME=V,V to the grids."""
    from ranksieve.cli.settings import parsed_setting, parsed_value

    for what, texts in (("parameters", settings), ("grids", grids)):
        own = wanted.setdefault(what, {})
        for text in texts:
            place, equals, value = text.partition("=")
            method, dot, name = place.partition(".")
            if not (equals and dot and method and name):
                raise typer.BadParameter(f"{text!r} should be METHOD.NAME=VALUE")
            values = [parsed_value(part) for part in value.split(",")]
            own.setdefault(method, {})[name] = (
                values if what == "grids" else parsed_setting(name, value)
            )
