"""Commands that train rankers and apply them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ranksieve.cli.options import (
    N_FEATURES_OF_MODEL,
    Cluster,
    Reading,
    argument,
    command,
    missing_help,
    option,
)
from ranksieve.cli.parameters import allow_own_code, explain_errors, ranker_parameters
from ranksieve.cli.sources import (
    check_output,
    missing_policy,
    open_for,
    open_training_data,
    open_validation_data,
)
from ranksieve.report.formats import FormatName
from ranksieve.text import on_one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np

    from ranksieve.engine import Source
    from ranksieve.io.selection import Selection
    from ranksieve.rankers.base import Ranker

_MEASURES = ("map", "ndcg@10")


@command(
    name=option(
        "NAME: Ranker (--rankers lists them), or MODULE:OBJECT for a class or an object of your "
        "own code.",
        "--ranker",
    ),
    selected=option(
        "FILE: Train only on the features that select --out wrote to this file. Default: all "
        "features.",
        "--selection",
    ),
    vali="FILE: Validation data: rankers use it to stop early or to choose a model, and are "
    "evaluated on it. Default: none.",
    param="NAME=VALUE: Set a parameter of the ranker. May be repeated. Default: the ranker's "
    "defaults.",
    n_features="N: Number of features in LETOR or SVMlight text. Default: that of the --selection, "
    "if there is one; otherwise the largest index in it.",
    missing=missing_help(
        "as recorded in the --selection, if there is one; otherwise keep, for trees of LightGBM, "
        "XGBoost and CatBoost."
    ),
    out="FILE: Write the model to this file as JSON, for predict and export. Default: only "
    "evaluate it.",
    rankers="List the rankers and exit.",
)
def train(
    data: list[Path] | None = None,
    demo: bool = False,
    name: str = "ranksvm",
    selected: Path | None = None,
    vali: Path | None = None,
    param: list[str] | None = None,
    param_file: Path | None = None,
    seed: int | None = None,
    out: Path | None = None,
    convention: str = "standard",
    reading: Reading = Reading(),
    cluster: Cluster = Cluster(),
    verify: bool | None = None,
    form: FormatName = "terminal",
    rankers: bool = False,
) -> None:
    """Train a ranker on all or selected features, and evaluate it.

    predict applies a model that was written with --out to other files, which must have all features
    of the training data.
    """
    from ranksieve.data.categories import export_remark
    from ranksieve.datasets.opening import title_of
    from ranksieve.io.selection import read_selection
    from ranksieve.metrics import get_convention
    from ranksieve.progress import progress_bar
    from ranksieve.rankers.loading import check_loadable
    from ranksieve.rankers.registry import RANKERS
    from ranksieve.report.formats.terminal import show_sheets
    from ranksieve.report.sheets.evaluation import training_sheet
    from ranksieve.report.sheets.methods import registry_sheet

    if rankers:
        show_sheets([registry_sheet(RANKERS)], form)
        return
    get_convention(convention)
    allow_own_code(name)
    method = RANKERS.find(name)
    own = ranker_parameters(method, param or [], seed, param_file)
    ranker = method.make(**own)
    check_output(out, data, vali, selected, param_file)
    if out is not None:
        check_loadable(ranker)  # before the training
    selection = None if selected is None else read_selection(selected)
    read_options = _options_to_read(data, reading, selection)
    with progress_bar(), ExitStack() as stack:
        source = stack.enter_context(
            open_training_data(data, demo, cluster, verify, **read_options)
        )
        parts = {title_of(data): source}
        if vali is not None:
            validation = open_validation_data(vali, source, verify, **reading.read_options)
            parts[str(vali)] = stack.enter_context(validation)
        if selection is not None:
            parts = _selected_parts(parts, selection)
        measures = _measures(convention, parts.values())
        for part in parts.values():
            _check_labels(part, measures, convention)
        first, *others = parts.values()
        if remark := export_remark(getattr(first, "categories", {})):
            typer.echo(on_one_line(remark), err=True)
        with explain_errors(method):
            ranker.fit(first, eval_set=others[0] if others else None)
        measured = {
            title: _measure(ranker, part, measures, convention) for title, part in parts.items()
        }
    if out is not None:
        ranker.save_model(out, selection=selection)
    changed = method.changed(ranker)
    sheet = training_sheet(method.name, ranker.n_features_in_, changed, measured, convention)
    show_sheets([sheet], form)


@command(
    model=argument(
        "MODEL: Model that train --out or recommend wrote, or a model file of LightGBM (text), "
        "XGBoost (JSON) or CatBoost (cbm), such as export --to lightgbm writes."
    ),
    out="FILE: Write the scores to this file (also .gz, .zst). Default: print them.",
    n_features=N_FEATURES_OF_MODEL,
    missing=missing_help("as they were in the training data of the model."),
)
def predict(
    model: Path, data: list[Path], out: Path | None = None, reading: Reading = Reading()
) -> None:
    """Score documents with a trained ranker.

    Writes one score per line, in the order of the data's rows, as evaluate expects them. Without
    --missing, missing values are treated as they were in the training data.
    """
    from ranksieve.io.letor import write_scores
    from ranksieve.progress import progress_bar
    from ranksieve.rankers import load_model

    ranker = load_model(model)
    check_output(out, data, model)
    with progress_bar():
        scores = _scores(ranker, data, reading)
    if out is not None:
        write_scores(scores, out)
    else:
        for score in scores.tolist():
            typer.echo(repr(score))


def _options_to_read(
    data: list[Path] | None, reading: Reading, selection: Selection | None
) -> dict[str, Any]:
    """Options to read training data, of which text may lack the last features selected from."""
    from ranksieve.datasets.opening import are_text_files, paths_of

    options = reading.read_options | {"missing": missing_policy(reading.policy, selection)}
    is_text = are_text_files(paths_of(data or []))
    if selection is not None and reading.n_features is None and is_text:
        options["n_features"] = selection.n_features_without_indicators
    return options


def _scores(ranker: Ranker, data: list[Path], reading: Reading) -> np.ndarray:
    """Scores of all rows in the order of the files; shards are read one at a time."""
    from ranksieve.data import RankingData
    from ranksieve.data.fitted import tell_unknown_categories

    with open_for(ranker, data, reading, needs_label=False) as source:
        if reading.missing is not None:
            source = source.with_missing(reading.missing)
        if isinstance(source, RankingData):
            tell_unknown_categories(ranker, source)
        scores = ranker.predict(source)
        return source.to_input_order(scores) if isinstance(source, RankingData) else scores


def _measures(convention: str, parts: Iterable[Source]) -> list[str]:
    """Measures of a trained ranker that are defined for the convention and weights of rows."""
    from ranksieve.metrics import get_convention, parse_measure

    undefined = get_convention(convention).undefined
    measures = {name: parse_measure(name) for name in _MEASURES}
    is_weighted = any("row_weights" in part.of_rows for part in parts)
    return [
        name
        for name, measure in measures.items()
        if measure.label not in undefined and not (is_weighted and measure.no_row_weights)
    ]


def _selected_parts(parts: dict[str, Source], selection: Selection) -> dict[str, Source]:
    """The selected features of each part; raise a DataError if one lacks them."""
    for name, part in parts.items():
        selection.check_fits(part.n_features, part.feature_names, name)
    return {name: part.take_features(selection.columns) for name, part in parts.items()}


def _check_labels(source: Source, measures: Sequence[str], convention: str) -> None:
    """Raise a DataError before the training if the measures are not defined for the labels."""
    from ranksieve.metrics import parse_measure
    from ranksieve.rankers.libraries.lightgbm import blocks_of

    for block in blocks_of(source):
        for name in measures:
            parse_measure(name).prepare(block.y, block.query_ptr, convention, block.row_weights)


def _measure(
    ranker: Ranker, source: Source, measures: Sequence[str], convention: str
) -> dict[str, float]:
    """Means of the measures, weighted if queries have weights; reads shards one at a time."""
    import numpy as np

    from ranksieve.data import RankingData
    from ranksieve.experiments import query_values

    pieces: Iterable[RankingData]
    if isinstance(source, RankingData):
        pieces = [source]
    else:
        pieces = map(source.read_shard, range(source.n_shards))
    values = [query_values(piece, ranker.predict(piece), measures, convention) for piece in pieces]
    weights = source.query_weights
    return {
        name: float(np.average(np.concatenate([part[name] for part in values]), weights=weights))
        for name in values[0]
    }
