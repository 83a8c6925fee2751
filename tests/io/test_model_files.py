"""Models on disk: round trips of every ranker, and every way for a file to be wrong."""

import hashlib
import inspect
import json
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from scipy import sparse
from xgboost import XGBRanker

from ranksieve import DataError, RankingData, __version__, load_model, make_ranking, rankers
from ranksieve.io.model import TrainedOn, read_model
from ranksieve.io.records import checksum_of
from ranksieve.metrics import NDCG, get_convention
from ranksieve.rankers import AdaRank, LambdaMART, RankBoost, RankNet, RankSVM, as_ranker
from ranksieve.rankers.base import Ranker
from ranksieve.selectors import TopImportance
from ranksieve.selectors.record import record_selection

KINDS = [
    kind
    for kind in (getattr(rankers, name) for name in rankers.__all__)
    if inspect.isclass(kind) and issubclass(kind, Ranker) and kind.__name__ != "RankerAdapter"
]
NAMES = ["bm25", "clicks", "age", "length", "price", "caf\u00e9"]


@pytest.fixture(scope="module")
def data():
    made, _ = make_ranking(40, n_informative=3, n_redundant=0, n_noise=3, noise=0.2, random_state=2)
    return RankingData(made.X, made.y, made.qid, feature_names=NAMES)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


@pytest.mark.parametrize("kind", [*KINDS, partial(RankNet, hidden=5, epochs=3)])
def test_every_ranker_comes_back(kind, data, path):
    with pytest.raises(ValueError, match="not fitted"):
        kind().save_model(path)
    assert not path.exists()
    ranker = kind().fit(data)
    ranker.save_model(path)
    loaded = load_model(path)
    assert type(loaded) is type(ranker)
    np.testing.assert_array_equal(loaded.predict(data), ranker.predict(data))
    np.testing.assert_array_equal(loaded.feature_importances_, ranker.feature_importances_)
    assert loaded.feature_names_in_.tolist() == data.feature_names.tolist()
    assert loaded.score(data) == ranker.score(data)
    kept = {name: v for name, v in kind().get_params().items() if not isinstance(v, tuple)}
    assert loaded.get_params().items() >= kept.items()
    again = path.with_name("again.json")
    loaded.save_model(again)
    assert again.read_bytes() == path.read_bytes()
    # It can be trained anew.
    np.testing.assert_array_equal(loaded.fit(data).predict(data), ranker.predict(data))


def test_what_early_stopping_found_is_kept(data, path):
    held_out = data.take_queries(range(15))
    ranker = LambdaMART(60, early_stopping_rounds=3).fit(data, eval_set=held_out)
    ranker.save_model(path)
    loaded = load_model(path)
    assert loaded.best_iteration_ == ranker.best_iteration_ < 60
    np.testing.assert_array_equal(loaded.predict(data), ranker.predict(data))
    ranker = RankBoost(20, early_stopping_rounds=None).fit(
        data, eval_set=data.take_queries([0, 1, 2])
    )
    ranker.save_model(path)
    assert ranker.best_round_ < 20
    assert load_model(path).rounds_ == ranker.rounds_[: ranker.best_round_]


def test_the_queries_that_trained_it(data, path):
    """They are told by whoever trains, and forgotten if the ranker is trained anew."""
    told = TrainedOn("the training queries", data.n_queries, "c0ffee")
    ranker = RankSVM().fit(data)
    ranker.save_model(path, trained_on=told)
    assert read_model(path).trained_on == load_model(path).trained_on_ == told
    loaded, again = load_model(path), path.with_name("again.json")
    loaded.save_model(again)
    assert again.read_bytes() == path.read_bytes()
    loaded.fit(data).save_model(again)
    assert read_model(again).trained_on is None


OTHERS = {
    "lightgbm": lambda **stop: LGBMRanker(n_estimators=30, n_jobs=1, **stop),
    "xgboost": lambda **stop: XGBRanker(n_estimators=30, n_jobs=1, **stop),
    "catboost": lambda **stop: CatBoostRanker(iterations=30, thread_count=1, **stop),
}


