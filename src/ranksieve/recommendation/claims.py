"""The claim of a recommendation: what queries that chose nothing say about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Literal

import numpy as np
from scipy import special

from ranksieve.significance import non_inferiority
from ranksieve.significance.samples import Sample
from ranksieve.text import quantity

_POWER = 0.8


@dataclass(frozen=True)
class Claim:
    """Whether the measure falls by less than the margin.

    Attributes
    ----------
    about : {"procedure", "set"}
        The way in which features are chosen, of which these are an outcome; or these features.
    measure : str
    margin, level : float
    n_queries : int
        Queries that judged.
    with_all, with_chosen : float
        Mean of the measure.
    change, lower, upper : float
        Relative change, and its two-sided confidence interval at ``level``.
    bound : float
        One-sided lower confidence bound, which is what is tested; minus infinity if the queries
        say nothing.
    is_shown : bool
        Whether the loss is shown to be less than the margin.
    queries_needed : int or None
        How many queries would show a true loss of 0 with a probability of 80 %.
    """

    about: Literal["procedure", "set"]
    measure: str
    margin: float
    level: float
    n_queries: int
    with_all: float
    with_chosen: float
    change: float
    lower: float
    upper: float
    bound: float
    is_shown: bool
    queries_needed: int | None

    @classmethod
    def of(
        cls,
        values: Sequence[Any],
        base: Sequence[Any],
        weights: np.ndarray | None,
        about: Any,
        measure: str,
        margin: float,
        level: float,
    ) -> Claim:
        """Test values of queries, with chosen features and with all, part by part."""
        chosen = np.concatenate([np.asarray(part) for part in values])
        whole = np.concatenate([np.asarray(part) for part in base])
        sample, total = Sample.of(chosen - whole, weights), Sample.of(whole, weights)
        mean = total.mean
        told = dict(about=about, measure=measure, margin=margin, level=level)
        told |= dict(n_queries=len(whole), with_all=mean, with_chosen=mean + sample.mean)
        nothing = dict(change=0.0, lower=-np.inf, upper=np.inf, bound=-np.inf, is_shown=False)
        if mean <= 0 or len(sample.values) < 2:
            return cls(**told, **nothing, queries_needed=None)  # type: ignore[arg-type]
        tested = non_inferiority(chosen, whole, margin, True, level, weights)
        reach = float(special.stdtrit(sample.degrees, (1 + level) / 2)) * sample.error / mean
        return cls(
            **told,  # type: ignore[arg-type]
            change=tested.change,
            lower=tested.change - reach,
            upper=tested.change + reach,
            bound=tested.lower,
            is_shown=tested.non_inferior,
            queries_needed=_queries_needed(sample, mean, margin, level),
        )

    @property
    def sentence(self) -> str:
        """Exactly what was tested, and what came of it."""
        who = "Chosen in this way, features" if self.about == "procedure" else "These features"
        judges = f"on {quantity(self.n_queries, 'query', 'queries')} that chose nothing"
        confidence = f"{self.level:.0%} confidence"
        if self.is_shown:
            return (
                f"{who} are shown to lose less than {self.margin:.2g} of {self.measure}"
                .replace(f"{self.margin:.2g}", _percent(self.margin))
                + f" ({confidence}, {judges}): {self.with_chosen:.4f} with them, "
                f"{self.with_all:.4f} with all, a change of {_percent(self.change, sign=True)}."
            )
        said = (
            f"{who} are not shown to lose less than {_percent(self.margin)} of {self.measure} "
            f"({confidence}, {judges}): {self.with_chosen:.4f} with them, {self.with_all:.4f} with "
            f"all."
        )
        if isfinite(self.bound):
            said += f" What is shown is a loss of less than {_percent(-self.bound)}."
        if self.queries_needed is not None:
            said += (
                f" To show {_percent(self.margin)} if nothing is lost takes about "
                f"{self.queries_needed:,} queries."
            )
        return said

    def to_record(self) -> dict[str, Any]:
        """JSON values; what is infinite is None."""
        return {
            name: None if isinstance(value, float) and not isfinite(value) else value
            for name, value in asdict(self).items()
        }


def _percent(share: float, sign: bool = False) -> str:
    """A share as a percentage with two or three digits."""
    return f"{100 * share:{'+' if sign else ''}.3g} %"


def _queries_needed(sample: Sample, mean: float, margin: float, level: float) -> int | None:
    """Number of queries that show a loss of 0 with a probability of 80 %."""
    if margin == 0 or sample.deviation == 0:
        return None
    quantiles = special.ndtri(level) + special.ndtri(_POWER)
    return int(np.ceil((quantiles * sample.deviation / (margin * mean)) ** 2))
