"""Answers: what they say and rest on, their files and models, and whether they still hold."""

import json
import os
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from ranksieve import DataError, RankingData, load_model, recommend
from ranksieve.data.joining import concatenate
from ranksieve.data.ranking_data import fingerprint
from ranksieve.export import export_model
from ranksieve.io.model import MODEL, MODEL_OF_ALL, TrainedOn
from ranksieve.io.records import checksum_of
from ranksieve.metrics import evaluate
from ranksieve.rankers import RankRLS
from ranksieve.recommendation import check, load_recommendation
from ranksieve.recommendation.claim import confidence
from ranksieve.recommendation.directory import ANSWER, EVIDENCE, LEDGER
from ranksieve.recommendation.facts import MOST_COMPARED, likeness_of
from ranksieve.report import write_report
from ranksieve.sums.similarity import Similarity, feature_similarity
from tests.recommendation.test_recommend import (
    ONE,
    QUICK,
    answer,
    data,
    directory,
    planted,
    useless,
    with_gaps,
)

__all__ = ["answer", "data", "directory"]  # fixtures


@pytest.fixture(scope="module")
def weighted_data(data):
    weights = np.where(np.arange(data.n_queries) % 2, 3.0, 1.0)
    qid = [f"query {code}" for code in data.query_codes]
    return RankingData(data.X, data.y, qid).with_weights(weights)


@pytest.fixture(scope="module")
def weighted(weighted_data, tmp_path_factory):
    """An answer with all details, from queries with weights, and its directory."""
    place = tmp_path_factory.mktemp("weighted")
    how = QUICK | {"selectors": ["greedy-rankrls"], "margin": 0.05, "details": True}
    command = ["ranksieve", "recommend", "x"]
    return recommend(weighted_data, out=place, command=command, **how), place


def first_values(record):
    """What a record of an answer has of the values of its first feature."""
    return next(iter(record["reference"].values()))["values"]["values"]


@pytest.fixture
def done(directory, answer, tmp_path):
    """A copy of the directory of the answer."""
    return Path(shutil.copytree(directory, tmp_path / "done"))


def rewrite(record, path):
    """Write a record whose checksum is right, whatever is in it."""
    del record["checksum"]
    path.write_text(json.dumps(record | {"checksum": checksum_of(record)}))


