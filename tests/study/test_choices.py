"""Studies in which selectors are not free to choose: included and excluded features, groups."""

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest, f_regression

from ranksieve import RankingData, make_ranking, write_letor
from ranksieve.cli import main
from ranksieve.data import DataError
from ranksieve.report.sheets.study_quality import setting_of
from ranksieve.study import Study, load_study, stability_of
from ranksieve.study.plan import Plan
from ranksieve.study.plan_file import read_plan

NAMES = [f"f{number}" for number in range(8)]
SMALL = {"selectors": ["gas-e", "mmr"], "rankers": ["rankrls"], "seeds": 2, "protocol": "kfold:3"}


@pytest.fixture(scope="module")
def data():
    made, _ = make_ranking(
        30, docs_per_query=(2, 9), n_informative=3, n_redundant=2, n_noise=3, noise=0.3
    )
    return RankingData(made.X, made.y, made.qid, feature_names=NAMES)


@pytest.mark.slow
def test_all_selections_start_with_what_is_included(data, tmp_path):
    settings = SMALL | {"ks": [1, 3, 5], "include": ["f6", 1], "exclude": "f3"}
    result = Study(data, out=tmp_path / "study", **settings).run()
    for (selector, _), run in result.runs.items():
        assert list(run.by_k) == ([7] if selector == "all" else [3, 5])
        for k, outcomes in run.by_k.items():
            for features in outcomes.selections:
                assert len(features) == k
                assert list(features[:2]) == [6, 1]
                assert 3 not in features
    assert (result.included, result.excluded) == ([6, 1], [3])
    assert "2 features included, 1 feature excluded" in setting_of(result)
    again = load_study(tmp_path / "study")
    assert again.runs.keys() == result.runs.keys()
    assert (
        again.run("mmr", "rankrls").chosen.selections
        == result.run("mmr", "rankrls").chosen.selections
    )
    free = result.run("gas-e", "rankrls").by_k[3]  # one feature of five is chosen
    assert stability_of(free, 8, [6, 1, 3]).jaccard <= stability_of(free, 8).jaccard


@pytest.mark.slow
def test_excluded_features_might_as_well_not_be_there(data):
    kept = np.array([0, 1, 2, 4, 5, 6])
    without = Study(data.take_features(kept), **SMALL, ks=[2, 4]).run()
    result = Study(data, **SMALL, ks=[2, 4], exclude=[3, 7]).run()
    for key, run in without.runs.items():
        for k, outcomes in run.by_k.items():
            found = result.runs[key].by_k[k]
            assert found.mean("MAP") == pytest.approx(outcomes.mean("MAP"), abs=1e-12)
            assert [list(f) for f in found.selections] == [
                kept[list(f)].tolist() for f in outcomes.selections
            ]


@pytest.mark.slow
def test_groups_come_and_go_together(data):
    groups = {"a": ["f0", "f1", "f2"], "b": [4, 5]}
    result = Study(data, **SMALL, ks=[1, 2, 3, 6], groups=groups).run()
    for run in result.runs.values():
        assert set(run.by_k) <= {3, 6, 8}  # whatever comes first must fit
        for k, outcomes in run.by_k.items():
            for features in outcomes.selections:
                assert len(features) <= k
                assert len({0, 1, 2} & set(features)) in (0, 3)
                assert len({4, 5} & set(features)) in (0, 2)


def test_own_selectors(data):
    mine = ("mine", SelectKBest(f_regression))
    result = Study(data, **SMALL | {"selectors": [mine]}, ks=[2], exclude=["f0"]).run()
    assert all(0 not in features for features in result.run("mine", "rankrls").by_k[2].selections)
    with pytest.raises(
        ValueError, match="mine takes no include: the estimator chooses all features"
    ):
        Plan(selectors=[mine], include=["f0"])


def test_plans_are_read_back(data, tmp_path):
    settings = SMALL | {"ks": [4], "include": ["f6"], "exclude": [3], "groups": [["f0", "f1"]]}
    Study(data, out=tmp_path, **settings).run()
    plan = load_plan(tmp_path)
    assert (plan.include, plan.exclude, plan.groups) == (["f6"], [3], {"1": ["f0", "f1"]})


def load_plan(directory):
    return read_plan(directory)[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(include=["none"]), "include: no feature is named 'none'"),
        (dict(exclude=[8]), "exclude: no feature 8; indices are 0 to 7"),
        (dict(include=["f1"], exclude=[1]), "feature f1 is both included and excluded"),
        (dict(exclude=NAMES), "all features are excluded"),
        (dict(include=NAMES[:4], ks=[1, 2]), "set ks to numbers from 4, because of included"),
        (dict(groups={"a": ["f1"], "b": [1]}), "a feature is in two groups"),
        (dict(groups={"a": NAMES[:5]}, ks=[2]), "set ks to numbers from 5"),
    ],
)
def test_what_cannot_be_is_told_before_anything_runs(data, settings, message):
    with pytest.raises(DataError, match=message):
        Study(data, **SMALL, **{"ks": [2, 4]} | settings).run()


@pytest.mark.slow
def test_on_the_command_line(data, tmp_path, capsys):
    write_letor(data, tmp_path / "data.txt")
    (tmp_path / "groups.csv").write_text("feature,group\nf4,a\nf5,a\n")
    command = ["compare", tmp_path / "data.txt", "--selectors", "gas-e", "--rankers", "rankrls"]
    command += ["--ks", "4", "--seeds", "1", "--protocol", "kfold:3", "--no-figures"]
    command += ["--include", "f6,f1", "--exclude", "f3", "--groups", tmp_path / "groups.csv"]
    with pytest.raises(SystemExit) as end:
        main([str(part) for part in [*command, "--out", tmp_path / "out"]])
    assert not end.value.code
    capsys.readouterr()
    plan, result = load_plan(tmp_path / "out"), load_study(tmp_path / "out")
    assert (plan.include, plan.exclude, plan.groups) == (["f6", "f1"], ["f3"], {"a": ["f4", "f5"]})
    for features in result.run("gas-e", "rankrls").by_k[4].selections:
        assert list(features[:2]) == [6, 1]
        assert 3 not in features
