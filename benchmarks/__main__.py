"""Command line of the benchmarks: ``python -m benchmarks NAME``."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from benchmarks import harness


def main() -> None:
    """Run one benchmark, or one contender of it in a child process."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="?", help="name of the benchmark; without it, list them all")
    parser.add_argument("--threads", type=int, default=2, help="threads per contender (default: 2)")
    parser.add_argument(
        "--rounds", type=int, default=2, help="processes per contender (default: 2)"
    )
    parser.add_argument("--repeats", type=int, default=3, help="runs per process (default: 3)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a parameter of the benchmark; may be repeated",
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        _child(options.child)
    elif options.name is None:
        names = harness.available()
        for name in names:
            about = (harness.load(name).__doc__ or "").splitlines()[0]
            print(f"{name:{max(map(len, names))}s} {about}")
    else:
        harness.compare(
            options.name,
            _parameters(options.name, options.set),
            n_threads=options.threads,
            rounds=options.rounds,
            repeats=options.repeats,
        )


def _child(request: str) -> None:
    from ranksieve.threads import limit_threads

    name, contender, parameters, n_threads, repeats = json.loads(request)
    try:
        with limit_threads(n_threads):
            answer = harness.measure(name, contender, parameters, repeats)
    except ModuleNotFoundError as error:
        answer = {"missing": error.name}
    print(json.dumps(answer))


def _parameters(name: str, settings: list[str]) -> dict[str, Any]:
    parameters = dict(harness.load(name).PARAMETERS)
    for setting in settings:
        key, _, value = setting.partition("=")
        if key not in parameters:
            sys.exit(f"{name} has no parameter {key!r}; it has {', '.join(parameters) or 'none'}")
        parameters[key] = type(parameters[key])(value)
    return parameters


if __name__ == "__main__":
    main()
