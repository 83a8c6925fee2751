"""Weights of rows and positions in studies, recommendations and checks."""

import numpy as np
import pytest

from ranksieve import DataError, RankingData, recommend
from ranksieve.experiments import QuerySets, Trial, TrialSource
from ranksieve.io.model import MODEL, MODEL_OF_ALL
from ranksieve.metrics import evaluate
from ranksieve.rankers import LambdaMART, load_model
from ranksieve.recommendation import check, load_recommendation
from ranksieve.report.sheets.study_quality import setting_of
from ranksieve.selectors import BoostedTrees, GreedyRankRLS
from ranksieve.study import Study, load_study

TREES = {"n_estimators": 8, "num_leaves": 5, "min_child_samples": 3}


def make_log(n_queries=60, seed=0):
    """Clicks on shown documents, weighted by inverse propensities; features 0 and 1 matter."""
    rng = np.random.default_rng(seed)
    X, shown = rng.normal(size=(8 * n_queries, 4)), np.tile(np.arange(8), n_queries)
    wanted = rng.random(8 * n_queries) < 1 / (1 + np.exp(1 - 3 * X[:, 0] - 2 * X[:, 1]))
    clicked = wanted & (rng.random(8 * n_queries) < 1 / (1 + shown))
    parts = {"row_weights": 1.0 + shown, "positions": shown}
    qid = [f"q{seed}-{n}" for n in np.repeat(np.arange(n_queries), 8)]
    return RankingData(X, clicked, qid, **parts, feature_names=["a", "b", "c", "d"])


@pytest.fixture(scope="module")
def log():
    return make_log()


def test_parts_of_a_trial_without_what_a_selector_cannot_use(log):
    sets = QuerySets(np.arange(40), np.arange(40, 50), {"test": np.arange(50, 60)})
    trial = Trial("t", TrialSource.of(log), sets).open()
    bare = trial.without(["positions", "row_weights"])
    assert bare is trial.without(["row_weights", "positions"])  # so that statistics are shared
    assert trial.without([]) is trial
    assert not bare.train.of_rows | bare.vali.of_rows
    assert bare.test.of_rows == {"row_weights", "positions"}
    assert trial.without(["positions"]).train.of_rows == {"row_weights"}


@pytest.fixture(scope="module")
def study(log, tmp_path_factory):
    return Study(
        log,
        out=tmp_path_factory.mktemp("study"),
        protocol="kfold:3",
        selectors=["bt-influence", "greedy-rankrls"],
        rankers=["lambdamart"],
        ks=[2],
        measures=["dcg@5", "ndcg@5", "p@2"],
        tune="dcg@5",
        parameters={"lambdamart": TREES, "bt-influence": {"n_estimators": 5}},
    )


@pytest.mark.slow
def test_a_study_trains_selects_and_judges_with_them(study):
    result = study.run()
    fold = study.trials[0].open()
    assert fold.train.of_rows == fold.test.of_rows == {"row_weights", "positions"}
    scores = LambdaMART(**TREES).fit(fold.train, eval_set=fold.vali).predict(fold.test)
    judged = fold.test.y, scores, fold.test.qid, result.measures
    found = result.run("all", "lambdamart").chosen.outcomes[0][0]
    expected = evaluate(*judged, row_weights=fold.test.row_weights).per_query
    assert max(expected["DCG@5"]) > 1
    for measure in result.measures:
        np.testing.assert_array_equal(found.per_query[measure], expected[measure])
    own = result.run("bt-influence", "lambdamart").by_k[2].outcomes[0][0]
    assert own.features == tuple(BoostedTrees(2, n_estimators=5).fit(fold.train).selected_)
    own = result.run("greedy-rankrls", "lambdamart").by_k[2].outcomes[0][0]
    bare = fold.train.with_row_weights(None).with_positions(None)
    assert own.features == tuple(GreedyRankRLS(2).fit(bare).selected_)


