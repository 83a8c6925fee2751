"""Captions of the sheets of a study: the origin of their numbers."""

from __future__ import annotations

from ranksieve.data import DataError
from ranksieve.report.sheets.sheet import name_column
from ranksieve.significance.samples import Sample
from ranksieve.study.results import StudyResult
from ranksieve.text import file_stem, quantity

SELECTOR = name_column("selector")


def setting_of(result: StudyResult) -> str:
    """Test queries, convention, tuning and protocol, in sentences."""
    protocol = result.protocol.strip().rstrip(".")
    return (
        f"Measured on {quantity(result.n_queries, 'test query', 'test queries')}"
        f"{_weights(result)}, convention {result.convention}; everything was tuned by "
        f"{result.tune} on validation queries. "
        f"Protocol: {protocol}.{_missing(result)}{_fixed(result)}{_leaks(result)}"
    )


def _weights(result: StudyResult) -> str:
    """Note that queries have weights, with the effective number of queries."""
    if result.query_weights is None:
        return ""
    sample = Sample.of(result.query_weights, result.query_weights)
    return f", weighted (as informative as {sample.degrees + 1:.0f} of equal weight)"


def _missing(result: StudyResult) -> str:
    return "" if result.missing == "none" else f" Missing values: {result.missing}."


def _fixed(result: StudyResult) -> str:
    """Note on the number of included and excluded features."""
    parts = [
        f"{quantity(len(features), 'feature')} {what}"
        for features, what in ((result.included, "included"), (result.excluded, "left out"))
        if features
    ]
    return f" In all selections: {', '.join(parts)}." if parts else ""


def _leaks(result: StudyResult) -> str:
    if not result.leaks:
        return ""
    values = [
        f"{measure} {order.value:.3f} against {order.by_chance:.3f}"
        for measure, order in result.leaks.items()
    ]
    return (
        f" Ties are broken by file order, which ranks better than chance here "
        f"({', '.join(values)}): weak models look better than they are."
    )


def stem(*words: str) -> str:
    """Stem of a file from names of methods and measures, such as ``folds-ranksvm-ndcg10``."""
    parts = (file_stem(word) for word in words)
    return "-".join(part for part in parts if part)


def check_measure(result: StudyResult, measure: str) -> None:
    """Raise a DataError that lists the measures unless the study has this one."""
    if measure not in result.measures:
        raise DataError(
            f"measure {measure!r} is not in the study; it has {', '.join(result.measures)}"
        )
