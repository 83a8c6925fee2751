"""Studies of selectors and rankers that users bring."""

import json
import os
import runpy
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from lightgbm import LGBMRanker
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import RFE, SelectKBest, VarianceThreshold, f_regression
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRanker

from ranksieve import RankingData, make_ranking
from ranksieve.base import RankSelector
from ranksieve.data import DataError
from ranksieve.metrics import evaluate
from ranksieve.rankers import LambdaMART, as_ranker
from ranksieve.report import write_report
from ranksieve.selectors import GAS, SequentialSelector, as_selector
from ranksieve.splits import query_kfold
from ranksieve.study import Plan, Study, load_study
from ranksieve.study.plan_file import read_plan, read_settings
from tests.study.test_study import without_times

TREES = dict(n_estimators=4, n_jobs=1)
QUICK = dict(ks=[2], baselines=False, seeds=2, protocol="kfold:3")


@pytest.fixture(scope="module")
def data():
    sizes = dict(n_informative=3, n_redundant=2, n_noise=3, docs_per_query=(3, 10))
    return make_ranking(24, **sizes, random_state=3)[0]


class Spread(BaseEstimator):
    """Features by the spread of their values."""

    def __init__(self, n_features_to_select=5, *, power=1):
        self.n_features_to_select = n_features_to_select
        self.power = power

    def fit(self, X, y, qid=None):
        assert len(qid) == len(X) == len(y)
        order = np.argsort(-(np.abs(X - X.mean(axis=0)).mean(axis=0) ** self.power), kind="stable")
        self.selected_ = order[: self.n_features_to_select]
        return self


class Last:
    """Not even an estimator of scikit-learn."""

    def __init__(self, k=1):
        self.k = k

    def fit(self, data):
        assert isinstance(data, RankingData)
        self.support_ = np.arange(data.n_features) >= data.n_features - self.k


class Column(RegressorMixin, BaseEstimator):
    """A ranker by one feature."""

    def __init__(self, place=0, options=None):
        self.place = place
        self.options = options

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, self.place]


def cells_of(study):
    lines = (study.directory / "ledger.jsonl").read_text().splitlines()[1:]
    return [json.loads(line)["cell"] for line in lines]


def n_cells(out):
    return len((out / "ledger.jsonl").read_text().splitlines())


@pytest.mark.slow
def test_a_study_is_what_a_plain_one_finds(data):
    study = Study(
        data,
        selectors=[Spread(power=2), ("kbest", SelectKBest(f_regression)), "top"],
        rankers=[("mine", LGBMRanker(**TREES)), Ridge(alpha=2.0, random_state=0)],
        grids={"mine": {"num_leaves": [3, 7]}},
        parameters={"Ridge": {"alpha": 3.0}},
        **QUICK,
    )
    result = study.run()
    assert result.selectors == ["Spread", "kbest", "top"]
    assert result.rankers == ["mine", "Ridge"]
    makers = {"mine": [dict(num_leaves=3), dict(num_leaves=7)], "Ridge": [{}]}
    for fold, split in enumerate(query_kfold(data.n_queries, 3, random_state=0)):
        train, vali, test = split.apply(data)
        chosen = {
            "Spread": Spread(2, power=2).fit(train.X, train.y, qid=train.qid).selected_,
            "kbest": SelectKBest(f_regression, k=2).fit(train.X, train.y).get_support(True),
        }
        for selector, features in chosen.items():
            kept = np.sort(features)
            for ranker, points in makers.items():
                best = max(
                    (fitted(ranker, point, train, vali, kept) for point in points),
                    key=lambda model: value_of(model, vali, kept).mean(),
                )
                outcome = result.run(selector, ranker).chosen.outcomes[0][fold]
                assert sorted(outcome.features) == kept.tolist()
                np.testing.assert_array_equal(outcome.per_query["MAP"], value_of(best, test, kept))


def fitted(name, point, train, vali, kept):
    estimator = Ridge(alpha=3.0) if name == "Ridge" else LGBMRanker(**TREES, **point)
    return as_ranker(estimator).fit(train.take_features(kept), eval_set=vali.take_features(kept))


def value_of(model, data, kept):
    scores = model.predict(data.take_features(kept))
    return evaluate(data.y, scores, data.qid, ["MAP"]).per_query["MAP"]


