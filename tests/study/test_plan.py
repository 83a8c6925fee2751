"""Plans: names, settings of every kind, and the files that keep them."""

import json
import random
from functools import partial

import numpy as np
import pytest
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import ParameterGrid
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRanker

from ranksieve import Columns, Missing
from ranksieve.data import DataError
from ranksieve.rankers import RankSVM, as_ranker
from ranksieve.study import Plan
from ranksieve.study.plan import grid_points
from ranksieve.study.plan_file import read_plan, read_settings, write_plan
from tests.study.test_own import Column, Last, Spread


def test_names():
    plan = Plan(
        selectors=[Spread(), Spread(power=2), ("Spread-2", Spread(power=3)), Last, "top"],
        rankers=[
            LGBMRanker(),
            LGBMRanker(num_leaves=7),
            ("my ranker", XGBRanker()),
            as_ranker(CatBoostRanker()),
            "lightgbm",
            "lightgbm",
            RankSVM(C=3.0),
            ("small", "lambdamart"),
        ],
        baselines=False,
    )
    assert plan.selectors == ("Spread", "Spread-3", "Spread-2", "Last", "top")
    assert plan.rankers == (
        *("LGBMRanker", "LGBMRanker-2", "my ranker", "CatBoostRanker", "lightgbm", "RankSVM"),
        "small",
    )
    assert plan.own["RankSVM"]["parameters"] == {"C": 3.0}
    assert plan.own["LGBMRanker-2"]["parameters"] == {"num_leaves": 7}
    assert set(plan.own) == {*plan.selectors, *plan.rankers} - {"top"}


NESTED = json.loads("[" * 50 + "1" + "]" * 50)


class Forgetful(BaseEstimator):
    def __init__(self, weight=1):
        pass

    def fit(self, X, y):
        pass

    def predict(self, X):
        pass


class Demanding(Column):
    def __init__(self, place):
        self.place = place


