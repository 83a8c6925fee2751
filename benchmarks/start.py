"""How long commands take the first time, with nothing compiled, and later.

Each command of the README runs in a process of its own on synthetic data, first with an empty cache
of kernels, then again. CPU seconds are shown beside the elapsed seconds, because they depend less
on what else runs on the machine. The time to compile a kernel does not include the functions that
it calls, each of which has its own line; numba's own functions are added up.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table

PARAMETERS = {"queries": 100, "commands": "all", "kernels": 20}
TINY = {"queries": 5, "commands": "--help"}

Seconds = tuple[float, float]  # elapsed, and of the CPU

# Name -> arguments, and the commands whose files it reads.
COMMANDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "--help": ("--help", ()),
    "recommend --help": ("recommend --help", ()),
    "select --demo": ("select --demo --method gas-e", ()),
    "select": ("select data.txt --method gas-e -k 10 --param c=0.1 --out selected.json", ()),
    "select by trees": ("select data.txt -k 10 --out chosen.json", ()),
    "inspect": ("inspect data.txt", ()),
    "train": (
        "train data.txt --ranker ranksvm --selection selected.json --out model.json",
        ("select",),
    ),
    "predict": ("predict model.json data.txt --out scores.txt", ("train",)),
    "export": ("export model.json --to solr --out engine --verify data.txt", ("train",)),
    "evaluate": (
        "evaluate data.txt scores.txt --measures map,ndcg@10,p@10,mean-ndcg --convention letor4",
        ("predict",),
    ),
    "convert": ("convert data.txt data.parquet", ()),
    "convert --selection": ("convert data.txt small.txt --selection selected.json", ("select",)),
    "compare": ("compare --out {study}", ()),
}

# The command line, with an ear on numba: seconds of each function without what it calls. It listens
# once a command imports kernels, and with them numba: those that do not are not slowed down.
LISTENING = """
import json, sys, time
from collections import Counter
from importlib.abc import MetaPathFinder

class Listener(MetaPathFinder):
    def __init__(self):
        self.inner, self.seconds = [], Counter()
    def find_spec(self, name, path, target=None):
        if name == "ranksieve._kernels.compiling":
            from numba.core import event
            event.Listener.register(Listener)
            event.register("numba:compile", self)
    def notify(self, happened):
        (self.on_start if happened.is_start else self.on_end)(happened)
    def on_start(self, started):
        self.inner.append([time.process_time(), 0.0])
    def on_end(self, ended):
        start, inner = self.inner.pop()
        seconds = time.process_time() - start
        if self.inner:
            self.inner[-1][1] += seconds
        function = ended.data["dispatcher"].py_func
        self.seconds[f"{function.__module__}.{function.__name__}"] += seconds - inner

listener = Listener()
sys.meta_path.insert(0, listener)
from ranksieve.cli import main
try:
    main(sys.argv[2:])
finally:
    with open(sys.argv[1], "w") as file:
        json.dump(listener.seconds, file)
"""


def run(queries: int, commands: str, kernels: int) -> Group:
    """Measure and tabulate."""
    names = list(COMMANDS) if commands == "all" else commands.split(",")
    table = Table(title="Seconds of each command", title_justify="left")
    table.add_column("command")
    for heading in ("first run", "CPU", "compiling", "second run", "CPU", "imports"):
        table.add_column(heading, justify="right")
    compiled: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        _write_data(queries, place / "data.txt")
        made: set[str] = set()
        for name in names:
            for needed in COMMANDS[name][1]:
                _make(needed, place, made)
            first, second, imports, seconds = _measure(name, place)
            made.add(name)
            compiled |= Counter(seconds)  # the longer one, where two commands need it
            figures = (*first, sum(seconds.values()), *second, imports)
            table.add_row(name, *(f"{figure:.2f}" for figure in figures))
    return Group(table, _kernel_table(compiled, kernels))


def _write_data(queries: int, path: Path) -> None:
    from ranksieve import make_ranking, write_letor

    data, _ = make_ranking(queries, docs_per_query=20, random_state=1)
    write_letor(data, path)


def _make(name: str, place: Path, made: set[str]) -> None:
    """Run a command that makes files for others, unless it has run."""
    if name not in made:
        arguments, needs = COMMANDS[name]
        for needed in needs:
            _make(needed, place, made)
        _seconds(["-m", "ranksieve", *_split(arguments, place, "made")], place, "made")
        made.add(name)


def _measure(name: str, place: Path) -> tuple[Seconds, Seconds, float, dict[str, float]]:
    """Return the seconds of both runs, of imports, and of compiling each function."""
    arguments, cache = COMMANDS[name][0], name.replace(" ", "")
    events = place / "events.json"
    first = ["-c", LISTENING, str(events), *_split(arguments, place, "first")]
    started, _ = _seconds(first, place, cache)
    again, _ = _seconds(["-m", "ranksieve", *_split(arguments, place, "second")], place, cache)
    importing = ["-X", "importtime", "-m", "ranksieve", *_split(arguments, place, "third")]
    _, log = _seconds(importing, place, cache)
    imports = sum(map(int, re.findall(r"^import time: +(\d+) \|", log, re.MULTILINE))) / 1e6
    return started, again, imports, json.loads(events.read_text())


def _split(arguments: str, place: Path, which: str) -> list[str]:
    """Return the arguments of a run; each run of a study has its own directory."""
    return arguments.format(study=place / f"study-{which}").split()


def _seconds(arguments: list[str], place: Path, cache: str) -> tuple[Seconds, str]:
    """Return the seconds of a run of Python, and what it wrote to standard error."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(place / "cache" / cache)}
    start, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [sys.executable, *arguments], cwd=place, env=environment, capture_output=True, text=True
    )
    seconds, after = time.perf_counter() - start, os.times()
    used = after.children_user + after.children_system
    used -= before.children_user + before.children_system
    if done.returncode:
        sys.exit(f"{' '.join(arguments[-8:])} failed:\n{done.stderr}")
    return (seconds, used), done.stderr


def _kernel_table(compiled: Counter[str], most: int) -> Table:
    own: dict[str, Any] = Counter()
    for name, seconds in compiled.items():
        own[name.removeprefix("ranksieve._kernels.") if "ranksieve" in name else "(numba)"] += (
            seconds
        )
    table = Table(title=f"Seconds of compiling, the {most} longest", title_justify="left")
    table.add_column("function")
    table.add_column("seconds", justify="right")
    for name, seconds in own.most_common(most):
        table.add_row(name, f"{seconds:.2f}")
    return table
