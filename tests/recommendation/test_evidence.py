"""What a recommendation rests on, and how it is written and read."""

import json

import numpy as np
import pytest

from ranksieve import DataError, RankingData, recommend
from ranksieve.io.records import checksum_of
from ranksieve.metrics import evaluate
from ranksieve.recommendation import check, load_recommendation
from ranksieve.recommendation.facts import MOST_COMPARED, likeness_of
from ranksieve.recommendation.files import ANSWER, EVIDENCE
from ranksieve.recommendation.nested import plan_stages
from ranksieve.recommendation.task import divide
from ranksieve.sums.similarity import Similarity, feature_similarity
from tests.recommendation.test_recommend import QUICK, planted, slow_choice, slow_values, useless

HOW = QUICK | {"selectors": ["greedy-rankrls"], "margin": 0.05, "details": True, "pairs": 1}


@pytest.fixture(scope="module")
def data():
    made = planted()
    weights = np.where(np.arange(made.n_queries) % 2, 3.0, 1.0)
    qid = [f"query {code}" for code in made.query_codes]
    return RankingData(made.X, made.y, qid).with_weights(weights)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("recommendation")


@pytest.fixture(scope="module")
def answer(data, directory):
    return recommend(data, out=directory, command=["ranksieve", "recommend", "x"], **HOW)


def rewrite(record, path):
    """Write a record whose checksum is right, whatever is in it."""
    del record["checksum"]
    path.write_text(json.dumps(record | {"checksum": checksum_of(record)}))


class TestContent:
    def test_what_each_part_chose_and_how_its_queries_rank(self):
        data = planted()
        found = recommend(data, **HOW).evidence.outcomes
        queries = divide(data, 5, 0)
        assert [one.part for one in found] == list(queries.parts)
        for one, stage in zip(found, plan_stages(queries)[0], strict=False):
            features = slow_choice(data, queries, stage, margin=0.05, selectors=HOW["selectors"])
            train = data.take_queries(stage.final.sets.train)
            test = data.take_queries(queries.parts[one.part])
            assert one.features == features
            assert one.queries == [str(query) for query in test.query_ids]
            assert one.with_chosen == pytest.approx(slow_values(train, test, features), rel=1e-12)
            assert one.with_all == pytest.approx(slow_values(train, test, range(6)), rel=1e-12)
            assert one.cost == len(features)

    def test_the_claim_is_the_mean_of_the_queries(self, answer):
        found = answer.evidence.outcomes
        weights = np.concatenate([one.weights for one in found])
        for name in ("with_all", "with_chosen"):
            values = np.concatenate([getattr(one, name) for one in found])
            mean = np.average(values, weights=weights)
            assert getattr(answer.claim, name) == pytest.approx(mean, rel=1e-12)

    def test_how_well_features_rank_alone(self, data, answer):
        alone, weights = answer.evidence.alone, data.query_weights
        for feature in range(6):
            column = data.X[:, feature]
            values = [
                np.average(
                    evaluate(data.y, sign * column, data.qid, ["ndcg@10"]).per_query["NDCG@10"],
                    weights=weights,
                )
                for sign in (1, -1)
            ]
            assert alone.values[feature] == pytest.approx(max(values), rel=1e-9)
            assert alone.directions[feature] == (1 if values[0] >= values[1] else -1)

    def test_similarity(self, data, answer):
        found = answer.evidence.likeness
        assert found.features == [*range(6)]
        expected = feature_similarity(data, Similarity("tau_b", absolute=True))
        np.fill_diagonal(expected, 1.0)  # it is less where a feature is constant in some queries
        assert np.allclose(found.matrix, expected, rtol=0, atol=5.1e-5)

    def test_similarity_of_many_features_keeps_the_most_important(self):
        n = MOST_COMPARED + 50
        matrix = np.add.outer(np.arange(n), np.arange(n)) / (2 * n)
        found = likeness_of(matrix, [n - 1, 3], range(n))
        assert found.features == [*range(MOST_COMPARED - 1), n - 1]
        assert found.matrix[-1, 3] == pytest.approx((n + 2) / (2 * n), abs=1e-4)

    def test_work_is_counted_once_and_also_if_resumed(self, data, directory, answer):
        fits = {one.method: one.fits for one in answer.evidence.spent}
        lines = (directory / "recommendation.jsonl").read_text().splitlines()
        cells = [json.loads(line)["cell"]["kind"] for line in lines[1:]]
        assert sum(fits.values()) == sum(kind != "trial" for kind in cells)
        assert answer.evidence.n_resumed == 0
        again = recommend(data, out=directory, command=["ranksieve", "recommend", "x"], **HOW)
        assert again.evidence.n_resumed == sum(fits.values())
        assert again.evidence.spent == answer.evidence.spent

    def test_versions_and_command(self, answer):
        assert {"ranksieve", "Python", "numpy", "lightgbm"} <= answer.evidence.versions.keys()
        assert answer.evidence.command == ["ranksieve", "recommend", "x"]


