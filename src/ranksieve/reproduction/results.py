"""What a reproduction has found, beside what is published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ranksieve.rankers.registry import RANKERS
from ranksieve.reproduction.bests import Best, find_bests, validation_mean
from ranksieve.reproduction.collections import CollectionFacts
from ranksieve.reproduction.curves import Curves, Finding
from ranksieve.reproduction.paper import Asked, Paper
from ranksieve.reproduction.training import ranker_settings
from ranksieve.significance import relative_improvement, unified_rank
from ranksieve.study import Study, StudyResult
from ranksieve.study.results import BASE, RANDOM


class Number(NamedTuple):
    """A number of ours, the published one, and how near they should be; None if there is none."""

    ours: float | None
    published: float | None
    tolerance: float | None = None

    @property
    def difference(self) -> float | None:
        """Ours minus the published one, if there are both."""
        return None if None in self[:2] else self.ours - self.published  # type: ignore[operator]

    @property
    def is_within(self) -> bool | None:
        """Whether it is as near as asked; None if nothing is asked."""
        if self.difference is None or self.tolerance is None:
            return None
        return abs(self.difference) <= self.tolerance

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "published": self.published,
            "ours": self.ours,
            "difference": self.difference,
            "within": self.is_within,
        }


@dataclass(frozen=True)
class MethodOutcome:
    """What came out for one method.

    Attributes
    ----------
    values : mapping of str to sequence of sequences of float
        Measure -> ``[seed][fold]``, means over test queries; one seed if nothing is random.
    n_features : sequence of float
        Mean over the folds of the number of features, for each seed.
    chosen : sequence of mappings
        On each fold, what was chosen there; empty if a study knows it.
    models : sequence
        On each fold, what figures are drawn of, if anything.
    """

    values: Mapping[str, Sequence[Sequence[float]]]
    n_features: Sequence[float]
    chosen: Sequence[Mapping[str, Any]] = ()
    models: Sequence[Any] = ()


@dataclass(frozen=True)
class Reproduction:
    """Methods of a paper on a collection; made by :func:`ranksieve.reproduction.reproduce`.

    Attributes
    ----------
    paper : Paper
    facts : CollectionFacts
    outcomes : mapping of str to MethodOutcome
        By names of the paper's candidates; empty if a study has several rankers.
    study : StudyResult or None
    planned : Study or None
        What it is the result of, for figures of its data.
    """

    paper: Paper
    facts: CollectionFacts
    outcomes: Mapping[str, MethodOutcome]
    study: StudyResult | None = None
    planned: Study | None = None

    @property
    def is_published(self) -> bool:
        """Whether the paper has the collection."""
        paper, known_as = self.paper, self.facts.known_as
        counted = (known_as in numbers for numbers in paper.best_numbers.values())
        return any(known_as in t for t in (paper.on_folds, paper.means, paper.statements)) or any(
            counted
        )

    @property
    def shown(self) -> list[str]:
        """Methods with results, and those whose numbers are only printed."""
        printed = {
            name
            for name, candidate in self.paper.candidates.items()
            if candidate.train is None and self.paper.study is None
        }
        return [name for name in self.paper.candidates if name in {*self.outcomes, *printed}]

    def label(self, name: str) -> str:
        """What tables call a method."""
        return self.paper.candidates[name].label.format(n=self.facts.n_features) or name

    def asked(self, name: str) -> Asked | None:
        """How near a method is asked to be to what is published."""
        return self.paper.asked_of(name, self.facts.known_as)

    def note(self, name: str) -> str:
        """How a method was run, for readers."""
        candidate = self.paper.candidates[name]
        if not candidate.chosen:
            return candidate.note
        is_published = name in self.paper.settings.get(self.facts.known_as or "", {})
        how = f"LETOR's {candidate.chosen}" if is_published else f"{candidate.chosen} by validation"
        return f"{how}; {candidate.note}"

    def on_folds(self, name: str, measure: str) -> list[Number]:
        """A measure on each fold."""
        published = self._published(self.paper.on_folds, name, measure)
        if name not in self.outcomes:
            return [Number(None, value) for value in published or ()]
        seeds = self.outcomes[name].values[measure]
        ours = np.mean(seeds, axis=0).tolist()
        pairs = zip(ours, published or (None,) * len(ours), strict=True)
        tolerance = self._tolerance(name, measure, "folds")
        return [Number(value, theirs, tolerance) for value, theirs in pairs]

    def mean(self, name: str, measure: str) -> Number:
        """Mean over folds and seeds."""
        published = self._published(self.paper.means, name, measure)
        if name not in self.outcomes:
            return Number(None, published)
        ours = float(np.mean(self.of_seeds(name, measure)))
        return Number(ours, published, self._tolerance(name, measure, "mean"))

    def _published(self, table: Mapping[str, Any], name: str, measure: str) -> Any:
        printed = self.paper.candidates[name].stands_for or name
        return table.get(self.facts.known_as or "", {}).get(printed, {}).get(measure)

    def _tolerance(self, name: str, measure: str, what: str) -> float | None:
        asked = self.asked(name)
        return getattr(asked, what) if asked is not None and measure in asked.measures else None

    def of_seeds(self, name: str, measure: str) -> list[float]:
        """Mean over the folds, for each seed."""
        return [sum(folds) / len(folds) for folds in self.outcomes[name].values[measure]]

    def spread(self, name: str, measure: str) -> float | None:
        """Standard deviation over seeds, if there are several."""
        values = self.of_seeds(name, measure)
        return float(np.std(values, ddof=1)) if len(values) > 1 else None

    def verdicts(self, name: str) -> list[bool]:
        """For each number of a method that is asked to be near, whether it is."""
        numbers = (
            number
            for measure in self.paper.measures
            for number in (*self.on_folds(name, measure), self.mean(name, measure))
        )
        return [number.is_within for number in numbers if number.is_within is not None]

    def is_within(self, name: str) -> bool | None:
        """Whether all numbers of a method are as near as asked; None if nothing is asked."""
        verdicts = self.verdicts(name)
        return all(verdicts) if verdicts else None

    def published_choices(self, name: str) -> Sequence[Mapping[str, Any]] | None:
        """What the paper chose on the folds, if it says so."""
        return self.paper.choices.get(self.facts.known_as or "", {}).get(name)

    def same_features(self, name: str) -> list[bool] | None:
        """For each fold, whether ours are the published features in order, as far as printed."""
        published = self.published_choices(name)
        if published is None:
            return None
        return [
            ours["n_features"] == theirs["n_features"]
            and ours["features"][: len(theirs["features"])] == theirs["features"]
            for ours, theirs in zip(self.outcomes[name].chosen, published, strict=True)
        ]

    def improvement(self, name: str, measure: str) -> Number | None:
        """Improvement over all features in percent; None without these, or if they have 0."""
        if BASE not in self.outcomes:
            return None
        own, base = self.mean(name, measure), self.mean(BASE, measure)
        if own.ours is None or base.ours is None or base.ours <= 0:
            return None
        ours = relative_improvement(own.ours, base.ours)
        if own.published is None or base.published is None:
            return Number(ours, None)
        return Number(ours, relative_improvement(own.published, base.published))

    def random_below(self, name: str) -> float | None:
        """Share of the random orders with a smaller MAP; None without these.

        A reading of the paper has random orders of its own, tuned as it is.
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
        values = np.array(self.of_seeds(rivals[0], "MAP"))
        return float(np.mean(values < self.mean(name, "MAP").ours))

    def unified_ranks(self, table: str) -> dict[str, Number] | None:
        """Unified ranks of the methods of a table over this collection: ours and the paper's.

        None if one of the methods is missing.
        """
        names = list(self.paper.unified_ranks[table])
        if not set(names) <= set(self.outcomes):
            return None
        measures = self.paper.mean_measures
        ours = unified_rank([[self.mean(name, m).ours for m in measures] for name in names])
        known_as = self.facts.known_as or ""
        known = known_as in self.paper.means
        theirs = recompute_ranks(self.paper, table, [known_as]) if known else {}
        return {
            name: Number(value, theirs.get(name))
            for name, value in zip(names, ours.tolist(), strict=True)
        }

    def bests(self) -> list[Best]:
        """Numbers of features at the best result, if the paper prints such numbers."""
        if self.study is None or not self.paper.best_numbers:
            return []
        return find_bests(self.study, self.paper.best_numbers, self.facts.known_as or "")

    def findings(self) -> list[tuple[str, Finding]]:
        """What the paper says about this collection, and what is found."""
        statements = self.paper.statements.get(self.facts.known_as or "", ())
        if self.study is None or not statements:
            return []
        curves = Curves(self.study)
        return [(statement.paper, statement.find(curves)) for statement in statements]

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        verdicts = [verdict for name in self.outcomes for verdict in self.verdicts(name)]
        return {
            "paper": self.paper.name,
            **self.facts.as_dict(),
            "asked": len(verdicts),
            "within": sum(verdicts),
            "methods": {name: self._method_as_dict(name) for name in self.outcomes},
            "unified_ranks": {
                table: self._ranks_as_dict(table) for table in self.paper.unified_ranks
            },
            "best": [vars(best) for best in self.bests()],
            "findings": [
                {"paper": theirs, "ours": ours.text, "holds": ours.holds}
                for theirs, ours in self.findings()
            ],
            "study": None if self.study is None else _study_as_dict(self.study),
        }

    def _method_as_dict(self, name: str) -> dict[str, Any]:
        outcome, asked = self.outcomes[name], self.asked(name)
        candidate, published = self.paper.candidates[name], self.published_choices(name)
        settings = dict(candidate.settings)
        if candidate.train is not None and name in RANKERS:
            preset = RANKERS[name].preset
            settings = dict(preset) | ranker_settings(name, settings, self.facts.convention)
        return {
            "note": self.note(name),
            "settings": settings,
            "asked": None if asked is None else asked._asdict(),
            "within": self.is_within(name),
            "random_below": self.random_below(name),
            "n_features": list(outcome.n_features),
            "chosen": [dict(chosen) for chosen in outcome.chosen],
            "published_choices": None if published is None else [dict(own) for own in published],
            "same_features": self.same_features(name),
            "values": {measure: self._values_as_dict(name, measure) for measure in outcome.values},
        }

    def _values_as_dict(self, name: str, measure: str) -> dict[str, Any]:
        improvement = self.improvement(name, measure)
        return {
            "folds": [number.as_dict() for number in self.on_folds(name, measure)],
            "mean": self.mean(name, measure).as_dict(),
            "seeds": self.of_seeds(name, measure),
            "spread": self.spread(name, measure),
            "improvement": None if improvement is None else improvement.as_dict(),
        }

    def _ranks_as_dict(self, table: str) -> dict[str, Any]:
        here = self.unified_ranks(table)
        return {
            "printed": dict(self.paper.unified_ranks[table]),
            "recomputed": recompute_ranks(self.paper, table),
            "here": None if here is None else {n: rank.as_dict() for n, rank in here.items()},
        }


