"""Commands that train rankers and apply them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ranksieve.cli.options import (
    DATA,
    ConventionName,
    DaskAddress,
    DaskWorkers,
    Demo,
    Format,
    NFeatures,
    Seed,
    Settings,
    Verify,
    ZeroBased,
    option,
)
from ranksieve.cli.settings import parameters_of
from ranksieve.cli.sources import open_training_data, open_validation_data

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from ranksieve.engine import Source
    from ranksieve.rankers.base import Ranker

_MEASURES = ("map", "ndcg@10")


def train(
    data: Annotated[list[Path] | None, DATA] = None,
    demo: Demo = False,
    name: Annotated[str, option("NAME", "Ranker; --rankers lists them.", "--ranker")] = "ranksvm",
    features: Annotated[
        Path | None,
        option(
            "FILE",
            "Train on the features that select --out wrote to this file. Default: all features.",
        ),
    ] = None,
    evaluate_on: Annotated[
        Path | None,
        option(
            "FILE",
            "File of held-out data: rankers use it to stop early or to choose a model, and "
            "are measured on it. Default: none.",
            "--eval",
        ),
    ] = None,
    settings: Settings = None,
    seed: Seed = None,
    out: Annotated[
        Path | None,
        option("FILE", "Write the model here as JSON, for predict. Default: only measure it."),
    ] = None,
    convention: ConventionName = "standard",
    n_features: NFeatures = None,
    zero_based: ZeroBased = False,
    dask: DaskAddress = None,
    workers: DaskWorkers = None,
    verify: Verify = None,
    form: Format = "terminal",
    rankers: Annotated[bool, typer.Option("--rankers", help="List the rankers and exit.")] = False,
) -> None:
    """Train a ranker on all features or on a selection, and measure it.

    predict applies a model written with --out to other files, which need all features of the
    training data.
    """
    from ranksieve.datasets.opening import title_of
    from ranksieve.io.files import check_replaceable
    from ranksieve.io.selection import read_selection
    from ranksieve.metrics import get_convention
    from ranksieve.progress import progress_bar
    from ranksieve.rankers.registry import RANKERS, make_ranker
    from ranksieve.report.formats.printing import show_sheets
    from ranksieve.report.sheets.evaluation import training_sheet
    from ranksieve.report.sheets.registry import registry_sheet

    if rankers:
        show_sheets([registry_sheet(RANKERS)], form)
        return
    get_convention(convention)
    ranker = make_ranker(name, **parameters_of(RANKERS, name, settings or [], seed))
    if out is not None:
        check_replaceable(out)
    selection = None if features is None else read_selection(features)
    if selection is not None and n_features is None:
        n_features = selection.n_features_in
    how = {"n_features": n_features, "zero_based": zero_based}
    with progress_bar(), ExitStack() as stack:
        source = stack.enter_context(open_training_data(data, demo, dask, workers, verify, **how))
        parts = {title_of(data): source}
        if evaluate_on is not None:
            validation = open_validation_data(evaluate_on, source, verify, zero_based=zero_based)
            parts[str(evaluate_on)] = stack.enter_context(validation)
        if selection is not None:
            for place, part in parts.items():
                selection.check_fits(part.n_features, part.feature_names, place)
                parts[place] = part.take_features(selection.columns)
        first, *others = parts.values()
        ranker.fit(first, eval_set=others[0] if others else None)
        measured = {place: _measure(ranker, part, convention) for place, part in parts.items()}
    if out is not None:
        ranker.save_model(out, selection=selection)
    changed = RANKERS[name].changed(ranker)
    sheet = training_sheet(name, ranker.n_features_in_, changed, measured, convention)
    show_sheets([sheet], form)


def predict(
    model: Annotated[Path, typer.Argument(help="Model that train --out wrote.")],
    data: Annotated[list[Path], DATA],
    out: Annotated[
        Path | None,
        option("FILE", "Write the scores to this file (also .gz, .zst). Default: print them."),
    ] = None,
    zero_based: ZeroBased = False,
) -> None:
    """Score documents with a trained ranker.

    Writes one score per line, in the order of the data's rows, as evaluate expects them.
    """
    from ranksieve.io.files import check_replaceable
    from ranksieve.io.scores import write_scores
    from ranksieve.progress import progress_bar
    from ranksieve.rankers import load_model

    ranker = load_model(model)
    if out is not None:
        check_replaceable(out)
    n_features = ranker.n_features_in_
    if hasattr(ranker, "selection_"):
        n_features = ranker.selection_.n_features_in
    with progress_bar():
        scores = _scores(ranker, data, n_features=n_features, zero_based=zero_based)
    if out is not None:
        write_scores(scores, out)
    else:
        for score in scores.tolist():
            typer.echo(repr(score))


def _scores(ranker: Ranker, paths: list[Path], **how: Any) -> np.ndarray:
    """Scores of all rows in the order of the files; shards are read one at a time."""
    from ranksieve.data import RankingData
    from ranksieve.datasets.opening import open_source

    with open_source(paths, **how) as data:
        scores = ranker.predict(data)
        return data.to_input_order(scores) if isinstance(data, RankingData) else scores


def _measure(ranker: Ranker, source: Source, convention: str) -> dict[str, float]:
    """Means of the measures, weighted if queries have weights; reads shards one at a time."""
    import numpy as np

    from ranksieve.data import RankingData
    from ranksieve.metrics import evaluate

    def pieces() -> Iterator[RankingData]:
        if isinstance(source, RankingData):
            yield source
        else:
            yield from map(source.read_shard, range(source.n_shards))

    found = [
        evaluate(piece.y, ranker.predict(piece), piece.qid, _MEASURES, convention)
        for piece in pieces()
    ]
    weights = source.query_weights
    return {
        name: float(np.average(np.concatenate([f.per_query[name] for f in found]), weights=weights))
        for name in found[0].mean
    }
