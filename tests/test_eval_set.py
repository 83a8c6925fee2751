"""Held-out data in every form that ``fit`` takes, for every method that uses them."""

import numpy as np
import pytest

from ranksieve import RankingData, make_ranking
from ranksieve.data import DataError
from tests.every_method import make_quick

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def parts():
    data, _ = make_ranking(30, docs_per_query=(2, 9), n_informative=3, n_noise=3, noise=0.3)
    return data.take_queries(range(20)), data.take_queries(range(20, 30))


def make(name):
    """A quick estimator; one of them does not know how to choose unless it is told."""
    return make_quick(name).set_params(**{"measure": "map"} if name == "rankrls-cv" else {})


@pytest.mark.parametrize("name", ["rankrls-cv", "annealing"])
def test_other_names_are_refused(name, parts):
    train, other = (
        RankingData(part.X[:, :2], part.y, part.qid, feature_names=list(names))
        for part, names in zip(parts, ("ab", "ba"), strict=True)
    )
    with pytest.raises(DataError, match="feature 1 is 'b', but 'a' in training"):
        make_quick(name, 1).fit(train, eval_set=other)


@pytest.mark.parametrize("names", [(None, "ab"), ("ab", None)])
def test_only_one_side_has_names(names, parts):
    """A wrapper takes some features of both sides, which must not differ for that."""
    train, vali = (
        RankingData(part.X[:, :2], part.y, part.qid, feature_names=own and list(own))
        for part, own in zip(parts, names, strict=True)
    )
    found = make_quick("sequential", 1).fit(train, eval_set=vali).selected_
    bare = [RankingData(part.X[:, :2], part.y, part.qid) for part in parts]
    np.testing.assert_array_equal(
        found, make_quick("sequential", 1).fit(*bare[:1], eval_set=bare[1]).selected_
    )


@pytest.mark.parametrize("name", ["rankrls-cv", "greedy-rankrls-cv"])
def test_what_is_wrong(name, parts):
    train, vali = parts
    pair, triple = (vali.X, vali.y), (vali.X, vali.y, vali.qid)
    for given, message in (
        (dict(eval_set=[pair]), "eval_set has no queries: pass"),
        (dict(eval_set=[triple, triple]), "must be one data set, but there are 2"),
        (dict(eval_set=[]), "must be one data set, but there are 0"),
        (dict(eval_set=triple, eval_qid=[vali.qid]), "takes either eval_qid or eval_group"),
        (dict(eval_set=[pair], eval_qid=[vali.qid], eval_group=[[1]]), "takes either eval_qid"),
        (dict(eval_qid=[vali.qid]), "eval_qid is given without an eval_set"),
        (dict(eval_group=[[1]]), "eval_group is given without an eval_set"),
        (dict(eval_set=[pair], eval_group=[[1, 2]]), "group counts add up to 3 rows but X has"),
        (dict(eval_set=[pair], eval_qid=[vali.qid[1:]]), "qid"),
        (dict(eval_set="vali.txt"), "eval_set must be a tuple .*; got str"),
        (dict(eval_set=(vali.X[:, :2], *triple[1:])), "eval_set has 2 features, but"),
    ):
        with pytest.raises(DataError, match=message):
            make(name).fit(train, **given)