class TestFiles:
    def test_what_is_read_is_what_was_written(self, directory, answer):
        found = load_recommendation(directory)
        assert found.to_record() == answer.to_record()
        assert found.sentence == answer.sentence
        ours, theirs = found.evidence.to_record(), answer.evidence.to_record()
        assert ours.pop("elapsed") > 0
        theirs.pop("elapsed")
        assert ours | {"n_resumed": 0} == theirs | {"n_resumed": 0}

    def test_what_cannot_be_shown_is_read_back(self, tmp_path):
        first = recommend(useless(planted(20, noise=2.0)), out=tmp_path, **QUICK)
        assert load_recommendation(tmp_path).to_record() == first.to_record()

    def test_an_answer_can_be_without_its_evidence(self, data, tmp_path):
        recommend(data, out=tmp_path, **HOW)
        (tmp_path / EVIDENCE).unlink()
        assert load_recommendation(tmp_path).evidence is None

    def test_evidence_of_another_answer_is_refused(self, data, tmp_path):
        recommend(data, out=tmp_path, **HOW)
        other = (tmp_path / EVIDENCE).read_text()
        recommend(data, out=tmp_path, **HOW | {"margin": 0.2})
        (tmp_path / EVIDENCE).write_text(other)
        with pytest.raises(DataError, match=r"evidence.json: it belongs to another answer"):
            load_recommendation(tmp_path)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda e: e.pop("alone"), "'alone' is missing"),
            (lambda e: e["alone"]["values"].pop(), "'alone' should have numbers for 6 features"),
            (lambda e: e["likeness"]["features"].append(9), "features that the data does not have"),
            (lambda e: e["likeness"]["values"].pop(), "a row for each feature"),
            (lambda e: e["likeness"]["values"][1].__setitem__(0, 1e308), "between 0 and 1"),
            (lambda e: e["likeness"]["values"][1].__setitem__(0, -0.5), "between 0 and 1"),
            (lambda e: e["outcomes"][0]["with_all"].pop(), "a value for each query"),
            (lambda e: e["outcomes"][0].update(weights=[1.0]), "a value for each query"),
            (
                lambda e: e["outcomes"][0]["with_all"].__setitem__(0, "0.5"),
                r"'outcomes\[0\]\.with_all\[0\]' should be a number, not '0.5'",
            ),
            (lambda e: e["outcomes"][0].update(features=[0, 0]), "the data does not have"),
            (lambda e: e["outcomes"][0].update(queries=[1]), r"queries\[0\]' should be a text"),
            (lambda e: e["spent"].append({}), r"'spent\[\d\]\.method' is missing"),
            (lambda e: e.update(command=[1]), r"'command\[0\]' should be a text, not 1"),
        ],
    )
    def test_evidence_that_cannot_be_is_refused(self, answer, directory, tmp_path, change, message):
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
            lambda r: r.pop("front"),
            lambda r: r.update(features=[99]),
            lambda r: r.update(claim=None),
            lambda r: r.update(front=[]),
            lambda r: r["kept"].pop(),
            lambda r: r["dropped"].append([]),
            lambda r: r["settings"].pop("ranker"),
            lambda r: r["settings"].pop("include"),
            lambda r: r["settings"].update(costs=[]),
            lambda r: r["settings"].update(margin="0.01"),
            lambda r: r["settings"].update(margin=1e308),
            lambda r: r["settings"].update(level=0.5),
            lambda r: r["settings"].update(treated={"a": 1}),
            lambda r: r["settings"].update(treated={"policy": "zero", "indicators": [99]}),
            lambda r: r["front"][0].update(is_shown=-1),
            lambda r: r["front"][0].update(lower={}),
            lambda r: r["front"][0].update(selector=7),
            lambda r: r["front"][0].update(size=[]),
            lambda r: r["feature_names"].__setitem__(0, True),
            lambda r: r["claim"].update(n_queries="many"),
            lambda r: r.update(reference=3),
            lambda r: r["reference"].update(x=[1.0]),
            lambda r: r.update(title=None),
            lambda r: r.update(models={}),
            lambda r: r.update(trained_on=None),
            lambda r: r["trained_on"].update(n_queries=1e308),
            lambda r: r["models"].update({"model.json": 7}),
        ],
    )
    def test_answers_that_cannot_be_are_refused(self, answer, directory, tmp_path, change):
        record = json.loads((directory / ANSWER).read_text())
        change(record)
        rewrite(record, tmp_path / ANSWER)
        with pytest.raises(DataError, match=ANSWER):
            load_recommendation(tmp_path)
        with pytest.raises(DataError, match=ANSWER):
            check(tmp_path, planted())

    def test_the_place_of_what_is_no_json_is_told_once(self, tmp_path):
        (tmp_path / ANSWER).write_text("{\n,")
        with pytest.raises(DataError, match="not JSON") as told:
            load_recommendation(tmp_path)
        assert str(told.value).startswith(f"{tmp_path / ANSWER}:2: ")