def test_a_study_says_what_they_are_used_for(study):
    result = study.run()
    without = {"positions": ["greedy-rankrls"], "row_weights": ["greedy-rankrls"]}
    assert result.without_of_rows == without
    said = setting_of(result)
    assert "Documents count by the weights of their rows." in said
    assert "Selected without weights of rows: greedy-rankrls." in said
    assert "NDCG@5 is normalized by the weighted labels" in said
    again = load_study(study.directory)
    assert (again.of_rows, again.without_of_rows) == (["positions", "row_weights"], without)
    assert setting_of(again) == said


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rankers": ["rankrls"]}, "RankRLS takes no weights of rows: its definition has none"),
        ({"measures": ["map"]}, r"MAP takes no weights of rows: .* such as ndcg@10, dcg@10"),
        ({"tune": "mrr"}, "MRR takes no weights of rows"),
    ],
)
def test_a_study_refuses_what_takes_none_before_it_starts(log, tmp_path, changed, message):
    plan = {"selectors": ["all"], "rankers": ["lambdamart"], "measures": ["dcg@5"], "tune": "dcg@5"}
    study = Study(log, out=tmp_path / "new", **plan | changed)
    with pytest.raises(DataError, match=message):
        study.run()
    assert not (tmp_path / "new").exists()


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    directory = tmp_path_factory.mktemp("answer")
    log = make_log(100)
    return (
        recommend(
            log,
            "lambdamart",
            measure="dcg@5",
            margin=0.2,
            parameters={"lambdamart": TREES, "bt-influence": {"n_estimators": 5}},
            folds=3,
            details=False,
            confirm=make_log(60, seed=9),
            out=directory,
        ),
        log,
        directory,
    )


@pytest.mark.slow
def test_a_recommendation_trains_and_judges_with_them(answer):
    found, log, directory = answer
    model = load_model(directory / MODEL_OF_ALL)
    expected = LambdaMART(**TREES).fit(log)
    np.testing.assert_array_equal(model.predict(log), expected.predict(log))
    own = log.take_features(sorted(found.features))
    kept = load_model(directory / MODEL).predict(own)
    np.testing.assert_array_equal(kept, LambdaMART(**TREES).fit(own).predict(own))
    confirm = make_log(60, seed=9)
    values = evaluate(
        confirm.y, expected.predict(confirm), confirm.qid, "dcg@5", row_weights=confirm.row_weights
    ).mean["DCG@5"]
    assert found.confirmed.with_all == pytest.approx(values, rel=1e-12)
    assert found.claim.with_all > 1


def test_a_recommendation_says_what_they_are_used_for(answer):
    found, _, directory = answer
    said = [
        "Documents count by the weights of their rows.",
        "Selected without positions: greedy-rankrls.",
        "Selected without weights of rows: greedy-rankrls.",
    ]
    assert [note for note in found.notes if note in said] == said
    assert not found.warnings
    assert load_recommendation(directory).notes == found.notes


def test_check_judges_with_them(answer):
    _, log, directory = answer
    new = make_log(80, seed=3)
    checked = check(directory, new)
    scores = LambdaMART(**TREES).fit(log).predict(new)
    judged = new.y, scores, new.qid, "dcg@5"
    expected = evaluate(*judged, row_weights=new.row_weights).mean["DCG@5"]
    assert checked.claim.with_all == pytest.approx(expected, rel=1e-12)
    bare = check(directory, new.with_row_weights(None).with_positions(None))
    assert bare.claim.with_all == pytest.approx(evaluate(*judged).mean["DCG@5"], rel=1e-12)


@pytest.mark.slow
def test_other_questions_to_recommend(log, tmp_path):
    with pytest.raises(DataError, match="RankRLS takes no weights of rows"):
        recommend(log, "rankrls", out=tmp_path / "new")
    with pytest.raises(DataError, match="MAP takes no weights of rows"):
        recommend(log, measure="map", out=tmp_path / "new")
    assert not (tmp_path / "new").exists()
    log, trees = log.take_queries(range(30)), {"lambdamart": TREES | {"n_estimators": 2}}
    quick = {"parameters": trees, "folds": 3, "details": False, "margin": 0.2}
    found = recommend(log, costs={"a": 2.0, "b": 1.0, "c": 1.0, "d": 1.0}, **quick)
    assert "Selected without weights of rows: least squares." in found.notes
    assert any("NDCG@10 is normalized by the weighted labels" in one for one in found.warnings)
    shown = recommend(log.with_row_weights(None), selectors=["bt-influence"], **quick)
    assert not shown.notes
    (warning,) = shown.warnings
    assert "favors what was shown first" in warning