def recompute_ranks(
    paper: Paper, table: str, collections: Iterable[str] | None = None
) -> dict[str, float]:
    """Unified ranks of a table of a paper, from its rows for some collections, or for all.

    Examples
    --------
    >>> from ranksieve.reproduction import PAPERS
    >>> recompute_ranks(PAPERS["fs-scpr"], "Table 11")
    {'fsmrank': 17.5, 'fs-scpr': 15.5, 'gas-e': 9.5, 'fsmsvm': 8.0}
    """
    names = list(paper.unified_ranks[table])
    places = list(paper.means if collections is None else collections)
    cells = [(place, measure) for place in places for measure in paper.mean_measures]
    rows = [[paper.means[place][name][measure] for place, measure in cells] for name in names]
    return dict(zip(names, unified_rank(rows).round(10).tolist(), strict=True))


def _study_as_dict(study: StudyResult) -> dict[str, Any]:
    return {
        "protocol": study.protocol,
        "curves": {
            ranker: {
                measure: {
                    run.selector: {
                        "chosen": run.chosen.mean(measure),
                        "by_k": {
                            str(k): {
                                "validation": validation_mean(tested),
                                "test": tested.mean(measure),
                            }
                            for k, tested in run.by_k.items()
                        },
                    }
                    for run in study.of_ranker(ranker)
                }
                for measure in study.measures
            }
            for ranker in study.rankers
        },
    }
