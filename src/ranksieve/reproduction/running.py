"""Run the protocol of a paper on a collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ranksieve.experiments import Head, Ledger, Runner, gather
from ranksieve.io.files import PathLike, make_directory
from ranksieve.reproduction.collections import AtHand, CollectionFacts, open_at_hand
from ranksieve.reproduction.constructing import (
    BEST_FIRST,
    construct_on_folds,
    constructed_trials,
    restore_run,
)
from ranksieve.reproduction.outcomes import MethodOutcome
from ranksieve.reproduction.paper import Paper, PaperMethod, check_known
from ranksieve.reproduction.papers import PAPERS
from ranksieve.reproduction.results import Reproduction
from ranksieve.reproduction.training import MethodKey, TrainedMethod, TrainMethod
from ranksieve.study import FoldSummary, Run, Study, StudyResult

METHODS = "methods.jsonl"
"""Name of the ledger of methods that are not part of a study."""


def reproduce(
    name: str,
    directory: PathLike,
    *,
    methods: Iterable[str] | None = None,
    rankers: Iterable[str] | None = None,
    reading: str | None = None,
    n_seeds: int | None = None,
    out: PathLike | None = None,
    convention: str | None = None,
) -> Reproduction:
    """Reproduce the published results of a paper on the folds of a collection.

    Parameters
    ----------
    name : str
        One of ``PAPERS``.
    directory : path
        A collection with folds, such as LETOR 4.0 MQ2008: ``S1.txt`` to ``S5.txt``, or ``Fold1``
        to ``Fold5``.
    methods : iterable of str, optional
        Candidates of the paper to run; by default all.
    rankers : iterable of str, optional
        Rankers of the paper's study to use; by default all.
    reading : str, optional
        Interpretation of a paper that can be read in several ways; by default all.
    n_seeds : int, optional
        Number of runs of randomized methods; by default that of the paper.
    out : path, optional
        Directory in which finished work is kept, and from which the same call resumes: studies in
        ``study/`` and ``study-<reading or method>/``, other methods in ``methods.jsonl``.
    convention : str, optional
        Metric convention; by default that of the paper, or else of the collection, see
        :func:`ranksieve.reproduction.collections.open_at_hand`.

    Returns
    -------
    Reproduction

    Raises
    ------
    ValueError
        If the paper, a method, a ranker or the reading is unknown; the message lists the known
        ones.

    Notes
    -----
    The modules of :mod:`ranksieve.reproduction.papers` explain how each paper is interpreted.
    """
    if name not in PAPERS:
        raise ValueError(f"unknown paper {name!r:.40}; choose from {', '.join(PAPERS)}")
    paper = PAPERS[name]
    names = paper.choose(methods, reading)
    used_rankers = list(paper.rankers if rankers is None else dict.fromkeys(rankers))
    if rankers is not None:
        check_known("ranker", paper.rankers, used_rankers)
    at_hand = open_at_hand(directory, convention)
    facts = at_hand.facts
    usual = paper.conventions.get(facts.known_as or facts.unnormalized or "", paper.convention)
    if convention is None and usual is not None:
        at_hand = replace(at_hand, facts=replace(facts, convention=usual))
    trained = [name for name in names if paper.candidates[name].train is not None]
    constructing = [name for name in names if paper.candidates[name].construct is not None]
    by_study: dict[str, list[str]] = {}
    if paper.study is not None:
        for name in names:
            if name not in (*trained, *constructing):
                by_study.setdefault(paper.study_of(name), []).append(name)
    outcomes: dict[str, MethodOutcome] = {}
    study = planned = None

    def plan_study(reading: str, folder: str, selectors: Sequence[str]) -> Study:
        own = None if out is None else Path(out, folder)
        return _plan_study(paper, at_hand, reading, selectors, used_rankers, n_seeds, own)

    for reading_name, members in by_study.items():
        folder = f"study-{reading_name}" if reading_name else "study"
        plan = plan_study(reading_name, folder, [_selector(paper, name) for name in members])
        result = plan.run()
        if study is None:
            study, planned = result, plan
        if len(used_rankers) == 1:
            outcomes |= {
                name: _of_study(result, _selector(paper, name), paper.measures) for name in members
            }
    for name in constructing:
        assert study is not None  # at least that of all features
        plan = plan_study("", f"study-{name}", [BEST_FIRST])
        runs = _run_constructed(name, paper.candidates[name], plan, at_hand, study.folds)
        study = replace(study, runs=_in_order(dict(study.runs) | runs, names))
        if len(used_rankers) == 1:
            outcomes[name] = _of_study(study, name, paper.measures)
    with TemporaryDirectory() as temporary:
        kept = Path(temporary if out is None else out)
        outcomes |= _train_methods(paper, at_hand, trained, kept)
    ordered = {name: outcomes[name] for name in names if name in outcomes}
    return Reproduction(paper, at_hand.facts, ordered, study, planned)


def _selector(paper: Paper, name: str) -> str:
    return paper.candidates[name].stands_for or name


def _plan_study(
    paper: Paper,
    at_hand: AtHand,
    reading: str,
    selectors: Sequence[str],
    rankers: Sequence[str],
    n_seeds: int | None,
    out: PathLike | None,
) -> Study:
    facts = at_hand.facts
    plan = dict(paper.study or {}) | dict(paper.readings.get(reading, {})) | {"rankers": rankers}
    if callable(plan["ks"]):
        plan["ks"] = plan["ks"](facts.n_features)
    if n_seeds is not None:
        plan["seeds"] = n_seeds
    kept = {*selectors, *rankers}
    plan["parameters"] = _with_convention(plan.get("parameters", {}), kept, facts)
    plan["grids"] = {name: grid for name, grid in plan.get("grids", {}).items() if name in kept}
    return Study(
        at_hand.collection,
        out=out,
        title=facts.title,
        selectors=selectors,
        measures=paper.measures,
        convention=facts.convention,
        **plan,
    )


def _run_constructed(
    name: str,
    candidate: PaperMethod,
    plan: Study,
    at_hand: AtHand,
    folds: Sequence[FoldSummary],
) -> dict[tuple[str, str], Run]:
    """Run a method whose new features rankers use, with every ranker of the plan."""
    assert candidate.construct is not None
    constructions = construct_on_folds(at_hand.trials, candidate.construct)
    plan.trials = constructed_trials(constructions)
    result = plan.run()
    return {
        (name, ranker): restore_run(result.run(BEST_FIRST, ranker), name, constructions, folds)
        for ranker in result.rankers
    }


def _in_order(
    runs: Mapping[tuple[str, str], Run], names: Sequence[str]
) -> dict[tuple[str, str], Run]:
    """Return runs with the selectors in the order of the paper."""
    return dict(sorted(runs.items(), key=lambda item: names.index(item[0][0])))


def _with_convention(
    parameters: Mapping[str, Mapping[str, Any]], kept: set[str], facts: CollectionFacts
) -> dict[str, dict[str, Any]]:
    """Keep the parameters of methods that are run, and set their metric convention."""
    return {
        name: {
            key: facts.convention if key.endswith("convention") else value
            for key, value in values.items()
        }
        for name, values in parameters.items()
        if name in kept
    }


def _of_study(study: StudyResult, name: str, measures: Sequence[str]) -> MethodOutcome:
    chosen = study.run(name, study.rankers[0]).chosen
    numbers = [[len(outcome.features) for outcome in seed] for seed in chosen.outcomes]
    by_fold = list(zip(*chosen.outcomes, strict=True))
    return MethodOutcome(
        {measure: chosen.values(measure).tolist() for measure in measures},
        np.mean(numbers, axis=1).tolist(),
        per_query={
            measure: [
                np.mean([outcome.per_query[measure] for outcome in seeds], axis=0)
                for seeds in by_fold
            ]
            for measure in measures
        },
    )


def _train_methods(
    paper: Paper, at_hand: AtHand, names: Sequence[str], out: Path
) -> dict[str, MethodOutcome]:
    """Train the methods that are not selectors of a study on every fold."""
    if not names:
        return {}
    trials, facts = at_hand.trials, at_hand.facts
    head = Head(
        purpose=f"reproduction of {paper.name}",
        protocol="letor",
        measures=list(paper.measures),
        tune="MAP",
        convention=facts.convention,
        trials=[trial.name for trial in trials],
    )
    settings = paper.settings.get(facts.known_as or "", {})

    def cell(name: str, fold: int) -> TrainMethod:
        published = {own: values[fold] for own, values in settings.get(name, {}).items()}
        measures, convention = list(paper.measures), facts.convention
        return TrainMethod(name, paper.candidates[name], published, measures, convention)

    with Runner(Ledger(make_directory(out) / METHODS, head, MethodKey)) as run:
        every = (run(cell(name, n), trial) for name in names for n, trial in enumerate(trials))
        results: list[TrainedMethod] = run.finish(gather(*every), "Methods")
    n = len(trials)
    return {name: _of_folds(results[n * at : n * at + n]) for at, name in enumerate(names)}


def _of_folds(folds: Sequence[TrainedMethod]) -> MethodOutcome:
    """Make the outcome of a method from its results on the folds."""
    values = [next(iter(fold.values.values())) for fold in folds]  # of the test queries
    per_query = {measure: [np.array(own[measure]) for own in values] for measure in values[0]}
    chosen = [
        {name: tuple(value) if isinstance(value, list) else value for name, value in own.items()}
        for own in (fold.parameters for fold in folds)
    ]
    return MethodOutcome(
        {name: [[float(own.mean()) for own in folds]] for name, folds in per_query.items()},
        [float(np.mean([fold.n_features for fold in folds]))],
        chosen,
        [fold.paths for fold in folds if fold.paths is not None],
        per_query,
    )
