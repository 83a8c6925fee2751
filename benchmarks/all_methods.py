"""Every selector on real data: quality with few features, stability, and time.

A study of all methods over the folds of MQ2008 (or of another collection: ``--set data=DIR``), with
RankSVM and LambdaMART. Methods have their default parameters; some also appear with the parameters
that docs/which-selector.md recommends. With ``--set out=DIR``, finished work is kept in that
directory, and the same command resumes. To measure CPU time, every method then selects once more,
alone.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.harness import mq2008_parts

if TYPE_CHECKING:
    from ranksieve.report.sheets.sheet import Row, Sheet
    from ranksieve.study import Outcomes, Run, Study, StudyResult

PARAMETERS = {
    "data": "MQ2008",
    "out": "",
    "methods": "all",
    "sizes": "3,5,10,20",
    "trees": 100,
    "seeds": 3,
    "orders": 20,
}
TINY = {
    "data": "planted",
    "methods": "top,elimination",
    "sizes": "2",
    "trees": 3,
    "seeds": 1,
    "orders": 2,
}

MEASURE = "NDCG@10"
RANKERS = ("ranksvm", "lambdamart")
VARIANTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "elimination, ranker=lambdamart, step=0.1": (
        "elimination",
        {"ranker": "lambdamart", "step": 0.1},
    ),
    "gas-e, similarity=tau_b, c=0.1": ("gas-e", {"similarity": "tau_b", "c": 0.1}),
}
"""Row of the table -> method, and parameters without random numbers."""
_STABLE_AT = 10  # features
_TREES = {"learning_rate": 0.1, "num_leaves": 10, "early_stopping_rounds": 50}


def run(data: str, out: str, methods: str, sizes: str, trees: int, seeds: int, orders: int) -> str:
    """Run the part of the study that is missing, and return a table in Markdown."""
    from ranksieve.report.formats.plain_text import to_markdown
    from ranksieve.selectors.registry import SELECTORS
    from ranksieve.study import Study
    from ranksieve.study.results import BASE, RANDOM

    names = [name for name in SELECTORS if name not in (BASE, RANDOM)]
    if methods != "all":
        names = methods.split(",")
    with ExitStack() as stack:
        directory = out or stack.enter_context(tempfile.TemporaryDirectory())
        source = _open(data)

        def plan(selectors: list[str], seeds: int, parameters: Mapping[str, Any]) -> Study:
            return Study(
                source,
                out=directory,
                title=data,
                selectors=selectors,
                rankers=RANKERS,
                ks=[int(size) for size in sizes.split(",")],
                tune=MEASURE,
                measures=[MEASURE],
                seeds=seeds,
                baselines=False,
                grids={name: {} for name in selectors},
                parameters={"lambdamart": {"n_estimators": trees} | _TREES, **parameters},
            )

        main = plan([*names, BASE], seeds, {})
        planned = {name: (main, name) for name in names} | {
            label: (plan([name], 1, {name: parameters}), name)
            for label, (name, parameters) in VARIANTS.items()
            if name in names
        }
        result, random = main.run(), plan([RANDOM], orders, {}).run()
        found = {
            label: _runs(result if study is main else study.run(), name)
            for label, (study, name) in planned.items()
        }
        seconds = _processor_seconds(planned, Path(directory, "seconds.json"))
    table = Comparison(found, _runs(random, RANDOM), _runs(result, BASE), seconds, result)
    return to_markdown(_sheet(table, trees))


def _open(data: str) -> Any:
    from ranksieve import make_ranking

    if data == "planted":
        features = {"n_informative": 3, "n_redundant": 1, "n_noise": 1}
        return make_ranking(30, docs_per_query=5, random_state=0, **features)[0]
    return mq2008_parts()[0].parent if data == "MQ2008" else data


def _processor_seconds(planned: Mapping[str, tuple[Study, str]], path: Path) -> dict[str, float]:
    """CPU seconds of one selection by each method on one thread, unless the file has them."""
    from ranksieve import limit_threads
    from ranksieve.selectors.registry import SELECTORS

    known: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}
    fold = next(iter(planned.values()))[0].trials[0].open()
    few = fold.train.take_queries(range(min(50, fold.train.n_queries)))
    for label, (study, name) in planned.items():
        if label not in known:
            selector = study.plan.make_selector(name, min(_STABLE_AT, fold.train.n_features))
            beside = {"eval_set": fold.vali} if SELECTORS[name].uses_held_out_data else {}
            with limit_threads(1):
                selector.fit(few)  # compiles
                start = time.process_time()
                selector.fit(fold.train, **beside)
                known[label] = time.process_time() - start
            path.write_text(json.dumps(known))
    return known


def _runs(result: StudyResult, name: str) -> list[Run]:
    return [result.run(name, ranker) for ranker in RANKERS]


class Comparison(NamedTuple):
    """Runs with each ranker: of every method, of random orders and of all features."""

    methods: Mapping[str, list[Run]]
    random: list[Run]
    everything: list[Run]
    seconds: Mapping[str, float]
    result: StudyResult


def _sheet(found: Comparison, trees: int) -> Sheet:
    """Make a table with a row for each method, sorted by the mean over rankers and sizes."""
    from ranksieve.report.sheets.sheet import Column, Entry, Sheet
    from ranksieve.report.sheets.study_quality import setting_of

    ordered = sorted(found.methods.items(), key=lambda own: -np.mean(_means(own[1])))
    n_orders = found.random[0].chosen.n_seeds
    n_sizes = len(found.random[0].by_k)
    everything = [run.chosen.mean(MEASURE) for run in found.everything for _ in range(n_sizes)]
    blank = [Entry("")] * 4
    return Sheet(
        "all-methods",
        f"Every method on {found.result.title}: {MEASURE} with a ranker and a number of features",
        f"{setting_of(found.result)} Methods have their default parameters, unless the row names "
        f"others; RankSVM's C is tuned, LambdaMART has up to {trees} trees.",
        [
            Column("method", align="left", is_name=True),
            *(Column(f"{run.ranker}, {k}") for run in found.random for k in run.by_k),
            Column("against all"),
            Column("beats random"),
            Column("stability"),
            Column("seconds"),
        ],
        [
            [_row(name, runs, found) for name, runs in ordered],
            [
                [Entry("random"), *_cells(_means(found.random)), *blank],
                [Entry("all"), *_cells(everything), *blank],
            ],
        ],
        [
            "against all: mean difference from all features over the columns to the left, and its "
            "standard error over queries.",
            f"beats random: the number of columns in which the method is above every one of "
            f"{n_orders} random orders; the row random has their mean.",
            f"stability: Nogueira's index of the sets of {_size_of_stability(found)} features over "
            "the folds, from 0 (as if chosen at random) to 1 (the same on all folds).",
            f"seconds: CPU seconds of one selection of {_STABLE_AT} features on the first fold, "
            "alone and on one thread.",
        ],
    )


def _row(name: str, runs: list[Run], found: Comparison) -> Row:
    from ranksieve.report.sheets.sheet import Entry
    from ranksieve.study.comparison import stability_of

    means = _means(runs)
    tested = runs[0].by_k[_size_of_stability(found)]
    stability = stability_of(tested, len(found.result.feature_names))
    index = None if stability is None else stability.nogueira
    difference, error = _against_all(runs, found.everything)
    beaten = sum(own > max(orders) for own, orders in zip(means, _orders(found), strict=True))
    return [
        Entry(name),
        *_cells(means),
        Entry(f"{difference:+.4f} +- {error:.4f}"),
        Entry(f"{beaten} of {len(means)}"),
        Entry(None if index is None else index.estimate, ".2f"),
        Entry(found.seconds[name], ".2f"),
    ]


def _cells(means: list[float]) -> list[Any]:
    from ranksieve.report.sheets.sheet import Entry

    return [Entry(mean, ".4f") for mean in means]


def _each(runs: list[Run]) -> Iterator[Outcomes]:
    """Results with each ranker and number of features."""
    for run in runs:
        yield from run.by_k.values()


def _means(runs: list[Run]) -> list[float]:
    return [tested.mean(MEASURE) for tested in _each(runs)]


def _orders(found: Comparison) -> list[list[float]]:
    """For each ranker and number of features, the mean of every random order."""
    return [tested.values(MEASURE).mean(axis=1).tolist() for tested in _each(found.random)]


def _against_all(runs: list[Run], everything: list[Run]) -> tuple[float, float]:
    """Mean difference over rankers and numbers of features, and its standard error."""
    differences = np.mean(
        [
            tested.per_query(MEASURE) - base.chosen.per_query(MEASURE)
            for run, base in zip(runs, everything, strict=True)
            for tested in run.by_k.values()
        ],
        axis=0,
    )
    return float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(differences)))


def _size_of_stability(found: Comparison) -> int:
    return min(found.random[0].by_k, key=lambda k: abs(k - _STABLE_AT))
