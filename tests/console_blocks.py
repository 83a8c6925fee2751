"""Run the console blocks of a page of documentation, and compare what they print.

A command begins with ``$`` and goes on after a backslash; the lines below it are what it prints, on
the terminal or as errors. A line ``...`` stands for any lines. A file that does not exist is made
with what ``cat`` shows of it. White space does not count, and numbers may differ a little, because
other versions of libraries grow other trees.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"[+-]?[\d,]*\.?\d+(?:e[+-]?\d+)?")
_STATUS = "; echo $?"
ANY = "..."


class Command(NamedTuple):
    """A command, and the lines that it prints."""

    words: list[str]
    shows_status: bool  # whether its exit status is printed, too
    printed: list[str]


def read_blocks(text):
    """List the commands of all console blocks of a page."""
    commands = []
    for block in _BLOCK.findall(text):
        lines = iter(block.splitlines())
        for line in lines:
            if not line.startswith("$ "):
                commands[-1].printed.append(line)
                continue
            words = line.removeprefix("$ ")
            while words.endswith("\\"):
                words = words.removesuffix("\\") + next(lines)
            plain = words.removesuffix(_STATUS)
            commands.append(Command(shlex.split(plain, comments=True), plain != words, []))
    return commands


def execute(command, run):
    """Run a command of a block, those of ranksieve in this process; return the lines printed."""
    program, *arguments = command.words
    if program == "cat":
        path = Path(*arguments)
        if not path.exists():
            path.write_text("\n".join(command.printed) + "\n")
        return path.read_text().splitlines()
    if program == "ranksieve":
        status, output, errors = run(*arguments)
    else:
        assert program == "python", f"cannot run {program}"
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
        status, output, errors = done.returncode, done.stdout, done.stderr
    ending = [str(status)] if command.shows_status else []
    assert status == 0 or command.shows_status, f"{command.words}: {status}\n{output}{errors}"
    return [*output.splitlines(), *errors.splitlines(), *ending]


def is_like(expected, printed):
    """Whether printed lines are those of a block, up to white space and small differences.

    >>> is_like(["lost 1.04%", "...", "done"], ["lost  1.05%", "more", "", "done"])
    True
    >>> is_like(["lost 1.04%", "..."], ["lost 5.1%"]), is_like(["one"], ["one", "two"])
    (False, False)
    """
    shown = [line for line in expected if line.strip()]
    lines = [line for line in printed if line.strip()]
    runs, start = [[]], 0
    for line in shown:
        if line.strip() == ANY:
            runs.append([])
        else:
            runs[-1].append(line)
    for number, run in enumerate(runs):
        is_first, is_last = number == 0, number == len(runs) - 1
        places = range(start, len(lines) - len(run) + 1)
        if is_first:
            places = places[:1]
        if is_last:
            places = [place for place in places if place == len(lines) - len(run)]
        found = next((p for p in places if all(map(_same, run, lines[p : p + len(run)]))), None)
        if found is None:
            return False
        start = found + len(run)
    return True


def _same(expected, printed):
    """Whether two lines have the same words, and about the same numbers."""
    own, other = (_NUMBER.sub("0", line).split() for line in (expected, printed))
    numbers = [
        [float(one.replace(",", "")) for one in _NUMBER.findall(line)]
        for line in (expected, printed)
    ]
    close = (abs(a - b) <= 0.05 + 0.25 * max(abs(a), abs(b)) for a, b in zip(*numbers, strict=True))
    return own == other and all(close)
