"""Studies: run a plan on data, with a protocol and a ledger."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ranksieve.data import DataError, RankingData
from ranksieve.data.columns import Columns, ColumnsLike
from ranksieve.data.missing import check_taken
from ranksieve.datasets import Collection
from ranksieve.datasets.opening import (
    SplitRule,
    open_for_study,
    paths_of,
    title_of,
)
from ranksieve.datasets.split_rules import DividedData
from ranksieve.experiments import (
    LEDGER,
    Describe,
    Facts,
    Head,
    Ledger,
    Runner,
    gather,
    prepare_trials,
)
from ranksieve.experiments.cells import DescribeKey
from ranksieve.experiments.ledger import TrialFacts, TrialKey
from ranksieve.io.files import make_directory
from ranksieve.io.shards import Shards
from ranksieve.metrics import parse_measure
from ranksieve.progress import progress_bar
from ranksieve.study.plan import Plan, PlanSettings
from ranksieve.study.plan_file import PLAN, data_facts, read_plan, write_plan
from ranksieve.study.procedure import Procedure, assemble
from ranksieve.study.protocols import Protocol
from ranksieve.study.results import FoldSummary, StudyResult

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
    columns : Columns or path, optional
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
        columns: ColumnsLike = None,
        split: SplitRule | None = None,
        pool: bool = False,
        resamples: int = 0,
        title: str | None = None,
        read_options: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        train = data[0] if isinstance(data, tuple) and data else data
        columns = Columns.make(columns)
        if isinstance(train, (RankingData, Shards)) and train.missing is not None:
            settings.setdefault("missing", train.missing.name)
        elif columns.missing is not None:
            settings.setdefault("missing", columns.missing)
        columns = replace(columns, missing=None)  # trials are treated, not files
        self.plan = Plan(**settings)
        options = {"columns": columns, **(read_options or {})}
        source = open_for_study(data, split=split, pool=pool, **options)
        self.title = title_of_data(data) if title is None else title
        self.protocol = _protocol_for(protocol, source, self.plan.seed, resamples)
        self.protocol_in_words = self.protocol.describe(source)
        trials = self.protocol.trials(source, **options)
        self.trials = prepare_trials(trials, self.plan.missing, self.plan.scale)
        found = getattr(source, "table_columns", None)  # columns, without a guess
        self._facts = data_facts(data, found or columns, split, pool)
        if out is None:
            out = tempfile.mkdtemp(prefix="ranksieve-")
            weakref.finalize(self, shutil.rmtree, out, ignore_errors=True)
        self.directory = Path(out)

    def run(self, client: Any = None, *, progress: bool = True) -> StudyResult:
        """Run all cells that are missing.

        Parameters
        ----------
        client : distributed.Client, optional
            Run cells on a Dask cluster instead of the threads of this process.
        progress : bool
            Whether to show progress in a terminal or a notebook.
        """
        unable = _without_missing(self.plan)
        if unable and any(part.lacks_numbers for part in self.trials[0].source.parts):
            check_taken(unable)  # before anything is written
        _check_of_rows(self.plan, self.trials[0].source.parts)
        make_directory(self.directory)
        plan = self.plan.as_dict()
        head = Head(
            purpose="study",
            protocol=self.protocol_in_words,
            trials=[trial.name for trial in self.trials],
            **{name: plan[name] for name in _IN_HEAD},
        )
        ledger = Ledger(self.directory / LEDGER, head)
        with progress_bar(progress, "study"), Runner(ledger, client) as runner:
            runner.finish(self._run_cells(runner))
        return _result(self.plan, ledger, self.title)

    async def _run_cells(self, runner: Runner) -> None:
        plan = self.plan
        describe = Describe(plan.measures, plan.convention)
        described = await gather(*(runner(describe, trial) for trial in self.trials))
        for trial, facts in zip(self.trials, described, strict=True):
            if facts.has_missing:
                check_taken(_without_missing(plan), f"{trial.name}: ")
        procedures = [Procedure(plan, facts.features) for facts in described]
        each = zip(procedures, self.trials, strict=True)
        # The plan of an earlier study stays until all results of this one are there.
        if not (self.directory / PLAN).exists():
            self._write_plan()
        # Of each attempt a selection and a training.
        runner.expect(sum(2 * len(list(procedure.attempts())) for procedure in procedures))
        await gather(*(procedure.run(runner, trial) for procedure, trial in each))
        self._write_plan()

    def _write_plan(self) -> None:
        resamples = {"resamples": self.protocol.resamples} if self.protocol.resamples else {}
        others = {"title": self.title, "protocol": self.protocol.text} | resamples
        write_plan(self.directory, self.plan, self._facts | others)


def _without_missing(plan: Plan) -> list[str]:
    """Methods of a plan that cannot use missing values."""
    return [
        *(name for name in plan.selectors if not plan.make_selector(name).takes_missing),
        *(name for name in plan.rankers if not plan.method(name).takes_missing),
    ]


def _check_of_rows(plan: Plan, parts: Sequence[RankingData]) -> None:
    """Raise a DataError if a ranker or measure cannot use weights of rows or positions."""
    for part in parts:
        for name in plan.rankers:
            plan.method(name).make(**plan.settings(name)).check_of_rows(part)
        if "row_weights" in part.of_rows:
            for measure in dict.fromkeys([*plan.measures, plan.tune]):
                parse_measure(measure).check_weighted()


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
        planned, found = plan.as_dict()[name], getattr(ledger.settings, name)
        if planned != found:
            raise DataError(
                f"{ledger.path}:1: the results have {name} {found!r}, but the plan in {PLAN} has "
                f"{planned!r}"
            )
    return _result(plan, ledger, title)


def _result(plan: PlanSettings, ledger: Ledger, title: str) -> StudyResult:
    folds: list[FoldSummary] = []
    names: list[str] = []
    of_rows: set[str] = set()
    for name in ledger.settings.trials:
        trial: TrialFacts = ledger[TrialKey(name)]
        facts: Facts = ledger[DescribeKey(name)]
        names = names or facts.features
        of_rows |= {*facts.of_rows}
        if trial.judged.keys() != {"test"} or trial.n_features != len(names):
            raise DataError(f"{ledger.path}: {name} does not fit the other folds of a study")
        folds.append(FoldSummary.of(name, trial, facts))
    if not folds:
        raise DataError(f"{ledger.path}:1: these are not the results of a study")
    procedure = Procedure(plan, names)
    return StudyResult(
        title=title,
        protocol=ledger.settings.protocol,
        convention=plan.convention,
        tune=plan.tune,
        missing=plan.missing,
        measures=list(plan.measures),
        folds=folds,
        feature_names=names,
        runs=assemble(procedure, folds, ledger),
        included=procedure.include,
        excluded=procedure.exclude,
        of_rows=sorted(of_rows),
        settings={
            "ranksieve": ledger.settings.ranksieve,
            **{name: getattr(plan, name) for name in ("seed", "seeds", "scale", "choose")},
        },
    )


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
