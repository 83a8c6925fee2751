"""Selection by the sum of the ranks that several selectors give."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices
from ranksieve.choosing import sum_ranks
from ranksieve.engine import Source
from ranksieve.parameters import Count
from ranksieve.registry import Method
from ranksieve.selectors._search.lists import ListsSelector
from ranksieve.sums.varying import varying_features


@dataclass(eq=False, repr=False)
class Borda(ListsSelector):
    r"""Features with the smallest sum of ranks in the lists of several selectors.

    .. math:: R_f = \sum_{s} r_s(f), \qquad r_s(f) = n \text{ if } f \text{ is not in the list of }
              s,

    with the rank :math:`r_s(f)`, from 0, of feature f in the list of selector s, and n features
    (Borda count). Selectors of different kinds make different mistakes, so a feature that all of
    them rank high is rarely a mistake.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    selectors, parameters
        As in :class:`ListsSelector`.
    depth : int, optional
        Length of the lists, by default that of all features. If shorter lists contain fewer
        different features than wanted, the others follow by lists of twice the length, and so on.
    random_state : int, RandomState or None
        Random seed of selectors without a seed among ``parameters``.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, path_ : int array, list of (feature, score)
        Features in ascending order of their sums of ranks; ties go to the lowest index.
    scores_ : array of shape (features,)
        :math:`1 - R_f / (n S)` for S selectors: 1 if all of them rank the feature first, 0 if none
        lists it.
    lists_ : list of RankedList
        For each selector its ``name`` and the first ``depth`` ``features``.

    Notes
    -----
    Takes the time of all selectors. It works on shards in place if all of them do, and takes
    missing values: selectors that do not get the median of the query in their place. An
    ``eval_set`` is passed on to selectors that use one. By default, the lists are those of the gain
    of small trees, which sees thresholds, and of greedy RankRLS, which sees what other features
    leave unsaid; docs/which-selector.md has measurements. Lists do not depend on the number of
    features to select, so one fit gives all numbers. Features constant within every query come
    last. Parameters of selectors with a value per feature need none for excluded features.

    References
    ----------
    C. Dwork, R. Kumar, M. Naor, D. Sivakumar. Rank aggregation methods for the web. WWW 2001.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import Borda
    >>> data, truth = make_ranking(100, n_informative=2, n_redundant=0, noise=0.1)
    >>> selector = Borda(2, selectors=["greedy-rankrls", "shap", "ig"]).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    """

    with_include = "Each of the selectors includes them, and the ranks of the others are added."
    with_groups = "A group takes the position of its first feature."

    methods = (
        Method(
            "borda",
            "sum of the ranks that several selectors give",
            draws=False,
            trial={"selectors": ["top", "stepwise-aic"]},
        ),
    )

    _is_nested = True

    _: KW_ONLY
    selectors: Annotated[Any, "array-like"] = ("bt-influence", "greedy-rankrls")
    depth: Count | None = None

    def reasons(self) -> list[str]:
        """For each selected feature, its rank in each list, from 1."""
        check_is_fitted(self)
        return [
            ", ".join(
                f"{name} {features.index(feature) + 1 if feature in features else '-'}"
                for name, features in self.lists_
            )
            for feature in self.selected_.tolist()
        ]

    def _choose(self, source: Source, choices: Choices, vali: Source | None = None) -> list[int]:
        varies, n = varying_features(source), choices.n_features
        members = list(self._members())
        order: list[int] = []
        depth = length = max(n if self.depth is None else self.depth, len(choices.include))
        while True:
            lists = self._lists(members, source, choices, min(length, n), vali)
            ranks = sum_ranks([ranked.features for ranked in lists], n)
            if length == depth:
                self.lists_, self.scores_ = lists, 1.0 - ranks / (n * len(lists))
            listed = {f for ranked in lists for f in ranked.features if varies[f]}
            order += sorted(listed - set(order), key=lambda f: (ranks[f], f))
            if length >= n or choices.is_full({*choices.start, *choices.groups_of(order)}):
                return self._complete(order, varies, choices)
            length *= 2
