"""The result of a check: its state, what to do now, what is good to know, and the drift."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from pathlib import Path
from typing import Any, ClassVar

from ranksieve.data import DataError
from ranksieve.frames import Library, make_frame
from ranksieve.io.files import check_replaceable, make_directory
from ranksieve.io.model import TrainedOn
from ranksieve.io.records import (
    check_signed,
    checksum_of,
    convert_record,
    locate_errors,
    read_record,
    to_json,
    write_text,
)
from ranksieve.recommendation.answer import restore_infinities
from ranksieve.recommendation.claim import (
    Claim,
    change_in_words,
    confidence,
    loss_in_words,
    percent,
)
from ranksieve.recommendation.verdict import EXIT_STATUS, IN_WORDS, DriftCost, State
from ranksieve.reported import Reported
from ranksieve.significance.claims import check_margin
from ranksieve.sums.drift import FALSE_ALARMS, ValueDrift
from ranksieve.text import list_names, on_one_line, quantity

CHECK_FORMAT, _VERSION = "ranksieve-check", 1
_NAMED = 5  # features that a sentence names


@dataclass(frozen=True)
class Drift:
    """How a kept feature has changed since the recommendation.

    Attributes
    ----------
    feature : str
    before, now : float
        Mean of the measure if documents are ranked by the feature alone, in the direction that was
        better at the time of the recommendation.
    shift : float
        Difference in standard errors.
    p_value : float
        Probability of as large a shift by chance, times the number of features.
    values : ValueDrift or None
        Drift of the values and of the share of missing ones; None for indicators of missing values.
    """

    feature: str
    before: float
    now: float
    shift: float
    p_value: float
    values: ValueDrift | None

    @property
    def changes(self) -> list[str]:
        """What has changed notably: values, values within queries, missing values, ranking."""
        own = self.values
        found = {
            "values": own is not None and own.values.is_notable,
            "within queries": own is not None and own.within.is_notable,
            "missing": own is not None and own.misses_otherwise,
            "ranking": self.p_value <= FALSE_ALARMS,
        }
        return [what for what, is_notable in found.items() if is_notable]

    @property
    def is_notable(self) -> bool:
        """Whether anything has changed by more than chance, and by much."""
        return bool(self.changes)

    @property
    def can_be_undone(self) -> bool:
        """Whether the values have drifted notably, and are numbers that can be mapped back."""
        own = self.values
        if own is None or not own.before:
            return False
        return own.values.is_notable or own.within.is_notable

    @property
    def index(self) -> float:
        """Population stability index, the larger one of values and of values within queries."""
        return 0.0 if self.values is None else self.values.index

    @property
    def in_words(self) -> str:
        """What has changed, with numbers."""
        parts, own = [], self.values
        if own is not None and (own.values.is_notable or own.within.is_notable):
            medians = ""
            if own.before and own.now and own.before[2] != own.now[2]:
                medians = f", median {own.before[2]:.4g} before, {own.now[2]:.4g} now"
            parts.append(f"PSI {own.index:.2f}{medians}")
        if own is not None and own.misses_otherwise:
            parts.append(f"missing {own.missing_before:.1%} before, {own.missing_now:.1%} now")
        if "ranking" in self.changes:
            parts.append(f"alone {self.before:.3f} before, {self.now:.3f} now")
        return f"{on_one_line(self.feature)} ({'; '.join(parts)})"


@dataclass(frozen=True)
class Helpful:
    """A feature that is not kept but would lower the error; ``gain`` is the relative decrease."""

    feature: str
    gain: float
    is_new: bool


@dataclass(frozen=True, kw_only=True, repr=False)
class Check(Reported):
    """Result of :func:`check`.

    Attributes
    ----------
    state : {"holds", "broken", "undecided"}
        Whether the recommendation holds; see :mod:`ranksieve.recommendation.verdict`.
    reason : str
        Why it cannot be judged; empty if it can.
    title : str
        Name of the data of the recommendation.
    n_kept, n_all : int
        Numbers of features that are kept, and of all.
    claim : Claim
        Claim about the kept features, on the new queries.
    most : float
        One-sided upper confidence bound of the change: it is broken if that is below minus the
        margin.
    cost : DriftCost or None
        What changed values of kept features cost; None if none has drifted, or it cannot be judged.
    drift : list of Drift
        Drift of each kept feature, the most notable first.
    helpful : list of Helpful
        Features that are not kept but would now help, best first.
    trained_on : TrainedOn
        The queries that trained both rankers.
    is_new : bool
        False if the data is exactly that of the training, or of the whole recommendation.
    recommendation, data : str
        Fingerprints of the data of the recommendation, and of the new data.
    checked_at : str
        Time of the check, in UTC, as of ISO 8601.
    versions : dict
        Versions of Python and of packages.
    """

    state: State
    reason: str
    title: str
    n_kept: int
    n_all: int
    claim: Claim
    most: float
    cost: DriftCost | None
    drift: list[Drift]
    helpful: list[Helpful]
    trained_on: TrainedOn
    is_new: bool
    recommendation: str
    data: str
    checked_at: str
    versions: dict[str, str]

    _figure: ClassVar[str] = "drift"

    @property
    def exit_status(self) -> int:
        """0 if it holds, 1 if it is broken, 2 if it cannot be judged."""
        return EXIT_STATUS[self.state]

    @property
    def sentence(self) -> str:
        """The state, and why."""
        state = IN_WORDS[self.state]
        if self.state == "undecided":
            return f"{state}: {self.reason}."
        claim, queries = self.claim, quantity(self.claim.n_queries, "query", "queries")
        ending = "s" if self.n_kept == 1 else ""
        kept = quantity(self.n_kept, "kept feature")
        lose = f"{kept} lose{ending}"
        change = change_in_words(claim.change)
        sure = f"{claim.measure} with {confidence(claim.level)} confidence"
        cost = self.cost
        if self.state == "broken" and cost is not None and cost.is_shown:
            have = "has" if len(cost.features) == 1 else "have"
            return (
                f"{state}: {list_names(cost.features, _NAMED)} {have} changed, and the {lose} "
                f"more than the margin of {percent(claim.margin)} of {sure} by it "
                f"({change_in_words(cost.change)} on average, {queries})."
            )
        if self.state == "broken":
            return (
                f"{state}: the {lose} more than the margin of {percent(claim.margin)} of "
                f"{sure} ({change} on average, "
                f"at least {loss_in_words(self.most)} lost, {queries})."
            )
        if claim.about == "all":
            return f"{state}: {claim.sentence[0].lower()}{claim.sentence[1:]}"
        if claim.is_shown:
            return (
                f"{state}: the {lose} less than the margin of {percent(claim.margin)} of "
                f"{sure} ({change} on average, "
                f"{queries})."
            )
        return (
            f"{state}: the {kept} change{ending} {claim.measure} by {change} on average, within "
            f"the margin of {percent(claim.margin)}, and {queries} are enough to find a loss of "
            f"{percent(2 * claim.margin)}."
        )

    @property
    def drifted(self) -> list[Drift]:
        """The features that have changed notably."""
        return [one for one in self.drift if one.is_notable]

    @property
    def act(self) -> list[str]:
        """What must be done now; nothing if it holds."""
        if self.state == "holds":
            return []
        if self.state == "broken":
            again = "recommend again with newer data, and use all features until then"
            if self.cost is not None and self.cost.is_shown:
                return [
                    f"Repair {list_names(self.cost.features, _NAMED)}: with the distribution that "
                    f"the values had, {self.claim.measure} would be {self.cost.repaired:.4f} "
                    f"instead of {self.claim.with_chosen:.4f}.",
                    "If the change is intended, train both rankers on the new values: recommend "
                    "again.",
                ]
            if self.drifted:
                return [
                    f"Find out why {self._drift_in_words()}.",
                    f"If the data is right, {again}.",
                ]
            return [f"{again[0].upper()}{again[1:]}."]
        if not self.is_new:
            return ["Check with other data than that of the recommendation."]
        if not self.claim.with_all > 0:
            return ["Check with data that has relevant documents."]
        return ["Check again with more queries, such as those of several days together."]

    def _drift_in_words(self) -> str:
        verb = "has" if len(self.drifted) == 1 else "have"
        return f"{list_names([one.in_words for one in self.drifted], _NAMED)} {verb} changed"

    @property
    def know(self) -> list[str]:
        """What is good to know: the numbers, drift that does no harm yet, what would help."""
        claim, known = self.claim, list[str]()
        if claim.about == "all":
            known.append(f"{claim.measure} is {claim.with_all:.4f} with all features.")
        elif claim.n_queries:
            known.append(f"Kept against all features: {claim.numbers}")
        cost = self.cost
        is_repaired = cost is not None and cost.is_shown
        if self.drifted and (self.state != "broken" or is_repaired):  # otherwise act says it
            known.append(f"{self._drift_in_words()}.")
        if cost is not None and not cost.is_shown:
            known.append(
                f"With the distribution that the values had, {self.claim.measure} would be "
                f"{cost.repaired:.4f} instead of {self.claim.with_chosen:.4f}, which does not show "
                "a cost above the margin."
            )
        if self.drift and not self.drifted:
            known.append("No kept feature has drifted notably.")
        if self.helpful:
            names = list_names([one.feature for one in self.helpful])
            known.append(f"Other features would help now: {names}.")
        trained = f"Both rankers were trained on {self.trained_on.in_words} of {self.title}"
        same = "" if self.is_new else ": exactly this data, so it tests nothing"
        known.append(f"{trained}{same}.")
        return list(filter(None, known))

    @property
    def in_short(self) -> str:
        """The sentence."""
        return self.sentence

    def to_frame(self, *, library: Library | None = None) -> Any:
        """Return the drift of the kept features as a frame of pandas or polars.

        ``library`` is as for :func:`ranksieve.frames.make_frame`.
        """
        items: dict[str, Callable[[Drift], Any]] = {
            "feature": lambda one: one.feature,
            "is_notable": lambda one: one.is_notable,
            "changes": lambda one: one.changes,
            "psi": _of_values(lambda own: own.values.index),
            "psi_within": _of_values(lambda own: own.within.index),
            "median_before": _of_values(lambda own: _median(own.before)),
            "median_now": _of_values(lambda own: _median(own.now)),
            "missing_before": _of_values(lambda own: own.missing_before),
            "missing_now": _of_values(lambda own: own.missing_now),
            "alone_before": lambda one: one.before,
            "alone_now": lambda one: one.now,
            "shift": lambda one: one.shift,
        }
        columns = {name: [item(one) for one in self.drift] for name, item in items.items()}
        return make_frame(columns, library)

    def to_record(self) -> dict[str, Any]:
        """Convert to JSON values with stable keys; :meth:`from_record` is the inverse."""
        fields = to_json(self)
        first = {"state": fields.pop("state"), "exit_status": self.exit_status}
        texts = {"sentence": self.sentence, "act": self.act, "know": self.know}
        content = to_json({**first, **texts, **fields})
        for own, one in zip(content["drift"], self.drift, strict=True):
            own["is_notable"], own["changes"], own["index"] = one.is_notable, one.changes, one.index
        record = {"format": CHECK_FORMAT, "version": _VERSION} | content
        return record | {"checksum": checksum_of(record)}

    @classmethod
    def from_record(cls, record: Any) -> Check:
        """Restore what :meth:`to_record` returned; raises DataError if it is something else."""
        check_signed(record, CHECK_FORMAT, _VERSION, "the result of a check")
        most = inf if record.get("most") is None else record["most"]  # JSON has no infinities
        claim = restore_infinities(record.get("claim"))
        found = convert_record(record | {"claim": claim, "most": most}, cls)
        try:
            check_margin(found.claim.margin, found.claim.level)
            datetime.fromisoformat(found.checked_at)
            assert found.sentence
        except ValueError as error:
            raise DataError(f"it is not a check: {error}") from None
        return found

    @property
    def file_name(self) -> str:
        """Name of its file in a directory of checks: the time."""
        time = datetime.fromisoformat(self.checked_at)
        return f"check-{time:%Y%m%dT%H%M%SZ}.json"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the record to a file of JSON."""
        write_text(json.dumps(self.to_record(), indent=2, allow_nan=False) + "\n", Path(path))


