"""LightGBM: its Datasets, training on them, and its estimators.

Every training here ends in :func:`train`, except for that of an estimator with the interface of
scikit-learn, which trains itself.
"""

# ruff: noqa: D102 (the base class documents what a library is asked)

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from inspect import signature
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse

from ranksieve.data import Block, DataError, RankingData
from ranksieve.engine import Source, whole_block
from ranksieve.rankers.libraries.library import (
    TreeLibrary,
    Vocabularies,
    check_whole_labels,
    native_rows,
)
from ranksieve.rankers.libraries.model_checks import load_booster
from ranksieve.rankers.libraries.per_feature import (
    cut_table,
    groups,
    indices,
    reduce_values,
    refuse_reduction,
)
from ranksieve.rankers.libraries.rounding import LIGHTGBM_ROUNDING, check_distinct_values
from ranksieve.rankers.libraries.trial import trust_model
from ranksieve.registry.foreign import parameters_of, row_weights
from ranksieve.threads import openmp_thread_count

LARGEST_LABEL = 30  # LightGBM's default table of gains ends at this label
PER_FEATURE = cut_table(
    {
        reduce_values: """monotone_constraints mc monotone_constraint monotonic_cst feature_contri
            feature_contrib fc fp feature_penalty cegb_penalty_feature_lazy
            cegb_penalty_feature_coupled max_bin_by_feature""",
        indices: """categorical_feature cat_feature categorical_column cat_column
            categorical_features""",
        refuse_reduction: """forcedsplits_filename fs forced_splits_filename forced_splits_file
            forced_splits forcedbins_filename""",
        groups: "interaction_constraints",
    }
)


CATEGORY_PARAMETERS = tuple(name for name, cut in PER_FEATURE.items() if cut is indices)
"""Names of the parameter for features that are categories."""


@contextmanager
def lightgbm_errors() -> Iterator[None]:
    """Turn errors of LightGBM, such as for a query of 10,001 documents, into a DataError."""
    import lightgbm

    try:
        yield
    except lightgbm.basic.LightGBMError as error:
        raise DataError(f"LightGBM: {error}") from None


def blocks_of(source: Source) -> list[Block]:
    """Blocks of all rows of a source in this process; shards are memory-mapped, not read."""
    if isinstance(source, RankingData):
        return [whole_block(source)]
    return [source.block(number) for number in range(source.n_shards)]


def dataset_of(
    blocks: Iterable[Block], reference: Any = None, categorical: Sequence[int] = ()
) -> Any:
    """Make a LightGBM Dataset from adjacent blocks, with the bins of ``reference`` if given.

    ``categorical`` are the features that have categories.
    """
    import lightgbm

    blocks = list(blocks)
    X: Any = [native_rows(block.X) for block in blocks]  # arrays are joined without a copy
    if blocks[0].is_sparse:
        X = sparse.vstack(X, format="csr")
    y = np.concatenate([block.y for block in blocks])
    counts = np.concatenate([np.diff(block.query_ptr) for block in blocks])
    weights: Any = [row_weights(block) for block in blocks]
    positions: Any = [block.positions for block in blocks]
    parts = {
        "weight": None if weights[0] is None else np.concatenate(weights),
        # No metric takes positions, so held-out queries need none.
        "position": None if positions[0] is None or reference else np.concatenate(positions),
    }
    columns: Any = list(categorical) or "auto"
    return lightgbm.Dataset(
        X, y, reference=reference, group=counts, categorical_feature=columns, **parts
    )


def categorical_of(source: Source) -> list[int]:
    """Features that have categories; those of shards are all numbers."""
    return np.flatnonzero(source.categorical).tolist() if isinstance(source, RankingData) else []


def train(
    parameters: dict[str, Any],
    data: Any,
    n_trees: int,
    vali: Any = None,
    early_stopping_rounds: int | None = None,
) -> Any:
    """Train on a Dataset, and stop early on another if it is given; return a Booster.

    Without ``early_stopping_rounds``, the parameters say whether to stop early.
    """
    import lightgbm

    if data.position is not None:  # threads would add up the biases of positions in any order
        parameters = parameters | {"num_threads": 1}
    if vali is None:
        return lightgbm.train(parameters, data, n_trees)
    callbacks = []
    if early_stopping_rounds is not None:
        callbacks.append(lightgbm.early_stopping(early_stopping_rounds, verbose=False))
    return lightgbm.train(parameters, data, n_trees, valid_sets=[vali], callbacks=callbacks)


def why_no_positions(objective: Any) -> str:
    """Why trees of an objective take no positions; empty if they do."""
    if objective == "lambdarank":
        return ""
    return "of LightGBM's objectives, lambdarank alone takes them."


def predict(booster: Any, rows: Any, n_trees: int | None = None, **how: Any) -> Any:
    """Scores of native rows by the first trees of a booster, or by the best number of them."""
    threads = openmp_thread_count()
    return booster.predict(rows, num_iteration=n_trees, num_threads=threads, **how)


def write_text(booster: Any, n_trees: int | None = None) -> str:
    """Text of the first trees of a booster, or of the best number of them."""
    text = str(booster.model_to_string(num_iteration=n_trees))
    trust_model("lightgbm", text.encode())
    return text


