"""The steps of a recommendation: choose, claim, confirm, answer and write models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ranksieve._version import __version__
from ranksieve.base.choices import feature_indices, listed_features
from ranksieve.costs import FeatureCosts
from ranksieve.data import DataError, RankingData
from ranksieve.data.joining import concatenate, with_features_of
from ranksieve.data.missing import has_missing
from ranksieve.datasets.opening import options_for, read_whole
from ranksieve.io.selection import SelectedFeature, Selection, write_selection
from ranksieve.metrics import get_convention
from ranksieve.preprocessing import scaled_within_queries
from ranksieve.recommendation.answer import Recommendation
from ranksieve.recommendation.cells import PlannedCell, Procedure, RankingCell, together
from ranksieve.recommendation.checking import reference_of
from ranksieve.recommendation.division import Division, TrainingSet
from ranksieve.recommendation.files import MODEL, MODEL_OF_ALL, SELECTION
from ranksieve.recommendation.findings import FeatureFacts, points_of
from ranksieve.recommendation.procedure import Choice, run_stage
from ranksieve.recommendation.task import ALL, Candidate, Rule, Task, members_of
from ranksieve.recommendation.timing import OutOfTimeError, TimeLimit
from ranksieve.recommendation.verdict import Verdict
from ranksieve.selectors._search.checkpoint import fingerprint
from ranksieve.significance.intervals import check_margin
from ranksieve.study.plan import Plan
from ranksieve.study.protocols import check_distinct


class Work:
    """A request for a recommendation on divided data, and the steps that answer it."""

    def __init__(
        self, plan: Plan, division: Division, rule: Rule, level: float, costs: Any
    ) -> None:
        check_margin(rule.margin, level)
        self.plan, self.division, self.rule, self.level = plan, division, rule, level
        names = [str(name) for name in division.whole.feature_names]
        self.names = names
        self.costs = FeatureCosts.of(costs, names)
        self.has_costs = costs is not None and self.costs.total(names) > 0
        if not self.has_costs:
            self.costs = FeatureCosts.of(None, names)
        feature_indices("keep", plan.include, names)  # by the name that users know
        listed = listed_features(plan.include, plan.exclude, {}, names)
        allowed = tuple(f for f in range(len(names)) if f not in set(listed.exclude))
        keeps_missing = division.whole.keeps_missing and has_missing(division.whole.X)
        members, self.notes = members_of(
            plan, self.costs if self.has_costs else None, keeps_missing
        )
        if costs is not None and not self.has_costs:
            self.notes.append("No feature costs anything: the fewest features are recommended.")
        if not members:
            raise DataError("none of the selectors accepts missing values: fill them in")
        (self.ranker,) = plan.rankers
        self.method = plan.method(self.ranker)
        self.task = Task(
            division,
            members,
            self._ranking,
            self.costs.aligned(names),
            rule,
            tuple(listed.include),
            allowed,
            get_convention(plan.convention).averages_ties,
        )
        self._check_budget()

    def _check_budget(self) -> None:
        least = self.task.costs.total(self.task.include)
        if self.rule.budget is not None and least > self.rule.budget:
            raise DataError(
                f"the features to keep cost {least:.4g}, which is more than the budget of "
                f"{self.rule.budget:.4g}"
            )

    def _ranking(self, features: tuple[int, ...]) -> RankingCell:
        seed = self.plan.seed if self.method.is_seeded else None
        measure, convention = self.plan.tune, self.plan.convention
        settings = self.plan.settings(self.ranker)
        return RankingCell(self.method, settings, seed, features, measure, convention)

    def head(self) -> dict[str, Any]:
        """Return the settings that all results depend on, for the head of the ledger."""
        return {
            "ranksieve": __version__,
            "fingerprint": fingerprint(self.division.whole),
            "n_features": len(self.names),
            "parts": {name: len(part) for name, part in self.division.parts.items()},
            "division": self.division.in_words,
            "measure": self.plan.tune,
            "convention": self.plan.convention,
            "scale": self.plan.scale,
            "missing": self.plan.missing,
        }

    def choose(self, run: Callable[[Procedure[Any]], Any], limit: TimeLimit) -> list[Choice | None]:
        """Run all stages in parallel or, with a time limit, one after the other until time is up.

        With a time limit, the last stage runs first, because its features are recommended.
        """
        stages = self.division.stages
        last = len(stages) - 1
        if not limit.is_set:
            choices: list[Choice | None] = run(
                together([run_stage(self.task, stage, stage is stages[last]) for stage in stages])
            )
            return choices
        choices = [None] * len(stages)
        for n_before, number in enumerate([last, *range(last)]):
            task = replace(self.task, is_over=limit.share(len(stages) - n_before))
            try:
                choices[number] = run(run_stage(task, stages[number], shows_front=number == last))
            except OutOfTimeError:
                break
        return choices

    def choose_all(self) -> Choice:
        """Choose all features, if there was no time to try anything else."""
        every, cost = self.task.allowed, self.task.costs.total(self.task.allowed)
        if not self.rule.is_affordable(cost):
            raise DataError("there was no time to find features within the budget: allow more time")
        return Choice(Candidate(ALL, len(every), cost, np.empty(0)), every, [], None, None)

    def claim(self, choices: Sequence[Choice | None]) -> Verdict:
        """Return the verdict of the judging queries, as far as they have judged."""
        stages = zip(self.division.stages, choices, strict=True)
        judged = {
            stage.judge: choice
            for stage, choice in stages
            if stage.judge and choice and choice.values is not None
        }
        values = [choice.values for choice in judged.values()]
        base = [choice.base for choice in judged.values()]
        about: Literal["procedure", "set"] = "set" if self.division.is_split else "procedure"
        test = self.plan.tune, self.rule.margin, self.level
        if not judged:
            return Verdict.of_nothing(about, *test)
        return Verdict.of(values, base, self.division.weights(list(judged)), about, *test)

    def read_other_queries(self, source: Any, read_options: Mapping[str, Any]) -> RankingData:
        """Read the data to confirm by, and treat it like the data of the recommendation."""
        whole = self.division.whole
        other = read_whole(source, **options_for(source, read_options))
        if whole.missing is not None and other.missing is None:
            other = other.with_missing(whole.missing)
        other = with_features_of(other, whole, "the data to confirm by")
        other = scaled_within_queries(other, self.plan.scale)
        check_distinct("the data to confirm by", {"choose by": whole, "confirm by": other})
        return other

    def confirm(self, chosen: Choice, other: RankingData) -> Verdict:
        """Test the chosen features on the queries of :meth:`read_other_queries`."""
        whole = self.division.whole
        joined = concatenate([whole, other])
        parts = {"confirm": range(whole.n_queries, joined.n_queries)}
        training = TrainingSet(("confirm",))
        trial = Division(joined, parts, [], "").trial(training)  # type: ignore[arg-type]
        values, base = (
            self._ranking(tuple(sorted(features))).run(trial)["values"]["confirm"]
            for features in (chosen.features, self.task.allowed)
        )
        margin, weights = self.rule.margin, other.query_weights
        return Verdict.of([values], [base], weights, "set", self.plan.tune, margin, self.level)

    def answer(
        self,
        title: str,
        chosen: Choice,
        facts: FeatureFacts,
        claim: Verdict,
        confirmed: Verdict | None,
    ) -> Recommendation:
        """Assemble the recommendation."""
        task, missing = self.task, self.division.whole.missing
        kept, dropped = facts.features(task, chosen, self.names)
        return Recommendation(
            title=title,
            feature_names=self.names,
            features=list(chosen.features),
            selector=chosen.candidate.selector,
            size=chosen.candidate.size,
            claim=claim,
            confirmed=confirmed,
            cost=task.costs.total(chosen.features),
            cost_of_all=task.costs.total(task.allowed),
            has_costs=self.has_costs,
            front=points_of(task, chosen, self.level),
            kept=kept,
            dropped=dropped,
            settings=self.head()
            | {
                "ranker": self.ranker,
                "ranker_parameters": self.plan.settings(self.ranker),
                "selectors": [member.name for member in task.members],
                "rule": self.rule.name,
                "margin": self.rule.margin,
                "budget": self.rule.budget,
                "level": self.level,
                "seed": self.plan.seed,
                "keep": [self.names[f] for f in task.include],
                "drop": [n for f, n in enumerate(self.names) if f not in task.allowed],
                "treated": None if missing is None else missing.to_record(),
                "costs": self.costs.to_record(),
            },
            notes=self.notes,
            reference=reference_of(
                self.division.whole, chosen.features, self.plan.tune, self.plan.convention
            ),
        )

    def write_models(self, answer: Recommendation, directory: Path) -> None:
        """Write the selection, and the rankers for :func:`check`, trained on all queries."""
        if not answer.features:
            return
        selection = self._selection(answer)
        write_selection(selection, directory / SELECTION)
        whole = self.division.whole
        try:
            kept = self._ranking(tuple(sorted(answer.features))).train(whole)
            kept.save_model(directory / MODEL, selection=selection)
            self._ranking(self.task.allowed).train(whole).save_model(directory / MODEL_OF_ALL)
        except ValueError as error:
            answer.notes.append(f"No models were written: {error}")

    def seconds_of_models(self, limit: TimeLimit) -> float:
        """Estimate the seconds that it takes to train the two models to write."""
        return 2 * limit.expected(PlannedCell(TrainingSet(), self._ranking(self.task.allowed)))

    def _selection(self, answer: Recommendation) -> Selection:
        return Selection(
            method="recommend",
            parameters={"ranker": self.ranker, "margin": self.rule.margin},
            n_features_in=len(self.names),
            data=[answer.title],
            ranksieve=__version__,
            features=[
                SelectedFeature(kept.feature, self.names[kept.feature], kept.loss, "")
                for kept in answer.kept
            ],
            missing=self.division.whole.missing,
        )
