"""Commands that compare selectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from ranksieve.cli.options import Cluster, Reading, Splitting, argument, command, option
from ranksieve.cli.parameters import allow_own_code, constraint_parameters
from ranksieve.cli.resumable import resumable, take_source
from ranksieve.text import on_one_line


@dataclass(frozen=True)
class Comparing:
    """What to compare and how: settings of a plan as options."""

    selectors: str | None = None
    rankers: str | None = None
    ks: str | None = None
    include: list[str] | None = None
    exclude: list[str] | None = None
    groups: Path | None = None
    measures: str | None = None
    tune: str | None = None
    convention: str | None = None
    protocol: str | None = None
    scale: str | None = None
    choose: str | None = None
    seeds: int | None = None
    seed: int | None = None
    no_baselines: bool = False
    param: list[str] | None = None
    grid: list[str] | None = None
    param_file: list[Path] | None = None
    resamples: int | None = None

    def to_settings(self) -> dict[str, Any]:
        """Settings of a plan that have options of the same name, as far as they are given."""
        lists = {
            "selectors": self.selectors and _split(self.selectors),
            "rankers": self.rankers and _split(self.rankers),
            "ks": self.ks and [_parse_size(text) for text in _split(self.ks)],
            "measures": self.measures and _split(self.measures),
            "baselines": False if self.no_baselines else None,
        }
        names = ("tune", "convention", "protocol", "scale", "choose", "seeds", "seed", "resamples")
        settings = lists | {name: getattr(self, name) for name in names}
        return {name: value for name, value in settings.items() if value is not None}


@command(
    data=argument(
        "DATA: The directory of a collection, or of train, vali and test files, whose split is "
        "used; or a file or shards, whose queries are split into folds; with --test, the training "
        "data. Default: the embedded demo."
    ),
    selectors="A,B,..: Selectors to compare, separated by commas; select --methods lists them. "
    "Default: greedy-rankrls,gas-e,fs-scpr,fs-ed. [NAME=]MODULE:OBJECT names a class or an object "
    "of your own code.",
    rankers="A,B,..: Rankers to train on the selected features, separated by commas; train "
    "--rankers lists them. Default: ranksvm,lambdamart. [NAME=]MODULE:OBJECT names a class or an "
    "object of your own code: a ranker of ranksieve, LightGBM, XGBoost or CatBoost, a regressor of "
    "scikit-learn, or anything with fit(X, y, qid) and predict(X).",
    ks="K,K,..: Numbers of features to compare; all keeps every feature. Default: 1,2,3,5,10,20.",
    measures="M,M,..: Measures on the test queries (see evaluate --help). Default: map,ndcg@10.",
    tune="M: Measure by which parameters and the number of features are chosen on the validation "
    "queries. Default: map.",
    convention="NAME: Metric convention (see evaluate --help). Default: standard.",
    protocol="P: How to split the queries: letor (the folds of a collection), split (by --test or "
    "a column), kfold:N (N folds over queries) or six-trials (three parts in all six orders). "
    "Default: letor or split if the data comes with a split, otherwise kfold:5.",
    choose="RULE: How to choose the number of features on validation queries: best, or one-se for "
    "the fewest within one standard error of the best. Default: best.",
    seeds=option(
        "N: Number of runs of methods that draw random numbers. Default: 5, but 3 for the demo.",
        min=1,
    ),
    seed=option(
        "N: Random seed of the first run; the other runs use the next ones. Default: 0.", min=0
    ),
    no_baselines="Leave out the baselines: all features, and random orders. Default: include them.",
    param="METHOD.NAME=VALUE: Set a parameter of a selector or ranker. May be repeated. Default: "
    "the defaults of the selector or ranker.",
    grid="METHOD.NAME=V,V,..: Values to try for a parameter that is tuned on validation queries, "
    "separated by commas. May be repeated. Default: the grid of the selector or ranker.",
    param_file="FILE: Read the parameters of rankers from this file: JSON in the form of LightGBM, "
    "XGBoost or CatBoost, with one object per ranker if there are several; or a trained model "
    "(LightGBM's text, XGBoost's save_config, CatBoost's cbm, or one that train wrote). May be "
    "repeated; --param takes precedence. Default: none.",
    resamples=option(
        "N: If there is only one split: select and train on N resamples of the training queries "
        "(four in five, without replacement), to estimate stability and uncertainty. Default: "
        "once, on all training queries.",
        min=2,
    ),
    plan="FILE: TOML file with a study's settings; options take precedence. Classes and objects of "
    "your own code that it names are imported and called. Default: none.",
    out="DIR: Directory for the tables, the figures and the ledger of finished work.",
)
def compare(
    data: list[Path] | None = None,
    comparing: Comparing = Comparing(),
    plan: Path | None = None,
    out: Path = Path("study"),
    no_figures: bool = False,
    splitting: Splitting = Splitting(),
    reading: Reading = Reading(),
    cluster: Cluster = Cluster(),
) -> None:
    """Compare selectors, and test which differences are significant.

    Each selector runs with each ranker over folds of the queries. Every choice is made on
    validation queries, and test queries are used once. Finished work is kept in --out: the same
    command resumes, and you can add selectors, rankers or numbers of features.
    """
    from ranksieve.study.plan_file import read_settings

    wanted = read_settings(plan) if plan is not None else {}
    wanted |= comparing.to_settings()
    if reading.policy is not None:
        wanted["missing"] = reading.policy
    wanted |= constraint_parameters(comparing.include, comparing.exclude, comparing.groups)
    allow_own_code(comparing.selectors, comparing.rankers, "plan:" if plan else None)
    _leave_out_others(wanted)
    _add_from_files(wanted, comparing.param_file or [])
    _add_parameters(wanted, comparing.param or [], comparing.grid or [])
    source = take_source(wanted, data, splitting, reading)
    if source is None:
        wanted.setdefault("scale", "min-max")  # features of the demo are not scaled
        wanted.setdefault("seeds", 3)  # to keep the demo short
    _compare(source, out, wanted, no_figures, cluster)


@command(
    directory=argument(
        "DIR: Directory that compare --out or recommend --out wrote, or to which check --out wrote "
        "results."
    )
)
def report(directory: Path) -> None:
    """Write the report of a study or a recommendation again, or that of checks over time.

    Tables, figures and the page are written from the files in the directory, without the data.
    Nothing that these files name is imported or called, so they may come from somebody else.
    """
    from ranksieve.io.files import file_of
    from ranksieve.io.model import ANSWER
    from ranksieve.report import write_report
    from ranksieve.report.directory import RECORD, check_no_links, check_place
    from ranksieve.report.formats.terminal import show_report
    from ranksieve.study.plan_file import PLAN

    check_no_links(directory)
    result: Any
    if file_of(directory, ANSWER).is_file():
        from ranksieve.recommendation import load_recommendation

        result = load_recommendation(directory)
    elif (directory / PLAN).is_file():
        from ranksieve.study import load_study
        from ranksieve.study.first_fold import read_first_fold

        result = load_study(directory)
        seen = read_first_fold(directory, len(result.feature_names))
        result = replace(result, seen=seen)
    else:
        from ranksieve.recommendation import load_checks

        result = load_checks(directory)
        if result is None:
            raise ValueError(
                f"{directory}: there is no {PLAN} and no {ANSWER}; ranksieve compare --out and "
                "recommend --out write them, and check --out writes results of checks"
            )
        check_place(directory, [RECORD])
    show_report(write_report(result, directory), directory)


def _compare(
    source: Any,
    out: Path,
    wanted: dict[str, Any],
    no_figures: bool,
    cluster: Cluster,
) -> None:
    from ranksieve.experiments import LEDGER
    from ranksieve.report import write_report
    from ranksieve.report.directory import check_place
    from ranksieve.report.formats.terminal import show_report
    from ranksieve.study import Study
    from ranksieve.study.first_fold import FIRST_FOLD, add_first_fold
    from ranksieve.study.plan_file import PLAN

    check_place(out, [LEDGER], [PLAN, FIRST_FOLD])
    with resumable(out, cluster) as client:
        study = Study(source, out=out, **wanted)
        result = add_first_fold(study, study.run(client), out)
        report = write_report(result, out, figures=not no_figures)
    show_report(report, out)


def _leave_out_others(wanted: dict[str, Any]) -> None:
    """Drop settings of a plan file for methods that options leave out."""
    if "selectors" in wanted and "rankers" in wanted:
        entries = [*wanted["selectors"], *wanted["rankers"]]
        kept = {*map(_name_of, entries), "all", "random"}
        for what in ("parameters", "grids"):
            wanted[what] = {k: v for k, v in wanted.get(what, {}).items() if k in kept}


def _name_of(entry: str) -> str:
    """Name of an entry: a name, MODULE:OBJECT or NAME=MODULE:OBJECT."""
    name, _, path = entry.rpartition("=")
    return name or path.rpartition(":")[2].rpartition(".")[2]


def _add_from_files(wanted: dict[str, Any], files: list[Path]) -> None:
    """Add the parameters that files have for rankers."""
    if not files:
        return
    from ranksieve.rankers.parameter_files import parameters_from
    from ranksieve.rankers.registry import RANKERS
    from ranksieve.study.plan import Plan, find_methods

    rankers = find_methods(wanted.get("rankers", Plan.rankers), RANKERS, wanted.get("own", {}))
    parameters = wanted.setdefault("parameters", {})
    for file in files:
        for name, found in parameters_from(file, rankers).items():
            parameters[name] = parameters.get(name, {}) | found


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _parse_size(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _add_parameters(wanted: dict[str, Any], settings: list[str], grids: list[str]) -> None:
    """Add METHOD.NAME=VALUE to the parameters, and METHOD.NAME=V,V to the grids."""
    from ranksieve.cli.parameters import parse_parameter, parse_value

    for what, texts in (("parameters", settings), ("grids", grids)):
        own = wanted.setdefault(what, {})
        seen: set[str] = set()
        for text in texts:
            parameter, equals, value = text.partition("=")
            method, dot, name = parameter.partition(".")
            if not (equals and dot and method and name):
                raise typer.BadParameter(f"{text!r} should be METHOD.NAME=VALUE")
            if parameter in seen:
                raise typer.BadParameter(f"{on_one_line(parameter)} is given twice")
            seen.add(parameter)
            values = [parse_value(part) for part in value.split(",")]
            own.setdefault(method, {})[name] = (
                values if what == "grids" else parse_parameter(name, value)
            )
