"""Sheets of a reproduction: published numbers, ours, differences, and verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from ranksieve.report.sheets import reproduction_numbers as numbers
from ranksieve.report.sheets.reproduction_numbers import METHOD, SOURCE
from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet, name_column, text_column
from ranksieve.report.sheets.study_quality import curves_sheet
from ranksieve.reproduction import Reproduction
from ranksieve.reproduction.outcomes import Number
from ranksieve.reproduction.paper import FOUR_DIGITS
from ranksieve.text import quantity

_PARAMETERS = {
    "lam": "lambda",
    "n_features": "features",
    "n_rounds": "rounds",
    "best_round": "rounds",
    "best_epoch": "epochs",
    "best_iteration": "trees",
    "best_restart": "restart",
}
"""Names of parameters in tables."""
_IMPORTANCE = {"within tolerance": 3, "features": 1}


def reproduction_sheets(result: Reproduction) -> list[Sheet]:
    """All tables of a reproduction that are not empty.

    They are values on folds and means, how methods were run, the chosen parameters, and the
    statistics that the paper derives from these. The first has notes to read before comparing
    numbers.
    """
    sheets = [sheet for sheet in _sheets(result) if any(sheet.groups)]
    if result.facts.warning is not None:
        sheets[0] = replace(sheets[0], setting=f"{result.facts.warning} {sheets[0].setting}")
    if not result.is_published:
        note = f"Nothing is published about {result.facts.title}: its numbers have no verdict."
        sheets[-1] = replace(sheets[-1], notes=[*sheets[-1].notes, note])
    return sheets


def _sheets(result: Reproduction) -> Iterator[Sheet]:
    paper, study = result.paper, result.study
    if paper.fold_measures:
        yield numbers.folds_sheet(result)
    for number, (title, names) in enumerate(paper.groups.items(), start=1):
        shown = [name for name in result.shown if name in names]
        yield numbers.means_sheet(result, f"means-{number}", title, shown)
    if paper.mean_measures:
        yield numbers.improvements_sheet(result)
    yield _methods(result)
    yield _choices(result)
    yield _orders(result)
    for table in paper.unified_ranks:
        yield _ranks(result, table)
    yield numbers.best_numbers_sheet(result)
    yield numbers.printed_numbers_sheet(result)
    yield numbers.statements_sheet(result)
    if study is not None and paper.shows_curves:
        for ranker in study.rankers:
            yield curves_sheet(study, ranker, study.measures[0])
        if len(study.selectors) > 1:
            yield from (numbers.pairs_sheet(study, ranker) for ranker in study.rankers)


def _methods(result: Reproduction) -> Sheet:
    names = [name for name in result.shown if result.note(name)]
    columns = {
        "features": [Entry(_mean_number(result, n), ".1f") for n in names],
        "random below": [Entry(result.random_below(n), ".0%") for n in names],
        "tolerance of means": [Entry(_limit(result, n, "mean")) for n in names],
        "tolerance of folds": [Entry(_limit(result, n, "folds")) for n in names],
        "as published": [Entry(_judgment(result, n)) for n in names],
    }
    shown = {
        name: cells
        for name, cells in columns.items()
        if any(cell.value is not None for cell in cells)
    }
    settings = [Entry(result.note(name)) for name in names]
    labels = [Entry(result.label(name)) for name in names]
    rows = [list(row) for row in zip(labels, *shown.values(), settings, strict=True)]
    return Sheet(
        f"{result.paper.name}-methods",
        f"How methods were run on {result.facts.title}, and whether they are as published",
        "",
        [
            METHOD,
            *(Column(name, importance=_IMPORTANCE.get(name, 0)) for name in shown),
            text_column("settings", importance=2),
        ],
        [rows],
        [*_methods_notes(result, names)],
    )


def _methods_notes(result: Reproduction, names: Sequence[str]) -> Iterator[str]:
    yield "features: mean number over folds and seeds."
    if any(result.random_below(name) is not None for name in names):
        yield "random below: share of the random orders with a smaller MAP."
    if not result.is_published:
        return
    yield from result.paper.notes
    yield from _explain_judgments(result)
    counts = [(result.verdicts(name), result.n_undecided(name)) for name in result.counted]
    judged = [
        (verdicts, n_undecided) for verdicts, n_undecided in counts if verdicts or n_undecided
    ]
    if not judged:
        return
    n_within = sum(sum(verdicts) for verdicts, _ in judged)
    n_undecided = sum(own for _, own in judged)
    n_numbers = sum(len(verdicts) for verdicts, _ in judged) + n_undecided
    n_methods = sum(result.is_within(name) is True for name in result.counted)
    note = (
        f"Within the tolerance: {n_within} of {n_numbers} published numbers, and all numbers of "
        f"{n_methods} of {len(judged)} methods."
    )
    if n_undecided:
        base = result.label(result.paper.base)
        note += f" {quantity(n_undecided, 'more number')} cannot be told apart from {base}."
    yield note


def _explain_judgments(result: Reproduction) -> Iterator[str]:
    """Explain the words of the column ``as published``."""
    judgments = {result.judgment(name) for name in result.outcomes}
    if "unpublished" in judgments:
        yield "unpublished: there is no published number to compare with."
    if any(map(result.is_judged_by_noise, result.outcomes)):
        base = result.label(result.paper.base)
        yield (
            "noise: half the width of the 95 % confidence interval of the difference between our "
            f"method and {base}, over the test queries. It is the tolerance of methods whose "
            "published runs cannot be repeated exactly."
        )
        yield (
            "cannot tell: our numbers are within the noise of the paper's, but the paper's numbers "
            f"of {base} are within the noise of these or of ours, so that {base} would pass for "
            "the method. If that is true of some numbers only, the others are counted."
        )
    needed = f"needs {result.paper.base}"
    if needed in judgments:
        yield f"{needed}: without it, the noise is not known."


def _judgment(result: Reproduction, name: str) -> str | None:
    is_judged = result.is_published and name in result.outcomes
    return result.judgment(name) if is_judged else None


def _mean_number(result: Reproduction, name: str) -> float | None:
    """Mean number of features; None for methods whose numbers are only printed."""
    if name not in result.outcomes:
        return None
    means_by_seed = result.outcomes[name].n_features
    return sum(means_by_seed) / len(means_by_seed)


def _limit(result: Reproduction, name: str, what: Literal["mean", "folds"]) -> str | None:
    """Tolerance of means or of folds, as text."""
    if what == "mean" and result.is_judged_by_noise(name):
        return "noise"
    limit = getattr(result.tolerance(name), what, None)
    if limit is None or (what == "folds" and not result.paper.fold_measures):
        return None
    return "4 digits" if limit == FOUR_DIGITS else f"{limit:g}"


def _choices(result: Reproduction) -> Sheet:
    rows: list[Row] = []
    chosen = {name: own.chosen for name, own in result.outcomes.items() if any(own.chosen)}
    for name, ours in chosen.items():
        for parameter in ours[0]:
            if parameter == "features":  # see _orders
                continue
            first = [Entry(result.label(name)), Entry(_PARAMETERS.get(parameter, parameter))]
            for source, folds in _sources(result, name):
                texts = [_format_choice(own, parameter) for own in folds]
                rows.append([*first, Entry(source), *map(Entry, texts)])
    n_folds = max((len(ours) for ours in chosen.values()), default=0)
    return Sheet(
        f"{result.paper.name}-choices",
        f"What was chosen on the folds of {result.facts.title}",
        "As published for the fold, or otherwise chosen by MAP on the validation queries.",
        [
            METHOD,
            name_column("chosen"),
            SOURCE,
            *(Column(f"fold {number}") for number in range(1, n_folds + 1)),
        ],
        [rows],
    )


def _orders(result: Reproduction) -> Sheet:
    """The features of each fold, which may be many, in the order of choice."""
    groups, notes = [], []
    for name, outcome in result.outcomes.items():
        if not any("features" in own for own in outcome.chosen):
            continue
        folds = enumerate(zip(*(own for _, own in _sources(result, name)), strict=True), start=1)
        sources = [source for source, _ in _sources(result, name)]
        groups.append(
            [
                [
                    Entry(result.label(name)),
                    Entry(f"fold {number}"),
                    Entry(source),
                    Entry(_format_choice(own, "features")),
                ]
                for number, both in folds
                for source, own in zip(sources, both, strict=True)
            ]
        )
        same = result.same_features(name)
        if same is not None:
            notes.append(
                f"The features of {sum(same)} of {len(same)} folds are those of the paper, in the "
                "same order."
            )
    return Sheet(
        f"{result.paper.name}-features",
        f"Features in the order of choice on the folds of {result.facts.title}",
        "",
        [METHOD, name_column("fold"), SOURCE, text_column("features")],
        groups,
        notes,
    )


def _sources(result: Reproduction, name: str) -> list[tuple[str, Sequence[Any]]]:
    """Choices of a method on the folds: those of the paper, if they are published, and ours."""
    published = result.published_choices(name)
    ours = ("ours", result.outcomes[name].chosen)
    return [ours] if published is None else [("paper", published), ours]


def _format_choice(chosen: Any, parameter: str) -> str:
    value = chosen[parameter]
    if parameter == "lam":
        return f"2^{math.log2(value):g}"
    if parameter == "features":
        more = " ..." if chosen["n_features"] > len(value) else ""
        return " ".join(map(str, value)) + more
    return f"{value:g}"


def _ranks(result: Reproduction, table: str) -> Sheet:
    here = result.unified_ranks(table) or {}
    paper, recomputed = result.paper, result.paper.recompute_ranks(table)
    rows = []
    for name, printed in paper.unified_ranks[table].items():
        rank = here.get(name, Number(None, None))
        rows.append(
            [
                Entry(result.label(name)),
                Entry(printed, ".1f"),
                Entry(recomputed[name], ".1f"),
                Entry(rank.published, ".2f"),
                Entry(rank.ours, ".2f"),
                numbers.difference_cell(rank, ".2f"),
            ]
        )
    n_measures = len(paper.mean_measures)
    notes = [
        f"printed, recomputed: over {', '.join(paper.means)}, {len(paper.means) * n_measures} "
        f"cells; paper, ours, diff: over the {n_measures} measures of {result.facts.title} alone."
    ]
    if not here:
        notes.append(f"ours: only if all {len(rows)} methods are run.")
    return Sheet(
        f"{paper.name}-unified-rank-{table.split()[-1]}",
        f"Unified ranks of {table}",
        f"One number for {len(rows)} methods, from their ranks in every cell of a collection and "
        "a measure; the best possible one is the number of cells.",
        [METHOD, *map(Column, ("printed", "recomputed", "paper", "ours", "diff"))],
        [rows],
        notes,
    )