class TestContent:
    def test_what_is_kept_and_dropped(self, answer):
        assert sorted([*answer.features, *(one.feature for one in answer.dropped)]) == [*range(6)]
        assert answer.cost == len(answer.features)
        assert answer.cost_of_all == 6
        assert answer.recommended.features == answer.features
        costs = [point.cost for point in answer.curve]
        assert costs == sorted(set(costs))
        assert "lose less than 5% of NDCG@10 with 95% confidence" in answer.sentence

    def test_constant_features_and_copies_are_dropped_for_that(self, data, answer):
        first = answer.features[0]
        X = np.column_stack([data.X, 2 * data.X[:, first], np.ones(data.n_rows)])
        found = recommend(RankingData(X, data.y, data.qid), margin=0.1, **QUICK)
        reasons = {one.feature: one.reason for one in found.dropped}
        assert reasons[7] == "constant within every query"
        assert reasons[6] == f"exact copy of {first + 1}"

    def test_labels_by_chance_need_no_feature(self):
        data = planted(60)
        labels = np.random.default_rng(0).permutation(data.y)
        found = recommend(RankingData(data.X, labels, data.qid), **QUICK)
        assert found.features == [] or not found.claim.is_shown

    def test_few_queries_show_little_and_say_how_many_it_takes(self):
        found = recommend(planted(20, noise=2.0), margin=0.005, **QUICK)
        assert not found.claim.is_shown
        assert found.claim.about == "none"
        assert found.features == [*range(6)]
        assert found.advice.startswith("Keep all 6 features")
        assert "No smaller set of features is shown to lose less than 0.5%" in found.sentence
        assert "queries to show a margin of 0.5%" in found.sentence
        assert found.claim.queries_needed > 20

    def test_what_else_can_be_had(self, answer):
        """The cheapest set for each margin, the asked one first, and each set once."""
        offers = answer.offers
        assert offers[0].margin == 0.05
        assert offers[0].point.features == answer.features
        sizes = [offer.point.size for offer in offers]
        assert len(set(sizes)) == len(sizes)
        for margin, point in offers:
            enough = [one.cost for one in answer.curve if one.bound > -margin]
            assert point.cost == min(enough)
            smaller = [m for m in (0.005, 0.01, 0.02, 0.03, 0.1) if m < margin and m != 0.05]
            if margin != 0.05:  # the set is offered for the smallest margin
                assert all(point.bound <= -m for m in smaller)

    def test_a_set_that_is_not_shown_is_named_as_a_risk(self, answer):
        """Never is it said to be kept."""
        point = answer.curve[2]
        likely = replace(point, change=-0.001, bound=-0.2)
        nothing = replace(
            answer,
            curve=[replace(answer.curve[1], change=-0.5, bound=-0.6), likely],
            features=[*range(6)],
            kept=answer.kept + [replace(answer.kept[0], feature=f) for f in range(6)],
            claim=replace(answer.claim, is_shown=False, about="none"),
        )
        assert nothing.risk == likely
        assert nothing.advice.startswith("Keep all")
        assert "or take a risk: 2 features, which lose 0.10% on average" in nothing.advice
        assert "may lose 20.00%" in nothing.advice
        unclear = replace(answer.claim, about="test", is_shown=False, change=-0.01)
        assert replace(answer, confirmed=unclear).is_shown  # it does not contradict
        refuted = replace(answer, confirmed=replace(unclear, change=-0.05))
        assert refuted.risk == answer.recommended
        assert refuted.advice.startswith("Keep all 6 features, or take a risk: ")
        budget = replace(refuted, settings=answer.settings | {"budget": 3.0})
        assert (budget.risk, budget.advice[:4]) == (None, "Keep")

    def test_the_claim_is_the_weighted_mean_of_the_queries(self, weighted):
        found, claim = weighted[0].evidence.judges, weighted[0].claim
        assert found.weights == np.where(np.arange(40) % 2, 3.0, 1.0).tolist()
        mean = np.average(found.with_all, weights=found.weights)
        assert claim.with_all == pytest.approx(mean, rel=1e-12)
        assert claim.with_chosen == pytest.approx(claim.with_all * (1 + claim.change), rel=1e-12)

    def test_how_well_features_rank_alone(self, weighted_data, weighted):
        alone, data = weighted[0].evidence.alone, weighted_data
        for feature in range(6):
            values = []
            for sign in (1, -1):
                found = evaluate(data.y, sign * data.X[:, feature], data.qid, ["ndcg@10"])
                own = found.per_query["NDCG@10"]
                values.append(np.average(own, weights=data.query_weights))
            assert alone.values[feature] == pytest.approx(max(values), rel=1e-9)
            assert alone.directions[feature] == (1 if values[0] >= values[1] else -1)

    def test_similarity(self, weighted_data, weighted):
        found = weighted[0].evidence.likeness
        assert found.features == [*range(6)]
        expected = feature_similarity(weighted_data, Similarity("tau_b", absolute=True))
        np.fill_diagonal(expected, 1.0)  # it is less where a feature is constant in some queries
        assert np.allclose(found.matrix, expected, rtol=0, atol=5.1e-5)

    def test_similarity_of_many_features_keeps_the_most_important(self):
        n = MOST_COMPARED + 50
        matrix = np.add.outer(np.arange(n), np.arange(n)) / (2 * n)
        found = likeness_of(matrix, [n - 1, 3], range(n))
        assert found.features == [*range(MOST_COMPARED - 1), n - 1]
        assert found.matrix[-1, 3] == pytest.approx((n + 2) / (2 * n), abs=1e-4)

    def test_work_is_counted_once_and_also_if_resumed(self, data, done, answer):
        fits = {one.method: one.fits for one in answer.evidence.spent}
        lines = (done / LEDGER).read_text().splitlines()
        cells = [json.loads(line)["cell"]["kind"] for line in lines[1:]]
        assert sum(fits.values()) == sum(kind != "trial" for kind in cells)
        assert answer.evidence.n_resumed == 0
        again = recommend(data, margin=0.05, out=done, **QUICK)
        assert again.evidence.n_resumed == sum(fits.values())
        assert again.evidence.spent == answer.evidence.spent

    def test_versions_and_command(self, weighted):
        evidence = weighted[0].evidence
        assert {"ranksieve", "Python", "numpy", "lightgbm"} <= evidence.versions.keys()
        assert evidence.command == ["ranksieve", "recommend", "x"]

    def test_a_high_confidence_is_not_rounded_to_certainty(self):
        assert confidence(0.9999) == "99.99%"