@pytest.mark.parametrize("library", OTHERS)
@pytest.mark.parametrize("stops", [False, True])
def test_rankers_of_others(library, stops, data, path):
    stop = {"early_stopping_rounds": 3} if stops else {}
    held_out = {"eval_set": data.take_queries(range(15))} if stops else {}
    ranker = as_ranker(OTHERS[library](**stop)).fit(data, **held_out)
    ranker.save_model(path)
    loaded = load_model(path)
    assert type(loaded.estimator_) is type(ranker.estimator_)
    np.testing.assert_array_equal(loaded.predict(data), ranker.predict(data))
    np.testing.assert_allclose(
        loaded.feature_importances_, ranker.feature_importances_, rtol=1e-4, atol=1e-4
    )
    np.testing.assert_allclose(
        loaded._contributions(data.X), ranker._contributions(data.X), rtol=1e-4, atol=1e-6
    )
    parts = ranker._contributions(data.X)
    rest = ranker.predict(data) - parts.sum(axis=1)
    np.testing.assert_allclose(rest, rest[0], atol=1e-4)
    params = ranker.estimator.get_params()
    assert {k: repr(v) for k, v in loaded.estimator.get_params().items()} == {
        k: repr(v) for k, v in params.items()
    }
    np.testing.assert_array_equal(loaded.fit(data, **held_out).predict(data), ranker.predict(data))


def test_what_is_written(data, path):
    ranker = RankSVM(C=0.5).fit(data)
    ranker.save_model(path)
    record = json.loads(path.read_text())
    checksum = record.pop("checksum")
    content = json.dumps(record, sort_keys=True).encode()
    assert checksum == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert record == {
        "format": "ranksieve-model",
        "version": 1,
        "ranker": "RankSVM",
        "parameters": ranker.get_params(),
        "n_features_in": 6,
        "feature_names": NAMES,
        "selection": None,
        "columns": None,
        "categories": None,
        "encoding": None,
        "missing": None,
        "learned": {"coef": ranker.coef_.tolist()},
        "ranksieve": __version__,
        "trained_on": None,
    }
    RankSVM().fit(data.X, data.y, qid=data.qid).save_model(path)
    assert read_model(path).feature_names is None
    assert not hasattr(load_model(path), "feature_names_in_")


def test_names_of_features_must_agree(data):
    ranker = RankSVM().fit(data)
    other = RankingData(data.X, data.y, data.qid, feature_names=[*NAMES[:2], *NAMES[3:1:-1], *"ab"])
    with pytest.raises(DataError, match="feature 3 is 'length', but 'age' in training"):
        ranker.predict(other)
    nameless = RankingData(data.X, data.y, data.qid)
    np.testing.assert_array_equal(ranker.predict(nameless), ranker.predict(data))


def test_parameters_that_are_objects(data, path):
    for name in ("letor4", "letor4:2"):
        AdaRank(NDCG(5), convention=get_convention(name)).fit(data).save_model(path)
        loaded = load_model(path)
        assert (loaded.measure, loaded.convention) == ("NDCG@5", name)
    seeded = LambdaMART(5, random_state=np.random.RandomState(0)).fit(data)
    with pytest.raises(ValueError, match=r"set_params\(random_state=\.\.\.\)"):
        seeded.save_model(path)
    assert type(load_model(path)) is AdaRank  # what was there is still there


