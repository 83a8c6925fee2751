"""What a reproduction prints."""

from rich.console import Console

from ranksieve.report.formats.terminal import to_terminal
from ranksieve.report.sheets.reproduction import reproduction_sheets


def shown(result, width=80):
    """Lines on a terminal."""
    console = Console(width=width, highlight=False)
    with console.capture() as capture:
        for sheet in reproduction_sheets(result):
            console.print(to_terminal(sheet))
    return [line.rstrip() for line in capture.get().splitlines()]