OWN = [
    *(("mine", Column()), ("trees", LGBMRanker()), ("boost", XGBRanker())),
    ("cat", CatBoostRanker()),
]
BAD_SETTINGS = [
    ({"selectors": ["gas-x"]}, "unknown method 'gas-x'; choose from fs-ed, fs-scpr"),
    ({"rankers": ["svm"]}, "unknown ranker 'svm'; choose from adarank-map"),
    ({"measures": ["map@x"]}, "map@x"),
    ({"measures": ["pairwise-error"]}, "where larger is better"),
    ({"convention": "letor5"}, "letor5"),
    ({"tune": "ndgc@10"}, "ndgc@10"),
    ({"ks": [0]}, "whole numbers of at least 1, or 'all', got 0"),
    ({"ks": ["few"]}, "got 'few'"),
    ({"ks": []}, "a study needs ks"),
    ({"rankers": []}, "a study needs rankers"),
    ({"seeds": 0}, "seeds must be a whole number from 1 to 10,000, got 0"),
    ({"seeds": 1.5}, "seeds must be a whole number .*, got 1.5"),
    ({"seeds": "3"}, "seeds must be a whole number .*, got '3'"),
    ({"seeds": True}, "seeds must be a whole number .*, got True"),
    ({"seeds": 10**12}, "seeds must be a whole number .*, got 1000000000000"),
    ({"seeds": np.nan}, "seeds must be a whole number .*, got nan"),
    ({"seed": -1}, "seed must be a whole number from 0 .*, got -1"),
    ({"seed": 2**31}, "seed must be a whole number from 0 .*, got 2147483648"),
    ({"seed": None}, "seed must be a whole number from 0 .*, got None"),
    ({"selectors": 5}, "selectors must be a list, got 5"),
    ({"selectors": "gas-e"}, "selectors must be a list, got 'gas-e'"),
    ({"selectors": {"gas-e": 1}}, "selectors must be a list"),
    ({"selectors": [1]}, "selectors: each must be a string, got 1"),
    ({"rankers": None}, "rankers must be a list, got None"),
    ({"rankers": [["ranksvm"]]}, "rankers: each must be a string"),
    ({"measures": "map"}, "measures must be a list, got 'map'"),
    ({"measures": [3]}, "measures: each must be a string, got 3"),
    ({"tune": ["map"]}, "tune must be a string"),
    ({"convention": 3}, "convention must be a string, got 3"),
    ({"scale": None}, "scale must be a string, got None"),
    ({"choose": ["best"]}, "choose must be a string"),
    ({"baselines": 1}, "baselines must be true or false, got 1"),
    ({"ks": 3}, "ks must be a list, got 3"),
    ({"ks": "all"}, "ks must be a list, got 'all'"),
    ({"ks": [True]}, "got True"),
    ({"ks": [2.0]}, "got 2.0"),
    ({"ks": [[1]]}, r"got \[1\]"),
    ({"parameters": [1]}, r"parameters must be a table of names, got \[1\]"),
    ({"parameters": {"gas-e": [1]}}, "parameters of gas-e must be a table"),
    ({"parameters": {"gas-e": {"c": np.nan}}}, "of gas-e: c must be a finite number"),
    ({"parameters": {"gas-e": {"c": object()}}}, "of gas-e: c must be a finite number"),
    ({"parameters": {1: {}}}, "parameters must be a table of names"),
    ({"parameters": {"gas-e": {"c": NESTED}}}, "of gas-e: c must be a finite number"),
    ({"parameters": {"gas-e": {"c": True}}}, "gas-e: c must not be true or false"),
    ({"grids": {"ranksvm": {"C": [True]}}}, "ranksvm: C must not be true or false"),
    (
        {"selectors": ["sequential"], "parameters": {"sequential": {"ranker": 3}}},
        "sequential: ranker must be the name of a ranker, got 3",
    ),
    ({"grids": "gas-e"}, "grids must be a table of names"),
    ({"grids": {"gas-e": {"c": "ab"}}}, "grid of gas-e: c needs a list of values"),
    ({"grids": {"gas-e": {"c": [np.inf]}}}, "grids of gas-e: c must be a finite number"),
    ({"choose": "first"}, "choose must be one of best, one-se"),
    ({"scale": "log"}, "scale must be one of none, min-max, standard"),
    ({"parameters": {"gas-e": {"d": 1}}}, "method 'gas-e' has no parameter 'd'"),
    ({"grids": {"gas-e": {"c": []}}}, "grid of gas-e: c needs a list of values"),
    ({"grids": {"gas-e": {"c": 0.1}}}, "grid of gas-e: c needs a list of values"),
    ({"parameters": {"ig": {"n_bins": 3}}}, "parameters for 'ig', which is not in the study"),
    (dict(include=[1.5]), "include must be names or indices of features"),
    (dict(exclude={"f1": 2}), "exclude must be a list"),
    (dict(groups="a"), "groups must be a list"),
    (dict(groups={"a": 1.5}), "groups: a must be a list"),
    (dict(selectors=["hcas"], groups=[["f0", "f1"]]), "hcas takes no groups: it keeps one"),
    *(({"missing": wrong}, "missing must be") for wrong in ("mean", 3, Missing("zero", [2]))),
]
BAD_SETTINGS_OF_OWN = [
    ({"grids": {"mine": {"plaec": [1]}}}, "ranker 'mine' has no parameter 'plaec'; it has"),
    (
        {"parameters": {"trees": {"num_leafs": 3}}},
        "ranker 'trees' has no parameter 'num_leafs'",
    ),
    (
        {"grids": {"boost": {"tree": [1]}}},
        "ranker 'boost' has no parameter 'tree'; it has .*de",
    ),
    ({"grids": {"cat": {"leaf": [1]}}}, "ranker 'cat' has no parameter 'leaf'; it has .*depth"),
    ({"grids": {"other": {"place": [1]}}}, "'other', which is not in the study"),
    ({"grids": {"mine": {"place": [max]}}}, "grids of mine: place must be a finite number"),
    ({"selectors": [("mine", Spread())]}, "a selector and a ranker are both called 'mine'"),
]
BAD_RANKERS = [
    ([object()], "is not a ranker: expected a ranker of ranksieve"),
    ([KMeans()], "is not a ranker: .* got the clusterer KMeans, which cannot rank"),
    ([LogisticRegression()], "is not a ranker: .* got the classifier LogisticRegression"),
    ([StandardScaler()], "is not a ranker: .*; got StandardScaler"),
    ([("mine", Column()), ("mine", Column(1))], "two rankers are called 'mine': give each"),
    ([("mine", Column()), ("Mine", Column(1))], "called 'Mine' and 'mine', which is the same"),
    ([("ranksvm", Column())], "'ranksvm' is a published name .*: choose another name"),
    ([("gas-e", Column())], "'gas-e' is a published name"),
    ([("", Column())], "a ranker cannot be called ''"),
    ([("a\nb", Column())], "a ranker cannot be called"),
    ([("***", Column())], "a ranker cannot be called"),
    ([("top", "mine")], "unknown ranker 'mine'"),
    ([LGBMRanker(objective=lambda y, s: (y, s))], "objective=<function .* cannot be written"),
    ([Column(options=partial(max))], "put other functions into a class of your "),
    (
        [RandomForestRegressor(random_state=np.random.RandomState(0))],
        "set it to a whole number",
    ),
    ([Column(np.nan)], "place=nan of Column cannot be written as JSON, .*: use finite"),
    ([Column(options={1: 2})], "dictionaries with strings as keys"),
    ([Column(options={"deep": [{"f": object()}]})], "options=<object .* of Column cannot be"),
    ([Demanding], "Demanding is a class that cannot be created without arguments"),
    ([Forgetful()], "its constructor must store each parameter in an attribute"),
    (["nowhere.at_all:Ranker"], "cannot be imported .*No module named 'nowhere'"),
    (["sklearn.linear_model:Rigde"], "there is no 'Rigde'; choose from ARDRegression, "),
    (["sklearn.linear_model:"], "should be MODULE:OBJECT, such as"),
    (["sklearn.cluster:KMeans"], "is not a ranker: .* got the clusterer KMeans"),
    (["mine=sklearn.linear_model:Ridge", ("mine", Column())], "two rankers are called 'mine'"),
]
BAD_SELECTORS = [
    ([object()], "is not a selector: expected a selector of ranksieve or scikit-learn, or"),
    ([Ridge()], "is not a selector: .*; got Ridge, which predicts; is it a ranker?"),
    ([LGBMRanker()], "is not a selector: .*; got LGBMRanker, which predicts; is it a ranker?"),
    ([RankSVM()], "is not a selector: .*; got RankSVM, which predicts; is it a ranker?"),
    ([VarianceThreshold()], "'VarianceThreshold' takes no number of features, but a study"),
    ([("a", Spread()), ("a", Spread())], "two selectors are called 'a': give each a name"),
    ([SelectKBest(lambda X, y: 0)], "score_func=<function .* of SelectKBest cannot be written"),
]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        *BAD_SETTINGS,
        *(({"rankers": OWN} | settings, message) for settings, message in BAD_SETTINGS_OF_OWN),
        *(({"rankers": entries}, message) for entries, message in BAD_RANKERS),
        *(({"selectors": entries}, message) for entries, message in BAD_SELECTORS),
    ],
)
def test_settings_that_cannot_be_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        Plan(**{"selectors": ["gas-e"], "rankers": ["ranksvm"]} | settings)


