"""Convert a reproduction to JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ranksieve.rankers.registry import RANKERS
from ranksieve.reproduction.bests import validation_mean
from ranksieve.reproduction.training import ranker_settings
from ranksieve.study import StudyResult

if TYPE_CHECKING:
    from ranksieve.reproduction.results import Reproduction


def as_dict(result: Reproduction) -> dict[str, Any]:
    """Convert all numbers, ours and published, and the verdicts about them to JSON values."""
    verdicts = [verdict for name in result.outcomes for verdict in result.verdicts(name)]
    return {
        "paper": result.paper.name,
        **result.facts.as_dict(),
        "asked": len(verdicts),
        "within": sum(verdicts),
        "methods": {name: _method(result, name) for name in result.outcomes},
        "unified_ranks": {table: _ranks(result, table) for table in result.paper.unified_ranks},
        "best": [best.as_dict() for best in result.bests()],
        "findings": [
            {"paper": theirs, "ours": ours.text, "holds": ours.holds}
            for theirs, ours in result.findings()
        ],
        "study": None if result.study is None else _study(result.study),
    }


def _method(result: Reproduction, name: str) -> dict[str, Any]:
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
        "random_below": result.random_below(name),
        "n_features": list(outcome.n_features),
        "chosen": [dict(chosen) for chosen in outcome.chosen],
        "published_choices": None if published is None else [dict(choice) for choice in published],
        "same_features": result.same_features(name),
        "values": {measure: _values(result, name, measure) for measure in outcome.values},
    }


def _values(result: Reproduction, name: str, measure: str) -> dict[str, Any]:
    improvement = result.improvement(name, measure)
    return {
        "folds": [number.as_dict() for number in result.on_folds(name, measure)],
        "mean": result.mean(name, measure).as_dict(),
        "seeds": result.of_seeds(name, measure),
        "spread": result.spread(name, measure),
        "improvement": None if improvement is None else improvement.as_dict(),
    }


def _ranks(result: Reproduction, table: str) -> dict[str, Any]:
    here = result.unified_ranks(table)
    return {
        "printed": dict(result.paper.unified_ranks[table]),
        "recomputed": result.paper.recompute_ranks(table),
        "here": None if here is None else {name: rank.as_dict() for name, rank in here.items()},
    }


def _study(study: StudyResult) -> dict[str, Any]:
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
