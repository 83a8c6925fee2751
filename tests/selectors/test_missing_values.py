"""Every method on data with missing values: kept, filled in, or refused with what to do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightgbm import LGBMRanker

from ranksieve import DataError, Missing, RankingData, make_ranking
from ranksieve.rankers import RankNet, RankSVM, as_ranker
from ranksieve.rankers.registry import RANKERS
from ranksieve.selectors import (
    EliminationSelector,
    GreedyRankRLS,
    RandomizedBoostedTrees,
    SequentialSelector,
    TopImportance,
)
from ranksieve.selectors.registry import SELECTORS
from ranksieve.sums.importance import Importance
from tests import oracles
from tests.every_method import few_examples, make_quick

nan = float("nan")
TREES = [name for name in SELECTORS if name.startswith("bt-")]
FILTERS = [
    "fs-scpr",
    "gas-e",
    "gas-l",
    "hcas",
    "hierarchical",
    "ig",
    "chi",
    "mmr",
    "mrmr",
    "mpt",
    "msd",
    "ngas",
    "xgas",
    "top",
]
BINNED = ["greedy-bins", "teacher-bins"]
AROUND_TREES = ["cegb", "shap", "borda", "boruta", "stability", "best-of"]
WITHOUT_A_LOOK = ["random", "all"]
LIBRARIES = ["lambdamart", "lightgbm", "xgboost", "catboost"]


def with_gaps(seed=0, n_queries=12, share=0.15, **options):
    """Data with gaps in all features."""
    data, _ = make_ranking(
        n_queries, docs_per_query=8, n_informative=3, n_redundant=1, n_noise=2, random_state=seed
    )
    X = data.X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = nan
    return RankingData(X, data.y, data.qid, **options)


def test_methods_declare_what_they_take():
    able = [name for name, method in SELECTORS.items() if method.takes_missing]
    assert sorted(able) == sorted([*FILTERS, *TREES, *BINNED, *AROUND_TREES, *WITHOUT_A_LOOK])
    assert [name for name, method in RANKERS.items() if method.takes_missing] == LIBRARIES


@pytest.mark.parametrize("name", [*SELECTORS, *RANKERS])
def test_what_is_not_declared_is_kept(name):
    data, estimator = with_gaps(), make_quick(name)
    method = (RANKERS if name in RANKERS else SELECTORS)[name]
    if not method.takes_missing:
        message = (
            r"X has NaN in row \d+.*--missing query-median, query-min or zero \(in Python, mis"
        )
        with pytest.raises(DataError, match=message):
            estimator.fit(data)
        with pytest.raises(DataError, match=message):
            make_quick(name).fit(data.X, data.y, qid=data.qid)
        return
    declared = make_quick(name).fit(data.with_missing("keep"))
    arrays = make_quick(name).fit(data.X, data.y, qid=data.qid)
    assert not hasattr(estimator.fit(data), "missing_")
    for other in (declared, arrays):
        if name in RANKERS:
            np.testing.assert_array_equal(estimator.predict(data), other.predict(data))
            np.testing.assert_array_equal(estimator.predict(data.X), other.predict(data))
        else:
            assert estimator.selected_.tolist() == other.selected_.tolist()


@pytest.mark.parametrize("name", [*SELECTORS, *RANKERS])
def test_kept_values_are_taken_or_refused(name):
    kept, estimator = with_gaps(missing="keep"), make_quick(name)
    method = (RANKERS if name in RANKERS else SELECTORS)[name]
    if not method.takes_missing:
        whose = r"^\w+( around RankRLS| with [\w-]+)?"
        message = rf"{whose} cannot use missing values: X has NaN .*query-median"
        with pytest.raises(DataError, match=message):
            estimator.fit(kept)
        return
    assert estimator.fit(kept).missing_ == Missing("keep")
    if name in RANKERS:
        assert np.isfinite(estimator.predict(kept)).all()
    else:
        assert estimator.transform(kept).keeps_missing
        assert np.isnan(estimator.transform(kept.X)).any()  # arrays pass as well


@pytest.mark.parametrize("name", [*SELECTORS, *RANKERS])
def test_filled_values_are_like_any(name):
    filled = with_gaps(missing="query-min+indicators")
    plain = RankingData(filled.X, filled.y, filled.qid)
    estimator, other = make_quick(name).fit(filled), make_quick(name).fit(plain)
    if name in RANKERS:
        np.testing.assert_array_equal(estimator.predict(filled), other.predict(plain))
    else:
        assert estimator.selected_.tolist() == other.selected_.tolist()
    assert estimator.missing_ == filled.missing
    assert not hasattr(other, "missing_")


@st.composite
def monotone_changes(draw):
    """Data with gaps and ties, and the same with another increasing scale of each feature."""
    kept = with_gaps(draw(st.integers(0, 99)), 6, draw(st.sampled_from([0.05, 0.3, 0.6])))
    X = np.round(kept.X, draw(st.integers(0, 2)))
    changed = np.full(X.shape, nan)
    for feature, column in enumerate(X.T):
        steps = np.unique(column[~np.isnan(column)])
        widths = draw(st.lists(st.floats(1e-3, 1e3), min_size=len(steps), max_size=len(steps)))
        scale = draw(st.floats(-1e3, 1e3)) + np.cumsum(widths)
        places = np.searchsorted(steps, np.where(np.isnan(column), np.inf, column))
        present = ~np.isnan(column)
        changed[present, feature] = scale[places[present]]
    return tuple(RankingData(m, kept.y, kept.qid, missing="keep") for m in (X, changed))


@pytest.mark.parametrize("name", FILTERS)
@few_examples
@given(pair=monotone_changes())
def test_filters_see_only_the_order_of_values(name, pair):
    first, second = (make_quick(name, 3).fit(data) for data in pair)
    assert first.selected_.tolist() == second.selected_.tolist()
    np.testing.assert_array_equal(first.scores_, second.scores_)


@pytest.mark.parametrize("name", [name for name in FILTERS if name not in ("ig", "chi")])
@pytest.mark.parametrize("direction", [1, -1])
def test_filters_rank_documents_without_a_value_last(name, direction):
    kept = with_gaps(3)
    kept = RankingData(direction * kept.X, kept.y, kept.qid, missing="keep")
    ranks = np.array(oracles.missing_last(kept.X.tolist(), [1] * kept.n_features), dtype=float)
    selector = make_quick(name, 3)
    one_way = Importance.from_estimator(selector).replace(both_directions=False)
    selector.set_params(importance=one_way).fit(kept)
    other = make_quick(name, 3).set_params(importance=one_way)
    other.fit(RankingData(ranks, kept.y, kept.qid))
    assert selector.selected_.tolist() == other.selected_.tolist()
    np.testing.assert_array_equal(selector.scores_, other.scores_)
    if hasattr(selector, "similarity_"):
        np.testing.assert_array_equal(selector.similarity_, other.similarity_)


@pytest.mark.parametrize("name", ["gas-e", "ig", "bt-influence"])
def test_kept_values_are_used_everywhere(name, everywhere):
    kept = with_gaps(1, 40, missing="keep")
    source = everywhere(kept, shard_bytes=2000)
    found = make_quick(name, 3).fit(source)
    if name == "bt-influence" and getattr(source, "client", None) is not None:
        assert len(found.selected_) == 3  # each worker makes bins of its own rows
        return
    expected = make_quick(name, 3).fit(kept)
    assert found.selected_.tolist() == expected.selected_.tolist()
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-9)


@pytest.mark.parametrize("name", ["greedy-rankrls", "ranksvm"])
def test_refusals_everywhere(name, everywhere):
    with pytest.raises(DataError, match=r"NaN in row \d+.*query-median"):
        make_quick(name).fit(everywhere(with_gaps()))


@pytest.mark.parametrize("kind", [EliminationSelector, SequentialSelector])
def test_wrappers_take_what_their_ranker_takes(kind):
    kept = with_gaps(missing="keep")
    ranker = LGBMRanker(n_estimators=2, min_child_samples=2, verbose=-1)
    selector = kind(ranker, n_features_to_select=2, cv=2)
    assert selector.takes_missing
    assert len(selector.fit(kept).selected_) == 2
    assert np.isfinite(selector.predict(kept)).all()
    with pytest.raises(DataError, match=f"^{kind.__name__} around RankSVM cannot use missing"):
        kind(RankSVM(), n_features_to_select=2, cv=2).fit(kept)


def test_held_out_data_is_treated_like_the_training_data():
    train, other = with_gaps(missing="keep"), with_gaps(5)
    made = {"n_features_to_select": 2, "n_subsets": 2, "n_estimators": 3}
    selector = RandomizedBoostedTrees(**made).fit(train, eval_set=(other.X, other.y, other.qid))
    again = RandomizedBoostedTrees(**made).fit(train, eval_set=other.with_missing("keep"))
    assert selector.trials_ == again.trials_
    filled = with_gaps(missing="query-min+indicators")
    selector = RandomizedBoostedTrees(**made).fit(filled, eval_set=(other.X, other.y, other.qid))
    again = RandomizedBoostedTrees(**made).fit(filled, eval_set=other.with_missing(filled.missing))
    assert selector.trials_ == again.trials_
    plain = with_gaps(share=0.0)
    selector = RandomizedBoostedTrees(**made).fit(plain, eval_set=other)  # kept by default
    again = RandomizedBoostedTrees(**made).fit(plain, eval_set=other.with_missing("keep"))
    assert selector.trials_ == again.trials_
    with pytest.raises(DataError, match="NaN"):
        RankNet(epochs=1).fit(plain, eval_set=other)


def test_later_data_is_treated_like_the_training_data():
    train, later = with_gaps(missing="query-min+indicators"), with_gaps(7)
    filled = later.with_missing(train.missing)
    ranker = RankSVM().fit(train)
    np.testing.assert_array_equal(ranker.predict(later), ranker.predict(filled))
    selector = TopImportance(9).fit(train)
    np.testing.assert_array_equal(selector.transform(later).X, selector.transform(filled).X)
    with pytest.raises(DataError, match="NaN"):  # what is declared otherwise is not changed
        RankSVM().fit(with_gaps(share=0.0)).predict(later.with_missing("keep"))
    again = RankSVM().fit(train).fit(RankingData(train.X, train.y, train.qid))
    assert not hasattr(again, "missing_")


def test_arrays_with_gaps_pass_what_takes_them():
    gappy, plain = with_gaps(), with_gaps(share=0.0)
    assert TopImportance(2).fit(plain).transform(gappy.X).shape == (gappy.n_rows, 2)
    with pytest.raises(ValueError, match="NaN"):
        GreedyRankRLS(2).fit(plain).transform(gappy.X)


def test_a_ranker_of_a_library_takes_gaps_with_or_without_a_policy():
    ranker = as_ranker(LGBMRanker(n_estimators=3, min_child_samples=2, verbose=-1))
    kept, undeclared = with_gaps(missing="keep"), with_gaps()
    np.testing.assert_array_equal(
        ranker.fit(kept).predict(kept), ranker.fit(undeclared).predict(undeclared)
    )
