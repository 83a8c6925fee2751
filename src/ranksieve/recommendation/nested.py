"""The nested procedure: search for candidates, choose one, and judge it on other queries.

It runs in stages: one for each part of the queries, which is held out and then judges the choice,
and one that finds the features to recommend. Only :func:`choose_features` is used from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from math import isfinite, sqrt
from typing import NamedTuple

import numpy as np

from ranksieve.choosing import ROUNDING, pareto_front
from ranksieve.data import DataError
from ranksieve.experiments import OutOfTimeError, Runner, Trial, gather
from ranksieve.recommendation.answer import FrontPoint, JudgedPart
from ranksieve.recommendation.pruning import prune
from ranksieve.recommendation.task import ALL, NONE, ROWS_TO_SELECT, Found, Queries, Rule, Task
from ranksieve.significance import claim_chains, claim_non_inferiority
from ranksieve.significance.samples import Sample
from ranksieve.sums.similarity import Similarity

_CLOSE = 1.12  # no size is tried between two that are within this factor
_FACTOR = 1.5  # between sizes that are fixed in advance
_TO_SEARCH = 0.7  # share of the time of a stage; the rest is for selecting and judging
_FEW_SIZES = 3  # number of sizes tried within a budget, if data is large
_MOST_TRIES, _FEW_TRIES = 16, 8  # limits on the sets tried to save costs: usually, for large data
_MOST_SIZES, _STEP = 4, 1.12  # sizes tried if the chosen one is not enough; factor between them
_ALIKE = 0.5  # a feature may replace another that is at least this similar
_MOST_SUBSTITUTES = 3  # largest number for each feature


class Candidate(NamedTuple):
    """The first ``size`` features of a selector, selected in each of the choosing folds."""

    selector: str
    size: int
    cost: float  # mean over the folds
    values: np.ndarray  # (queries,): value of each choosing query


class Stage(NamedTuple):
    """One run of the procedure: what it chooses features on, and what judges the choice."""

    # Folds: what to select and train on, and the part whose queries help to choose.
    folds: Sequence[tuple[Trial, str]]
    final: Trial  # what the features are selected on once the choice is made
    judge: str | None  # part of the queries, if any, that has no influence on the choice
    is_last: bool = False  # whether its features are recommended


class Choice(NamedTuple):
    """The candidate and the features that a stage has chosen."""

    candidate: Candidate
    features: tuple[int, ...]  # in the order of the selector
    candidates: list[Candidate]  # all that were evaluated, including all features and no features
    values: np.ndarray | None  # (queries,): of the judging queries, with the chosen features
    base: np.ndarray | None  # (queries,): the same with all features


async def choose_features(task: Task, run: Runner, seconds: float | None) -> Found:
    """Run all stages in parallel or, with a time limit, one after the other until time is up.

    With a time limit, the last stage runs first, because its features are recommended. What was
    left out is said in the notes of the task.
    """
    stages, choices = plan_stages(task.queries), list[Choice | None]()
    if seconds is None:
        choices += await gather(*(choose(task, stage, run) for stage in stages))
    else:
        choices += await _choose_in_time(task, stages, run, seconds)
    parts = [
        _judged_part(task, stage.judge, choice)
        for stage, choice in zip(stages, choices, strict=True)
        if stage.judge and choice
    ]
    chosen = choices[-1]
    if chosen is None:  # there was no time to try anything
        every, cost = task.allowed, task.costs.total(task.allowed)
        if not task.rule.is_affordable(cost):
            raise DataError("there was no time to find features within the budget: allow more time")
        return Found(ALL, len(every), every, [], parts)
    front = _describe_candidates(task, stages[-1], chosen.candidates)
    return Found(chosen.candidate.selector, chosen.candidate.size, chosen.features, front, parts)


def plan_stages(queries: Queries) -> list[Stage]:
    """Return the stages; the last one yields the features to recommend.

    The test queries of a split judge in its only stage. Otherwise each part judges once, while all
    other parts, or two of them, choose.
    """
    names = [part for part in queries.parts if part != "test"]
    if queries.is_split:
        few = names[:2] if queries.is_large else names
        folds = [(queries.without(part, "test"), part) for part in few]
        return [Stage(folds, queries.to_deploy, "test", is_last=True)]
    is_few = queries.is_large and len(names) > 3  # whether only two parts choose
    stages = []
    for number, judge in enumerate(names):
        others = names[:number] + names[number + 1 :]
        if is_few:  # take neighbors, so that two stages share the training set without both
            others = [names[number - 1], names[(number + 1) % len(names)]]
        folds = [(queries.without(judge, part), part) for part in others]
        stages.append(Stage(folds, queries.without(judge), judge))
    last = names[:2] if is_few else names
    folds = [(queries.without(part), part) for part in last]
    return [*stages, Stage(folds, queries.to_deploy, None, is_last=True)]


def describe_division(queries: Queries) -> str:
    """Say which queries choose and which judge."""
    names = [part for part in queries.parts if part != "test"]
    if names == ["vali"]:
        return f"{queries.in_words}; its validation queries choose, its test queries judge"
    if queries.is_split:
        choosers = "two" if queries.is_large else "each"
        parts = f"{len(names)} parts of the training queries"
        choosing = f"{choosers} of {parts} chooses once (seed {queries.seed})"
        return f"{queries.in_words}; {choosing}, its test queries judge"
    is_few = queries.is_large and len(names) > 3
    choosers = "two of the others" if is_few else "each of the others"
    judging = f"each part judges what was chosen without it, and {choosers} chooses once"
    samples = f"; selectors look at samples of {ROWS_TO_SELECT:,} rows" if is_few else ""
    return f"{queries.in_words}; {judging}{samples}"


async def _choose_in_time(
    task: Task, stages: Sequence[Stage], run: Runner, seconds: float
) -> list[Choice | None]:
    choices: list[Choice | None] = [None] * len(stages)
    last, was_short = len(stages) - 1, False
    for n_before, number in enumerate([last, *range(last)]):
        at_end = run.limit.left * (1 - _TO_SEARCH / (len(stages) - n_before))

        def is_over(at_end: float = at_end) -> bool:
            nonlocal was_short
            is_short = run.limit.left < at_end
            was_short |= is_short
            return is_short

        try:
            choices[number] = await choose(task, stages[number], run, is_over)
        except OutOfTimeError:
            break
    lacking = []
    if choices[-1] is None:
        lacking.append("no smaller set of features was tried")
    elif was_short:
        lacking.append("fewer sizes were tried")
    n_unused = sum(choice is None for choice in choices[:-1])
    if n_unused:
        lacking.append(f"{n_unused} of {last} parts of the queries were not tested")
    if lacking:
        task.notes.append(f"The time limit of {seconds:.4g} s was reached: {'; '.join(lacking)}.")
    return choices


def _judged_part(task: Task, part: str, choice: Choice) -> JudgedPart:
    """Describe what was chosen without a part of the queries, and the values of its queries."""
    queries, (chosen, features, _, values, base) = task.queries, choice
    assert values is not None
    assert base is not None
    ids = queries.whole.query_ids[queries.parts[part]].tolist()
    weights = queries.weights([part])
    return JudgedPart(
        part,
        chosen.selector,
        chosen.size,
        task.costs.total(features),
        list(features),
        list(map(str, ids)),
        base.tolist(),
        values.tolist(),
        None if weights is None else weights.tolist(),
    )


async def choose(
    task: Task, stage: Stage, run: Runner, is_over: Callable[[], bool] = lambda: False
) -> Choice:
    """Choose features on the folds of a stage, and judge the choice.

    Once time ``is_over``, only work that a choice requires is done. The last stage also evaluates
    the sizes that are fixed in advance, in the end.
    """
    search = Search(task, stage, run, is_over)
    await search.run()
    chosen = choose_candidate(task.rule, search.found, search.base, search.weights)
    features = await _features_of(chosen, search)
    values = base = None
    if stage.judge is not None:
        where = [(stage.final, stage.judge)]
        values, base = await gather(
            task.values(run, where, features), task.values(run, where, task.allowed)
        )
    if stage.is_last:
        await search.extend(chosen)
    return Choice(chosen, tuple(features), search.found, values, base)


def choose_candidate(
    rule: Rule, candidates: Sequence[Candidate], base: np.ndarray, weights: np.ndarray | None
) -> Candidate:
    """Choose the cheapest affordable candidate that is enough, or else the best one.

    With a budget, always choose the best. Of equally cheap candidates, the better one wins.
    """
    affordable = [one for one in candidates if rule.is_affordable(one.cost)]
    enough = [one for one in affordable if rule.is_enough(one.values, base, weights)]

    def mean(one: Candidate) -> float:
        return Sample.of(one.values, weights).mean

    if enough and rule.budget is None:
        return min(enough, key=lambda one: (round(one.cost, 9), -mean(one), one.size))
    return max(affordable, key=lambda one: (round(mean(one), 12), -one.cost, -one.size))


def least_size(task: Task) -> int:
    """Smallest number of features to request from a selector."""
    return max(1, len(task.include))


def fixed_sizes(task: Task) -> list[int]:
    """Return the sizes that are fixed in advance, ascending and smaller than all features."""
    sizes, size = [], least_size(task)
    while size < len(task.allowed):
        sizes.append(size)
        size = max(size + 1, round(size * _FACTOR))
    return sizes


class Search:
    """Evaluates candidates of a stage on the choosing queries, whose weights are ``weights``.

    ``base`` (queries,) has the values with all features.
    """

    def __init__(self, task: Task, stage: Stage, run: Runner, is_over: Callable[[], bool]) -> None:
        self.task, self.stage, self._run, self.is_over = task, stage, run, is_over
        self.weights = task.queries.weights([part for _, part in stage.folds])
        self._found: dict[tuple[str, int], Candidate] = {}

    @property
    def found(self) -> list[Candidate]:
        """All candidates evaluated so far."""
        return list(self._found.values())

    async def values(self, *features: Sequence[int]) -> np.ndarray:
        """Return the values of the choosing queries with some features, or with those by fold."""
        return await self.task.values(self._run, self.stage.folds, *features)

    async def path(self, selector: str, trial: Trial, size: int) -> list[int]:
        """Order at least ``size`` features by a selector."""
        return await self.task.path(self._run, selector, trial, size)

    def is_enough(self, values: np.ndarray) -> bool:
        """Whether values are nearly as good as those with all features."""
        return self.task.rule.is_enough(values, self.base, self.weights)

    @property
    def _is_exhaustive(self) -> bool:
        """Whether to look for the best candidate, not for the cheapest that is enough."""
        return self.task.rule.name == "best" or self.task.rule.budget is not None

    async def run(self) -> None:
        """Evaluate all features, no features, and the sets of selectors that may be chosen."""
        task = self.task
        fixed: dict[tuple[str, int], Sequence[int]] = {(ALL, len(task.allowed)): task.allowed}
        if task.allows_none and not task.include:
            fixed[NONE, 0] = ()
        values = await gather(*map(self.values, fixed.values()))
        for (name, size), own in zip(fixed, values, strict=True):
            cost = task.costs.total(fixed[name, size])
            self._found[name, size] = Candidate(name, size, cost, own)
        self.base = values[0]
        if self._is_exhaustive:
            await gather(*map(self._largest_first, task.selections))
            if not any(task.rule.is_affordable(one.cost) for one in self.found):
                raise DataError(f"the budget of {task.rule.budget:.4g} allows no feature: raise it")
        else:
            for selector in task.selections:
                await self._cheapest(selector)

    async def extend(self, chosen: Candidate) -> None:
        """Evaluate the sizes that are fixed in advance; only some of them if data is large."""
        if self._is_exhaustive or self.is_over():
            return
        least, selectors = 0, list(self.task.selections)
        if self.task.queries.is_large:
            least, selectors = chosen.size, [one for one in selectors if one == chosen.selector]
        sizes = [size for size in fixed_sizes(self.task) if size >= least]
        await gather(*(self._judge_all(selector, sizes[::-1]) for selector in selectors))

    async def _cheapest(self, selector: str) -> None:
        """Find the smallest size that is enough and costs less than the best candidate so far.

        Bisects on a logarithmic scale between a size that is too small and one that is enough.
        """
        # All features count as enough.
        enough = [one for one in self.found if one.selector == ALL or self.is_enough(one.values)]
        best, low = min(enough, key=lambda one: one.cost), least_size(self.task) - 1
        if best.cost <= 0 or self.is_over():
            return
        high = len(self.task.allowed)
        if best.selector != ALL:
            high = 1 + await self._largest_below(selector, best.cost)
        if best.selector != ALL and high - 1 > low:
            candidate = await self._judge(selector, high - 1)
            if not self.is_enough(candidate.values):
                return  # no size of this selector saves anything
            high -= 1
        while high - low > 1 and high > _CLOSE * low and not self.is_over():
            middle = min(high - 1, max(low + 1, round(sqrt(max(low, 1) * high))))
            candidate = await self._judge(selector, middle)
            low, high = (low, middle) if self.is_enough(candidate.values) else (middle, high)

    async def _largest_below(self, selector: str, cost: float) -> int:
        """Return a selector's largest size below a cost; ``least - 1`` if there is none."""
        size = least_size(self.task) - 1
        while size + 1 < len(self.task.allowed):
            paths = await self._paths(selector, size + 1)
            most = min(map(len, paths))
            if most <= size:
                return size
            for more in range(size + 1, most + 1):
                if self._cost(paths, more) >= cost - ROUNDING * cost:
                    return size
                size = more
        return size

    async def _largest_first(self, selector: str) -> None:
        """Evaluate sizes from the largest down, starting with the largest within the budget."""
        sizes = fixed_sizes(self.task)
        if self.task.rule.budget is not None:
            paths = await self._paths(selector, len(self.task.allowed) - 1)
            most = min(map(len, paths))
            sizes = sorted({most, *(size for size in sizes if size < most)} - {0})
            sizes = sizes[-_FEW_SIZES:] if self.task.queries.is_large else sizes
        await self._judge_all(selector, sizes[::-1])

    async def _judge_all(self, selector: str, sizes: Iterable[int]) -> None:
        """Evaluate sizes in order until time is up, but at least the first one."""
        for size in sizes:
            await self._judge(selector, size)
            if self.is_over():
                return

    async def _judge(self, selector: str, size: int) -> Candidate:
        """Evaluate the first ``size`` features that a selector finds in each fold."""
        if (selector, size) not in self._found:
            paths = await self._paths(selector, size)
            values = await self.values(*(path[:size] for path in paths))
            candidate = Candidate(selector, size, self._cost(paths, size), values)
            self._found[selector, size] = candidate
        return self._found[selector, size]

    async def _paths(self, selector: str, size: int) -> list[list[int]]:
        """Return a selector's order of at least ``size`` features in each fold."""
        return await gather(*(self.path(selector, trial, size) for trial, _ in self.stage.folds))

    def _cost(self, paths: Sequence[Sequence[int]], size: int) -> float:
        return float(np.mean([self.task.costs.total(path[:size]) for path in paths]))


