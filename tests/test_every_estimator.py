"""What scikit-learn's users do with every selector, ranker and scaler: pickle, clone, frames."""

import copy
import pickle
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from ranksieve import RankingData, make_ranking
from ranksieve.io.shards import open_shards, write_shards
from ranksieve.preprocessing import QueryMinMaxScaler, QueryStandardScaler
from ranksieve.rankers.registry import RANKERS
from ranksieve.selectors import LifeRank
from ranksieve.selectors.registry import SELECTORS
from tests.every_method import make_quick

NAMES = [f"f{number}" for number in range(6)]
OTHERS = {
    "liferank": lambda: LifeRank(2),
    "min-max": QueryMinMaxScaler,
    "standard": QueryStandardScaler,
}
TRANSFORMERS = [*SELECTORS, "liferank", "min-max", "standard"]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def make(name):
    return OTHERS[name]() if name in OTHERS else make_quick(name, 3)


@cache
def make_data():
    made, _ = make_ranking(
        20, docs_per_query=(2, 8), n_informative=2, n_redundant=1, n_noise=3, noise=0.3
    )
    return RankingData(made.X, made.y, made.qid, feature_names=NAMES)


@cache
def usual(name):
    """An estimator that has learned from the data."""
    return make(name).fit(make_data())


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def directory(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "shards"
    write_shards(data, path, shard_bytes=4000)
    return path


def told(estimator, data):
    """All that an estimator says."""
    parts = []
    if hasattr(estimator, "predict"):
        parts.append(estimator.predict(data))
    if hasattr(estimator, "selected_"):
        parts += [estimator.selected_, *estimator.reasons()]
    if hasattr(estimator, "components_"):
        parts.append(estimator.transform(data))
    return repr([np.asarray(part).tolist() for part in parts])


@pytest.mark.parametrize("name", [*SELECTORS, *RANKERS, "liferank"])
class TestCopies:
    def test_pickles_say_the_same(self, name, data):
        fitted = usual(name)
        expected = told(fitted, data)
        for twin in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
            assert type(twin) is type(fitted)
            assert repr(twin) == repr(fitted)
            assert told(twin, data) == expected

    def test_pickles_of_what_has_learned_from_shards_that_are_closed(self, name, data, directory):
        with open_shards(directory) as shards:
            fitted = make(name).fit(shards)
        stored = pickle.dumps(fitted)
        assert len(stored) < 100_000  # it does not hold the data
        assert told(pickle.loads(stored), data) == told(fitted, data)

    def test_clones_know_nothing(self, name):
        fitted = usual(name)
        twin = clone(fitted)
        assert type(twin) is type(fitted)
        assert twin.get_params().keys() == fitted.get_params().keys()
        assert not [attribute for attribute in vars(twin) if attribute.endswith("_")]


@pytest.mark.parametrize("name", TRANSFORMERS)
class TestFrames:
    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_set_output(self, name, library, data):
        frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[library]
        rows = frame(dict(zip(NAMES, data.X.T, strict=True)))
        beside = {"qid": data.qid} if name in ("min-max", "standard") else {}
        transformer = make(name).set_output(transform=library)
        found = transformer.fit_transform(rows, data.y, qid=data.qid)
        assert isinstance(found, frame)
        names = transformer.get_feature_names_out()
        assert list(found.columns) == names.tolist()
        again = transformer.transform(rows, **beside)
        assert isinstance(again, frame)
        np.testing.assert_array_equal(again.to_numpy(), found.to_numpy())
        plain = make(name).fit(rows, data.y, qid=data.qid).transform(rows, **beside)
        assert isinstance(plain, np.ndarray)  # as scikit-learn has it
        np.testing.assert_array_equal(plain, found.to_numpy())
