"""Run the protocol of a paper on a collection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ranksieve.experiments import Head, Ledger, Runner, gather
from ranksieve.io.files import PathLike, make_directory
from ranksieve.reproduction.collections import AtHand, open_at_hand
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
    outcomes: dict[str, MethodOutcome] = {}
    study = planned = None
    candidates = {name: paper.candidates[name] for name in names}
    trained = [name for name, own in candidates.items() if own.train is not None]
    constructing = [name for name, own in candidates.items() if own.construct is not None]
    selected = {  # by the selector of a study
        name: own.stands_for or name
        for name, own in candidates.items()
        if paper.study is not None and own.train is None and own.construct is None
    }
    for reading_name in dict.fromkeys(map(paper.study_of, selected)):
        members = {
            name: selected[name] for name in selected if paper.study_of(name) == reading_name
        }
        selectors = list(members.values())
        place = _in(out, reading_name)
        plan = _plan_study(paper, at_hand, reading_name, selectors, used_rankers, n_seeds, place)
        result = plan.run()
        if study is None:
            study, planned = result, plan
        if len(used_rankers) == 1:
            outcomes |= {name: _outcome_of_study(result, s) for name, s in members.items()}
    for name in constructing:
        assert study is not None  # at least that of all features
        plan = _plan_study(paper, at_hand, "", [BEST_FIRST], used_rankers, n_seeds, _in(out, name))
        runs = _run_constructed(name, candidates[name], plan, at_hand, study.folds)
        # With the selectors in the order of the paper.
        every = sorted((dict(study.runs) | runs).items(), key=lambda item: names.index(item[0][0]))
        study = replace(study, runs=dict(every))
        if len(used_rankers) == 1:
            outcomes[name] = _outcome_of_study(study, name)
    with TemporaryDirectory() as temporary:
        kept = Path(temporary if out is None else out)
        outcomes |= _train_methods(paper, at_hand, trained, kept)
    ordered = {name: outcomes[name] for name in names if name in outcomes}
    return Reproduction(paper, at_hand.facts, ordered, study, planned)


def _in(out: PathLike | None, name: str) -> Path | None:
    """Directory of the study of a reading or method, if results are kept; "" is the first."""
    return None if out is None else Path(out, f"study-{name}" if name else "study")


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
    # Parameters are those of methods that are run, with the metric convention.
    plan["parameters"] = {
        name: {
            key: facts.convention if key.endswith("convention") else value
            for key, value in values.items()
        }
        for name, values in plan.get("parameters", {}).items()
        if name in (*selectors, *rankers)
    }
    grids = plan.get("grids", {}).items()
    plan["grids"] = {name: grid for name, grid in grids if name in (*selectors, *rankers)}
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


def _outcome_of_study(study: StudyResult, name: str) -> MethodOutcome:
    chosen = study.run(name, study.rankers[0]).chosen
    numbers = [[len(outcome.features) for outcome in seed] for seed in chosen.outcomes]
    by_fold = list(zip(*chosen.outcomes, strict=True))
    return MethodOutcome(
        {measure: chosen.values(measure).tolist() for measure in study.measures},
        np.mean(numbers, axis=1).tolist(),
        per_query={
            measure: [
                np.mean([outcome.per_query[measure] for outcome in seeds], axis=0)
                for seeds in by_fold
            ]
            for measure in study.measures
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
    return {name: _outcome_of_folds(results[n * at : n * at + n]) for at, name in enumerate(names)}


def _outcome_of_folds(folds: Sequence[TrainedMethod]) -> MethodOutcome:
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