async def _features_of(chosen: Candidate, search: Search) -> list[int]:
    """Select the features of the chosen candidate on all queries of the stage.

    If costs vary, exactly these features must be enough: more are added if necessary, then
    expensive ones are removed or replaced.
    """
    task, final, size = search.task, search.stage.final, chosen.size
    if chosen.selector == NONE:
        return []
    path = list(task.allowed)
    if chosen.selector != ALL:
        path = await search.path(chosen.selector, final, size)
    if not task.costs.vary or task.rule.name == "best":
        return path[:size]

    async def is_enough(features: Sequence[int]) -> bool:
        """Whether features are enough on the choosing queries; False once time is up."""
        return not search.is_over() and search.is_enough(await search.values(features))

    if task.rule.budget is None:
        larger = size
        for _ in range(_MOST_SIZES):
            if await is_enough(path[:larger]):
                size = larger
                break
            larger = min(len(path), max(larger + 1, round(_STEP * larger)))
    tries = _FEW_TRIES if task.queries.is_large else _MOST_TRIES
    others = _substitutes(task, final)
    return list(await prune(path[:size], task.costs, is_enough, task.include, others, tries))


def _substitutes(task: Task, trial: Trial) -> dict[int, list[int]]:
    """Find the features that order documents like each feature does, most similar first."""
    data = task.queries.to_select(trial).open().train
    similarity = Similarity("tau_b", absolute=True)(data).round(9)
    found = {}
    for feature in task.allowed:
        order = np.argsort(-similarity[feature], kind="stable").tolist()
        near = [other for other in order if similarity[feature, other] >= _ALIKE]
        near = [other for other in near if other != feature and other in task.allowed]
        found[feature] = near[:_MOST_SUBSTITUTES]
    return found


