"""From a choice to an answer: the verdicts of queries, the recommendation, and its models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ranksieve._version import __version__
from ranksieve.data import RankingData
from ranksieve.data.joining import concatenate, with_features_of
from ranksieve.datasets.opening import options_for, read_whole
from ranksieve.io.selection import SelectedFeature, Selection, write_selection
from ranksieve.preprocessing import scaled_within_queries
from ranksieve.recommendation.answer import Recommendation
from ranksieve.recommendation.checking import reference_of
from ranksieve.recommendation.division import Division, TrainingSet
from ranksieve.recommendation.files import MODEL, MODEL_OF_ALL, SELECTION
from ranksieve.recommendation.findings import FeatureFacts, describe_features, points_of
from ranksieve.recommendation.procedure import Choice
from ranksieve.recommendation.task import Task
from ranksieve.recommendation.verdict import Verdict
from ranksieve.study.protocols import check_distinct


def claim_of(task: Task, choices: Sequence[Choice | None]) -> Verdict:
    """Return the verdict of the judging queries, as far as they have judged."""
    division = task.division
    stages = zip(division.stages, choices, strict=True)
    judged = {
        stage.judge: choice
        for stage, choice in stages
        if stage.judge and choice and choice.values is not None
    }
    values = [choice.values for choice in judged.values()]
    base = [choice.base for choice in judged.values()]
    about: Literal["procedure", "set"] = "set" if division.is_split else "procedure"
    test = task.plan.tune, task.rule.margin, task.level
    if not judged:
        return Verdict.of_nothing(about, *test)
    return Verdict.of(values, base, division.weights(list(judged)), about, *test)


def read_other_queries(task: Task, source: Any, read_options: Mapping[str, Any]) -> RankingData:
    """Read the data to confirm by, and treat it like the data of the recommendation."""
    whole = task.division.whole
    other = read_whole(source, **options_for(source, read_options))
    if whole.missing is not None and other.missing is None:
        other = other.with_missing(whole.missing)
    other = with_features_of(other, whole, "the data to confirm by")
    other = scaled_within_queries(other, task.plan.scale)
    check_distinct("the data to confirm by", {"choose by": whole, "confirm by": other})
    return other


def confirm_choice(task: Task, chosen: Choice, other: RankingData) -> Verdict:
    """Test the chosen features on the queries of :func:`read_other_queries`."""
    whole = task.division.whole
    joined = concatenate([whole, other])
    parts = {"confirm": np.arange(whole.n_queries, joined.n_queries)}
    trial = Division(joined, parts, [], "").trial(TrainingSet(("confirm",)))
    values, base = (
        task.ranking(features).run(trial)["values"]["confirm"]
        for features in (chosen.features, task.allowed)
    )
    test = task.plan.tune, task.rule.margin, task.level
    return Verdict.of([values], [base], other.query_weights, "set", *test)


def make_answer(
    task: Task,
    title: str,
    chosen: Choice,
    facts: FeatureFacts,
    similarity: np.ndarray,
    verdicts: tuple[Verdict, Verdict | None],
) -> Recommendation:
    """Assemble the recommendation; the verdicts are the claim and, if any, its confirmation."""
    plan, rule, whole = task.plan, task.rule, task.division.whole
    kept, dropped = describe_features(task, chosen.features, facts, similarity)
    return Recommendation(
        title=title,
        feature_names=task.names,
        features=list(chosen.features),
        selector=chosen.candidate.selector,
        size=chosen.candidate.size,
        claim=verdicts[0],
        confirmed=verdicts[1],
        cost=task.costs.total(chosen.features),
        cost_of_all=task.costs.total(task.allowed),
        has_costs=task.has_costs,
        front=points_of(task, chosen),
        kept=kept,
        dropped=dropped,
        settings=task.head()
        | {
            "ranker": task.ranker,
            "ranker_parameters": plan.settings(task.ranker),
            "selectors": list(task.members),
            "rule": rule.name,
            "margin": rule.margin,
            "budget": rule.budget,
            "level": task.level,
            "seed": plan.seed,
            "keep": [task.names[f] for f in task.include],
            "drop": [n for f, n in enumerate(task.names) if f not in task.allowed],
            "treated": None if whole.missing is None else whole.missing.to_record(),
            "costs": task.named_costs.to_record(),
        },
        notes=task.notes,
        reference=reference_of(whole, chosen.features, plan.tune, plan.convention),
    )


def write_models(task: Task, answer: Recommendation, directory: Path) -> None:
    """Write the selection, and the rankers for :func:`check`, trained on all queries."""
    if not answer.features:
        return
    whole = task.division.whole
    selection = Selection(
        method="recommend",
        parameters={"ranker": task.ranker, "margin": task.rule.margin},
        n_features_in=len(task.names),
        data=[answer.title],
        ranksieve=__version__,
        features=[
            SelectedFeature(kept.feature, task.names[kept.feature], kept.loss, "")
            for kept in answer.kept
        ],
        missing=whole.missing,
    )
    write_selection(selection, directory / SELECTION)
    try:
        kept = task.ranking(answer.features).train(whole)
        kept.save_model(directory / MODEL, selection=selection)
        task.ranking(task.allowed).train(whole).save_model(directory / MODEL_OF_ALL)
    except ValueError as error:
        answer.notes.append(f"No models were written: {error}")
