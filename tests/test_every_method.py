"""What every selector and ranker does, whatever it computes: each is fitted once, and looked at.

A check that needs another fit than that of ``fitted`` says by its arguments what is different.
"""

import copy
import inspect
import pickle
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from ranksieve import DataError, RankingData
from ranksieve.base import Predictor
from ranksieve.io.shards import open_shards, write_shards
from ranksieve.metrics import make_query_scorer
from ranksieve.preprocessing import QueryMinMaxScaler, QueryStandardScaler
from ranksieve.rankers.registry import RANKERS
from ranksieve.selectors import LifeRank
from ranksieve.selectors.registry import SELECTORS
from tests.every_method import METHODS, answer, assert_same, fitted, make_quick, planted

each = pytest.mark.parametrize("name", METHODS)
each_selector = pytest.mark.parametrize("name", SELECTORS)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    directory = tmp_path_factory.mktemp("data") / "shards"
    write_shards(planted(), directory, shard_bytes=1500)
    with open_shards(directory) as opened:
        assert opened.n_shards > 3
        yield opened


# Copies


@each
def test_pickles_say_the_same(name):
    expected = answer(fitted(name))
    for twin in (pickle.loads(pickle.dumps(fitted(name))), copy.deepcopy(fitted(name))):
        assert type(twin) is type(fitted(name))
        assert repr(twin) == repr(fitted(name))
        if name in SELECTORS:
            assert twin.reasons() == fitted(name).reasons()
        assert_same(answer(twin), expected)


@each
def test_shards_say_the_same_and_are_not_kept(name, shards):
    learned = make_quick(name, 3).fit(shards.with_weights(some_weights()))
    assert learned.feature_names_in_.tolist() == planted().feature_names.tolist()
    if name in SELECTORS:
        np.testing.assert_array_equal(learned.selected_, fitted_by_weights(name).selected_)
    stored = pickle.dumps(learned)
    assert len(stored) < 100_000  # it does not hold the data
    assert_same(answer(pickle.loads(stored)), answer(learned))


@each
def test_clones_know_nothing(name):
    twin = clone(fitted(name))
    assert type(twin) is type(fitted(name))
    assert twin.get_params().keys() == fitted(name).get_params().keys()
    assert not [attribute for attribute in vars(twin) if attribute.endswith("_")]


@pytest.mark.parametrize("name", ["top", "rankrls"])
def test_names_are_forgotten_with_shards_that_have_none(name, tmp_path):
    write_shards(RankingData(planted().X, planted().y, planted().qid), tmp_path / "shards")
    with open_shards(tmp_path / "shards") as shards:
        assert not hasattr(copy.deepcopy(fitted(name)).fit(shards), "feature_names_in_")


# What has been learned


@each_selector
def test_what_every_selector_says(name):
    selector, data = fitted(name), planted()
    assert selector.selected_.shape == (6 if name == "all" else 3,)
    assert len(set(selector.selected_.tolist())) == len(selector.selected_)
    assert selector.support_.tolist() == [f in selector.selected_ for f in range(data.n_features)]
    np.testing.assert_array_equal(selector.get_support(), selector.support_)
    kept = data.feature_names[selector.support_].tolist()
    assert selector.get_feature_names_out().tolist() == kept
    assert selector.transform(data).feature_names.tolist() == kept
    np.testing.assert_array_equal(selector.transform(data).X, data.X[:, selector.support_])
    if hasattr(selector, "path_"):
        assert [step.feature for step in selector.path_] == selector.selected_.tolist()
    if hasattr(selector, "scores_"):
        assert selector.scores_.shape == (data.n_features,)
    assert len(selector.reasons()) == len(selector.selected_)


# Forms of data


def frozen(*arrays):
    """Copies that nobody can change."""
    copies = [array.copy() for array in arrays]
    for part in copies:
        part.flags.writeable = False
    return copies


def dense_forms():
    """The same numbers in other layouts and containers."""
    X, y, qid = planted().X, planted().y, planted().qid
    wide = frozen(np.repeat(X, 2, axis=0).astype(">f8"), y.astype(">f8"), qid.astype(">i8"))
    yield "big-endian, every other row", (wide[0][::2], *wide[1:])
    backward = np.asfortranarray(X[::-1])[::-1], y[::-1].copy()[::-1], qid[::-1].copy()[::-1]
    yield "columns first, backward", backward
    names = planted().feature_names.tolist()
    yield "pandas", (pd.DataFrame(X, columns=names), pd.Series(y), pd.Series(qid))
    yield "polars", (pl.DataFrame(X, schema=names), pl.Series(y), pl.Series(qid))