def _describe_candidates(
    task: Task, stage: Stage, candidates: Sequence[Candidate]
) -> list[FrontPoint]:
    """Return the candidates of the last stage, sorted by cost, with tests of their loss.

    Queries held out from selection and training judge them, so each size that was fixed in advance
    can be tested: from the largest size of a selector down until a test fails, at a level that is
    divided among the selectors.
    """
    weights = task.queries.weights([part for _, part in stage.folds])
    base = next(c.values for c in candidates if c.selector == ALL)
    shown = _shown(task, candidates, base, weights) if stage.judge is None else {}
    points = []
    for candidate in candidates:
        name, size, values = candidate.selector, candidate.size, candidate.values
        value = Sample.of(values, weights).mean
        claim = claim_non_inferiority(values, base, task.rule.margin, task.level, weights)
        change, lower = (claim.change, claim.lower) if name != ALL else (0.0, 0.0)
        change = change if isfinite(change) else 0.0  # the mean with all features is 0
        is_shown = shown.get((name, size))
        points.append(FrontPoint(name, size, candidate.cost, value, change, lower, is_shown))
    ordered = sorted(points, key=lambda p: (p.cost, -p.value, p.size, p.selector))
    front = set(pareto_front([p.cost for p in ordered], [p.value for p in ordered]))
    return [replace(point, is_front=i in front) for i, point in enumerate(ordered)]


