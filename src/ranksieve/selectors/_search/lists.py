"""Base of the selectors that combine the lists of several selectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from ranksieve.base import Choices, RankSelector
from ranksieve.data import RankingData
from ranksieve.data.missing import FILLING
from ranksieve.engine import Source
from ranksieve.parameters import FeatureCount, Seed
from ranksieve.progress import track
from ranksieve.rankers.registry import make_ranker
from ranksieve.registry import Method
from ranksieve.selectors._search.filters import scored_steps
from ranksieve.selectors._search.held_out import HeldOutSelector
from ranksieve.selectors.registry import SELECTORS, make_method


class RankedList(NamedTuple):
    """The features that one selector chose."""

    name: str  # of the selector
    features: tuple[int, ...]  # in the order of selection


@dataclass(eq=False, repr=False)
class ListsSelector(HeldOutSelector):
    """Base of selectors that combine the lists of several others.

    It works on shards in place if all of these selectors do. Selectors that take no missing values
    get the median of the query in their place; in shards, missing values must be filled in first.

    Parameters
    ----------
    selectors : sequence of selectors
        One or more, each by its published name, as ``module:object``, or as an object: a selector
        of this library, of scikit-learn or of your own. A pair (name, object) gives it a name.
    parameters : dict, optional
        Parameters of selectors by their names, such as ``{"cegb": {"n_estimators": 20}}``.
    """

    takes_missing = True
    takes_categories = True  # each selector gets what it takes

    n_features_to_select: FeatureCount = 10
    _: KW_ONLY
    selectors: Annotated[Any, "array-like"] = ()
    parameters: dict[str, Any] | None = None
    random_state: Seed = 0

    @property
    def works_on_shards(self) -> bool:  # type: ignore[override]
        """Whether all selectors work on shards in place."""
        return all(member.make().works_on_shards for member in self._members())

    def _lists(
        self,
        members: Sequence[ListMember],
        source: Source,
        choices: Choices,
        length: int,
        vali: Source | None,
    ) -> list[RankedList]:
        """List of each of these selectors, of at most ``length`` features."""
        include = {"include": choices.include} if choices.include else {}
        advance, lists = track("Selectors", len(members)), []
        filled = _filled(source), None if vali is None else _filled(vali)
        for member in members:
            seeds = dict.fromkeys(member.method.seeds, self.random_state)
            selector = member.make(length, seeds, include)
            train, test = (source, vali) if selector.takes_missing else filled
            evaluation = {"eval_set": test} if member.method.uses_held_out_data else {}
            chosen = selector.fit(train, **evaluation).selected_
            lists.append(RankedList(member.method.name, tuple(chosen[:length].tolist())))
            advance(1)
        return lists

    def _complete(self, order: list[int], varies: np.ndarray, choices: Choices) -> list[int]:
        """Select features in this order, then the others, constant ones last; set ``path_``."""
        others = np.setdiff1d(np.arange(choices.n_features), order)
        others = others[np.argsort(~varies[others], kind="stable")]
        chosen = choices.in_order([*order, *others])
        return self._record_path(scored_steps(chosen, self.scores_))

    def _members(self) -> Iterator[ListMember]:
        """The selectors whose lists to combine; raises a ValueError for an unknown name."""
        named = dict(self.parameters or {})
        found = [SELECTORS.find(entry) for entry in self.selectors]
        if not found:
            raise ValueError("selectors is empty: name the selectors whose lists to combine")
        for name in named.keys() - {method.name for method in found}:
            known = ", ".join(method.name for method in found)
            raise ValueError(
                f"parameters: no selector is named {name!r}; the selectors are {known}"
            )
        for method in found:
            own = named.get(method.name, {})
            if not isinstance(own, Mapping):
                raise ValueError(f"parameters of {method.name} should be a mapping, got {own!r}")
            yield ListMember(method, dict(own))


def _filled(source: Source) -> Source:
    """The same data without missing values, for selectors that take none."""
    if isinstance(source, RankingData) and source.keeps_missing and source.lacks_numbers:
        return source.with_missing(FILLING)
    return source


class ListMember(NamedTuple):
    """A selector whose list is combined with others."""

    method: Method
    parameters: dict[str, Any]

    def make(
        self,
        k: int | None = None,
        seeds: dict[str, Any] | None = None,
        choices: dict[str, Any] | None = None,
    ) -> RankSelector:
        """Make the selector, for a number of features if it takes one."""
        number = k if "n_features_to_select" in self.method.defaults else None
        own = (seeds or {}) | self.parameters | (choices or {})
        if isinstance(own.get("ranker"), str):
            own["ranker"] = make_ranker(own["ranker"])
        return make_method(self.method, number, **own)