class TestKeys:
    """Results are known by class, version and parameters, not by name."""

    def study(self, data, out, ranker, **plan):
        return Study(data, selectors=["top"], rankers=[ranker], out=out, **QUICK, **plan)

    def test_the_same_object_again_runs_nothing(self, data, tmp_path):
        first = without_times(self.study(data, tmp_path, ("mine", LGBMRanker(**TREES))).run())
        before = n_cells(tmp_path)
        again = self.study(data, tmp_path, ("mine", LGBMRanker(**TREES, num_leaves=31))).run()
        assert without_times(again) == first
        assert n_cells(tmp_path) == before
        self.study(data, tmp_path, ("renamed", LGBMRanker(**TREES))).run()
        assert n_cells(tmp_path) == before
        self.study(data, tmp_path, "lightgbm", parameters={"lightgbm": TREES}).run()
        assert n_cells(tmp_path) == before

    def test_other_parameters_under_the_same_name_are_other_cells(self, data, tmp_path):
        one = self.study(data, tmp_path, ("mine", Column(0))).run()
        before = n_cells(tmp_path)
        other = self.study(data, tmp_path, ("mine", Column(np.int64(1)))).run()
        assert n_cells(tmp_path) == before + 3
        assert without_times(one) != without_times(other)
        fresh = self.study(data, tmp_path / "fresh", ("mine", Column(1))).run()
        assert without_times(other) == without_times(fresh)

    def test_nothing_else_changes_the_key(self):
        """Numbers of numpy, defaults that are written out, and the number of features."""
        records = [
            Plan(selectors=[("mine", selector)], rankers=["rankrls"]).own["mine"]
            for selector in (Spread(), Spread(7), Spread(power=np.int64(1)), Spread(np.int32(3)))
        ]
        assert all(record == records[0] for record in records)
        assert records[0]["parameters"] == {}

    def test_a_study_is_known_again_in_another_process(self, start_program, tmp_path):
        """A class of a script: its digest is the same, and the report needs no class."""
        script = tmp_path / "script.py"
        script.write_text(
            f"OUT = {str(tmp_path / 'study')!r}\n"
            + textwrap.dedent(
                """
                from ranksieve import Study, make_ranking
                from sklearn.linear_model import Ridge

                class Mine:
                    def __init__(self, k=3, names=("a", "b")):
                        self.k = k
                        self.names = names
                    def fit(self, X, y, qid):
                        left_out = lambda f: f in {1, 3, "u", "v", "w", "x", "y", "z", None}
                        self.selected_ = [f for f in range(9) if not left_out(f)][: self.k]
                        return self

                data, _ = make_ranking(20, n_informative=3, n_redundant=3, n_noise=3)
                plan = dict(ks=[2], baselines=False, protocol="kfold:3", out=OUT)
                Study(data, selectors=[Mine()], rankers=[Ridge(random_state=0)], **plan).run()
                """
            )
        )
        assert start_program(runpy.run_path, script, None, "__main__").wait()[0] == 0
        before = n_cells(tmp_path / "study")
        # Another seed of sets of strings, whose order must not matter.
        seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, script], check=True, env=environment)
        assert n_cells(tmp_path / "study") == before
        result = load_study(tmp_path / "study")
        assert result.selectors == ["Mine"]
        assert result.run("Mine", "Ridge").chosen.selections == [(0, 2)] * 3
        with pytest.raises(ValueError, match="'__main__:Mine' is defined in a script, a notebook"):
            Study(**read_settings(tmp_path / "study" / "study.toml"))


def test_results_are_read_back_without_the_class(data, tmp_path, monkeypatch):
    plan = dict(selectors=[Spread(power=2), Last], rankers=[Column(1), "xgboost"], **QUICK)
    plan |= {"parameters": {"xgboost": TREES}, "grids": {"Spread": {"power": [1, 2]}}}
    result = Study(data, **plan, out=tmp_path).run()

    def fail(*_):
        raise AssertionError("nothing is imported to read results")

    monkeypatch.setattr("ranksieve.registry.own_code.import_module", fail)
    monkeypatch.setattr("ranksieve.registry.foreign.import_object", fail)
    loaded = load_study(tmp_path)
    assert without_times(loaded) == without_times(result)
    write_report(loaded, tmp_path, figures=False)
    assert "Spread" in (tmp_path / "report.html").read_text()


@pytest.mark.slow
def test_a_plan_is_run_again(data, tmp_path):
    nested = make_pipeline(StandardScaler(), Ridge(alpha=0.5, random_state=1))
    given = [nested, ("trees", XGBRanker(**TREES, max_depth=2)), LambdaMART(3), "rankrls"]
    selectors = [("rfe", RFE(LinearRegression())), ("kbest", SelectKBest(f_regression)), GAS(c=0.3)]
    plan = dict(selectors=selectors, rankers=given, **QUICK)
    result = Study(data, **plan, out=tmp_path).run()
    before = n_cells(tmp_path)
    settings = read_settings(tmp_path / "study.toml")
    settings.pop("title")
    again = Study(data, out=tmp_path, **settings).run()
    assert without_times(again) == without_times(result)
    assert n_cells(tmp_path) == before
    plan = Plan(**{name: value for name, value in settings.items() if name != "protocol"})
    assert read_plan(tmp_path)[0].as_dict() == plan.as_dict()


