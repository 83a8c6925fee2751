"""Base of all selectors, and how their attributes get the excluded features back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sized
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from ranksieve.base.choices import Choices, make_choices
from ranksieve.base.estimator import RankEstimator, as_source
from ranksieve.costs import AlignedCosts, FeatureCosts
from ranksieve.data import DataError, RankingData
from ranksieve.data.fitted import check_features, treat_missing_as_in_training
from ranksieve.data.inputs import default_names
from ranksieve.engine import Source
from ranksieve.frames import Library, make_frame
from ranksieve.io.shards import Shards
from ranksieve.parameters import FeatureCount, Features
from ranksieve.progress import progress_bar
from ranksieve.sums.checks import check_labels_differ, explain_failures

# Text that replaces {example} in docstrings.
_EXAMPLE = """
    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import {class}
    >>> data, truth = make_ranking(200, n_informative=2, n_redundant=0, noise=0.1)
    >>> selector = {class}(n_features_to_select=2).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
"""


class PerFeature(NamedTuple):
    """Layout of a fitted attribute with values per feature."""

    axes: tuple[int, ...] = (0,)  # axes of the array that correspond to features
    fill: float = np.nan  # value of excluded features

    def widen(self, values: np.ndarray, choices: Choices) -> np.ndarray:
        """Array with entries for all features, including excluded ones."""
        for axis in self.axes:
            shape = list(values.shape)
            shape[axis] = choices.n_features_in
            wide = np.full(shape, self.fill, dtype=values.dtype)
            wide[(slice(None),) * axis + (choices.columns,)] = values
            values = wide
        return values


class _WholeDataMixin:
    """Let a transformer of arrays also take a RankingData or shards, and return the same type.

    It is not a TransformerMixin, so that ``set_output`` wraps the arrays that the next class
    returns, but not these.
    """

    def transform(self, X: Any) -> Any:
        """Keep the selected features, in their order in the data.

        A RankingData gives a RankingData, and opened shards give shards of these features.
        """
        if not isinstance(X, (RankingData, Shards)):
            return super().transform(X)  # type: ignore[misc]
        check_is_fitted(self)
        X = treat_missing_as_in_training(self, X)
        check_features(self, X)
        return self._transform_data(X)  # type: ignore[attr-defined]

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, then transform the same rows."""
        if not isinstance(X, (RankingData, Shards)):
            return super().fit_transform(X, y, **fit_params)  # type: ignore[misc]
        return self.fit(X, y, **fit_params).transform(X)  # type: ignore[attr-defined]


class _ArraySelector(SelectorMixin):
    """Transforms arrays and frames by a method that subclasses can override."""

    def transform(self, X: Any) -> Any:
        return self._transform_array(X)

    def _transform_array(self, X: Any) -> Any:
        return super().transform(X)


@dataclass(eq=False, repr=False)
class ChoiceParameters:
    """Parameters of every selector: features to include, to exclude and to group, and progress."""

    _: KW_ONLY
    include: Features | None = None
    exclude: Features | None = None
    groups: Annotated[Any, "array-like", dict, None] = None
    count: Literal["features", "groups"] = "features"
    progress: bool = True


