"""What is suspicious about features, before anything is trained: leaks, outcomes, copies."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from ranksieve.data import RankingData
from ranksieve.data.times import Times
from ranksieve.engine import Source
from ranksieve.sums.drift import MODERATE
from ranksieve.sums.drift_over_time import Drifted, find_drift
from ranksieve.sums.leaks import Leak, find_leaks
from ranksieve.sums.row_numbers import RowNumbers, find_row_numbers
from ranksieve.sums.suspicious_names import Suspect, suspect_name

Kind = Literal["leak", "outcome", "position", "id", "time", "drift", "copy", "constant"]

_BY_NAME: dict[Suspect, str] = {
    "outcome": "by its name, an outcome that is known only after users have seen the results",
    "position": "by its name, the position where a document was shown",
    "id": "by its name, an id, which a ranker would memorize",
    "time": "by its name, the time of a search, which a ranker would memorize",
}
_NUMBERS = (
    "numbers the documents of every query: the position where they were shown, or their rank by "
    "another ranker"
)
_GROWS = "grows from row to row, as ids and times do, which a ranker would memorize"
_MOST_DRIFTED = 5  # features to name
_CONSTANT = "constant within every query: cannot rank documents"


@dataclass(frozen=True)
class Suspicion:
    """Why features should perhaps not be used.

    Attributes
    ----------
    kind : {"leak", "outcome", "position", "id", "time", "drift", "copy", "constant"}
        The feature ranks nearly perfectly alone; it is an outcome, a position, an id or a time, by
        its name or its values; its values change over time; it ranks documents exactly as another
        feature does; or it is constant within every query.
    features : list of str
    what : str
        What was found, of each of them.
    numbers : dict of str to float
        Of a leak: ``right``, the share of the pairs of documents of a query in the right order, and
        ``right_next``, that of the next best feature; ``label``, the least label of the better
        document of a pair; and ``queries``, the number of queries that have such pairs. Of a drift:
        ``index``, the population stability index; ``missing_before`` and ``missing_now``.
    remedy : str
        Option of the command line that leaves them out; empty if they need not be.
    """

    kind: Kind
    features: list[str]
    what: str
    numbers: dict[str, float] = field(default_factory=dict)
    remedy: str = ""

    @property
    def is_warning(self) -> bool:
        """Whether it may mislead a ranker; copies and constants only add nothing."""
        return self.kind not in ("copy", "constant")

    @property
    def sentence(self) -> str:
        """What was found, with the names."""
        return f"{', '.join(self.features)}: {self.what}."


def find_suspicions(
    source: Source,
    labels: Mapping[float, int],
    constant: Sequence[str],
    copies: Mapping[str, str],
    *,
    comparable: bool = True,
    times: Times | None = None,
) -> list[Suspicion]:
    """List what is suspicious about features, the worst first.

    Parameters
    ----------
    source : Source
    labels : mapping of float to int
        Number of rows with each label.
    constant : sequence of str
        Features that are constant within every query.
    copies : mapping of str to str
        Features that rank documents exactly as another feature does, and that feature.
    comparable : bool
        Whether all values are finite or missing; otherwise only names are looked at.
    times : Times, optional
        Times of the rows, to look for drift; of data in memory only.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve import RankingData
    >>> from ranksieve.sums.suspicions import find_suspicions
    >>> X, y = np.random.default_rng(0).normal(size=(40, 2)), np.tile([0, 1], 20)
    >>> data = RankingData(X, y, np.arange(40) // 4, feature_names=["rank_shown", "bm25"])
    >>> for suspicion in find_suspicions(data, {0: 20, 1: 20}, [], {}):
    ...     print(suspicion.sentence, suspicion.remedy)
    rank_shown: by its name, the position where a document was shown. --ignore rank_shown
    """
    if source.missing is None:
        source = source.with_missing("keep")
    names = [str(name) for name in source.feature_names]
    found: list[Suspicion] = []
    accused = set(constant)
    if comparable:
        for leak in find_leaks(source, labels):
            found.append(_describe(leak, names))
            accused.add(names[leak.feature])
    if comparable and times is not None and isinstance(source, RankingData):
        drifted = [one for one in find_drift(source, times) if names[one.feature] not in accused]
        found += [_describe_drift(one, names, times.column) for one in drifted[:_MOST_DRIFTED]]
    by_kind: dict[tuple[Kind, str], list[str]] = {}
    rows = find_row_numbers(source) if comparable else RowNumbers([], [])
    for feature, name in enumerate(names):
        suspect = suspect_name(name)
        if name in accused:
            continue
        if feature in rows.positions:
            by_kind.setdefault(("position", _NUMBERS), []).append(name)
        elif suspect is not None:
            by_kind.setdefault((suspect, _BY_NAME[suspect]), []).append(name)
        elif feature in rows.growing:
            by_kind.setdefault(("id", _GROWS), []).append(name)
    found += [
        Suspicion(kind, own, what, remedy=_leave_out(own)) for (kind, what), own in by_kind.items()
    ]
    of_source: dict[str, list[str]] = {}
    for copy, original in copies.items():
        of_source.setdefault(original, []).append(copy)
    for original, own in of_source.items():
        found.append(Suspicion("copy", own, f"copy of {original}: ranks documents exactly alike"))
    if constant:
        found.append(Suspicion("constant", [*constant], _CONSTANT))
    return sorted(found, key=lambda one: get_args(Kind).index(one.kind))


def advice(suspicions: Iterable[Suspicion]) -> str:
    """What to do about all warnings together, in one sentence; empty if there is nothing."""
    names = [name for one in suspicions if one.remedy for name in one.features]
    if not names:
        return ""
    python = f"exclude={names}" if _are_numbers(names) else f"Columns(ignore={names})"
    return (
        "What is not known when documents are ranked must not be learned from: leave it out with "
        f"{_leave_out(names)} (in Python, {python})."
    )


def warnings_of(suspicions: Sequence[Suspicion]) -> list[str]:
    """Sentences about what may mislead a ranker, and what to do; empty if there is nothing."""
    sentences = [one.sentence for one in suspicions if one.is_warning]
    return [*sentences, *filter(None, [advice(suspicions)])]


def _describe(leak: Leak, names: Sequence[str]) -> Suspicion:
    name = names[leak.feature]
    right, right_next = 1 - leak.wrong, 1 - leak.wrong_of_runner_up
    what = (
        f"ranks nearly perfectly alone: {right:.1%} of the pairs of documents with labels of at "
        f"least {leak.cut:g} and below are in the right order"
    )
    if leak.runner_up is not None:
        what += f"; next is {names[leak.runner_up]} with {right_next:.1%}"
    numbers = {
        "right": right,
        "right_next": right_next,
        "label": leak.cut,
        "queries": float(leak.n_queries),
    }
    return Suspicion("leak", [name], what, numbers, _leave_out([name]))


def _describe_drift(one: Drifted, names: Sequence[str], column: str) -> Suspicion:
    drift = one.drift
    what = f"drifts with {column}: "
    if one.size >= MODERATE:
        what += f"population stability index {one.size:.2f}"
        if drift.before and drift.now:
            middle = len(drift.before) // 2
            what += f", median {drift.before[middle]:.4g} earlier and {drift.now[middle]:.4g} later"
    else:
        before, now = drift.missing_before, drift.missing_now
        what += f"{before:.1%} of the values missing earlier, {now:.1%} later"
    numbers = {
        "index": one.size,
        "missing_before": drift.missing_before,
        "missing_now": drift.missing_now,
    }
    return Suspicion("drift", [names[one.feature]], what, numbers)


def _leave_out(names: Sequence[str]) -> str:
    """Option that leaves features out: text has no columns to ignore, only numbers."""
    option = "--exclude" if _are_numbers(names) else "--ignore"
    return f"{option} {shlex.quote(','.join(names))}"


def _are_numbers(names: Sequence[str]) -> bool:
    return all(name.isdecimal() for name in names)
