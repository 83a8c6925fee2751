"""XGBoost: what the ranker adapter asks of its estimators."""

# ruff: noqa: D102 (the base class documents what a library is asked)

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

from ranksieve.data import RankingData
from ranksieve.rankers.libraries.library import (
    TreeLibrary,
    Vocabularies,
    check_whole_labels,
    native_rows,
)
from ranksieve.rankers.libraries.model_checks import check_json
from ranksieve.rankers.libraries.per_feature import cut_table, groups, reduce_values
from ranksieve.rankers.libraries.rounding import FLOAT32_ROUNDING
from ranksieve.rankers.libraries.trial import trust_model, try_model
from ranksieve.sums.varying import vary_within_queries
from ranksieve.threads import openmp_thread_count


class XGBoost(TreeLibrary):
    """Rankers with the interface of scikit-learn, such as XGBRanker."""

    per_feature = cut_table(
        {
            reduce_values: "monotone_constraints feature_weights feature_types",
            groups: "interaction_constraints",
        }
    )
    of_categories = ("feature_types",)
    rounding = FLOAT32_ROUNDING
    synonyms: ClassVar[Mapping[str, str]] = {
        "eta": "learning_rate",
        "lambda": "reg_lambda",
        "alpha": "reg_alpha",
        "min_split_loss": "gamma",
        "num_boost_round": "n_estimators",
        "num_round": "n_estimators",
        "nthread": "n_jobs",
        "seed": "random_state",
    }
    more_parameters = (
        *("lambdarank_pair_method", "lambdarank_num_pair_per_sample", "lambdarank_unbiased"),
        *("lambdarank_normalization", "lambdarank_score_normalization", "lambdarank_bias_norm"),
        *("ndcg_exp_gain", "updater", "refresh_leaf", "process_type", "max_cached_hist_node"),
        *("sample_type", "normalize_type", "rate_drop", "one_drop", "skip_drop"),  # dart
        *("feature_selector", "top_k", "disable_default_eval_metric", "seed_per_iteration"),
    )

    def feature_names(self, estimator: Any) -> Any:
        return estimator.get_booster().feature_names

    def no_row_weights(self, estimator: Any) -> str:
        return (
            "XGBoost weighs the queries of its ranking objectives, not their rows; LightGBM "
            "(lambdamart, lightgbm) does."
        )

    def no_positions(self, estimator: Any) -> str:
        return "XGBoost takes none; LightGBM (lambdamart, lightgbm) does."

    def check_labels(self, parameters: dict[str, Any], data: RankingData) -> None:
        if parameters.get("objective") == "rank:map":
            check_whole_labels("XGBRanker with rank:map", data, 1)
        elif parameters.get("objective") == "rank:ndcg" and parameters.get("ndcg_exp_gain", True):
            check_whole_labels("XGBRanker", data, 31)

    def fit(self, estimator: Any, data: RankingData, vali: RankingData | None = None) -> None:
        if data.categories:
            kinds = ["c" if is_category else "q" for is_category in data.categorical.tolist()]
            estimator.set_params(enable_categorical=True, feature_types=kinds)
        super().fit(estimator, data, vali)

    def fit_arguments(self, data: RankingData) -> tuple[tuple[Any, ...], dict[str, Any]]:
        queries = {"qid": data.query_codes, "sample_weight": data.query_weights}
        return (native_rows(data.X), data.y), queries

    def vali_arguments(self, estimator: Any, vali: RankingData) -> dict[str, Any]:
        vali = _informative_queries(vali)
        queries: dict[str, Any] = {"eval_qid": [vali.query_codes]}
        if vali.query_weights is not None:
            queries["sample_weight_eval_set"] = [vali.query_weights]
        return {"eval_set": [(native_rows(vali.X), vali.y)]} | queries

    def limits(self) -> AbstractContextManager[Any]:
        """Limit it to one thread if necessary: some of its steps ignore ``n_jobs``."""
        from xgboost import config_context, get_config

        if openmp_thread_count() == 1 and "nthread" in get_config():  # since XGBoost 3
            return config_context(nthread=1)
        return nullcontext()

    def scores(self, estimator: Any, X: Any, categories: Vocabularies = ()) -> Any:
        # The number of features was checked before.
        with self.limits():
            return estimator.predict(native_rows(X), validate_features=False)

    def importances(self, estimator: Any, n_features: int) -> Any:
        booster = estimator.get_booster()
        if estimator.early_stopping_rounds is not None:
            booster = booster[: estimator.best_iteration + 1]
        gains = booster.get_score(importance_type="total_gain")  # features in no tree are left out
        names = booster.feature_names or [f"f{n}" for n in range(n_features)]
        return [gains.get(name, 0.0) for name in names]

    def contributions(self, estimator: Any, X: Any, categories: Vocabularies = ()) -> Any:
        from xgboost import DMatrix

        stopped = estimator.early_stopping_rounds is not None
        trees = (0, estimator.best_iteration + 1 if stopped else 0)
        with self.limits():
            booster = estimator.get_booster()
            own = {"feature_names": booster.feature_names}
            if categories:
                own |= {"feature_types": booster.feature_types, "enable_categorical": True}
            rows = DMatrix(X, **own)
            return estimator.get_booster().predict(rows, pred_contribs=True, iteration_range=trees)

    def model_text(self, estimator: Any) -> str:
        content = estimator.get_booster().save_raw("json")
        trust_model("xgboost", bytes(content))
        return content.decode()

    def restore(self, estimator: Any, text: str) -> None:
        check_json(text)
        try_model("xgboost", text.encode())
        own = estimator.objective
        estimator.load_model(bytearray(text, "utf-8"))
        if "c" in (estimator.get_booster().feature_types or ()):
            estimator.set_params(enable_categorical=True)
        if not estimator.objective.startswith("rank:"):
            estimator.objective = own  # an XGBRanker cannot be made with that of the model


def _informative_queries(data: RankingData) -> RankingData:
    """Held-out queries whose value depends on their order; all of them without weights.

    XGBoost gives a query without relevant documents the value 1 and ignores its weight. The mean
    may then exceed 1, which XGBoost refuses. The best number of trees stays the same.
    """
    if data.query_weights is None:
        return data
    kept = vary_within_queries(data.y, data.query_ptr) & (data.query_weights > 0)
    return data.take_queries(kept) if kept.any() else data.with_weights(None)
