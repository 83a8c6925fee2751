"""Sheets of greedy RankRLS beside its paper."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ranksieve.report.sheets.reproduction_numbers import WHOSE, setting_of
from ranksieve.report.sheets.sheet import Cell, Column, Row, Sheet
from ranksieve.reproduction.published_greedy_rankrls import FULL, GREEDY, MEASURES, RANKSVM

if TYPE_CHECKING:
    from ranksieve.reproduction import GreedyReproduction
    from ranksieve.reproduction.greedy_rankrls import FoldResult
    from ranksieve.reproduction.published_greedy_rankrls import Choice


def greedy_sheets(result: GreedyReproduction) -> list[Sheet]:
    """Test values on all folds (Tables 7 to 10), and what was chosen (Tables 1 and 2)."""
    setting = setting_of(result.facts)
    folds = [f"fold {number}" for number in range(1, len(result.folds) + 1)]
    values = Sheet(
        "greedy-rankrls-values",
        f"Greedy RankRLS on {result.facts.title}, paper and ours",
        setting,
        [
            Column("measure", align="left", is_name=True),
            Column("method", align="left", is_name=True),
            WHOSE,
            *map(Column, [*folds, "mean"]),
        ],
        [list(_values(result, measure)) for measure in MEASURES],
        _values_notes(result),
    )
    choices = Sheet(
        "greedy-rankrls-choices",
        f"Features of greedy RankRLS on {result.facts.title}",
        "Chosen by MAP on the validation queries.",
        [
            Column("fold", is_name=True),
            WHOSE,
            Column("lambda"),
            Column("features"),
            Column("in order", align="left", wraps=True),
            Column("lambda for all", f"lambda for all {result.facts.n_features}"),
        ],
        [list(_choices(result))],
        [*_verdicts(result)],
    )
    return [values, choices]


def _values(result: GreedyReproduction, measure: str) -> Iterator[Row]:
    shown = {GREEDY: "greedy", FULL: f"all {result.facts.n_features}"}
    for method, name in shown.items():
        paper = result.published(method, measure)
        names = [Cell(measure), Cell(name)]
        if paper is not None:
            yield [*names, Cell("paper"), *_with_mean(paper)]
        marks = ["" if same else "*" for same in result.agreeing(method, measure)]
        yield [*names, Cell("ours"), *_with_mean(result.values(method, measure), marks)]
    ranksvm = result.published(RANKSVM, measure)
    if ranksvm is not None:
        yield [Cell(measure), Cell(RANKSVM), Cell("paper"), *_with_mean(ranksvm)]


def _with_mean(values: Sequence[float], marks: Sequence[str] = ()) -> list[Cell]:
    """Values of the folds, with a mark on those that are not as published, and their mean."""
    padded = list(marks) or [""] * len(values)
    cells = [Cell(value, ".4f", mark=mark) for value, mark in zip(values, padded, strict=True)]
    return [*cells, Cell(sum(values) / len(values), ".4f")]


def _values_notes(result: GreedyReproduction) -> list[str]:
    notes = [f"greedy: selected features. all {result.facts.n_features}: RankRLS on all features."]
    if result.n_numbers:
        notes.append(
            "paper: Tables 7 to 10. *: differs in four digits. RankSVM is LETOR's, which "
            "reproduce rankers trains as ranksvm-struct."
        )
    return notes


def _choices(result: GreedyReproduction) -> Iterator[Row]:
    for place, fold in enumerate(result.folds):
        if result.published_choices is not None:
            yield _choice(place, "paper", result.published_choices[place], None)
        yield _choice(place, "ours", fold.choice, fold)


def _choice(place: int, whose: str, choice: Choice, fold: FoldResult | None) -> Row:
    more = " ..." if choice.n_features > len(choice.features) else ""
    return [
        Cell(place + 1),
        Cell(whose),
        Cell(_power(choice.lam)),
        Cell(choice.n_features),
        Cell(" ".join(map(str, choice.features)) + more),
        Cell("" if fold is None else _power(fold.full_lam)),
    ]


def _power(lam: float) -> str:
    return f"2^{math.log2(lam):g}"


def _verdicts(result: GreedyReproduction) -> Iterator[str]:
    if result.n_same_features is None:
        yield f"Nothing is published about {result.facts.title}"
        return
    yield "paper: Tables 1 (MQ2007) and 2 (MQ2008), of many features the first ten"
    yield f"{result.n_agreeing} of {result.n_numbers} numbers agree to four digits"
    same = f"The features of {result.n_same_features} of {len(result.folds)} folds"
    yield f"{same} are those of the paper, in order"
