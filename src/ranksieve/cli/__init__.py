"""The command line: one function per command, each a thin call of the library.

Only what ``--help`` needs is imported at the top; each command imports what it runs.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from io import TextIOWrapper
from itertools import takewhile
from typing import Annotated, Any, NoReturn

import typer

from ranksieve.cli.costs import costs
from ranksieve.cli.data import convert, evaluate, inspect
from ranksieve.cli.export import export
from ranksieve.cli.models import predict, train
from ranksieve.cli.recommend import check, recommend
from ranksieve.cli.reproduce import reproduce
from ranksieve.cli.selection import select
from ranksieve.cli.studies import compare, report
from ranksieve.text import printable

app = typer.Typer(
    help="Find the few ranking features that matter.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)
for _command in (
    recommend, check, compare, report, inspect, costs, select, train, predict, export, evaluate,
    convert, reproduce,
):  # fmt: skip
    app.command()(_command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; report errors of the input without a traceback.

    ``--debug`` before the command, or RANKSIEVE_DEBUG=1, shows the traceback of each error.
    """
    words = sys.argv[1:] if arguments is None else arguments
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  it may be closed
    if isinstance(sys.stdout, TextIOWrapper):  # escape characters that its encoding lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    # Imports and compilation make many objects that stay: looking through them takes a twentieth.
    gc.set_threshold(100_000, 20, 20)
    try:
        with _show_notes_on_stderr(), warnings.catch_warnings():
            # Methods check their results; NumPy's warnings would show lines of source code.
            warnings.filterwarnings("ignore", ".* encountered in ", RuntimeWarning)
            try:
                _program()(words, prog_name="ranksieve", obj=["ranksieve", *words])
            finally:
                sys.stdout.flush()  # report errors here, not when the interpreter ends
    except ValueError as error:  # bad data, or an unknown measure, convention or method
        _fail(_message(error, words), words)
    except MemoryError as error:
        _fail(f"not enough memory: {error}", words)
    except BrokenPipeError:  # the reader of the output has closed it
        _discard_output()
        sys.exit(_status_of_errors(words))
    except OSError as error:  # a name that is too long, a file that has vanished, a full disk
        if error.strerror is None:
            raise
        if error.filename is None:
            _discard_output()
            _fail(error.strerror, words)
        _fail(f"{os.fsdecode(error.filename)}: {error.strerror}", words)
    except Exception as error:  # a fault of the program
        if _status_of_errors(words) == 1:
            raise
        _show_traceback(error)
        sys.exit(_status_of_errors(words))


class _Notes(logging.Handler):
    """Prints notes of the library, such as the roles of columns; each note once."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._seen: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text not in self._seen:
            self._seen.add(text)
            typer.echo(text, err=True)


@contextmanager
def _show_notes_on_stderr() -> Iterator[None]:
    """Context manager that prints notes of the library."""
    log, notes = logging.getLogger("ranksieve"), _Notes()
    before = log.level
    log.addHandler(notes)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(notes)
        log.setLevel(before)


@cache  # for programs that run several commands
def _program() -> Any:
    program: Any = typer.main.get_command(app)
    for command in program.commands.values():
        for parameter in command.params:
            if parameter.param_type_name == "argument":
                # Their help says what they are better than a type such as list[Path].
                parameter.display_type_rich = lambda ctx: ""
    return program


def _discard_output() -> None:
    """Send buffered output to nowhere, so that the interpreter does not try to write it again."""
    with suppress(OSError):  # output that is not a file has no number
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _message(error: ValueError, words: list[str]) -> str:
    """Message of an error; if the columns of a table are not clear, with a command that works."""
    from ranksieve.cli.columns import explain
    from ranksieve.data.columns import ColumnsError

    return explain(error, words) if isinstance(error, ColumnsError) else str(error)


def _fail(message: str, words: list[str]) -> NoReturn:
    """Print the error that is handled and exit; further lines of the message are indented."""
    is_set = os.environ.get("RANKSIEVE_DEBUG", "") not in ("", "0")
    if is_set or "--debug" in takewhile(lambda word: word.startswith("-"), words):
        _show_traceback(sys.exception())
    text, status = "error: " + printable(message).replace("\n", "\n  "), _status_of_errors(words)
    if status == 1:
        sys.exit(text)
    typer.echo(text, err=True)
    sys.exit(status)


def _status_of_errors(words: list[str]) -> int:
    """Exit status after an error: 1, but 2 of check, whose 1 says that the margin is broken."""
    command = next((word for word in words if not word.startswith("-")), "")
    return 2 if command == "check" else 1


def _show_traceback(error: BaseException | None) -> None:
    """Print the traceback of an error, and of all errors that it has replaced."""
    replaced = error
    while replaced is not None:
        replaced.__suppress_context__ = False
        replaced = replaced.__cause__ or replaced.__context__
    typer.echo(printable("".join(traceback.format_exception(error))), err=True)


def _show_version(wanted: bool) -> None:
    if wanted:
        from ranksieve import __version__

        typer.echo(f"ranksieve {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug",
            help="Show the traceback of an error, as RANKSIEVE_DEBUG=1 does. Default: one line.",
        ),
    ] = False,
) -> None:
    pass
