"""Studies: run a plan on data, with a protocol and a ledger."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve._version import __version__
from ranksieve.data import DataError, RankingData
from ranksieve.data.columns import Columns
from ranksieve.data.missing import Missing, count_missing
from ranksieve.data.ranking_data import fingerprint
from ranksieve.datasets import Collection
from ranksieve.datasets.opening import (
    DividedData,
    SplitRule,
    open_for_study,
    paths_of,
    title_of,
)
from ranksieve.io.files import hold_directory, make_directory
from ranksieve.io.shards import Shards
from ranksieve.metrics import get_convention, parse_measure
from ranksieve.progress import track
from ranksieve.study.cells import Cell, check_takes_missing, run_on_cluster, run_on_threads
from ranksieve.study.files import LEDGER, PLAN, Ledger, data_facts, read_plan, write_plan
from ranksieve.study.layout import Layout, assemble
from ranksieve.study.plan import Plan, PlanSettings
from ranksieve.study.protocols import FoldSource, Protocol, StudyFold
from ranksieve.study.results import FoldSummary, StudyResult
from ranksieve.sums.file_order import order_values

# Settings of a plan that all results of a ledger depend on.
_IN_HEAD = ("measures", "tune", "convention", "scale", "missing")


class Study:
    """Compare selectors with rankers over folds of the queries.

    On each fold, features are selected and rankers trained on the training queries; the number
    of features and all parameters with a grid are chosen on the validation queries; the test
    queries are ranked with these choices.

    Parameters
    ----------
    data : RankingData, Collection, opened shards, frame, path, or a tuple of these
        The path of a file, a collection or shards. A tuple ``(train, test)`` or ``(train, vali,
        test)`` is a split that is used unchanged; if there is no validation data, one in five
        training queries is used instead. By default the embedded demo.
    out : path, optional
        Directory for the ledger of finished cells. If it has a study, that study resumes. By
        default nothing is kept.
    protocol : str or Protocol
        ``"letor"``, ``"split"``, ``"kfold"``, ``"kfold:N"`` or ``"six-trials"``; ``"auto"`` takes
        the folds of a collection if it has folds, the split of data that has one, else five folds
        over queries. See :class:`Protocol`.
    columns : Columns, optional
        Roles of the columns of Parquet and CSV files and of frames; by default by name.
    split : SplitByColumn or SplitByTime, optional
        Rule that divides a table by one of its columns.
    pool : bool
        Whether the queries of several files are divided together. Without it, several files are
        refused: they may be a split.
    resamples : int
        If there is one split: number of random samples of four in five of its training queries to
        select and train on, to estimate stability and the variation of quality. The test queries
        stay the same. By default once, on all training queries.
    title : str, optional
        Name of the data in tables; by default its path.
    read_options : dict, optional
        Options to read files; see :func:`ranksieve.io.letor.read_letor`.
    **settings
        Settings of :class:`Plan`: ``selectors``, ``rankers``, ``ks``, ``measures``, ``tune``, ...
        The default of ``missing`` is that of the data.

    Notes
    -----
    A cell is a selection, or the training of a ranker on a set of features. Each cell runs once and
    is written to the ledger, so selectors that choose the same set share its training, a selector
    whose choices are nested runs once for all numbers of features, and more selectors, rankers
    or numbers of features can be added later. Cells run in parallel, each on one thread. The same
    plan and data give the same result, whatever the order in which cells finish.

    Data is read into memory: one fold at a time if each has its own files, else once.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.study import Study
    >>> data, _ = make_ranking(60, random_state=0)
    >>> study = Study(data, selectors=["gas-e"], rankers=["rankrls"], ks=[2, 5], seeds=2)
    >>> result = study.run()
    >>> result.selectors, result.measures
    (['gas-e', 'all', 'random'], ['MAP', 'NDCG@10'])
    >>> run = result.run("gas-e", "rankrls")
    >>> [len(features) for features in run.by_k[2].selections]
    [2, 2, 2, 2, 2]
    """

    def __init__(
        self,
        data: Any = None,
        *,
        out: str | os.PathLike[str] | None = None,
        protocol: str | Protocol = "auto",
        columns: Columns | None = None,
        split: SplitRule | None = None,
        pool: bool = False,
        resamples: int = 0,
        title: str | None = None,
        read_options: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        train = data[0] if isinstance(data, tuple) and data else data
        if isinstance(train, (RankingData, Shards)) and train.missing is not None:
            settings.setdefault("missing", train.missing.name)
        self.plan = Plan(**settings)
        options = {"columns": columns, **(read_options or {})}
        source = open_for_study(data, split=split, pool=pool, **options)
        self.title = title_of_data(data) if title is None else title
        self.protocol = _protocol_for(protocol, source, self.plan.seed, resamples)
        self.protocol_in_words = self.protocol.describe(source)
        self.folds = self.protocol.folds(source, **options)
        self._facts = data_facts(data, columns, split, pool)
        if out is None:
            out = tempfile.mkdtemp(prefix="ranksieve-")
            weakref.finalize(self, shutil.rmtree, out, ignore_errors=True)
        self.directory = Path(out)

    def run(self, client: Any = None) -> StudyResult:
        """Run all cells that are missing.

        Parameters
        ----------
        client : distributed.Client, optional
            Run cells on a Dask cluster instead of the threads of this process.
        """
        make_directory(self.directory)
        ledger = Ledger(self.directory / LEDGER, self._head())
        run_on = run_on_threads if client is None else partial(run_on_cluster, client)
        with hold_directory(self.directory) as is_alone:
            # A second process starts at the other end, so that they meet in the middle.
            compute = partial(_run_missing, run_on, ledger, -1 if is_alone is False else 1)
            layouts = self._select(compute, ledger)
            # Only after all data was compared with the ledger.
            write_plan(self.directory, self.plan, self._plan_facts())
            self._train(compute, ledger, layouts)
        return _result(self.plan, ledger, self.title)

    def load(self, source: FoldSource) -> StudyFold:
        """Load a fold, with missing values treated and features scaled as the plan says."""
        return source.load().prepared(self._missing, self.plan.scale)

    @cached_property
    def _missing(self) -> Missing | None:
        """Treatment of missing values.

        Indicators are of the features with missing values anywhere, so that all folds have the same
        features; if the training queries of a fold have all values, they are constant.
        """
        if self.plan.missing == "none":
            return None

        def count() -> np.ndarray:
            folds = (source.load() for source in self.folds)
            return np.sum([count_missing(part.X) for fold in folds for part in fold.parts], axis=0)

        declared = Missing(self.plan.missing)
        if declared.indicators:
            of_data = self.folds[0].load().train.missing  # may already have indicators
            if of_data is not None and of_data.name == declared.name:
                return of_data
        return declared.learned(count)

    def _plan_facts(self) -> dict[str, Any]:
        """Settings of a plan file in addition to the plan."""
        resamples = {"resamples": self.protocol.resamples} if self.protocol.resamples else {}
        return self._facts | {"title": self.title, "protocol": self.protocol.text} | resamples

    def _head(self) -> dict[str, Any]:
        """Everything that all results depend on."""
        return {
            "ranksieve": __version__,
            "protocol": self.protocol_in_words,
            **{name: self.plan.as_dict()[name] for name in _IN_HEAD},
            "folds": [source.name for source in self.folds],
        }

    def _select(self, compute: Any, ledger: Ledger) -> list[Layout]:
        """Run all selections; check that each fold is the one in the ledger."""
        layouts = []
        advance = None
        for source in self.folds:
            fold = self.load(source)
            fold.check()
            check_takes_missing(fold, self.plan)
            _record_fold(fold, ledger, self.plan)
            layouts.append(Layout(self.plan, fold.train.feature_names.tolist()))
            cells = layouts[-1].selections()
            advance = advance or track("Selections", len(self.folds) * len(cells))
            compute(fold, cells, advance)
        return layouts

    def _train(self, compute: Any, ledger: Ledger, layouts: list[Layout]) -> None:
        cells = [
            layout.trainings(source.name, ledger)
            for source, layout in zip(self.folds, layouts, strict=True)
        ]
        advance = track("Trainings", sum(map(len, cells)))
        for source, own in zip(self.folds, cells, strict=True):
            if any(cell.key(source.name) not in ledger for cell in own):
                compute(self.load(source), own, advance)
            else:
                advance(len(own))


def load_study(directory: str | os.PathLike[str]) -> StudyResult:
    """Load the results of a finished study from its directory; the data is not needed.

    Only data is read: nothing that the files name is imported or called, so results may come from
    somebody else.

    Raises
    ------
    DataError
        If there is no study, or if cells of its plan are missing.
    """
    directory = Path(directory)
    plan, title = read_plan(directory)
    ledger = Ledger(directory / LEDGER)
    for name in _IN_HEAD:
        planned, found = plan.as_dict()[name], ledger.head[name]
        if planned != found:
            raise DataError(
                f"{ledger.path}:1: the results have {name} {found!r}, but the plan in {PLAN} has "
                f"{planned!r}"
            )
    return _result(plan, ledger, title)


def _result(plan: PlanSettings, ledger: Ledger, title: str) -> StudyResult:
    known = ledger.folds()
    folds = [FoldSummary.of(name, record) for name, record in known.items()]
    names = next(iter(known.values()))["features"]
    layout = Layout(plan, names)
    return StudyResult(
        title=title,
        protocol=ledger.head["protocol"],
        convention=plan.convention,
        tune=plan.tune,
        missing=plan.missing,
        measures=list(plan.measures),
        folds=folds,
        feature_names=names,
        runs=assemble(layout, folds, ledger),
        included=layout.include,
        excluded=layout.exclude,
        settings={
            "ranksieve": ledger.head["ranksieve"],
            **{name: getattr(plan, name) for name in ("seed", "seeds", "scale", "choose")},
        },
    )


def _record_fold(fold: StudyFold, ledger: Ledger, plan: Plan) -> None:
    """Record a fold; raise a DataError if the ledger has other data for it."""
    cell, test = {"fold": fold.name}, fold.test
    # Measure -> values of each query in the order of the data, and by chance.
    file_order = {}
    if get_convention(plan.convention).ties == "stable":
        for name in plan.measures:
            values = order_values(test.y, test.query_ptr, parse_measure(name), plan.convention)
            file_order[name] = values.tolist()
    description: dict[str, Any] = {
        "fingerprint": fingerprint(fold.train, fold.vali, fold.test),
        "train": fold.train.n_queries,
        "vali": fold.vali.n_queries,
        "test": [q if isinstance(q, int) else str(q) for q in test.query_ids.tolist()],
        "features": [str(name) for name in fold.train.feature_names],
        "file_order": file_order,
    }
    if test.query_weights is not None:
        description["weights"] = test.query_weights.tolist()
    ledger.add(cell, description)
    if ledger[cell] != description:
        raise DataError(
            f"{ledger.path}: {fold.name} of this study has other data; use another directory"
        )


def _run_missing(
    run_on: Any,
    ledger: Ledger,
    step: int,
    fold: StudyFold,
    cells: Sequence[Cell],
    advance: Callable[[int], None],
) -> None:
    """Run the cells that the ledger lacks, from the first (step 1) or from the last (step -1)."""

    def missing() -> Iterator[Cell]:
        for cell in cells[::step]:
            ledger.refresh()  # another process may have added results
            if cell.key(fold.name) in ledger:
                advance(1)
            else:
                yield cell

    with run_on(fold) as run:
        for cell, result in run(missing()):
            ledger.add(cell.key(fold.name), result)
            advance(1)


def title_of_data(data: Any) -> str:
    """Title of the data: the name of its file, without the path."""
    whole = data[0] if isinstance(data, tuple) and data else data
    return title_of([path.absolute().name for path in paths_of(whole)] or whole)


def _protocol_for(
    protocol: str | Protocol,
    source: RankingData | Collection | DividedData,
    seed: int,
    resamples: int,
) -> Protocol:
    if isinstance(protocol, Protocol):
        return replace(protocol, resamples=resamples) if resamples else protocol
    if not isinstance(protocol, str):
        raise ValueError(f"protocol must be a string or a Protocol, got {protocol!r:.60}")
    if protocol == "auto":
        protocol = "kfold"
        if isinstance(source, (Collection, DividedData)):
            protocol = "letor" if isinstance(source, Collection) else "split"
    return Protocol.parse(protocol, seed, resamples)
