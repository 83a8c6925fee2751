"""How often the intervals of costs that are measured from request times have the truth.

Requests compute some features, chosen by chance, but not independently: a hidden load makes some
requests leave out more than others. Some features cost nothing, and some belong to calls that are
paid once. A time is the sum of the costs, times lognormal noise. Each run draws costs and requests,
and estimates the costs with their 95% intervals. The last column is the mean half width of an
interval, relative to the true cost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from rich.table import Table

from ranksieve.costs import MeasuredCost, estimate_costs
from ranksieve.data import DataError

PARAMETERS = {
    "runs": 200, "requests": 2000, "features": 16, "calls": 3, "noise": 0.4, "documents": 1,
    "first": 0,
}  # fmt: skip
TINY = {"runs": 3, "requests": 200, "features": 6, "calls": 1}

_BASE = 20.0


class Planted(NamedTuple):
    """Requests, and what truly costs how much."""

    log: pd.DataFrame
    groups: dict[str, list[str]]
    costs: dict[str, float]  # of features, groups and the base


def draw(number: int, requests: int, features: int, calls: int, noise: float, most: int) -> Planted:
    """Draw costs and requests, which compute features for up to ``most`` documents."""
    rng = np.random.default_rng(number)
    names = [f"f{place}" for place in range(features)]
    paid = np.where(rng.random(features) < 0.3, 0, rng.gamma(1, 2, features))
    costs = dict(zip(names, paid, strict=True))
    groups = {f"call{call}": names[call :: 2 * calls] for call in range(calls)}
    costs |= {group: float(rng.gamma(2, 2)) for group in groups} | {"base": _BASE}
    load = rng.random(requests)  # what is computed, and how often, is correlated
    computed = (rng.random((requests, features)) < 0.9 - 0.5 * load[:, None]).astype(int)
    for own in groups.values():
        places = [names.index(name) for name in own]
        computed[:, places] *= (rng.random(requests) < 0.8)[:, None]
    computed *= rng.integers(1, most + 1, computed.shape)
    times = np.full(requests, _BASE)
    for place, name in enumerate(names):
        times += costs[name] * computed[:, place]
        usual = computed[computed[:, place] > 0, place].mean()
        costs[name] *= usual  # in a request that computes it
    for group, own in groups.items():
        times += costs[group] * computed[:, [names.index(name) for name in own]].any(axis=1)
    times *= rng.lognormal(-(noise**2) / 2, noise, requests)
    return Planted(pd.DataFrame(computed, columns=names).assign(took_ms=times), groups, costs)


def run(
    runs: int, requests: int, features: int, calls: int, noise: float, documents: int, first: int
) -> Table:
    """Estimate the costs of all draws, and count what their intervals cover."""
    found: dict[str, list[tuple[float, MeasuredCost]]] = {}
    refused = 0
    for number in range(first, first + runs):
        planted = draw(number, requests, features, calls, noise, documents)
        for kind, cost, one in estimates_of(planted):
            found.setdefault(kind, []).append((cost, one))
        refused += is_refused(planted)
    table = Table(title=f"{runs} runs of {requests} requests; {refused} collinear logs refused")
    for column in ("costs of", "number", "covered", "mean estimate / truth", "half width"):
        table.add_column(column, justify="left" if column == "costs of" else "right")
    for kind, pairs in found.items():
        truth = np.array([cost for cost, _ in pairs])
        every = np.array([(one.cost, one.lower, one.upper) for _, one in pairs])
        covered = np.mean((every[:, 1] <= truth) & (truth <= every[:, 2]))
        row: list[Any] = [kind, len(truth), f"{covered:.1%}", "", ""]
        if truth.all():
            row[3] = f"{every[:, 0].sum() / truth.sum():.3f}"
            row[4] = f"{np.mean((every[:, 2] - every[:, 1]) / 2) / truth.mean():.1%}"
        table.add_row(*map(str, row))
    return table


def estimates_of(planted: Planted) -> list[tuple[str, float, MeasuredCost]]:
    """Kind, true cost and estimate of each feature, each group and the base."""
    found = estimate_costs(planted.log, groups=planted.groups)
    return [
        (
            "the base" if one is found.base
            else "groups" if one in found.groups
            else "features" if planted.costs[one.name]
            else "free features",
            planted.costs[one.name],
            one,
        )
        for one in (*found.features, *found.groups, found.base)
    ]  # fmt: skip


def is_refused(planted: Planted) -> bool:
    """Whether the log is refused if two of its features are always computed together."""
    first, second = planted.log.columns[:2]
    try:
        estimate_costs(planted.log.assign(**{second: planted.log[first]}))
    except DataError as error:
        return f"always computed together: {first}, {second}" in str(error)
    return False