def prepare_place(out: Path, inputs: Iterable[Path] = ()) -> None:
    """Get ready to write a check to a file ``*.json``, or to a directory, which is made.

    Raises a DataError if a file of something else would be lost.
    """
    if out.suffix.lower() != ".json" and not (out.exists() and not out.is_dir()):
        make_directory(out)
    elif not out.is_dir():
        check_replaceable(out, inputs)
        if out.is_file():
            load_check(out)


def load_check(path: str | os.PathLike[str]) -> Check:
    """Load what :meth:`Check.write` wrote."""
    with locate_errors(Path(path)):
        return Check.from_record(read_record(Path(path)))


@dataclass(frozen=True, repr=False)
class CheckHistory(Reported):
    """The checks of a directory.

    Attributes
    ----------
    title : str
        Name of the data of the latest recommendation.
    checks : list of Check
        At least one, in the order of time.
    notes : list of str
        Files that cannot be read, and why.
    """

    title: str
    checks: list[Check]
    notes: list[str]

    _figure: ClassVar[str] = "change-over-time"

    @property
    def in_short(self) -> str:
        """How many checks there are, and the latest."""
        return f"{quantity(len(self.checks), 'check')}. {self.checks[-1].sentence}"


def _of_values(item: Callable[[ValueDrift], Any]) -> Callable[[Drift], Any]:
    """Take an item of the drift of values; None if there are none."""
    return lambda one: None if one.values is None else item(one.values)


def _median(quantiles: Sequence[float]) -> float | None:
    return quantiles[len(quantiles) // 2] if quantiles else None


def load_checks(directory: str | os.PathLike[str]) -> CheckHistory | None:
    """Load all checks that were written to a directory; None if there is none.

    Other files of JSON are ignored.
    """
    checks, notes = [], []
    for path in sorted(Path(directory).glob("*.json")):
        try:
            record = read_record(path)
            if isinstance(record, dict) and record.get("format") == CHECK_FORMAT:
                checks.append(Check.from_record(record))
        except DataError as error:
            notes.append(f"{path.name} is left out: {error}.")
    if not checks:
        return None
    checks.sort(key=lambda one: one.checked_at)
    return CheckHistory(checks[-1].title, checks, notes)