class TestFiles:
    def test_what_is_read_is_what_was_written(self, weighted):
        answer, directory = weighted
        found = load_recommendation(directory)
        assert found.to_record() == answer.to_record()
        assert found.evidence == answer.evidence

    def test_an_answer_can_be_without_its_evidence(self, done):
        (done / EVIDENCE).unlink()
        assert load_recommendation(done).evidence is None

    def test_evidence_of_another_answer_is_refused(self, weighted, done):
        shutil.copy(weighted[1] / EVIDENCE, done / EVIDENCE)
        with pytest.raises(DataError, match=r"evidence.json: it belongs to another answer"):
            load_recommendation(done)

    def test_damage_is_told(self, done):
        text = (done / ANSWER).read_text()
        (done / ANSWER).write_text(text.replace('"margin": 0.05', '"margin": 0.5'))
        with pytest.raises(DataError, match=f"{ANSWER}: it is damaged"):
            load_recommendation(done)
        (done / ANSWER).write_text("{\n,")
        with pytest.raises(DataError, match="not JSON") as told:
            load_recommendation(done)
        assert str(told.value).startswith(f"{done / ANSWER}:2: ")

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda e: e.pop("alone"), "'alone' is missing"),
            (lambda e: e["alone"]["values"].pop(), "'alone' should have numbers for 6 features"),
            (lambda e: e["likeness"]["features"].append(9), "features that the data does not have"),
            (lambda e: e["likeness"]["values"].pop(), "a row for each feature"),
            (lambda e: e["likeness"]["values"][1].__setitem__(0, 1e308), "between 0 and 1"),
            (lambda e: e["likeness"]["values"][1].__setitem__(0, -0.5), "between 0 and 1"),
            (lambda e: e["judges"]["with_all"].pop(), "a value for each query"),
            (lambda e: e["judges"].update(weights=[1.0]), "a value for each query"),
            (
                lambda e: e["judges"]["with_all"].__setitem__(0, "0.5"),
                r"'judges\.with_all\[0\]' should be a number, not '0.5'",
            ),
            (lambda e: e["shares"][1].update({"99": 1.0}), "the data does not have"),
        ],
    )
    def test_evidence_that_cannot_be_is_refused(self, weighted, tmp_path, change, message):
        _, directory = weighted
        (tmp_path / ANSWER).write_bytes((directory / ANSWER).read_bytes())
        record = json.loads((directory / EVIDENCE).read_text())
        change(record["evidence"])
        rewrite(record, tmp_path / EVIDENCE)
        with pytest.raises(DataError, match=message) as told:
            load_recommendation(tmp_path)
        assert str(told.value).startswith(str(tmp_path / EVIDENCE))

    @pytest.mark.parametrize(
        "change",
        [
            lambda r: r.update(features=[99]),
            lambda r: r["curve"][0].update(features=[99]),
            lambda r: r["kept"].pop(),
            lambda r: r["dropped"].append([]),
            lambda r: r["settings"].pop("ranker"),
            lambda r: r["settings"].update(costs=[]),
            lambda r: r["settings"].update(margin=1e308),
            lambda r: r["settings"].update(level=0.5),
            lambda r: r["settings"].update(treated={"policy": "zero", "indicators": [99]}),
            lambda r: r["curve"][0].update(bound={}),
            lambda r: r["reference"].update(x=r["reference"][next(iter(r["reference"]))]),
            lambda r: first_values(r)["edges"].reverse(),
            lambda r: first_values(r)["edges"].pop(),
            lambda r: first_values(r).update(queries=0),
            lambda r: r.update(models={}),
            lambda r: r.update(trained_on=None),
        ],
    )
    def test_answers_that_cannot_be_are_refused(self, weighted, tmp_path, change):
        record = json.loads((weighted[1] / ANSWER).read_text())
        change(record)
        rewrite(record, tmp_path / ANSWER)
        with pytest.raises(DataError, match=ANSWER):
            load_recommendation(tmp_path)
        with pytest.raises(DataError, match=ANSWER):
            check(tmp_path, planted())


