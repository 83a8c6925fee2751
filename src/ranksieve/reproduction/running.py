"""Run the protocol of a paper on a collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve.io.files import PathLike
from ranksieve.progress import listen, track
from ranksieve.reproduction.collections import AtHand, CollectionFacts, open_at_hand
from ranksieve.reproduction.outcomes import MethodOutcome
from ranksieve.reproduction.paper import FoldAtHand, Paper, TrainedMethod, check_known
from ranksieve.reproduction.papers import PAPERS
from ranksieve.reproduction.results import Reproduction
from ranksieve.reproduction.training import measure_scores
from ranksieve.study import Study, StudyResult


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
        Directory of the studies, ``study/`` and ``study-<reading>/``, from which they resume.
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
    by_study: dict[str, list[str]] = {}
    if paper.study is not None:
        for name in names:
            if name not in trained:
                by_study.setdefault(paper.study_of(name), []).append(name)
    outcomes: dict[str, MethodOutcome] = {}
    study = planned = None
    for study_name, members in by_study.items():
        folder = f"study-{study_name}" if study_name else "study"
        study_out = None if out is None else Path(out, folder)
        plan = _plan_study(paper, at_hand, study_name, members, used_rankers, n_seeds, study_out)
        result = plan.run()
        study, planned = (result, plan) if study is None else (study, planned)
        if len(used_rankers) == 1:
            outcomes |= {
                name: _of_study(result, _selector(paper, name), paper.measures) for name in members
            }
    outcomes |= _run_on_folds(paper, at_hand, trained)
    ordered = {name: outcomes[name] for name in names if name in outcomes}
    return Reproduction(paper, at_hand.facts, ordered, study, planned)


def _selector(paper: Paper, name: str) -> str:
    return paper.candidates[name].stands_for or name


def _plan_study(
    paper: Paper,
    at_hand: AtHand,
    reading: str,
    names: Sequence[str],
    rankers: Sequence[str],
    n_seeds: int | None,
    out: PathLike | None,
) -> Study:
    facts = at_hand.facts
    selectors = [_selector(paper, name) for name in names]
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
    values = {measure: chosen.values(measure).tolist() for measure in measures}
    return MethodOutcome(values, np.mean(numbers, axis=1).tolist())


def _run_on_folds(paper: Paper, at_hand: AtHand, names: Sequence[str]) -> dict[str, MethodOutcome]:
    """Train the methods that are not selectors of a study, one fold after the other."""
    if not names:
        return {}
    facts = at_hand.facts
    settings = paper.settings.get(facts.known_as or "", {})
    advance = track("Methods", len(at_hand.sources) * len(names))
    results: dict[str, list[tuple[TrainedMethod, dict[str, float]]]] = {name: [] for name in names}
    for position, fold in enumerate(at_hand.folds()):
        at = FoldAtHand(position, fold, facts, settings, {})
        for name in names:
            train = paper.candidates[name].train
            assert train is not None
            with listen(None):  # nested progress bars would only flicker
                trained = train(name, paper.candidates[name], at)
            measured = measure_scores(fold.test, trained.scores, paper.measures, facts.convention)
            results[name].append((trained, measured))
            advance(1)
    return {
        name: MethodOutcome(
            {measure: [[means[measure] for _, means in folds]] for measure in paper.measures},
            [float(np.mean([trained.n_features for trained, _ in folds]))],
            [trained.chosen for trained, _ in folds],
            [trained.model for trained, _ in folds],
        )
        for name, folds in results.items()
    }
