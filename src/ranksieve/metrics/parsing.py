"""Names of measures."""

from __future__ import annotations

import math
import re
from dataclasses import fields
from typing import Any

from ranksieve.metrics.measures import ERR, MAP, MRR, NDCG, MeanNDCG, Measure, P, PairwiseError
from ranksieve.text import parse_number

MEASURES: dict[str, type[Measure]] = {
    "ndcg": NDCG,
    "map": MAP,
    "ap": MAP,
    "p": P,
    "precision": P,
    "mean-ndcg": MeanNDCG,
    "meanndcg": MeanNDCG,
    "err": ERR,
    "mrr": MRR,
    "rr": MRR,
    "pairwise-error": PairwiseError,
    "pairwiseerror": PairwiseError,
}


_MEASURE_NAME = re.compile(r"([a-z-]+?)(?:\(([^)]*)\))?(?:@(\d+))?(-?)")


def parse_measure(measure: str | Measure | type[Measure]) -> Measure:
    """Read a measure's name.

    Examples
    --------
    >>> from ranksieve.metrics import parse_measure
    >>> parse_measure("ndcg@10"), parse_measure("mean-ndcg"), parse_measure("P(rel=2)@5")
    (NDCG@10, MeanNDCG, P(rel=2)@5)
    """
    if isinstance(measure, Measure):
        return measure
    if isinstance(measure, type) and issubclass(measure, Measure):
        return measure()
    match = _MEASURE_NAME.fullmatch(measure.strip().lower())
    if match is None or match[1] not in MEASURES:
        raise ValueError(f"unknown measure {measure!r}; choose from {', '.join(MEASURES)} with @k")
    kind = MEASURES[match[1]]
    options: dict[str, Any] = {}
    allowed = {field.name for field in fields(kind)} - {"cutoff"}
    for option in filter(None, (match[2] or "").split(",")):
        key, _, value = option.partition("=")
        if key.strip() not in allowed:
            raise ValueError(f"measure {measure!r}: {kind.label} has no option {key.strip()!r}")
        options[key.strip()] = _number(value, measure)
    if match[4]:
        if "empty" not in allowed:
            raise ValueError(f"measure {measure!r}: {kind.label} has no variant with '-'")
        options["empty"] = 0.0
    return kind(None if match[3] is None else int(match[3]), **options)


def _number(text: str, measure: str) -> float:
    number = parse_number(text)
    if number is None or not math.isfinite(number):
        raise ValueError(f"measure {measure!r}: {text!r} is not a finite number")
    return number
