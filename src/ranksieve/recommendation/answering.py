"""From a choice to an answer: the verdicts of queries, the recommendation, and its models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ranksieve._version import __version__
from ranksieve.data import RankingData
from ranksieve.data.joining import concatenate, with_features_of
from ranksieve.data.ranking_data import fingerprint
from ranksieve.datasets.opening import options_for, read_whole
from ranksieve.io.files import replace_together
from ranksieve.io.model import MODEL, MODEL_OF_ALL, TrainedOn
from ranksieve.io.records import checksum_of_file, to_values
from ranksieve.io.selection import SelectedFeature, Selection, write_selection
from ranksieve.preprocessing import scaled_within_queries
from ranksieve.rankers.loading import check_loadable
from ranksieve.recommendation.answer import Recommendation
from ranksieve.recommendation.checking import reference_of
from ranksieve.recommendation.division import Division, TrainingSet
from ranksieve.recommendation.files import FILES, SELECTION, write_answer
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
    """Test the chosen features on the queries of :func:`read_other_queries`.

    The rankers are those to write, which test queries of a split have not trained.
    """
    division = task.division
    joined = concatenate([division.whole, other])
    parts = {**division.parts, "confirm": np.arange(division.whole.n_queries, joined.n_queries)}
    training = TrainingSet((*division.to_deploy.left_out, "confirm"))
    trial = Division(joined, parts, [], "").trial(training)
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
            "treated": to_values(whole.missing),
            "costs": task.named_costs.to_record(),
        },
        notes=task.notes,
        reference=reference_of(whole, chosen.features, plan.tune, plan.convention),
    )


def write_all(
    task: Task, answer: Recommendation, directory: Path, *, has_time: bool
) -> Recommendation:
    """Write an answer and its evidence, with the selection and the rankers for :func:`check`.

    Test queries of a split train no ranker, and without time none is trained. Returns the answer
    with the checksums of the models.
    """
    selection, models = _selection_of(task, answer), _train_models(task, answer) if has_time else {}
    trained_on = _trained_on(task) if models else None
    with replace_together(directory, FILES) as folder:
        if answer.features:
            write_selection(selection, folder / SELECTION)
        for name, model in models.items():
            chosen = selection if name == MODEL else None
            model.save_model(folder / name, selection=chosen, trained_on=trained_on)
        checksums = {name: checksum_of_file(folder / name) for name in models}
        answer = replace(answer, models=checksums, trained_on=trained_on)
        assert answer.evidence is not None
        write_answer(answer.to_record(), answer.evidence.to_record(), folder)
    return answer


def _train_models(task: Task, answer: Recommendation) -> dict[str, Any]:
    """Train the rankers to write, by name of the file; none if such a ranker has no model files."""
    data = task.division.trial(task.division.to_deploy).train
    sets = {MODEL: answer.features, MODEL_OF_ALL: task.allowed}
    try:
        check_loadable(task.ranking(task.allowed).make())
    except ValueError as error:
        answer.notes.append(f"No models were written: {error}")
        return {}
    return {name: task.ranking(own).train(data) for name, own in sets.items() if own}


def _trained_on(task: Task) -> TrainedOn:
    data = task.division.trial(task.division.to_deploy).train
    return TrainedOn(task.division.deployed_in_words, data.n_queries, fingerprint(data))


def _selection_of(task: Task, answer: Recommendation) -> Selection:
    return Selection(
        method="recommend",
        parameters={"ranker": task.ranker, "margin": task.rule.margin},
        n_features_in=len(task.names),
        data=[answer.title],
        ranksieve=__version__,
        features=[
            SelectedFeature(kept.feature, task.names[kept.feature], kept.loss, "")
            for kept in answer.kept
        ],
        missing=task.division.whole.missing,
    )