BAD_FILES = [
    ("[columns]\nlabels = 'x'", "columns have no 'labels'; choose from label, qid"),
    ("[columns]\nlabel = 3", "label must name a column, got 3"),
    ("columns = 3", "columns must be a table of names"),
    ("[split]\nafter = 3", "split: column must be a string, got None"),
    ("[split]\ncolumn = 'a'\nbefore = 3", "split has no 'before'; choose from column and"),
    ("pool = 1", "pool must be true or false"),
    ("resamples = -1", "resamples must be a whole number from 0 to 1,000"),
    ("test = [3]", "test: each must be a string"),
]
BAD_RECORDS = [
    ("x = 1", "unknown setting 'x'; choose from class, version"),
    ("version = '1'", "needs a class, such as class = 'my_package"),
    ("class = 3", "own: mine: class must be a string"),
    ("class = 'a:b'\nparameters = 3", "parameters must be a table"),
    ("class = 'a:b'\nseeds = 3", "seeds must be a list"),
    ("class = 'a:b'", "'a:b' cannot be imported"),
    (
        "class = 'sklearn.linear_model:Ridge'\nparameters.alhpa = 1",
        "Ridge cannot be created: ",
    ),
]
RANKER = 'selectors = ["top"]\nrankers = ["mine"]\n[own.mine]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, f"plan.toml: {message}") for text, message in BAD_FILES),
        *((RANKER + record, message) for record, message in BAD_RECORDS),
    ],
)
def test_plan_files_that_cannot_be_are_named(tmp_path, text, message):
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        Plan(**read_settings(path))


def test_a_plan_names_columns_or_their_file(tmp_path):
    columns = Columns("grade", "session", ignore=["url"], missing="zero")
    columns.save(tmp_path / "columns.toml")
    for text in (
        f"columns = {json.dumps(str(tmp_path / 'columns.toml'))}",
        "[columns]\nlabel = 'grade'\nqid = 'session'\nignore = ['url']\nmissing = 'zero'",
    ):
        (tmp_path / "plan.toml").write_text(text)
        assert read_settings(tmp_path / "plan.toml")["columns"] == columns
    (tmp_path / "plan.toml").write_text("columns = 'none.toml'")
    with pytest.raises(DataError, match=r"plan.toml: none.toml: no such file"):
        read_settings(tmp_path / "plan.toml")


def test_names_that_the_libraries_use_elsewhere_are_known():
    names = {"lightgbm": ("num_iterations", "lambda_l2", "max_leaf"), "xgboost": ("eta", "lambda")}
    plan = Plan(
        selectors=["top"],
        rankers=list(names),
        parameters={name: dict.fromkeys(own, 2) for name, own in names.items()},
    )
    trees = plan.method("lightgbm").make(**plan.settings("lightgbm")).estimator.get_params()
    assert (trees["n_estimators"], trees["reg_lambda"], trees["num_leaves"]) == (2, 2, 2)
    boost = plan.method("xgboost").make(**plan.settings("xgboost")).estimator.get_params()
    assert (boost["learning_rate"], boost["reg_lambda"]) == (2, 2)