@each_selector
def test_names_and_frames(name):
    selector, names = fitted(name), planted().feature_names
    chosen = selector.selected_.tolist()
    assert selector.selected_names_ == names[chosen].tolist()
    assert sorted(selector.selected_names_) == sorted(selector.get_feature_names_out())
    frame = selector.to_frame(library="polars")
    assert frame["index"].to_list()[: len(chosen)] == chosen
    assert sorted(frame["index"]) == list(range(len(names)))
    assert frame["feature"].to_list() == names[frame["index"].to_list()].tolist()
    assert frame["rank"].drop_nulls().to_list() == list(range(1, len(chosen) + 1))
    if hasattr(selector, "scores_"):
        np.testing.assert_array_equal(frame["score"], selector.scores_[frame["index"].to_list()])
    else:
        assert frame["score"].is_null().all()
    steps = {step.feature: step.score for step in getattr(selector, "path_", [])}
    for row in frame.iter_rows(named=True):
        expected = steps.get(row["index"]) if selector.support_[row["index"]] else None
        assert row["path_score"] == expected or np.isnan(expected)


@each
def test_layouts_and_containers(name):
    """The same seed has the same answer, and names of an earlier fit are forgotten."""
    rows = frozen(planted().X, planted().y, planted().qid)
    again = copy.deepcopy(fitted(name))
    assert again.feature_names_in_.tolist() == planted().feature_names.tolist()
    assert again.fit(rows[0], rows[1], qid=rows[2]) is again
    assert not hasattr(again, "feature_names_in_")
    if name in SELECTORS:  # and without a warning
        np.testing.assert_array_equal(again.transform(rows[0]), rows[0][:, again.support_])
    expected = answer(again, rows[0])
    assert_same(answer(fitted(name)), expected)
    for form, (X, y, qid) in dense_forms():
        assert_same(answer(make_quick(name, 3).fit(X, y, qid=qid), X), expected, form)


@each
def test_sparse_rows(name):
    """Entries that occur twice are added up; what is not stored is zero, to XGBoost missing."""
    X, y, qid = planted().X, planted().y, planted().qid
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    once = sparse.csr_matrix(X)
    twice = sparse.csr_matrix(
        (np.repeat(once.data / 2, 2), np.repeat(once.indices, 2), 2 * once.indptr), X.shape
    )
    assert not twice.has_canonical_format
    given = twice.copy()
    found = copy.deepcopy(fitted(name)).fit(RankingData(twice, y, qid))
    assert not hasattr(found, "feature_names_in_")  # of the earlier fit
    expected = answer(make_quick(name, 3).fit(once, y, qid=qid), once)
    assert_same(answer(found, once), expected)
    np.testing.assert_array_equal(twice.data, given.data)  # of the caller
    np.testing.assert_array_equal(twice.indices, given.indices)
    if name != "xgboost":
        dense = answer(make_quick(name, 3).fit(X, y, qid=qid), X)
        assert_same(expected, dense, rtol=1e-4, atol=1e-6)


OTHERS = {
    "liferank": (LifeRank(2), {}),
    "min-max": (QueryMinMaxScaler(), {"qid": planted().qid}),
    "standard": (QueryStandardScaler(), {"qid": planted().qid}),
}


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("name", [*SELECTORS, *OTHERS])
def test_set_output(name, library):
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[library]
    rows = frame(dict(zip(planted().feature_names, planted().X.T, strict=True)))
    transformer, beside = OTHERS.get(name, (None, {}))
    if transformer is None:
        transformer = copy.deepcopy(fitted(name))
    else:
        transformer = clone(transformer).fit(rows, planted().y, qid=planted().qid)
    plain = transformer.transform(rows, **beside)
    assert isinstance(plain, np.ndarray)  # as scikit-learn has it
    found = transformer.set_output(transform=library).transform(rows, **beside)
    assert isinstance(found, frame)
    assert list(found.columns) == transformer.get_feature_names_out().tolist()
    np.testing.assert_array_equal(found.to_numpy(), plain)


# Weights of queries


def takes_held_out(name):
    return "eval_set" in inspect.signature(METHODS[name].kind.fit).parameters


def make_judging(name):
    """A quick estimator; one of them does not know how to choose unless it is told."""
    return make_quick(name, 3).set_params(**{"measure": "map"} if name == "rankrls-cv" else {})


@each
def test_weights_of_one_change_nothing(name):
    train, vali = planted().take_queries(range(16)), planted().take_queries(range(16, 24))
    weighted, plain = {}, {}
    if takes_held_out(name):
        weighted, plain = {"eval_set": vali.with_weights(np.ones(8))}, {"eval_set": vali}
    ours = make_judging(name).fit(train, sample_weight=np.ones(16), **weighted)
    assert_same(answer(ours), answer(make_judging(name).fit(train, **plain)))


def some_weights():
    return np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.7], planted().n_queries)


