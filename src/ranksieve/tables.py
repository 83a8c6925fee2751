"""Results as tables that fit a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ranksieve.inspection import Inspection
    from ranksieve.io.selection import Selection
    from ranksieve.metrics import Evaluation
    from ranksieve.registry import Registry
    from ranksieve.reproduction import (
        GreedyReproduction,
        RankersReproduction,
        SelectorsReproduction,
    )
    from ranksieve.reproduction.rankers import Number


def show(table: Table | Group) -> None:
    """Print on standard output; names are shown as they are, whatever marks they contain."""
    Console(highlight=False, markup=False, emoji=False).print(table)


def inspection_tables(title: str, found: Inspection, top: int) -> Group:
    """What was found in the data, and its ``top`` best single features."""
    facts = Table(show_header=False, box=None, pad_edge=False)
    facts.add_column()
    facts.add_column(overflow="fold")
    for name, text in _facts(found):
        facts.add_row(name, text)
    if found.best_features is None:
        return Group(_heading(title), facts)
    what = f"Best single features by {found.measure} ({found.convention}, ties averaged)"
    return Group(_heading(title), facts, Text(), _heading(what), _best_features(found, top))


def _heading(text: str) -> Text:
    return Text(text, style="bold", no_wrap=True, overflow="fold")


def _best_features(found: Inspection, top: int) -> Table:
    assert found.best_features is not None
    table = Table(box=None, pad_edge=False)
    table.add_column("feature", overflow="fold")
    table.add_column("order")
    table.add_column(found.measure, justify="right")
    table.add_column("")
    for feature in found.best_features[:top]:
        bar = "#" * round(30 * min(1.0, feature.value))
        table.add_row(feature.name, feature.direction, f"{feature.value:.4f}", bar)
    return table


def _facts(found: Inspection) -> Iterator[tuple[str, str]]:
    """Lines of the first table: what it is, and in words how much of it there is."""
    length = found.documents_per_query
    total = found.n_rows
    yield "rows", f"{total:,}"
    yield "queries", f"{found.n_queries:,}"
    yield "features", f"{found.n_features:,} ({found.density:.0%} of the values are not zero)"
    shares = (f"{label:g}: {n:,} ({n / total:.1%})" for label, n in found.labels.items())
    yield "labels", ", ".join(shares) if len(found.labels) <= 12 else f"{len(found.labels)} values"
    yield (
        "documents per query",
        f"{length['min']:g} to {length['max']:g}, "
        f"median {length['median']:g}, mean {length['mean']:.1f}",
    )
    yield "one-document queries", f"{found.n_single:,}"
    without = found.n_without_relevant
    yield "no relevant document", f"{without:,} queries ({without / found.n_queries:.1%})"
    if found.n_missing:
        yield "missing values", f"{found.n_missing:,}: features are not compared"
    yield "constant features", _listing(found.constant)
    if found.constant_in_queries is not None:
        yield "constant in each query", _listing(found.constant_in_queries)
    yield "duplicated features", _listing([" = ".join(group) for group in found.duplicates])
    if found.near_duplicates is not None:
        pairs = [f"{p.first} ~ {p.second} ({p.correlation:.4f})" for p in found.near_duplicates]
        yield "nearly duplicated", _listing(pairs)
    elif not found.n_missing:
        yield "nearly duplicated", "not looked for: too many features"


def _listing(items: list[str], most: int = 8) -> str:
    if not items:
        return "none"
    more = f", and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more


def evaluation_table(result: Evaluation, per_query: bool) -> Table:
    """Means of the measures, after the values of every query if they are wanted."""
    table = Table(box=None, pad_edge=False)
    table.add_column(f"convention {result.convention}", overflow="fold")
    for name in result.mean:
        table.add_column(name, justify="right")
    if per_query:
        columns = zip(*result.per_query.values(), strict=True)
        for query, values in zip(result.query_ids.tolist(), columns, strict=True):
            table.add_row(str(query), *(f"{value:.4f}" for value in values))
    label = f"mean of {len(result.query_ids):,} queries"
    table.add_row(label, *(f"{value:.4f}" for value in result.mean.values()))
    return table


def selection_table(title: str, selection: Selection, changed: Mapping[str, Any]) -> Group:
    """The features selected, best first; ``changed`` are the parameters worth naming."""
    what = _named(selection.method, changed)
    number = f"{len(selection.features):,} of {selection.n_features_in:,} features"
    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="right")
    table.add_column("feature", overflow="fold")
    scores = [abs(feature.score) for feature in selection.features if feature.score is not None]
    # Four decimals line up; they would hide small scores, and drown in large ones.
    form = ".4f" if 0.1 <= max(scores, default=0) < 1e4 else ".4g"
    with_reasons = any(feature.reason for feature in selection.features)
    if scores:
        table.add_column("score", justify="right", no_wrap=True)
    if with_reasons:
        table.add_column("reason", overflow="fold")
    for rank, feature in enumerate(selection.features, start=1):
        cells = [str(rank), feature.name]
        if scores:
            cells.append("" if feature.score is None else format(feature.score, form))
        if with_reasons:
            cells.append(feature.reason)
        table.add_row(*cells)
    return Group(_heading(f"{what}: {number} of {title}"), table)


def training_table(
    ranker: str,
    n_features: int,
    changed: Mapping[str, Any],
    measured: Mapping[str, Mapping[str, float]],
    convention: str,
) -> Group:
    """How well a trained ranker ranks each of some data; ``changed`` as in selection_table."""
    table = Table(box=None, pad_edge=False)
    table.add_column(f"convention {convention}", overflow="fold")
    for name in next(iter(measured.values())):
        table.add_column(name, justify="right")
    for place, values in measured.items():
        table.add_row(place, *(f"{value:.4f}" for value in values.values()))
    return Group(_heading(f"{_named(ranker, changed)}, trained on {n_features:,} features"), table)


def _named(method: str, changed: Mapping[str, Any]) -> str:
    """A method with the parameters worth naming."""
    named = ", ".join(f"{name}={value}" for name, value in changed.items())
    return method + (f" ({named})" if named else "")


def registry_table(registry: Registry) -> Table:
    """Names of methods or rankers and what they do."""
    table = Table(box=None, pad_edge=False)
    table.add_column(registry.what, no_wrap=True)
    table.add_column("what it goes by", overflow="fold")
    for name, method in registry.items():
        table.add_row(name, method.description)
    return table


def greedy_reproduction_tables(result: GreedyReproduction) -> Group:
    """Published numbers and ours, side by side, and how many agree."""
    same = f"The features of {result.n_same_features} of {len(result.folds)} folds"
    return Group(
        _heading("Greedy RankRLS on MQ2008, paper and ours"),
        Text("Selected features, and RankRLS on all of them; measured on the test queries as"),
        Text("LETOR 4.0 does, with equal scores in the order of the files; * differs"),
        Text(),
        _reproduced_values(result),
        Text(),
        _heading("Chosen by MAP on the validation queries"),
        _reproduced_choices(result),
        Text(),
        Text(f"{result.n_agreeing} of {result.n_numbers} numbers agree to four digits"),
        Text(f"{same} are those of the paper, in order"),
    )


def _reproduced_values(result: GreedyReproduction) -> Table:
    from ranksieve.reproduction.greedy_rankrls import GREEDY, MEASURES, PUBLISHED

    table = Table(box=None, pad_edge=False)
    for name in ("", "", ""):
        table.add_column(name, no_wrap=True)
    for number in range(1, len(result.folds) + 1):
        table.add_column(f"fold {number}", justify="right", no_wrap=True)
    table.add_column("mean", justify="right", no_wrap=True)
    for measure in MEASURES:
        for method in PUBLISHED:
            paper, ours = PUBLISHED[method][measure], result.values(method, measure)
            marks = ["" if same else "*" for same in result.agreeing(method, measure)]
            short = "greedy" if method == GREEDY else "all 46"
            first = measure if method == GREEDY else ""
            table.add_row(first, short, "paper", *_four_digits(paper))
            table.add_row("", "", "ours", *_four_digits(ours, marks))
    return table


def _four_digits(values: Sequence[float], marks: Sequence[str] = ()) -> list[str]:
    """Values of the folds, with a mark on those that are not as published, and their mean."""
    padded = list(marks) or [""] * len(values)
    mean = sum(values) / len(values)
    cells = [f"{value:.4f}{mark}" for value, mark in zip(values, padded, strict=True)]
    return [*cells, f"{mean:.4f}"]


def _reproduced_choices(result: GreedyReproduction) -> Table:
    from ranksieve.reproduction.greedy_rankrls import PUBLISHED_CHOICES

    table = Table(box=None, pad_edge=False)
    for name in ("fold", "", "lambda", "features", "in order", "lambda for all 46"):
        table.add_column(name, justify="left" if name == "in order" else "right")
    for number, fold in enumerate(result.folds, start=1):
        paper = PUBLISHED_CHOICES[number - 1]
        rows = ((str(number), "paper", paper, ""), ("", "ours", fold.choice, _power(fold.full_lam)))
        for first, whose, choice, full in rows:
            features = " ".join(map(str, choice.features))
            table.add_row(
                first, whose, _power(choice.lam), str(len(choice.features)), features, full
            )
    return table


def _power(lam: float) -> str:
    return f"2^{math.log2(lam):g}"


def rankers_reproduction_tables(result: RankersReproduction) -> Group:
    """Published results of rankers and ours, how far they are apart, and how ours were trained."""
    verdicts = [result.is_within(name) for name in result.results]
    asked = [verdict for verdict in verdicts if verdict is not None]
    return Group(
        _heading("MAP of rankers on the test queries of MQ2008, published and ours"),
        Text("Measured as LETOR 4.0 does, with equal scores in the order of the files;"),
        Text("apart: ours minus published; -: not published; *: further than asked (below)"),
        Text(),
        _rankers_on_folds(result),
        Text(),
        _heading("Means of the five folds"),
        _rankers_on_average(result),
        Text(),
        _heading("How near MAP is asked to be, and how rankers were trained"),
        Text("For rankrls and ranksvm, all other published measures are asked to be as near"),
        Text(),
        _rankers_asked(result),
        Text(),
        Text(f"{sum(asked)} of {len(asked)} rankers with published results are as near as asked"),
    )


def _rankers_on_folds(result: RankersReproduction) -> Table:
    from ranksieve.reproduction.mq2008 import N_FOLDS

    table = _beside_published([*(f"fold {number}" for number in range(1, N_FOLDS + 1)), "mean"])
    for name in result.results:
        _add_beside(table, name, [*result.on_folds(name, "MAP"), result.mean(name, "MAP")])
    return table


def _rankers_on_average(result: RankersReproduction) -> Table:
    measures = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MAP")
    table = _beside_published(measures)
    for name in result.results:
        _add_beside(table, name, [result.mean(name, measure) for measure in measures])
    return table


def _beside_published(columns: Sequence[str], what: str = "ranker") -> Table:
    table = Table(
        box=None, pad_edge=False, padding=(0, 1, 0, 0)
    )  # one space, or marked lines would not fit
    for name in (what, ""):
        table.add_column(name, no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _add_beside(table: Table, name: str, numbers: Sequence[Number]) -> None:
    """Add lines of published numbers, ours, and their differences if there are any."""
    published = [
        "-" if number.published is None else _digits(number.published) for number in numbers
    ]
    table.add_row(name, "paper", *published)
    table.add_row("", "ours", *(_digits(number.ours) for number in numbers))
    if any(number.difference is not None for number in numbers):
        table.add_row("", "apart", *map(_difference, numbers))


def selectors_reproduction_tables(result: SelectorsReproduction) -> Group:
    """Published results of selectors and ours, their spread over seeds, and random orders."""
    from ranksieve.reproduction.selectors import ROWS

    how = Table(box=None, pad_edge=False)
    for name in ("method", "features", "random below", "tuned by validation MAP"):
        how.add_column(
            name,
            justify="right" if name in ("features", "random below") else "left",
            overflow="fold",
        )
    for name, found in result.results.items():
        below = result.random_below(name)
        share = "-" if below is None else f"{below:.0%}"
        number = sum(found.n_features) / len(found.n_features)
        how.add_row(name, f"{number:.1f}", share, ROWS[name].note)
    return Group(
        _heading("Selectors with RankSVM on the test queries of MQ2008, published and ours"),
        Text("Means of the five folds, measured as LETOR 4.0 does; apart: ours minus"),
        Text("published (*: MAP by more than 0.006); spread: standard deviation over seeds"),
        Text(),
        _selectors_on_average(result),
        Text(),
        _heading("Features with a weight, and random orders with a smaller MAP"),
        how,
    )


def _selectors_on_average(result: SelectorsReproduction) -> Table:
    from ranksieve.reproduction.selectors import MEASURES

    table = _beside_published(MEASURES, what="method")
    for name in result.results:
        _add_beside(table, name, [result.number(name, measure) for measure in MEASURES])
        spreads = [result.spread(name, measure) for measure in MEASURES]
        if None not in spreads:
            table.add_row("", "spread", *(_digits(spread or 0.0) for spread in spreads))
    return table


def _digits(value: float) -> str:
    return f"{value:.4f}"


def _difference(number: Number) -> str:
    if number.difference is None:
        return ""
    mark = "*" if number.is_within is False else ""
    return f"{round(number.difference, 4) + 0.0:+.4f}{mark}"  # + 0.0: no sign for nothing


def _rankers_asked(result: RankersReproduction) -> Table:
    from ranksieve.reproduction.rankers import ROWS

    table = Table(box=None, pad_edge=False)
    for name in ("ranker", "mean", "folds", "holds"):
        table.add_column(name, no_wrap=True)
    table.add_column("settings", overflow="fold")
    words = {True: "yes", False: "no", None: "-"}
    for name in result.results:
        row = ROWS[name]
        limits = (None, None) if row.asked is None else (row.asked.mean, row.asked.folds)
        table.add_row(name, *map(_limit, limits), words[result.is_within(name)], row.note)
    return table


def _limit(tolerance: float | None) -> str:
    from ranksieve.reproduction.rankers import FOUR_DIGITS

    if tolerance is None:
        return "-"
    return "4 digits" if tolerance == FOUR_DIGITS else f"{tolerance:g}"