@pytest.mark.parametrize(
    "settings",
    [
        {"margin": 1e-320},
        {"margin": 1e-200},
        {"margin": np.nextafter(1, 0)},
        {"level": np.nextafter(1, 0)},
        {"level": np.nextafter(0.5, 1)},
        {"budget": 1e308},
        {"budget": 5e-324},
        {"margin": np.float32(0.01), "level": np.float32(0.9), "budget": np.float32(3)},
        {"costs": np.full(6, 1e-100)},
        {"costs": [1e99, 1, 1, 1e-99, 1, 1]},
    ],
)
def test_the_smallest_and_largest_numbers(data, tmp_path, settings):
    answer = recommend(data, out=tmp_path, folds=3, **ONE, **settings)
    write_report(answer, tmp_path, figures=False)
    assert load_recommendation(tmp_path).to_record() == answer.to_record()
    assert len(answer.sentence) < 600  # no number of three hundred digits


@pytest.mark.parametrize("details", [False, True])
def test_a_mean_of_zero(tmp_path, details):
    """Under letor4, NDCG@10 of lists with fewer than ten documents is 0."""
    data = planted(20)
    answer = recommend(data, convention="letor4", out=tmp_path, **ONE | {"details": details})
    assert answer.claim.with_all == 0
    assert (answer.curve, answer.features) == ([], [*range(6)])
    assert load_recommendation(tmp_path).to_record() == answer.to_record()


def test_a_single_query_judges(data, tmp_path):
    split = data.take_queries(range(39)), data.take_queries([39])
    answer = recommend(split, margin=0.5, out=tmp_path, **ONE)
    assert answer.claim.is_shown
    assert not answer.confirmed.is_shown  # there is no interval
    assert np.isinf(answer.confirmed.bound)
    assert load_recommendation(tmp_path).to_record() == answer.to_record()