def _shown(
    task: Task, candidates: Sequence[Candidate], base: np.ndarray, weights: np.ndarray | None
) -> dict[tuple[str, int], bool]:
    """Test which candidates lose less than the margin: (selector, size) -> whether shown."""
    chains = {selector: _chain(task, candidates, selector) for selector in task.selections}
    values = {name: [candidate.values for candidate in chain] for name, chain in chains.items()}
    are_whole = all(chain and chain[-1].size == least_size(task) for chain in chains.values())
    claims = claim_chains(values, base, task.rule.margin, task.level, weights, pass_on=are_whole)
    shown = {(ALL, len(task.allowed)): True}
    for name, chain in chains.items():
        for candidate, claim in zip(chain, claims[name], strict=True):
            shown[name, candidate.size] = claim.shown
    return shown


def _chain(task: Task, candidates: Sequence[Candidate], selector: str) -> list[Candidate]:
    """Return a selector's candidates of fixed sizes, from the largest down to the first gap.

    Sizes that exceed the budget are skipped.
    """
    by_size = {c.size: c for c in candidates if c.selector == selector}
    sizes = fixed_sizes(task)[::-1]
    if task.rule.budget is not None:
        sizes = [size for size in sizes if size <= max(by_size, default=0)]
    known = takewhile(lambda size: size in by_size, sizes)
    return [by_size[size] for size in known]