class RankSelector(_WholeDataMixin, _ArraySelector, ChoiceParameters, RankEstimator):
    """Base of all selectors: scikit-learn transformers whose ``fit`` needs query ids.

    A subclass declares its parameters and implements :meth:`_choose`.

    Parameters
    ----------
    include : str, int, or list of these, optional
        Features to start with, by name or 0-based index. They come first in ``selected_``, in this
        order, and count toward ``n_features_to_select``.
        {with_include}
    exclude : str, int, or list of these, optional
        Features that must not be selected. All others are chosen as if these were not in the data.
    groups : list of lists of features, mapping of names to these, or list of labels, optional
        Features that are selected or left out together: lists of features, or a label for each
        feature. A feature in no list is a group by itself.
        {with_groups}
    count : {"features", "groups"}
        What ``n_features_to_select`` counts. If it counts features, groups are selected in order as
        long as all of their features fit into that number.
    progress : bool
        Whether to show progress in a terminal or a notebook.

    Attributes
    ----------
    selected_ : int array
        0-based indices of the selected features, in the order of selection.
    selected_names_ : list of str
        Their names.
    support_ : bool array of shape (features,)
        Whether each feature is selected.
    n_included_ : int
        Number of selected features that were included, which come first.
    n_groups_ : int
        Number of groups selected; only if there are ``groups``.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the features have names.
    missing_ : Missing
        Treatment of missing values that the data declares, if any.

    Notes
    -----
    Other attributes with a value for each feature are NaN, or 0 for weights, for features
    that are excluded.
    """

    _shared_docs: ClassVar[dict[str, str]] = {"example": _EXAMPLE}

    n_features_to_select: FeatureCount
    _number_parameter = "n_features_to_select"
    # Sentences for documentation, tables and errors.
    with_include: ClassVar[str] = (
        "The others follow by their scores."  # after the included features
    )
    with_groups: ClassVar[str] = "A group has the score of its best feature."
    no_include: ClassVar[str] = ""  # why it cannot include features; empty if it can
    no_groups: ClassVar[str] = ""  # why it cannot select groups; empty if it can
    _uses_labels: ClassVar[bool] = True
    _is_nested: ClassVar[bool] = False
    _per_feature: ClassVar[dict[str, PerFeature]] = {
        "scores_": PerFeature(),
        "importance_": PerFeature(),
        "directions_": PerFeature(fill=0),
        "similarity_": PerFeature((0, 1)),
        "coef_": PerFeature(fill=0.0),
    }

    @property
    def is_nested(self) -> bool:
        """Whether larger selections start with the smaller ones, with the current parameters.

        If so, the first k of n selected features are what ``n_features_to_select=k`` would select,
        so one ``fit`` gives the selections of all sizes. False if this is not known to hold, or if
        there is a ``random_state`` that is not an integer.
        """
        has_order = self._is_nested and self.groups is None
        return has_order and isinstance(getattr(self, "random_state", 0), Integral)

    @abstractmethod
    def _choose(self, source: Source, choices: Choices) -> Any:
        """Return features in the order of selection; may set further attributes.

        ``source`` is the training data without the excluded features. A selector that uses held-out
        queries gets them as a further argument, a source like ``source`` or None.
        """

    @property
    def selected_names_(self) -> list[str]:
        """Names of the selected features, in the order of selection; numbers from 1 without names.

        ``get_feature_names_out`` has them in the order of the data.
        """
        check_is_fitted(self)
        return [self._name_of(feature) for feature in self.selected_.tolist()]

    def to_frame(self, *, library: Library | None = None) -> Any:
        """Return all features as a frame of pandas or polars, the selected ones first.

        ``rank`` is the place in the order of selection, from 1, ``score`` is that of ``scores_``,
        and ``path_score`` that of the step of ``path_`` that selected the feature, if the method
        has them.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            See :func:`ranksieve.frames.make_frame`.
        """
        check_is_fitted(self)
        chosen = self.selected_.tolist()
        features = [*chosen, *np.flatnonzero(~self.support_).tolist()]
        others: list[None] = [None] * (len(features) - len(chosen))
        scores, path = getattr(self, "scores_", None), getattr(self, "path_", [])
        steps = {step.feature: float(step.score) for step in path}
        columns: dict[str, list[Any]] = {
            "feature": [self._name_of(feature) for feature in features],
            "index": features,
            "rank": [*range(1, len(chosen) + 1), *others],
            "score": [None if scores is None else float(scores[feature]) for feature in features],
            "path_score": [*(steps.get(feature) for feature in chosen), *others],
        }
        return make_frame(columns, library)

    def reasons(self) -> list[str]:
        """Return a few words about why each of ``selected_`` was chosen; may be empty."""
        check_is_fitted(self)
        return [""] * len(self.selected_)

    def fit(self, X: Any, y: Any = None, qid: Any = None, *, sample_weight: Any = None) -> Any:
        """Select features.

        Parameters
        ----------
        X : array, frame, sparse matrix, RankingData or opened shards
            A RankingData or shards include labels and query ids; leave out ``y`` and ``qid``.
        y : array of shape (rows,)
            Labels; larger is more relevant.
        qid : array of shape (rows,)
            Query of each row.
        sample_weight : array of shape (queries,) or (rows,), optional
            Weights of queries, unless the data has weights: one for each query, in order of first
            appearance; or one for each row, the same for all rows of a query.
        """
        return self._fit(X, y, qid, sample_weight)

    def _fit(self, X: Any, y: Any, qid: Any, sample_weight: Any, **held_out: Any) -> Any:
        """Select features; ``held_out`` are the arguments of ``fit`` for held-out queries."""
        self._validate_params()
        source = self._source(X, y, qid, sample_weight)
        for name, why in (("include", self.no_include), ("groups", self.no_groups)):
            listed = getattr(self, name) if why else None
            if listed is not None and not (isinstance(listed, Sized) and len(listed) == 0):
                raise DataError(f"{type(self).__name__} takes no {name}: {why}")
        choices = make_choices(self, source)
        before = dict(vars(self))
        inside, further = choices.cut(source), []
        if held_out:
            vali = as_source(training=source, estimator=self, **held_out)
            if vali is not None:
                self.check_of_rows(vali)
            further = [None if vali is None else choices.cut(vali)]
        with progress_bar(self.progress, type(self).__name__), explain_failures(self, inside, X):
            if self._uses_labels:
                check_labels_differ(source)
            chosen = np.asarray(self._choose(inside, choices, *further), dtype=np.intp)
        included = choices.include
        if chosen[: len(included)].tolist() != included:
            raise DataError(f"{type(self).__name__} does not start with the included features")
        self.selected_ = choices.columns[chosen]
        self.support_ = np.zeros(choices.n_features_in, dtype=bool)
        self.support_[self.selected_] = True
        self.n_included_ = len(included)
        self.__dict__.pop("n_groups_", None)  # from an earlier fit
        if choices.groups is not None:
            self.n_groups_ = len(choices.groups_of(chosen.tolist()))
        if len(choices.columns) < choices.n_features_in:
            new = {name for name, value in vars(self).items() if value is not before.get(name)}
            self._widen(choices, new)
        return self

    def _costs_of_features(self) -> AlignedCosts:
        """Costs of all features of the data, from the parameter ``costs``."""
        names = getattr(self, "feature_names_in_", default_names(self.n_features_in_))
        return FeatureCosts.make(self.costs, names).aligned(names)

    def _widen(self, choices: Choices, names: set[str]) -> None:
        """Add excluded features to the attributes that ``_choose`` has set."""
        for name in names - {"selected_", "support_"}:
            value = getattr(self, name)
            if name in self._per_feature:
                setattr(self, name, self._per_feature[name].widen(value, choices))
            elif name.endswith("_"):
                setattr(self, name, _restore_indices(value, choices.columns))

    def _record_path(self, steps: list[Any]) -> list[int]:
        """Store steps, each with a ``feature`` and a ``score``, as ``path_``; return features."""
        self.path_ = steps
        return [step.feature for step in steps]

    def _number_to_select(self, n: int) -> int:
        """Number of features or groups to select of ``n``; all if the method chooses it."""
        wanted = self.n_features_to_select
        if wanted is None or isinstance(wanted, str):
            return n
        return int(wanted) if isinstance(wanted, Integral) else max(1, round(float(wanted) * n))

    def _transform_data(self, data: Any) -> Any:
        """Transform a RankingData or shards."""
        return data.take_features(self.support_)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_


def _restore_indices(value: Any, columns: np.ndarray) -> Any:
    """Replace indices of features in records, or lists of records, by those in the data."""
    if isinstance(value, list):
        return [_restore_indices(item, columns) for item in value]
    if hasattr(value, "_replace"):  # a named tuple
        if "feature" in value._fields:
            return value._replace(feature=int(columns[value.feature]))
        if "features" in value._fields:
            kept = columns[np.asarray(value.features, dtype=np.intp)]
            is_tuple = isinstance(value.features, tuple)
            return value._replace(features=tuple(kept.tolist()) if is_tuple else kept)
    return value