class TestModels:
    """Which queries train the models to deploy, and that they are those of the answer."""

    @pytest.fixture
    def parts(self, data):
        return [data.take_queries(range(*ends)) for ends in ((0, 20), (20, 30), (30, 40))]

    @pytest.mark.parametrize("has_vali", [True, False])
    def test_test_queries_train_no_model(self, data, parts, tmp_path, has_vali):
        train, _, test = parts
        deployed = data.take_queries(range(30)) if has_vali else train
        split = tuple(parts) if has_vali else (train, test)
        answer = recommend(split, margin=0.05, out=tmp_path, title="mine", **QUICK)
        words = "the queries that do not test"
        assert answer.trained_on == TrainedOn(words, deployed.n_queries, fingerprint(deployed))
        for name, own in ((MODEL, sorted(answer.features)), (MODEL_OF_ALL, range(6))):
            model = load_model(tmp_path / name)
            expected = RankRLS().fit(deployed.take_features(list(own)))
            assert np.array_equal(model.coef_, expected.coef_)
            assert model.trained_on_ == answer.trained_on
        said = f"{words} ({deployed.n_queries})"
        assert f"; models trained on {said}; " in answer.protocol
        write_report(answer, tmp_path, figures=False)
        assert f"trained on {said}." in (tmp_path / "report.html").read_text()
        checked = check(tmp_path, test)
        assert checked.claim.with_chosen == pytest.approx(answer.confirmed.with_chosen, rel=1e-12)
        assert checked.claim.with_all == pytest.approx(answer.confirmed.with_all, rel=1e-12)
        assert f"Both rankers were trained on {said} of mine." in checked.know
        for known in (deployed, concatenate(split)):
            assert "exactly this data, so it tests nothing" in check(tmp_path, known).know[-1]

    def test_without_a_split_all_queries_do(self, data, answer, directory):
        assert answer.trained_on == TrainedOn("all queries", 40, fingerprint(data))
        assert "exactly this data, so it tests nothing" in check(directory, data).know[-1]
        assert "tests nothing" not in check(directory, data.take_queries(range(20))).know[-1]

    def test_no_feature_is_checked_against_all(self, data, tmp_path):
        given = useless(data)
        found = recommend(given, out=tmp_path, **QUICK | {"details": True})
        left_out = (
            "Left out of all smaller sets before any training: 1, 2 (constant within every query)."
        )
        assert (found.features, found.warnings, found.notes) == ([], [], [left_out])
        assert found.models.keys() == {MODEL_OF_ALL}
        assert load_recommendation(tmp_path).to_record() == found.to_record()
        assert check(tmp_path, given).claim.change == 0

    def test_without_time_there_are_none(self, data, done):
        (done / LEDGER).unlink()
        answer = recommend(data, time=1e-6, out=done, **QUICK)
        assert answer.models == {}
        assert load_recommendation(done).to_record() == answer.to_record()
        assert not (done / MODEL).exists()  # of the answer before
        with pytest.raises(DataError, match="has no models to check with"):
            check(done, data)

    def test_a_ranker_without_model_files_is_noted(self, data, tmp_path):
        answer = recommend(data, out=tmp_path, **ONE | {"ranker": Ridge()})
        assert answer.notes[0].startswith("No models were written: ")
        assert load_recommendation(tmp_path).models == {}

    def test_models_of_two_runs_are_refused(self, data, answer, done, tmp_path):
        other = recommend(data, margin=0.5, out=tmp_path / "other", include=["6"], **QUICK)
        assert other.models[MODEL_OF_ALL] == answer.models[MODEL_OF_ALL]
        first = done
        os.replace(tmp_path / "other" / MODEL, first / MODEL)
        refused = pytest.raises(DataError, match="is not the model that belongs to recommendation")
        with refused:
            check(first, data)
        with refused:
            load_recommendation(first)
        with refused:
            load_model(first / MODEL)
        with refused:
            export_model(first / MODEL, "solr", tmp_path / "engine")
        assert load_model(first / MODEL_OF_ALL).n_features_in_ == 6
        os.replace(first / MODEL, first / "mine.json")
        assert load_model(first / "mine.json").trained_on_ is not None  # a name of the user's own
        assert load_recommendation(first).models.keys() == {MODEL, MODEL_OF_ALL}
        with pytest.raises(DataError, match=r"model\.json: no such file"):
            check(first, data)

    def test_a_model_that_cannot_be_written_is_an_error(self, data, answer, done, monkeypatch):
        save = RankRLS.save_model

        def fail(ranker, path, **other):
            if path.name == MODEL_OF_ALL:
                raise DataError(f"{path}: cannot be written: No space left on device")
            save(ranker, path, **other)

        monkeypatch.setattr(RankRLS, "save_model", fail)
        with pytest.raises(DataError, match="No space left on device"):
            recommend(data, margin=0.5, out=done, **QUICK)
        assert load_recommendation(done).to_record() == answer.to_record()
        assert check(done, data).claim.margin == 0.05

    @pytest.mark.parametrize("n_moved", [0, 1, 4])
    def test_an_answer_changes_at_once(self, data, done, monkeypatch, n_moved):
        """The process dies after so many of the new files are in their places."""
        move, moved = os.replace, []

        def die(source, target):
            if Path(source).parent.name == ".next":
                moved.append(target)
                if len(moved) > n_moved:
                    raise KeyboardInterrupt
            move(source, target)

        monkeypatch.setattr(os, "replace", die)
        with suppress(KeyboardInterrupt):
            recommend(data, margin=0.2, out=done, **QUICK)
        monkeypatch.undo()
        found = load_recommendation(done)
        assert found.settings["margin"] == 0.2
        assert found.evidence is not None
        assert check(done, data).claim.margin == 0.2
        again = recommend(data, margin=0.2, out=done, **QUICK)
        assert again.to_record() == found.to_record()
        assert load_model(done / MODEL).trained_on_ == found.trained_on
        assert not [path for path in done.iterdir() if path.name.startswith(".")]


