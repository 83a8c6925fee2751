"""Sheets of rankers beside their published results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranksieve.report.sheets.reproduction_numbers import WHOSE, rows_beside, setting_of
from ranksieve.report.sheets.sheet import Cell, Column, Row, Sheet
from ranksieve.reproduction.rankers import FOUR_DIGITS

if TYPE_CHECKING:
    from ranksieve.reproduction import RankersReproduction

RANKER = Column("ranker", align="left", is_name=True)
AVERAGED = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MAP")


def rankers_sheets(result: RankersReproduction) -> list[Sheet]:
    """MAP on all folds, means of the folds, and how near they are asked to be."""
    title = result.facts.title
    n_folds = len(next(iter(result.results.values())).chosen)
    columns = [*(f"fold {number}" for number in range(1, n_folds + 1)), "mean"]
    on_folds = Sheet(
        "rankers-folds",
        f"MAP of rankers on the test queries of {title}, published and ours",
        setting_of(result.facts, ", but for what the settings below say"),
        [RANKER, WHOSE, *map(Column, columns)],
        [
            [
                row
                for name in result.results
                for row in rows_beside(
                    [name], [*result.on_folds(name, "MAP"), result.mean(name, "MAP")], ".4f"
                )
            ]
        ],
        ["apart: ours minus published; -: not published; *: further than asked (below)."],
    )
    means = Sheet(
        "rankers-means",
        f"Means of the folds of {title}, published and ours",
        "Measured as above.",
        [RANKER, WHOSE, *map(Column, AVERAGED)],
        [
            [
                row
                for name in result.results
                for row in rows_beside([name], [result.mean(name, m) for m in AVERAGED], ".4f")
            ]
        ],
    )
    return [on_folds, means, _settings(result)]


def _settings(result: RankersReproduction) -> Sheet:
    verdicts = [result.is_within(name) for name in result.results]
    asked = [verdict for verdict in verdicts if verdict is not None]
    notes = ["For rankrls and ranksvm, all other published measures are asked to be as near."]
    notes.append(f"As near as asked: {sum(asked)} of {len(asked)} with published results")
    return Sheet(
        "rankers-settings",
        f"How rankers were trained on {result.facts.title}",
        "And how near MAP is asked to be to what is published." if asked else "",
        [
            RANKER,
            Column("mean", align="left"),
            Column("folds", align="left"),
            Column("holds", align="left"),
            Column("settings", align="left", wraps=True),
        ],
        [[_row(result, name) for name in result.results]],
        notes if asked else (),
    )


def _row(result: RankersReproduction, name: str) -> Row:
    asked = result.asked(name)
    limits = (None, None) if asked is None else (asked.mean, asked.folds)
    words = {True: "yes", False: "no", None: None}
    return [
        Cell(name),
        *(Cell(_limit(limit)) for limit in limits),
        Cell(words[result.is_within(name)]),
        Cell(result.note(name)),
    ]


def _limit(tolerance: float | None) -> str | None:
    if tolerance is None:
        return None
    return "4 digits" if tolerance == FOUR_DIGITS else f"{tolerance:g}"
