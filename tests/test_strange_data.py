"""Every selector and ranker with data that are unusual, but legal: right, or clearly refused."""

import re

import numpy as np
import pytest

from ranksieve import RankingData
from ranksieve.data import DataError
from ranksieve.rankers import RankSVM
from ranksieve.rankers.registry import RANKERS
from ranksieve.selectors.registry import SELECTORS
from tests.every_method import make_quick

N_QUERIES, N_DOCUMENTS, N_FEATURES = 12, 8, 5
PLAIN = ("random", "all")  # look at no number


def fitted(name, X, y, qid):
    return make_quick(name).fit(X, y, qid=qid)


def told(estimator, X):
    """All that an estimator says."""
    parts = [estimator.predict(X)] if hasattr(estimator, "predict") else []
    if hasattr(estimator, "selected_"):
        parts.append(estimator.selected_)
    return np.concatenate(parts)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_QUERIES * N_DOCUMENTS, N_FEATURES))
    y = np.clip(np.round(X[:, 0] + 0.5 * rng.normal(size=len(X)) + 0.5), 0, 2)
    return X, y, np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)


each = pytest.mark.parametrize("name", [*RANKERS, *SELECTORS])


def scale(X, factor, features):
    scaled = X.copy()
    scaled[:, features] *= factor
    return scaled


def assert_finite_or_explained(name, X, y, qid):
    """What a method says and has learned is finite, or it says what to do about the data."""
    try:
        estimator = fitted(name, X, y, qid)
        assert np.isfinite(told(estimator, X)).all()
    except DataError as error:
        assert "scale the features first" in str(error), error  # noqa: PT017
        return
    for attribute in ("coef_", "scores_", "importance_"):
        assert np.isfinite(getattr(estimator, attribute, 0.0)).all()


@each
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
class TestEveryMethod:
    def test_data_without_features(self, name, rows):
        X, y, qid = rows
        with pytest.raises(DataError, match="^the data has no features$"):
            make_quick(name).fit(RankingData(X[:, :0], y, qid))

    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    def test_numbers_of_any_size(self, name, rows):
        X, y, qid = rows
        for factor in (1e300, 1e155, 1e-155, 1e-310):
            for features in (slice(None), slice(2, 3)):  # all of them, or one
                assert_finite_or_explained(name, scale(X, factor, features), y, qid)

    def test_one_query(self, name, rows):
        X, y, qid = rows
        try:
            found = told(fitted(name, X, y, np.zeros_like(qid)), X)
        except DataError as error:
            assert re.search("two queries|only (one|query)", str(error)), error  # noqa: PT017
            return
        assert np.isfinite(found).all()

    def test_queries_of_one_document(self, name, rows):
        X, y, qid = rows
        alone = np.arange(len(y))
        if name in PLAIN:
            fitted(name, X, y, alone)
        else:
            with pytest.raises(DataError, match="no query has two documents"):
                fitted(name, X, y, alone)
        some = np.where(qid < 3, 1000 + alone, qid)  # beside others that tell something
        assert np.isfinite(told(fitted(name, X, y, some), X)).all()


class Failing(RankSVM):
    """A ranker whose training fails."""

    def _train(self, source, validation):
        raise self.failure


@pytest.mark.parametrize(
    "failure",
    [
        KeyError("information"),
        IndexError("index 0 is out of bounds"),
        ValueError("the parameter is not finite: inf, nan"),
        ValueError("operands could not be broadcast together"),
        TypeError("float"),
    ],
    ids=repr,
)
def test_errors_of_a_program_are_not_blamed_on_the_data(rows, failure):
    X, y, qid = rows
    ranker = Failing()
    ranker.failure = failure
    with pytest.raises(type(failure)) as raised:
        ranker.fit(1e200 * X, y, qid)
    assert raised.value is failure


@pytest.mark.parametrize("kind", [FloatingPointError, OverflowError, np.linalg.LinAlgError])
def test_errors_of_arithmetic_are_explained_by_sizes(rows, kind):
    X, y, qid = rows
    ranker = Failing()
    ranker.failure = kind("no convergence")
    with pytest.raises(DataError, match="failed .no convergence.: feature '1' has values as large"):
        ranker.fit(1e200 * X, y, qid)
    with pytest.raises(kind, match="no convergence"):  # the data has nothing to do with it
        ranker.fit(X, y, qid)