class TestCheck:
    def test_dropped_features_are_no_help(self, data, tmp_path):
        assert recommend(data, margin=0.1, exclude=["6"], out=tmp_path, **QUICK).names == ["5"]
        assert [helpful.feature for helpful in check(tmp_path, data).helpful] == ["2"]

    def test_new_data_is_treated_like_the_old(self, tmp_path):
        gaps = with_gaps(planted(30, n_informative=3))
        first = recommend(gaps, missing="query-min+indicators", out=tmp_path, **QUICK)
        found = check(tmp_path, gaps)
        by_hand = recommend(
            gaps.with_missing("query-min+indicators"), out=tmp_path / "other", **QUICK
        )
        assert by_hand.features == first.features
        other = check(tmp_path / "other", gaps)
        assert found.claim.with_chosen == other.claim.with_chosen
        assert all((one.shift, one.index) == (0, 0) for one in found.drift)

    def test_kept_missing_values(self, tmp_path):
        gaps = with_gaps(planted(30))
        how = {"missing": "keep", "parameters": {"lambdamart": {"n_estimators": 5}}}
        answer = recommend(
            gaps, "lambdamart", selectors=["top"], details=False, out=tmp_path, **how
        )
        assert check(tmp_path, gaps).claim.n_queries == 30
        assert answer.settings["missing"] == "keep"

    def test_other_features_and_new_ones_that_help(self, tmp_path):
        rng = np.random.default_rng(0)
        qid = np.repeat(np.arange(40), 8)
        X = rng.normal(size=(320, 4))
        y = np.digitize(X[:, 0] + 0.1 * rng.normal(size=320), [0, 1])
        names = ["a", "b", "c", "d"]
        old = RankingData(X, y, qid, feature_names=names)
        assert recommend(old, margin=0.05, out=tmp_path, **QUICK).names == ["a"]
        y = np.digitize(X[:, 0] + 2 * X[:, 2] + X[:, 3] + 0.1 * rng.normal(size=320), [0, 2])
        new = RankingData(X[:, [3, 2, 1, 0]], y, qid, feature_names=["new", "c", "b", "a"])
        with pytest.raises(DataError, match="lacks feature 'd'"):
            check(tmp_path, new)
        both = RankingData(
            np.column_stack([X, X[:, 3]])[:, [4, 2, 1, 0, 3]],
            y,
            qid,
            feature_names=["new", "c", "b", "a", "d"],
        )
        found = check(tmp_path, both)
        assert found.helpful[0].feature == "c"
        assert {one.feature: one.is_new for one in found.helpful}.items() >= {"c": False}.items()
        assert found.drift[0].is_notable