def check_for_lightgbm(name: str, source: Source) -> None:
    """Raise a DataError for labels, or values of features, that LightGBM cannot use.

    ``name`` is that of a ranker with LightGBM's default table of gains.
    """
    check_whole_labels(name, source, LARGEST_LABEL)
    check_distinct_values("LightGBM", source, LIGHTGBM_ROUNDING)


class LightGBM(TreeLibrary):
    """Rankers with the interface of scikit-learn, such as LGBMRanker."""

    log = MappingProxyType({"verbosity": -1})
    log_names = ("verbose",)
    per_feature = PER_FEATURE
    of_categories = CATEGORY_PARAMETERS
    rounding = LIGHTGBM_ROUNDING

    @cached_property
    def _aliases(self) -> dict[str, str]:
        """Each alias of a parameter -> its name in the class, or else its first alias."""
        from lightgbm import LGBMRanker, basic

        basic._ConfigAliases.get("num_leaves")  # LightGBM has no public list of aliases
        own = LGBMRanker().get_params().keys()
        found: dict[str, str] = {}
        for first, names in basic._ConfigAliases.aliases.items():
            best = next((name for name in names if name in own), first)
            found |= dict.fromkeys(names, best)
        return found

    def accepts(self, parameter: str) -> bool:
        return parameter in self._aliases

    def translate(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        return {self._aliases.get(name, name): value for name, value in parameters.items()}

    def feature_names(self, estimator: Any) -> Any:
        names = estimator.booster_.feature_name()
        return None if names == [f"Column_{n}" for n in range(len(names))] else names

    def no_row_weights(self, estimator: Any) -> str:
        return ""

    def no_positions(self, estimator: Any) -> str:
        if not self.trains_on_datasets(estimator):
            return "LightGBM takes them from its own LGBMRanker alone, with its own objective."
        return why_no_positions(
            self.translate(parameters_of(estimator))["objective"] or "lambdarank"
        )

    def check_labels(self, parameters: dict[str, Any], data: RankingData) -> None:
        if parameters.get("objective") in (None, "lambdarank", "rank_xendcg"):
            gains = parameters.get("label_gain")
            if isinstance(gains, str):
                gains = gains.split(",")
            largest = LARGEST_LABEL if gains is None else len(gains) - 1
            check_whole_labels("LGBMRanker", data, largest)

    def fit_arguments(self, data: RankingData) -> tuple[tuple[Any, ...], dict[str, Any]]:
        queries: dict[str, Any] = {"group": data.group_counts, "sample_weight": row_weights(data)}
        if data.categories:
            queries["categorical_feature"] = categorical_of(data)
        return (native_rows(data.X), data.y), queries

    def vali_arguments(self, estimator: Any, vali: RankingData) -> dict[str, Any]:
        X, y = native_rows(vali.X), vali.y
        takes_parts = "eval_X" in signature(estimator.fit).parameters  # eval_set is deprecated
        rows = {"eval_X": (X,), "eval_y": (y,)} if takes_parts else {"eval_set": [(X, y)]}
        queries: dict[str, Any] = {"eval_group": [vali.group_counts]}
        weights = row_weights(vali)
        if weights is not None:
            queries["eval_sample_weight"] = [weights]
        return rows | queries

    def trains_on_datasets(self, estimator: Any) -> bool:
        from lightgbm import LGBMRanker

        parameters = self.translate(parameters_of(estimator))
        own = callable(parameters["objective"]) or parameters["class_weight"] is not None
        return type(estimator) is LGBMRanker and not own

    def dataset_parameters(self, estimator: Any) -> dict[str, Any]:
        estimator._eval_at = (1, 2, 3, 4, 5)  # the default of fit
        return estimator._process_params(stage="fit")

    def fit(self, estimator: Any, data: RankingData, vali: RankingData | None = None) -> None:
        if data.positions is None:
            super().fit(estimator, data, vali)
        else:  # which fit of LightGBM's estimators does not take
            columns = categorical_of(data)
            self.fit_dataset(estimator, lambda _: dataset_of(blocks_of(data), None, columns), vali)

    def fit_dataset(
        self,
        estimator: Any,
        dataset: Callable[[dict[str, Any]], Any],
        vali: RankingData | None = None,
    ) -> None:
        settings = self.dataset_parameters(estimator)
        data, held_out = dataset(settings), None
        if vali is not None:
            held_out = dataset_of(blocks_of(vali), data, categorical_of(vali))
        self._set_booster(estimator, train(settings, data, estimator.n_estimators, held_out))

    def scores(self, estimator: Any, X: Any, categories: Vocabularies = ()) -> Any:
        return predict(estimator.booster_, native_rows(X))

    def importances(self, estimator: Any, n_features: int) -> Any:
        return estimator.booster_.feature_importance("gain", iteration=estimator.best_iteration_)

    def contributions(self, estimator: Any, X: Any, categories: Vocabularies = ()) -> Any:
        return predict(estimator.booster_, X, pred_contrib=True)

    def model_text(self, estimator: Any) -> str:
        return write_text(estimator.booster_)  # up to the best iteration

    def restore(self, estimator: Any, text: str) -> None:
        self._set_booster(estimator, load_booster(text))

    def _set_booster(self, estimator: Any, booster: Any) -> None:
        estimator._Booster = booster  # LightGBM has no public way to do this
        estimator._n_features = estimator._n_features_in = booster.num_feature()
        estimator._best_iteration = booster.best_iteration
        estimator.fitted_ = True
