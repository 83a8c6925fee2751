"""Sheet of the queries that lose and gain most by a selection: a mean hides them."""

from __future__ import annotations

import numpy as np

from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet, name_column
from ranksieve.report.sheets.study_captions import setting_of, stem
from ranksieve.study.results import BASE, Run, StudyResult


def queries_sheet(
    result: StudyResult, ranker: str, measure: str | None = None, n_shown: int = 5
) -> Sheet:
    """The queries that lose and gain most against all features, by selector.

    Parameters
    ----------
    result : StudyResult
        All features must be in it.
    ranker : str
    measure : str, optional
        By default the main measure.
    n_shown : int
        How many of each kind, for each selector.
    """
    name = result.main_measure if measure is None else measure
    base = result.run(BASE, ranker)
    groups = [
        _rows(result, run, base, name, n_shown)
        for run in result.of_ranker(ranker)
        if run.selector != BASE
    ]
    return Sheet(
        stem("queries", ranker),
        f"Queries that lose and gain most {name} with {ranker} on {result.title}",
        setting_of(result),
        [
            name_column("selector"),
            name_column("query"),
            Column("difference"),
            Column(name, group="values"),
            Column("all features", group="values"),
        ],
        [group for group in groups if group],
        [
            f"difference: {name} with the selected features minus that with all features, averaged "
            f"over seeds; at most {n_shown} losses and {n_shown} gains for each selector."
        ],
    )


def _rows(result: StudyResult, run: Run, base: Run, measure: str, n_shown: int) -> list[Row]:
    own, with_all = (one.chosen.per_query(measure) for one in (run, base))
    differences = own - with_all
    order = np.argsort(differences, kind="stable")
    losses = [place for place in order[:n_shown] if differences[place] < 0]
    gains = [place for place in order[::-1][:n_shown] if differences[place] > 0]
    return [
        [
            Entry(run.selector),
            Entry(str(result.query_ids[place])),
            Entry(float(differences[place]), "+z.4f"),
            Entry(float(own[place]), ".4f"),
            Entry(float(with_all[place]), ".4f"),
        ]
        for place in [*losses, *gains]
    ]
