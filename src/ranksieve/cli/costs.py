"""The command that measures what features cost."""

from __future__ import annotations

from pathlib import Path

from ranksieve.cli.columns import split_names
from ranksieve.cli.options import argument, command, show_result
from ranksieve.report.formats import FormatName


@command(
    log=argument(
        "LOG: Log of requests: Parquet, CSV or TSV with a row for each request, a column with its "
        "time, and one for each feature with 0 or 1, or the number of documents for which the "
        "request computed it."
    ),
    out="FILE: Write the costs to this CSV file, for --costs of other commands. Default: only "
    "print them.",
    time_column="NAME: Column with the times of the requests. Default: the one whose name begins "
    "with took, such as took_ms.",
    groups="FILE: Groups of features that share a call, an index or a model: CSV with the columns "
    "feature and group (such as a catalogue of costs), or JSON with lists of features. Default: "
    "none.",
    features="NAME,..: Columns that are features, separated by commas; patterns such as 'bm25_*' "
    "are allowed. May be repeated. Default: all other numbers, except ids.",
    level="P: Confidence level of each interval: a probability above 0.5 and below 1.",
)
def costs(
    log: Path,
    out: Path | None = None,
    groups: Path | None = None,
    time_column: str | None = None,
    features: list[str] | None = None,
    ignore: list[str] | None = None,
    level: float = 0.95,
    form: FormatName = "terminal",
) -> None:
    """Measure what features cost from the times of logged requests.

    The times are explained by the features that each request computed, by least squares with costs
    that are not negative. Logs that cannot tell some costs apart are refused, with the names of the
    features: leave out features at random in some requests.
    """
    import json

    from ranksieve.cli.sources import check_output
    from ranksieve.costs import estimate_costs
    from ranksieve.report.sheets.costs import measured_sheet
    from ranksieve.report.sheets.sheet import long_list

    check_output(out, [log], groups)
    found = estimate_costs(
        log,
        groups=groups,
        time_column=time_column,
        features=split_names(features),
        ignore=split_names(ignore),
        level=level,
    )
    if out is not None:
        found.write(out)
    sheet = measured_sheet(found)
    if form == "terminal":
        sheet = long_list(sheet)
    show_result([sheet], form, json.dumps(found.to_record(), indent=2))
