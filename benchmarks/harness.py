"""Run contenders in separate processes, one after the other, and compare them.

A benchmark is a module with a docstring; a dict ``CONTENDERS`` of name -> function, with ranksieve
first; ``PARAMETERS``, the defaults of ``--set name=value``; and ``TINY``, the parameters with which
the tests run it. The function of a contender takes the parameters and returns a :class:`Task`. It
imports its library itself, and is left out if the library is not installed. Each contender runs in
a process of its own with the same number of threads. Rounds alternate between contenders, so that
other programs do not slow down only one of them, and the best time counts.

A benchmark that does not compare contenders has a function ``run`` instead, which takes the
parameters and returns a table of rich, or text that is printed as it is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console
from rich.table import Table

from ranksieve.text import quantity

ROOT = Path(__file__).resolve().parents[1]
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
)


@dataclass
class Task:
    """The work of a contender.

    ``warm_up`` imports and compiles on small input; ``run`` is measured; ``describe`` turns its
    result into facts to show or to compare, such as a digest that must be the same for all
    contenders.
    """

    run: Callable[[], Any]
    warm_up: Callable[[], Any]
    describe: Callable[[Any], dict[str, Any]] = field(default=lambda result: {})


def mq2008_parts() -> list[Path]:
    """Return the five files of MQ2008; end the program if they do not exist."""
    data = Path(os.environ.get("RANKSIEVE_DATA", ROOT.parent / "shared" / "data"))
    parts = [data / "MQ2008" / f"S{part}.txt" for part in range(1, 6)]
    if not parts[0].is_file():
        raise SystemExit(f"needs MQ2008 in {data} (set RANKSIEVE_DATA)")
    return parts


def best_seconds(
    work: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Return the shortest of several runs by a clock of :mod:`time`."""
    times = []
    for _ in range(repeats):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def peak_memory(work: Callable[[], Any]) -> int:
    """Return the largest number of bytes allocated by numpy and Python during the work."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def load(name: str) -> ModuleType:
    """Find a benchmark by name."""
    names = available()
    if name not in names:
        sys.exit(f"unknown benchmark {name!r}; there are {', '.join(names)}")
    return import_module(f"benchmarks.{name}")


def available() -> list[str]:
    """Return the names of all benchmarks."""
    files = Path(__file__).parent.glob("*.py")
    return sorted(f.stem for f in files if f.stem != "harness" and not f.stem.startswith("_"))


def measure(name: str, contender: str, parameters: dict[str, Any], repeats: int) -> dict[str, Any]:
    """Measure one contender in this process: peak memory of the first run, best time of all."""
    task = load(name).CONTENDERS[contender](**parameters)
    task.warm_up()
    before = _reset_peak()
    seconds = []
    peak = 0
    facts: dict[str, Any] = {}
    for repeat in range(repeats):
        start = time.perf_counter()
        result = task.run()
        seconds.append(time.perf_counter() - start)
        if repeat == 0:
            peak = _memory("VmHWM") - before
            facts = task.describe(result)
        del result
    return {"seconds": min(seconds), "peak": peak, "facts": facts}


def _memory(field_name: str) -> int:
    """Return a field of the memory status of this process in bytes; 0 if there is no such file."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    for line in status.read_text().splitlines():
        if line.startswith(field_name):
            return int(line.split()[1]) * 1024
    return 0


def _reset_peak() -> int:
    """Forget the peak so far; return the memory in use."""
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5")
    return _memory("VmRSS")


def compare(
    name: str, parameters: dict[str, Any], *, n_threads: int, rounds: int, repeats: int
) -> None:
    """Measure all contenders and print a table."""
    module = load(name)
    if hasattr(module, "run"):
        shown = module.run(**parameters)
        print(shown) if isinstance(shown, str) else Console(width=110).print(shown)
        return
    best: dict[str, dict[str, Any]] = {}
    for number in range(rounds):
        for contender in module.CONTENDERS:
            print(f"round {number + 1} of {rounds}: {contender} ...", file=sys.stderr)
            answer = _in_child(name, contender, parameters, n_threads, repeats)
            if "missing" in answer:
                print(f"left out: {answer['missing']} is not installed", file=sys.stderr)
                continue
            if contender not in best or answer["seconds"] < best[contender]["seconds"]:
                peak = max(answer["peak"], best.get(contender, answer)["peak"])
                best[contender] = answer | {"peak": peak}
    _print(module, best, f"{quantity(n_threads, 'thread')}, best of {rounds} x {repeats} runs")


def _in_child(
    name: str, contender: str, parameters: dict[str, Any], n_threads: int, repeats: int
) -> dict[str, Any]:
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(n_threads))
    request = json.dumps([name, contender, parameters, n_threads, repeats])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--child", request],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{contender} failed")
    return json.loads(done.stdout.splitlines()[-1])


def _print(module: ModuleType, best: dict[str, dict[str, Any]], how: str) -> None:
    first = next(iter(best.values()))
    facts = list(dict.fromkeys(key for answer in best.values() for key in answer["facts"]))
    table = Table(title=f"{(module.__doc__ or '').splitlines()[0]}\n{how}")
    table.add_column("")
    for heading in ("seconds", "times ours", "peak MB", *facts):
        table.add_column(heading, justify="right")
    for contender, answer in best.items():
        table.add_row(
            contender,
            f"{answer['seconds']:.4f}",
            f"{answer['seconds'] / first['seconds']:.1f}",
            f"{answer['peak'] / 1e6:.0f}",
            *(str(answer["facts"].get(key, "")) for key in facts),
        )
    Console(width=110).print(table)
