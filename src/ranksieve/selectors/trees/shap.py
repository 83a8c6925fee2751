"""Selection by SHAP values of boosted trees within queries."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices
from ranksieve.engine import Source
from ranksieve.rankers.adapter import RankerAdapter, untrained_ranker
from ranksieve.rankers.base import Ranker, is_repeatable
from ranksieve.registry import Method
from ranksieve.selectors._search.filters import best_sum_first
from ranksieve.selectors._search.importances import shap_within_queries
from ranksieve.selectors.trees.bt_influence import TREE_GRID, TreeSelector
from ranksieve.sums.varying import varying_features


@dataclass(eq=False, repr=False)
class ShapSelector(TreeSelector):
    r"""Features that move the scores of a query's documents apart, by SHAP values.

    .. math:: I_f = \frac{1}{|Q|} \sum_q \frac{1}{n_q} \sum_{i \in q} |\phi_{if} - \bar\phi_{qf}|

    with the contribution :math:`\phi_{if}` of feature f to the score of document i, and its mean
    over the documents of the query: what a feature adds equally to all of them does not change
    their ranking. Queries count equally, or by their weights, whatever their number of documents.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    ranker : ranker or str, optional
        Ranker to explain: a linear ranker of this library, a ranker of LightGBM, XGBoost or
        CatBoost, or the name of a ranker. By default LambdaMART with the following parameters,
        which otherwise have no effect.
    n_estimators, learning_rate, num_leaves, min_child_samples, params, random_state
        As in :class:`TreeSelector`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, path_ : int array, list of (feature, score)
        Features in descending order of their scores.
    scores_ : array of shape (features,)
        The I above, in units of the score; 0 for features that the ranker does not use.
    ranker_ : Ranker
        The ranker, trained on all features that are not excluded.

    Notes
    -----
    Takes one training, and O(m T L d^2) time for m documents and T trees of L leaves and depth d.
    Contributions are those of the documents that the ranker was trained on. Features constant
    within every query come last, though trees may use them together with others. A ranker of
    another library reads shards into memory. Compared with gain (:class:`BoostedTrees`), it prefers
    features that change the ranking of many documents to features that are used in many splits.
    Near-copies share their contributions, as they share gain.

    References
    ----------
    S. M. Lundberg, G. Erion, S.-I. Lee. Consistent individualized feature attribution for tree
    ensembles. arXiv:1802.03888, 2018.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import ShapSelector
    >>> data, truth = make_ranking(200, n_informative=2, n_redundant=0, noise=0.1)
    >>> selector = ShapSelector(n_features_to_select=2).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    """

    with_include = "The others follow by their contributions in a model of all features."
    with_groups = "The contribution of a group is the sum over its features."

    methods = (
        Method(
            "shap",
            "largest spread of SHAP values of trees within queries",
            grid=TREE_GRID,
            draws=False,
            trial={"n_estimators": 5},
        ),
    )

    _is_nested = True

    _: KW_ONLY
    ranker: Annotated[Any, str, None, HasMethods(["fit", "predict"])] = None

    @property
    def is_nested(self) -> bool:
        """True unless the training of the ranker cannot be repeated."""
        return is_repeatable(self.ranker) and super().is_nested

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        """Whether the ranker takes missing values."""
        return self.ranker is None or untrained_ranker(self.ranker).takes_missing

    @property
    def no_row_weights(self) -> str:  # type: ignore[override]
        """Why the ranker takes no weights of rows; empty if it does."""
        return "" if self.ranker is None else untrained_ranker(self.ranker).no_row_weights

    @property
    def no_positions(self) -> str:  # type: ignore[override]
        """Why the ranker takes no positions; empty if it does."""
        if self.ranker is None:
            return super().no_positions
        return untrained_ranker(self.ranker).no_positions

    @property
    def works_on_shards(self) -> bool:  # type: ignore[override]
        """False for rankers of other libraries, which read shards into memory."""
        return self.ranker is None or not isinstance(untrained_ranker(self.ranker), RankerAdapter)

    @property
    def _name_in_errors(self) -> str:
        return f"{type(self).__name__} of {type(untrained_ranker(self.ranker)).__name__}"

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        if self.ranker is None:
            ranker: Ranker = self._ranker(choices, self.random_state)
        else:
            ranker = choices.cut_ranker(untrained_ranker(self.ranker))
        self.ranker_ = ranker.fit(source)
        self.scores_ = shap_within_queries(self.ranker_, source)
        steps = best_sum_first(choices, varying_features(source), self.scores_)
        return self._record_path(steps)

    def reasons(self) -> list[str]:
        """For each selected feature, how far it moves the scores of documents apart."""
        check_is_fitted(self)
        scores = self.scores_[self.selected_].tolist()
        return [f"moves scores by {score:.3g}" if score else "moves nothing" for score in scores]