def test_a_plan_may_name_classes_itself(data, tmp_path):
    (tmp_path / "plan.toml").write_text(
        'rankers = ["mine", "sklearn.linear_model:Ridge"]\nselectors = ["top"]\nks = [2]\n'
        '[own.mine]\nclass = "xgboost:XGBRanker"\n'
        "[own.mine.parameters]\nn_estimators = 3\nn_jobs = 1\nmax_depth = 2\n"
    )
    settings = read_settings(tmp_path / "plan.toml")
    study = Study(data, **settings, baselines=False, seeds=1, protocol="kfold:3")
    assert study.plan.rankers == ("mine", "Ridge")
    estimator = XGBRanker(n_estimators=3, n_jobs=1, max_depth=2)
    direct = dict(selectors=["top"], rankers=[("mine", estimator), Ridge()], ks=[2], seeds=1)
    expected = Study(data, **direct, baselines=False, protocol="kfold:3").run()
    assert without_times(study.run()) == without_times(expected)


def test_seeds(data):
    """What has no seed of its own runs with several; trees draw the same numbers every time."""
    rankers = [
        ("free", RandomForestRegressor(2)),
        ("fixed", RandomForestRegressor(2, random_state=0)),
        ("inside", make_pipeline(StandardScaler(), RandomForestRegressor(2))),
        ("trees", LGBMRanker(**TREES)),
        ("ours", LambdaMART(2)),
    ]
    study = Study(data, selectors=["top"], rankers=rankers, **QUICK)
    result = study.run()
    seeds = {name: result.run("top", name).chosen.n_seeds for name in result.rankers}
    assert seeds == {"free": 2, "fixed": 1, "inside": 2, "trees": 1, "ours": 1}
    first, second = (
        seed[0].per_query["MAP"].tolist() for seed in result.run("top", "free").chosen.outcomes
    )
    fixed = result.run("top", "fixed").chosen.outcomes[0][0].per_query["MAP"].tolist()
    assert first == fixed != second


def test_nested_selectors_run_once(data):
    class Nested(Spread):
        is_nested = True

    plan = dict(rankers=[Column()], ks=[1, 2, 3], baselines=False, protocol="kfold:3")
    study = Study(data, selectors=[Spread(), Nested(), GAS(), GAS(solver="exact")], **plan)
    result = study.run()
    selected = [cell for cell in cells_of(study) if "selector" in cell and cell["trial"] == "Fold1"]
    assert len(selected) == 3 + 1 + 1 + 3
    one, other = (result.run(name, "Column").by_k for name in ("Spread", "Nested"))
    assert [one[k].selections for k in one] == [other[k].selections for k in other]


def test_parameters_that_speak_of_single_features(data):
    """They are reduced to the selected features."""
    rising = [1] * data.n_features
    plan = dict(selectors=["top"], rankers=[LGBMRanker(**TREES, monotone_constraints=rising)])
    assert Study(data, **plan, **QUICK).run().run("top", "LGBMRanker").chosen.n_features == 2


@pytest.mark.slow
def test_a_ranker_of_the_study_inside_a_selector(data, tmp_path):
    plan = dict(rankers=[("mine", Ridge(random_state=0))], out=tmp_path, **QUICK)
    inside = {"parameters": {"elimination": {"ranker": "mine", "importance": "permutation"}}}
    study = Study(data, selectors=["elimination"], **inside, **plan)
    result = study.run()
    assert result.run("elimination", "mine").chosen.n_features == 2
    assert without_times(load_study(tmp_path)) == without_times(result)
    before = n_cells(tmp_path)
    plan["rankers"] = [("mine", Ridge(alpha=9.0, random_state=0))]
    Study(data, selectors=["elimination"], **inside, **plan).run()
    assert n_cells(tmp_path) == before + 3 * (2 + 1)  # two seeds choose the same features


@pytest.mark.slow
def test_selectors_around_own_rankers(data, tmp_path):
    selector = SequentialSelector(LGBMRanker(**TREES), cv=2)
    study = Study(data, selectors=[selector], rankers=["rankrls"], out=tmp_path, **QUICK)
    result = study.run()
    assert study.plan.own["SequentialSelector"]["parameters"]["ranker"]["class"].endswith(
        "LGBMRanker"
    )
    assert without_times(load_study(tmp_path)) == without_times(result)


