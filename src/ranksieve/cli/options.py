"""Arguments and options that commands share."""

from __future__ import annotations

from typing import Annotated

import typer

DATA = typer.Argument(
    help="LETOR / SVMlight text (.gz and .zst too) or Parquet; several files are joined; "
    "or a directory: shards, or a collection (LETOR, MSLR, Yahoo, Istella).",
)
Demo = Annotated[bool, typer.Option("--demo", help="Use the embedded demo data.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
ConventionName = Annotated[
    str,
    typer.Option(
        "--convention",
        help="What to do where programs differ: standard, letor3, letor4, mslr, lightgbm, "
        "xgboost, ranklib, trec, sklearn; standard:2 if only labels from 2 on are relevant.",
    ),
]
NFeatures = Annotated[
    int | None, typer.Option("--n-features", help="Number of features, if not the largest index.")
]
ZeroBased = Annotated[
    bool, typer.Option("--zero-based", help="Feature indices of the text start at 0.")
]
DaskAddress = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Dask scheduler, such as tcp://host:8786."),
]
DaskWorkers = Annotated[
    int | None, typer.Option("--workers", min=1, help="Start a local Dask cluster of N processes.")
]
Verify = Annotated[
    bool | None,
    typer.Option(
        "--verify/--no-verify",
        help="Compare the checksums of all shards first, or of none; by default of each one when "
        "it is first read.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--param", "--set", metavar="NAME=VALUE", help="A parameter; repeatable."),
]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, help="For methods that draw random numbers.")
]
