"""Write the result of a check in the OpenMetrics text format, for monitoring.

All metrics are gauges, so that collectors of the older text format of Prometheus, such as the
textfile collector of its node exporter, read the same file.

References
----------
OpenMetrics 1.0. https://github.com/prometheus/OpenMetrics
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import isinf, isnan
from typing import NamedTuple

from ranksieve._version import __version__
from ranksieve.recommendation.checked import Check, Drift
from ranksieve.recommendation.verdict import EXIT_STATUS
from ranksieve.text import printable

Samples = Sequence[tuple[dict[str, str], float]]


class Gauge(NamedTuple):
    """A metric with its samples."""

    name: str
    help: str
    samples: Samples  # labels and value of each
    unit: str = ""  # with which the name must end


def to_openmetrics(check: Check) -> str:
    """Write state, numbers and drift of a check."""
    lines = []
    for gauge in _gauges(check):
        lines.append(f"# TYPE {gauge.name} gauge")
        if gauge.unit:
            lines.append(f"# UNIT {gauge.name} {gauge.unit}")
        lines.append(f"# HELP {gauge.name} {_escape(gauge.help)}")
        for labels, value in gauge.samples:
            named = {"recommendation": check.title} | labels
            pairs = ",".join(f'{name}="{_escape(text)}"' for name, text in named.items())
            lines.append(f"{gauge.name}{{{pairs}}} {_number(value)}")
    return "\n".join([*lines, "# EOF\n"])


def _gauges(check: Check) -> list[Gauge]:
    claim, prefix = check.claim, "ranksieve_check"
    time = datetime.fromisoformat(check.checked_at).timestamp()
    measure = {"measure": claim.measure}

    def ratio(name: str, text: str, value: float) -> Gauge:
        return Gauge(f"{prefix}_{name}_ratio", text, [(measure, value)], "ratio")

    states: Samples = [({"state": str(n)}, float(n == check.state)) for n in EXIT_STATUS]
    versions = [({"version": __version__}, 1.0)]
    return [
        Gauge(f"{prefix}_state", "Whether the recommendation is in this state.", states),
        Gauge(f"{prefix}_exit_status", "0 holds, 1 broken, 2 cannot be judged.",
              [({}, float(check.exit_status))]),
        ratio("change", "Relative change of the measure, kept against all features.", claim.change),
        ratio("bound", "One-sided lower confidence bound of the change.", claim.bound),
        ratio("upper_bound", "One-sided upper confidence bound of the change.", check.most),
        ratio("margin", "Largest acceptable loss.", claim.margin),
        ratio("level", "Confidence level of the bounds.", claim.level),
        Gauge(f"{prefix}_queries", "Number of judging queries.", [({}, float(claim.n_queries))]),
        Gauge(f"{prefix}_queries_needed", "Number of queries with which it can be judged.",
              [({}, claim.queries_needed)]),
        Gauge(f"{prefix}_drifted_features", "Number of kept features that have changed notably.",
              [({}, float(len(check.drifted)))]),
        Gauge(f"{prefix}_timestamp_seconds", "Time of the check.", [({}, time)], "seconds"),
        Gauge(f"{prefix}_build", "Version of ranksieve.", versions),
        *([] if check.cost is None else [
            ratio("drift_cost", "Relative change by changed values.", check.cost.change)
        ]),
        *_drift_gauges(check.drift),
    ]  # fmt: skip


def _drift_gauges(drift: Sequence[Drift]) -> list[Gauge]:
    """Metrics of single features; those without values of their own have fewer."""
    prefix, own = "ranksieve_feature", [one for one in drift if one.values is not None]

    def each(items: Sequence[Drift], *names: str) -> Samples:
        samples = []
        for one in items:
            value: object = one
            for name in names:
                value = getattr(value, name)
            samples.append(({"feature": one.feature}, float(value)))  # type: ignore[arg-type]
        return samples

    gauges = [
        Gauge(f"{prefix}_drift_notable", "1 if the feature has changed notably, else 0.",
              each(drift, "is_notable")),
        Gauge(f"{prefix}_drift_psi", "Population stability index of the values.",
              each(own, "values", "values", "index")),
        Gauge(f"{prefix}_drift_within_psi",
              "Population stability index of the values minus their mean within the query.",
              each(own, "values", "within", "index")),
        Gauge(f"{prefix}_missing_ratio", "Share of documents without a value.",
              each(own, "values", "missing_now"), "ratio"),
        Gauge(f"{prefix}_alone", "Mean of the measure if the feature alone ranks.",
              each(drift, "now")),
    ]  # fmt: skip
    return [gauge for gauge in gauges if gauge.samples]


def _escape(text: str) -> str:
    r"""Escape backslashes, quotes and line breaks, as labels and help texts need it."""
    text = printable(text)
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(float(value))