def test_names_that_are_no_names_of_files(data, tmp_path):
    rankers = [("a/../b\u00e4 <x>|*", Column()), ("A", Column(1))]
    study = Study(data, selectors=[("sel/ector", Spread())], rankers=rankers, **QUICK)
    write_report(study.run(), tmp_path, figures=False)
    names = {path.name for path in (tmp_path / "tables").iterdir()}
    assert "comparison-a..bue4x.csv" in names
    assert "comparison-a.csv" in names


def test_cells_run_on_a_cluster(data, client):
    plan = dict(selectors=[Spread(), Last()], rankers=[Column(1), LGBMRanker(**TREES)], **QUICK)
    assert without_times(Study(data, **plan).run(client)) == without_times(
        Study(data, **plan).run()
    )


# What is refused, and how.


class Broken(Column):
    def fit(self, X, y):
        raise KeyError("broken")


class Silent(Spread):
    def fit(self, X, y):
        return self


class Choice(Spread):
    """Selects what it is told to."""

    def __init__(self, n_features_to_select=1, selected=()):
        self.n_features_to_select = n_features_to_select
        self.selected = selected

    def fit(self, X, y):
        self.selected_ = np.array(self.selected)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (Silent(), r"Fold\d, Silent: Silent has no selected_, get_support"),
        (
            Choice(selected=[9]),
            "Choice selected feature 9, but there are 8 features, numbered from 0",
        ),
        (Choice(selected=[-1]), "Choice selected feature -1"),
        (Choice(selected=[1, 1]), "Choice selected a feature twice"),
        (Choice(selected=[]), r"Fold\d, Choice: .*Choice"),
        (Choice(selected=[0.5]), "selected_ should be a list of indices"),
        (Choice(selected=[1, 2, 3]), "selected 3 features instead of 2"),
    ],
)
def test_what_a_selector_cannot_select(data, entry, message):
    with pytest.raises(DataError, match=message):
        Study(data, selectors=[entry], rankers=[Column()], **QUICK).run()


def test_errors_of_own_code_say_where_and_lose_nothing(data, tmp_path):
    plan = dict(selectors=["top"], out=tmp_path, **QUICK)
    message = r"Fold\d, Broken on 2 features: KeyError: 'broken'"
    with pytest.raises(DataError, match=message) as raised:
        Study(data, rankers=[Broken()], **plan).run()
    assert isinstance(raised.value.__cause__, KeyError)  # with all that led to it
    before = n_cells(tmp_path)
    assert before > 1
    Study(data, rankers=[Column()], **plan).run()


class Native(RankSelector):
    """A selector of this library, by a stranger."""

    def __init__(self, n_features_to_select=10, *, progress=True):
        self.n_features_to_select = n_features_to_select
        self.progress = progress

    def _choose(self, source, choices):
        return np.arange(choices.k)


def test_an_own_selector_of_this_library(data):
    study = Study(data, selectors=[Native()], rankers=[Column()], **QUICK)
    assert study.run().run("Native", "Column").chosen.selections == [(0, 1)] * 3


def test_features_are_excluded(data):
    plan = dict(selectors=[Spread(), GAS()], rankers=[Column()])
    excluded = {"Spread": {"exclude": [0, 1]}, "GAS": {"exclude": [0, 1]}}
    result = Study(data, **plan, parameters=excluded, **QUICK).run()
    for name in excluded:
        assert all({0, 1}.isdisjoint(s) for s in result.run(name, "Column").chosen.selections)
    with pytest.raises(DataError, match="Spread: SelectorAdapter takes no include: the estimator"):
        Study(data, **plan, parameters={"Spread": {"include": [0]}}, **QUICK).run()


def test_as_selector(data):
    native = Native()
    assert as_selector(native) is native
    chosen = as_selector(SelectKBest(f_regression, k=3)).fit(data)
    expected = SelectKBest(f_regression, k=3).fit(data.X, data.y)
    assert sorted(chosen.selected_) == expected.get_support().nonzero()[0].tolist()
    assert (np.diff(chosen.scores_[chosen.selected_]) <= 0).all()
    assert chosen.transform(data).n_features == 3
    half = as_selector(Spread()).set_params(n_features_to_select=0.5).fit(data)
    assert half.selected_.shape == (4,)
    with pytest.raises(ValueError, match="VarianceThreshold takes no number of features"):
        as_selector(VarianceThreshold()).set_params(n_features_to_select=2).fit(data)
    kept = as_selector(VarianceThreshold()).fit(data)
    assert kept.selected_.tolist() == list(range(data.n_features))