@cache
def fitted_by_weights(name):
    """A method that has learned from the planted data and some weights: nobody changes it."""
    return make_quick(name, 3).fit(planted().with_weights(some_weights()))


@each
def test_where_weights_come_from_does_not_matter(name):
    data, weights = planted(), some_weights()
    by_row = np.repeat(weights, data.group_counts)
    expected = answer(fitted_by_weights(name))
    assert_same(answer(make_quick(name, 3).fit(data, sample_weight=weights)), expected)
    rows = make_quick(name, 3).fit(data.X, data.y, qid=data.qid, sample_weight=by_row)
    assert_same(answer(rows, data.X), expected)
    with pytest.raises(DataError, match="its own weights: leave out sample_weight"):
        make_quick(name).fit(data.with_weights(weights), sample_weight=weights)


# What is refused


def useless_weights(data):
    """Weight only for queries whose documents have equal labels."""
    equal = np.array([np.ptp(labels) == 0 for labels in np.split(data.y, data.query_ptr[1:-1])])
    assert 0 < equal.sum() < len(equal)
    return equal.astype(float)


OF_CALLS = [
    ("qid is required", lambda data: {"X": data.X, "y": data.y}),
    ("requires y", lambda data: {"X": data.X, "qid": data.qid}),
    ("the data has its own", lambda data: {"X": data, "y": data.y}),
]
EQUAL = "all documents of each query have equal labels"
OF_LABELS = [
    (EQUAL, lambda data: {"X": RankingData(data.X, data.y * 0, data.qid)}),
    (EQUAL, lambda data: {"X": RankingData(data.X, data.query_codes % 3, data.qid)}),
    ("have weight 0", lambda data: {"X": data, "sample_weight": useless_weights(data)}),
]


@each
def test_what_tells_nothing_is_refused(name):
    for message, make in OF_CALLS if name in ("random", "all") else OF_CALLS + OF_LABELS:
        with pytest.raises(DataError, match=message):
            make_quick(name).fit(**make(planted()))
    with pytest.raises(ValueError, match="progress"):
        make_quick(name).set_params(progress="loud").fit(planted())


# Held-out data


@pytest.mark.parametrize("name", [name for name in METHODS if takes_held_out(name)])
def test_forms_of_held_out_data(name):
    train, vali = planted().take_queries(range(16)), planted().take_queries(range(16, 24))
    rows = train.X, train.y, train.qid
    expected = answer(make_judging(name).fit(*rows, eval_set=vali), vali.X)
    pairs = [(vali.X, vali.y)]
    frames = [(pd.DataFrame(vali.X, columns=vali.feature_names), pd.Series(vali.y))]
    for given in (
        dict(eval_set=frames, eval_qid=[pd.Series(vali.qid)]),
        dict(eval_set=(vali.X, vali.y, vali.qid)),
        dict(eval_set=[vali]),
        dict(eval_set=pairs, eval_qid=[vali.qid]),
        dict(eval_set=pairs, eval_group=[vali.group_counts]),
        dict(eval_set=pairs[0], eval_group=vali.group_counts.tolist()),
    ):
        assert_same(answer(make_judging(name).fit(*rows, **given), vali.X), expected)


# scikit-learn


@cache  # pickle wants one class of a name
def with_queries(kind):
    """A class that makes query ids of its own for rows that have none, as scikit-learn's checks."""

    def made(X):
        n_rows = X.shape[0] if sparse.issparse(X) else len(np.asarray(X))
        return np.arange(n_rows) // 2 % n_queries_of(kind)

    def fit(self, X, y=None, qid=None):
        return kind.fit(self, X, y, qid=made(X) if qid is None else qid)

    def score(self, X, y=None, qid=None):
        return kind.score(self, X, y, np.zeros(len(y), dtype=int) if qid is None else qid)

    members = {"fit": fit, "__init__": kind.__init__, "__module__": __name__}
    members |= {"score": score} if hasattr(kind, "score") else {}
    subclass = type(f"WithQueries{kind.__name__}", (kind,), members)
    globals()[subclass.__name__] = subclass  # where pickle looks for it
    return subclass


def n_queries_of(kind):
    """One, which has most pairs; more where queries are left out or divided into halves."""
    if kind.__name__ == "StabilitySelector":
        return 4
    names = ("GreedyRankRLS", "GreedyBins", "BackfittingRankRLS", "SequentialSelector", "BestOf")
    searching = ("RandomizedBoostedTrees", "GeneticBoostedTrees", "SimulatedAnnealing")
    leaves_out = (*names, *searching, "RiskPareto", "MOFSRank")
    return 2 if kind.__name__.endswith("CV") or kind.__name__ in leaves_out else 1