def test_numbers_of_numpy_are_numbers():
    plan = Plan(
        ks=np.array([3, 1]),
        seeds=np.int64(2),
        parameters={"gas-e": {"c": np.float32(0.5)}},
        grids={"ranksvm": {"C": np.array([1.0, 2.0])}},
    )
    assert plan.ks == (1, 3)
    assert json.dumps(plan.as_dict())
    assert plan.parameters == {"gas-e": {"c": 0.5}}


def test_a_plan_of_any_settings_is_read_back(tmp_path):
    texts = {"title": 'a "quote" \\ \u1f40 \U0001f600 \x7f \udc80', "protocol": "kfold:3"}
    plan = Plan(
        selectors=["sequential", "fs-scpr"],
        rankers=["lambdamart"],
        parameters={
            "sequential": {"ranker": "ranksvm", "include": [], "groups": {}},
            "lambdamart": {"early_stopping_rounds": None, "n_estimators": 10},
        },
        grids={"fs-scpr": {"rescale": ["none"]}, "lambdamart": {"random_state": [None, 3]}},
        seeds=3,
        choose="one-se",
    )
    write_plan(tmp_path, plan, texts)
    found, title = read_plan(tmp_path)
    assert found.as_dict() == plan.as_dict()
    assert title == texts["title"].replace("\udc80", "\\udc80")
    path = tmp_path / "study.toml"
    path.write_text(path.read_text().replace("seeds = 3", "seeds = 2"))
    with pytest.raises(
        DataError, match="study.toml: the file was changed after the study ran; to run"
    ):
        read_plan(tmp_path)
    assert read_settings(path)["seeds"] == 2  # a plan of its own


def damaged(text, rng):
    """A text with a changed bit, digit, piece or line."""
    changed, at = bytearray(text), rng.randrange(len(text))
    kind = rng.choice(("bit", "digit", "insert", "remove", "line"))
    if kind == "bit":
        changed[at] ^= 1 << rng.randrange(8)
    elif kind == "digit":
        digits = [place for place, byte in enumerate(changed) if chr(byte).isdigit()]
        changed[rng.choice(digits)] = rng.choice(b"0123456789")
    elif kind == "insert":
        changed[at:at] = rng.choice((b"1", b"[", b"]", b'"', b"\n", b"nan", b"\xff", b"[" * 3000))
    elif kind == "remove":
        del changed[at : at + rng.choice((1, 5, 50))]
    else:
        lines = text.splitlines(keepends=True)
        lines.insert(rng.randrange(len(lines)), lines.pop(rng.randrange(len(lines))))
        return b"".join(lines)
    return bytes(changed)


def test_a_damaged_plan_is_refused_or_as_it_was(tmp_path):
    plan = Plan(
        parameters={"gas-e": {"c": 0.5}}, grids={"ranksvm": {"C": [0.1, 1.0]}}, seeds=3, seed=17
    )
    write_plan(tmp_path, plan, {"title": "mine", "protocol": "kfold:3", "data": ["a.txt"]})
    path = tmp_path / "study.toml"
    whole, rng = path.read_bytes(), random.Random(0)
    refused = valid = 0
    for _ in range(400):
        path.write_bytes(damaged(whole, rng))
        try:
            found, title = read_plan(tmp_path)
            assert (found.as_dict(), title) == (plan.as_dict(), "mine")
        except DataError as error:
            refused += str(path) in str(error)
        try:  # as a plan that somebody wrote
            settings = read_settings(path)
            Plan(**{n: v for n, v in settings.items() if n not in ("title", "protocol", "data")})
            valid += 1
        except ValueError:
            pass
    assert refused > 300
    assert 20 < valid < 200


def test_a_plan_of_own_estimators_is_read_back(tmp_path):
    plan = Plan(
        selectors=[("a/b \U0001f600", Spread(power=2))],
        rankers=[Column(3, options={"a": [1, 2.5, None, "x", True], "b": {"c": 1e-7}})],
        grids={"Column": {"place": [None, 1]}},
    )
    write_plan(tmp_path, plan, {"title": "t", "protocol": "kfold:3"})
    found, title = read_plan(tmp_path)
    assert (found.as_dict(), title) == (plan.as_dict(), "t")


@pytest.mark.parametrize("grid", [{}, {"b": (1, 2), "a": ["x"], "C": np.array([0.5, 1.0])}])
def test_points_of_a_grid_are_those_of_scikit_learn(grid):
    assert grid_points(grid) == list(ParameterGrid(grid))
