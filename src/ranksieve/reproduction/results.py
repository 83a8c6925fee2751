"""The results of a reproduction, compared with the published ones, and as JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from ranksieve.rankers.registry import RANKERS
from ranksieve.reproduction.collections import CollectionFacts
from ranksieve.reproduction.outcomes import (
    LEVEL,
    Best,
    MethodOutcome,
    Number,
    find_bests,
    validation_mean,
)
from ranksieve.reproduction.paper import FeatureStatement, Paper, Statement, Tolerance
from ranksieve.reproduction.statements import Curves, Features, Finding
from ranksieve.reproduction.training import ranker_settings
from ranksieve.significance import relative_improvement, unified_rank
from ranksieve.significance.samples import paired_differences
from ranksieve.study import Study, StudyResult
from ranksieve.study.results import BASE, RANDOM, Run


@dataclass(frozen=True)
class Reproduction:
    """Results of :func:`ranksieve.reproduction.reproduce`: methods of a paper on a collection."""

    paper: Paper
    facts: CollectionFacts
    # By candidate of the paper; without selectors if a study has several rankers.
    outcomes: Mapping[str, MethodOutcome]
    study: StudyResult | None = None
    # The study behind ``study``, for figures of its data and statements about its features.
    planned: Study | None = None

    @property
    def is_published(self) -> bool:
        """Whether the paper has results on the collection."""
        paper = self.paper
        tables = (paper.on_folds, paper.means, paper.statements, *paper.best_numbers.values())
        return any(self.facts.known_as in table for table in tables)

    @property
    def shown(self) -> list[str]:
        """Methods with results, and those with published numbers only."""
        return [
            name
            for name, candidate in self.paper.candidates.items()
            if name in self.outcomes or (candidate.train is None and self.paper.study is None)
        ]

    def label(self, name: str) -> str:
        """Return the name of a method in tables."""
        return self.paper.candidates[name].label.format(n=self.facts.n_features) or name

    def tolerance(self, name: str) -> Tolerance | None:
        """Return the tolerance of a method whose published run can be repeated; else None."""
        candidate = self.paper.candidates[name]
        can_repeat = not candidate.chosen or self._has_settings(name)
        return candidate.tolerance if can_repeat and self._has_numbers(name) else None

    def noise(self, name: str, measure: str) -> float | None:
        """Return the tolerance of other methods; None if there are no values to compare.

        That is half the width of the 95 % confidence interval, over test queries, of the
        difference between our method and our ranker on all features.
        """
        base = self.paper.base
        if name == base or not {name, base} <= set(self.outcomes):
            return None
        ours, bases = (self.outcomes[own].per_query.get(measure) for own in (name, base))
        if ours is None or bases is None:
            return None
        differences = paired_differences(np.concatenate(ours), np.concatenate(bases))
        return differences.half_width(1 - LEVEL)

    def is_judged_by_noise(self, name: str) -> bool:
        """Whether a method has published means, and the noise is their tolerance."""
        return name in self.outcomes and any(
            self.mean(name, measure).rival is not None for measure in self.paper.measures
        )

    def note(self, name: str) -> str:
        """Describe how a method was run, for readers."""
        candidate = self.paper.candidates[name]
        if not candidate.chosen:
            return candidate.note
        source = "LETOR's {}" if self._has_settings(name) else "{} chosen by validation"
        return f"{source.format(candidate.chosen)}; {candidate.note}"

    def _has_settings(self, name: str) -> bool:
        return name in self.paper.settings.get(self.facts.known_as or "", {})

    def _has_numbers(self, name: str) -> bool:
        """Whether there are published numbers of a method on the collection."""
        tables = (self.paper.on_folds, self.paper.means)
        return any(
            self._published(table, name, measure) is not None
            for table in tables
            for measure in self.paper.measures
        )

    def on_folds(self, name: str, measure: str) -> list[Number]:
        """Return a measure on each fold, ours and published."""
        published = self._published(self.paper.on_folds, name, measure)
        if name not in self.outcomes:
            return [Number(None, value) for value in published or ()]
        seeds = self.outcomes[name].values[measure]
        ours = np.mean(seeds, axis=0).tolist()
        pairs = zip(ours, published or (None,) * len(ours), strict=True)
        tolerance = self._limit(name, measure, "folds")
        return [Number(value, theirs, tolerance) for value, theirs in pairs]

    def mean(self, name: str, measure: str) -> Number:
        """Return the mean over folds and seeds, ours and published."""
        published = self._published(self.paper.means, name, measure)
        if name not in self.outcomes:
            return Number(None, published)
        ours = float(np.mean(self.means_by_seed(name, measure)))
        noise = self.noise(name, measure)
        if self.tolerance(name) is not None or published is None or noise is None:
            return Number(ours, published, self._limit(name, measure, "mean"))
        rival = self._published(self.paper.means, self.paper.base, measure)
        if rival is None:
            rival = float(np.mean(self.means_by_seed(self.paper.base, measure)))
        return Number(ours, published, noise, rival)

    def _published(self, table: Mapping[str, Any], name: str, measure: str) -> Any:
        printed = self.paper.candidates[name].stands_for or name
        return table.get(self.facts.known_as or "", {}).get(printed, {}).get(measure)

    def _limit(self, name: str, measure: str, what: Literal["mean", "folds"]) -> float | None:
        tolerance = self.tolerance(name)
        if tolerance is None or measure not in tolerance.measures:
            return None
        return tolerance.mean if what == "mean" else tolerance.folds

    def means_by_seed(self, name: str, measure: str) -> list[float]:
        """Return the mean over the folds for each seed."""
        return [sum(folds) / len(folds) for folds in self.outcomes[name].values[measure]]

    def spread(self, name: str, measure: str) -> float | None:
        """Return the standard deviation over seeds; None if there is one seed."""
        values = self.means_by_seed(name, measure)
        return float(np.std(values, ddof=1)) if len(values) > 1 else None

    def verdicts(self, name: str) -> list[bool]:
        """Return, for each number that can be judged, whether it is within the tolerance."""
        verdicts = (number.is_within for number in self._numbers(name))
        return [verdict for verdict in verdicts if verdict is not None]

    def n_undecided(self, name: str) -> int:
        """Count the numbers that cannot be told apart from those of the ranker on all features."""
        return sum(number.is_undecided for number in self._numbers(name))

    def _numbers(self, name: str) -> Iterator[Number]:
        for measure in self.paper.measures:
            yield from self.on_folds(name, measure)
            yield self.mean(name, measure)

    def is_within(self, name: str) -> bool | None:
        """Whether all numbers of a method are within their tolerance.

        None if none has a tolerance, or if no number is outside but some are undecided.
        """
        verdicts = self.verdicts(name)
        if not verdicts or (all(verdicts) and self.n_undecided(name)):
            return None
        return all(verdicts)

    def judgment(self, name: str) -> str:
        """Say whether a method is as published, or why that cannot be said."""
        is_within = self.is_within(name)
        if is_within is not None:
            return "yes" if is_within else "no"
        n_within, n_undecided = len(self.verdicts(name)), self.n_undecided(name)
        if n_undecided:
            return f"{n_within} of {n_within + n_undecided}" if n_within else "cannot tell"
        return f"needs {self.paper.base}" if self._has_numbers(name) else "unpublished"

    @property
    def counted(self) -> list[str]:
        """Methods whose published numbers are counted.

        Two readings of a method are compared with the same numbers, which count once: for the first
        reading.
        """
        candidates = self.paper.candidates
        return [name for name in self.outcomes if candidates[name].stands_for not in self.outcomes]

    def published_choices(self, name: str) -> Sequence[Mapping[str, Any]] | None:
        """Return the published choices on the folds; None if the paper has none."""
        return self.paper.choices.get(self.facts.known_as or "", {}).get(name)

    def same_features(self, name: str) -> list[bool] | None:
        """Return whether our features on each fold equal those that the paper prints, in order."""
        published = self.published_choices(name)
        if published is None:
            return None
        return [
            ours["n_features"] == theirs["n_features"]
            and ours["features"][: len(theirs["features"])] == theirs["features"]
            for ours, theirs in zip(self.outcomes[name].chosen, published, strict=True)
        ]

    def improvement(self, name: str, measure: str) -> Number | None:
        """Return the improvement over all features in percent; None if it is undefined."""
        if BASE not in self.outcomes:
            return None
        mean, base = self.mean(name, measure), self.mean(BASE, measure)
        if mean.ours is None or base.ours is None or base.ours <= 0:
            return None
        ours = relative_improvement(mean.ours, base.ours)
        if mean.published is None or base.published is None:
            return Number(ours, None)
        return Number(ours, relative_improvement(mean.published, base.published))

    def random_below(self, name: str) -> float | None:
        """Return the share of random orders with a smaller MAP; None if there are none.

        A paper without MAP is compared by its first measure. Each reading of the paper has separate
        random orders, which are tuned in the same way.
        """
        paper = self.paper
        rivals = [
            other
            for other in self.outcomes
            if RANDOM in (other, paper.candidates[other].stands_for)
            and paper.study_of(other) == paper.study_of(name)
        ]
        if not rivals or name in rivals:
            return None
        measure = "MAP" if "MAP" in paper.measures else paper.measures[0]
        values = np.array(self.means_by_seed(rivals[0], measure))
        return float(np.mean(values < self.mean(name, measure).ours))

    def unified_ranks(self, table: str) -> dict[str, Number] | None:
        """Return unified ranks of the methods of a table on this collection, ours and published.

        None if one of the methods is missing.
        """
        names = list(self.paper.unified_ranks[table])
        if not set(names) <= set(self.outcomes):
            return None
        measures = self.paper.mean_measures
        ours = unified_rank([[self.mean(name, m).ours for m in measures] for name in names])
        known_as = self.facts.known_as or ""
        is_known = known_as in self.paper.means
        theirs = self.paper.recompute_ranks(table, [known_as]) if is_known else {}
        return {
            name: Number(value, theirs.get(name))
            for name, value in zip(names, ours.tolist(), strict=True)
        }

    def bests(self) -> list[Best]:
        """Find the best numbers of features, if the paper prints such numbers."""
        if self.study is None or not self.paper.best_numbers:
            return []
        return find_bests(self.study, self.paper.best_numbers, self.facts.known_as or "")

    def findings(self) -> list[tuple[str, Finding]]:
        """Check the statements of the paper about this collection, or the general ones."""
        paper = self.paper
        statements = paper.statements.get(self.facts.known_as or "", paper.general_statements)
        if self.study is None or not statements:
            return []
        of_features = [one for one in statements if isinstance(one, FeatureStatement)]
        checked_on: dict[type, Any] = {Statement: Curves(self.study)}
        if self.planned is not None and of_features:
            train = self.planned.trials[0].open().train
            checked_on[FeatureStatement] = Features.measure(train, self.facts.convention)
        return [
            (one.paper, one.find(checked_on[type(one)]))
            for one in statements
            if type(one) in checked_on
        ]

    def as_dict(self) -> dict[str, Any]:
        """Convert all numbers, ours and published, and the verdicts about them to JSON values."""
        verdicts = [verdict for name in self.counted for verdict in self.verdicts(name)]
        n_undecided = sum(map(self.n_undecided, self.counted))
        return {
            "paper": self.paper.name,
            **self.facts.as_dict(),
            "asked": len(verdicts) + n_undecided,
            "within": sum(verdicts),
            "undecided": n_undecided,
            "methods": {name: _method_values(self, name) for name in self.outcomes},
            "unified_ranks": {
                table: _rank_values(self, table) for table in self.paper.unified_ranks
            },
            "best": [asdict(best) for best in self.bests()],
            "findings": [
                {"paper": theirs, "ours": ours.text, "holds": ours.holds}
                for theirs, ours in self.findings()
            ],
            "study": None if self.study is None else _study_values(self.study),
        }


def _method_values(result: Reproduction, name: str) -> dict[str, Any]:
    outcome, tolerance = result.outcomes[name], result.tolerance(name)
    candidate, published = result.paper.candidates[name], result.published_choices(name)
    settings = dict(candidate.settings)
    if candidate.train is not None and name in RANKERS:
        preset = RANKERS[name].preset
        settings = dict(preset) | ranker_settings(name, settings, result.facts.convention)
    return {
        "note": result.note(name),
        "settings": settings,
        "asked": None if tolerance is None else tolerance._asdict(),
        "within": result.is_within(name),
        "judgment": result.judgment(name) if result.is_published else None,
        "random_below": result.random_below(name),
        "n_features": list(outcome.n_features),
        "chosen": [dict(chosen) for chosen in outcome.chosen],
        "published_choices": None if published is None else [dict(choice) for choice in published],
        "same_features": result.same_features(name),
        "values": {measure: _measure_values(result, name, measure) for measure in outcome.values},
    }


def _measure_values(result: Reproduction, name: str, measure: str) -> dict[str, Any]:
    improvement = result.improvement(name, measure)
    return {
        "folds": [number.as_dict() for number in result.on_folds(name, measure)],
        "mean": result.mean(name, measure).as_dict(),
        "seeds": result.means_by_seed(name, measure),
        "spread": result.spread(name, measure),
        "improvement": None if improvement is None else improvement.as_dict(),
    }


def _rank_values(result: Reproduction, table: str) -> dict[str, Any]:
    here = result.unified_ranks(table)
    return {
        "printed": dict(result.paper.unified_ranks[table]),
        "recomputed": result.paper.recompute_ranks(table),
        "here": None if here is None else {name: rank.as_dict() for name, rank in here.items()},
    }


def _study_values(study: StudyResult) -> dict[str, Any]:
    curves = {
        ranker: {
            measure: {run.selector: _curve(run, measure) for run in study.runs_with(ranker)}
            for measure in study.measures
        }
        for ranker in study.rankers
    }
    return {"protocol": study.protocol, "curves": curves}


def _curve(run: Run, measure: str) -> dict[str, Any]:
    by_k = {
        str(k): {"validation": validation_mean(tested), "test": tested.mean(measure)}
        for k, tested in run.by_k.items()
    }
    return {"chosen": run.chosen.mean(measure), "by_k": by_k}