# One name of each class; adapters are one class, and its libraries are not alike.
OF_CLASSES = {
    name if name in ("lightgbm", "xgboost", "catboost") else method.kind: name
    for name, method in reversed(METHODS.items())
}


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", OF_CLASSES.values())
def test_scikit_learn_checks(name):
    quick = make_quick(name, 1)
    check_estimator(with_queries(type(quick))(**quick.get_params(deep=False)), on_skip=None)


@each
def test_pipelines_and_grid_searches(name):
    X, y, qid = planted().X, planted().y, planted().qid
    steps = [("own", make_quick(name, 3)), ("other", Ridge())]
    is_adapter = "estimator" in make_quick(name).get_params(deep=False)
    grid = {"own__verbose" if is_adapter else "own__progress": [False]}
    if name in RANKERS:
        steps = [("other", StandardScaler()), steps[0]]
    elif name != "all":
        grid = {"own__n_features_to_select": [2]}
    pipe = Pipeline(steps).fit(X, y, own__qid=qid)
    assert pipe.predict(X).shape == y.shape
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            Pipeline(steps), grid, cv=GroupKFold(3), scoring=make_query_scorer("ndcg@5")
        )
        search.fit(X, y, qid=qid, groups=qid)
    assert np.isfinite(search.best_score_)


# Rows to predict or to transform


PREDICTORS = [name for name, method in METHODS.items() if issubclass(method.kind, Predictor)]


@pytest.fixture(scope="module")
def rows_of(tmp_path_factory):
    """Function that returns rows in every form that there is."""
    opened = []

    @cache
    def forms(what):
        data, names = planted(), planted().feature_names
        if what == "other names":
            data = RankingData(data.X, data.y, data.qid, feature_names=names[::-1])
        elif isinstance(what, int):  # so many features
            X = np.concatenate([data.X, data.X], axis=1)[:, :what]
            data = RankingData(X, data.y, data.qid)
        elif what != "as they were":  # a value that no number is
            X = data.X.copy()
            X[5, 4] = what
            data = data._replace(X=X)
        directory = tmp_path_factory.mktemp("rows") / "shards"
        write_shards(data, directory, shard_bytes=2_000)
        opened.append(open_shards(directory))
        return {
            "array": data.X,
            "sparse": sparse.csr_matrix(data.X),
            "sparse array": sparse.csr_array(data.X),
            "pandas": pd.DataFrame(data.X, columns=data.feature_names),
            "polars": pl.DataFrame(data.X, schema=data.feature_names.tolist()),
            "RankingData": data,
            "shards": opened[-1],
        }

    yield forms
    for shards in opened:
        shards.close()


def look_at(name, rows):
    """Scores of rows, or the features that are kept of them."""
    if name != "transform":
        return fitted(name).predict(rows)
    kept = fitted("top").transform(rows)
    X = getattr(kept.read() if hasattr(kept, "read") else kept, "X", kept)
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


@pytest.mark.parametrize("name", [*PREDICTORS, "transform"])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
class TestRows:
    def test_all_forms_say_the_same(self, name, rows_of):
        expected = look_at(name, planted())
        assert np.isfinite(expected).all()
        for form, rows in rows_of("as they were").items():
            if name != "xgboost" or "sparse" not in form:  # to it, what is not stored is missing
                np.testing.assert_array_equal(look_at(name, rows), expected, err_msg=form)

    @pytest.mark.parametrize("what", [2, 5, 7, "other names"])
    def test_other_features_are_refused(self, name, what, rows_of):
        for form, rows in rows_of(what).items():
            if what != "other names" or form in ("pandas", "polars", "RankingData", "shards"):
                with pytest.raises(ValueError, match="feature"):
                    pytest.fail(f"{form}: {look_at(name, rows)}")

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_what_is_no_number_is_refused_unless_it_is_known(self, name, value, rows_of):
        for form, rows in rows_of(value).items():
            if name == "transform":  # which looks at no value
                expected = look_at(name, planted())
                expected[5, fitted("top").get_support(indices=True) == 4] = value
                np.testing.assert_array_equal(look_at(name, rows), expected, err_msg=form)
            elif name in METHODS and np.isnan(value) and fitted(name).takes_missing:
                assert np.isfinite(look_at(name, rows)).all()
            else:
                with pytest.raises(ValueError, match=r"NaN|infinity"):
                    pytest.fail(f"{form}: {look_at(name, rows)}")


@pytest.mark.parametrize("name", PREDICTORS)
def test_score_is_the_mean_over_queries_by_their_weights(name):
    data = planted()
    last = data.take_queries([data.n_queries - 1])
    weights = np.arange(data.n_queries) == data.n_queries - 1
    assert fitted(name).score(data, sample_weight=weights) == fitted(name).score(last)
    by_row = np.repeat(weights, data.group_counts)
    assert fitted(name).score(data.X, data.y, data.qid, by_row) == fitted(name).score(last)