class TestReadingBack:
    """A model is read before it takes the place of an older one."""

    @pytest.fixture
    def older(self, data, path):
        RankSVM().fit(data).save_model(path)
        return path.read_bytes()

    def test_a_model_that_cannot_be_read(self, data, path, older, monkeypatch):
        def refuse(self, learned):
            raise DataError("no such trees")

        ranker = LambdaMART(2).fit(data)
        monkeypatch.setattr(LambdaMART, "_relearn", refuse)
        with pytest.raises(DataError, match="could not be read back: no such trees") as caught:
            ranker.save_model(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert path.read_bytes() == older
        assert [file.name for file in path.parent.iterdir()] == [path.name]

    def test_a_model_with_other_scores(self, data, path, older):
        ranker = as_ranker(XGBRanker(n_estimators=2, n_jobs=1)).fit(data)
        ranker.estimator_.set_params(missing=0.0)  # but not the estimator that is recorded
        with pytest.raises(DataError, match="the ranker in the file gives other scores"):
            ranker.save_model(path)
        assert path.read_bytes() == older


class TestSelection:
    @pytest.fixture
    def selection(self, data):
        return record_selection(TopImportance(2).fit(data), data, "top", ["train.txt"])

    @pytest.fixture
    def saved(self, data, selection, path):
        ranker = RankSVM().fit(data.take_features(selection.columns))
        ranker.save_model(path, selection=selection)
        return ranker

    def test_it_comes_back_and_stays(self, saved, selection, path, data):
        loaded = load_model(path)
        assert loaded.selection_ == selection
        loaded.save_model(path)
        assert load_model(path).selection_ == selection
        loaded.fit(data)  # on other features: the selection is not that of this model
        assert not hasattr(loaded, "selection_")
        assert loaded.predict(data).shape == data.y.shape

    def test_all_features_or_those_selected(self, saved, selection, path, data):
        loaded, columns = load_model(path), selection.columns
        chosen = data.take_features(columns)
        expected = saved.predict(chosen)
        frame = pd.DataFrame(data.X, columns=data.feature_names)
        for form in (data, chosen, frame, frame.iloc[:, columns]):
            np.testing.assert_allclose(loaded.predict(form), expected, rtol=1e-12)
        assert loaded.score(data) == pytest.approx(saved.score(chosen))
        RankSVM().fit(chosen.X, data.y, qid=data.qid).save_model(path, selection=selection)
        loaded = load_model(path)
        for form in (data.X, chosen.X, sparse.csr_matrix(data.X)):
            np.testing.assert_allclose(loaded.predict(form), expected, rtol=1e-12)

    def test_other_features_are_refused(self, saved, path, data):
        loaded = load_model(path)
        with pytest.raises(ValueError, match="features"):
            loaded.predict(data.take_features(range(4)))
        renamed = RankingData(data.X, data.y, data.qid, feature_names=list("uvwxyz"))
        with pytest.raises(DataError, match="in the selection"):
            loaded.predict(renamed)

    def test_a_selection_of_another_size(self, data, selection, path):
        with pytest.raises(DataError, match="the selection has 2 features, but .* trained on 6"):
            RankSVM().fit(data).save_model(path, selection=selection)


# Models that are damaged under a right checksum, or are others


LAMBDAMART, RANKBOOST = partial(LambdaMART, 3), partial(RankBoost, 3)
OTHER_KINDS = [partial(as_ranker, make()) for make in OTHERS.values()]
OS = {"estimator": {"class": "os.system", "parameters": {}}, "verbose": False}


@pytest.fixture(scope="module")
def record_of(data, tmp_path_factory):
    """What the file of a trained model has."""
    path = tmp_path_factory.mktemp("models") / "model.json"

    @cache
    def write(kind):
        kind().fit(data).save_model(path)
        return json.loads(path.read_text())

    return write


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        (RankSVM, {"format": "x"}, "not a model of ranksieve"),
        (RankSVM, {"version": 2}, "newer version of ranksieve: format 2"),
        (RankSVM, {"ranker": "load_model"}, "has no ranker 'load_model'"),
        (RankSVM, {"ranker": "os.system"}, "has no ranker 'os.system'"),
        (RankSVM, {"parameters": {"D": 1}}, "the parameters are not those of RankSVM"),
        (RankSVM, {"parameters": {"C": -1}}, "the parameters are not those of RankSVM"),
        (RankSVM, {"parameters": []}, "'parameters' should be an object"),
        (RankSVM, {"learned": {}}, "'coef' should be 6 finite numbers"),
        (RankSVM, {"learned": {"coef": "text"}}, "'coef' should be 6 finite numbers"),
        (RankSVM, {"learned": {"coef": [1, 2]}}, "'coef' should be 6 finite numbers"),
        (RankSVM, {"feature_names": ["a"]}, "1 feature names for 6 features"),
        (RankSVM, {"selection": {"method": "x"}}, "'selection.parameters' is missing"),
        (RankSVM, {"trained_on": "all"}, "'trained_on' should be an object or null, not 'all'"),
        (LAMBDAMART, {"learned": {"booster": "tree?", "best_iteration": 3}}, "LightGBM"),
        (RANKBOOST, {"learned": {"rounds": [[6, 0.5, 1.0, 1.0]]}}, "not one of 6 features"),
        *((kind, {"learned": {"model": "trees"}}, "cannot read its trees") for kind in OTHER_KINDS),
        *((kind, {"parameters": OS}, "unknown class 'os.system'") for kind in OTHER_KINDS),
        *(
            (kind, {"n_features_in": 5, "feature_names": [*"abcde"]}, "have 6 features, not 5")
            for kind in OTHER_KINDS
        ),
    ],
)
def test_what_is_no_model_is_refused(record_of, path, kind, changes, message):
    content = {n: v for n, v in (record_of(kind) | changes).items() if n != "checksum"}
    path.write_text(json.dumps(content | {"checksum": checksum_of(content)}))
    with pytest.raises(DataError, match=rf"^{path}:.*{message}"):
        load_model(path)
