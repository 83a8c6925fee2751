"""Whether the order of the documents tells about labels, and who says so."""

import json
from functools import cache

import numpy as np
import pytest

from ranksieve import RankingData, make_ranking, read_letor, write_letor
from ranksieve.metrics import evaluate
from ranksieve.report.sheets.study_quality import comparison_sheet, curves_sheet
from ranksieve.study import Study, load_study
from ranksieve.sums.file_order import compare_with_chance, file_order, random_order
from ranksieve.sums.importance import Importance
from ranksieve.sums.inspection import inspect

LEAKING = ["letor3", "letor4", "mslr", "lightgbm", "xgboost", "ranklib"]
QUICK = dict(selectors=["top"], rankers=["rankrls"], ks=[1, 2], seeds=1)


@pytest.fixture(scope="module")
def shuffled():
    return make_ranking(40, n_informative=2, n_redundant=0, n_noise=2, random_state=0)[0]


@pytest.fixture(scope="module")
def sorted_by_label(shuffled):
    """The relevant documents first, as many collections have them."""
    order = np.lexsort((-shuffled.y, shuffled.query_codes))
    return RankingData(shuffled.X[order], shuffled.y[order], shuffled.qid[order])


@pytest.mark.parametrize("convention", ["letor4", "standard", "lightgbm"])
@pytest.mark.parametrize("measure", ["ndcg@10", "map", "err"])
def test_it_is_what_constant_scores_reach(shuffled, measure, convention):
    found = file_order(shuffled, measure, convention)
    for ties, value in (("stable", found.value), ("average", found.by_chance)):
        zeros = np.zeros(shuffled.n_rows)
        expected = evaluate(shuffled.y, zeros, shuffled.qid, measure, convention, ties=ties)
        assert value == pytest.approx(expected.mean.popitem()[1], rel=1e-12)


@pytest.mark.parametrize("convention", ["letor4", "standard", "lightgbm"])
@pytest.mark.parametrize("measure", ["ndcg@10", "map", "err"])
def test_a_random_order_is_a_feature_that_says_nothing(shuffled, measure, convention):
    """Also with weights, and with queries that have no value."""
    weights = np.arange(1.0, 1 + shuffled.n_queries)
    labels = np.where(shuffled.query_codes < 3, 0, shuffled.y)
    flat = np.zeros((shuffled.n_rows, 1))
    data = RankingData(flat, labels, shuffled.qid).with_weights(weights)
    expected = Importance(measure, convention)(data).values[0]
    assert random_order(data, measure, convention) == pytest.approx(expected, rel=1e-12)
    assert random_order(shuffled, measure, convention) != pytest.approx(expected, rel=1e-3)


def test_a_random_order_reaches_nothing_where_there_is_nothing_to_reach():
    irrelevant = RankingData(np.zeros((4, 1)), np.zeros(4), [1, 1, 2, 2])
    assert random_order(irrelevant, "map", "letor4") == 0.0
    assert random_order(irrelevant, "pairwise-error", "standard") == 0.0


@pytest.mark.parametrize("measure", ["ndcg@10", "map", "pairwise-error"])
def test_relevant_documents_first(shuffled, sorted_by_label, measure):
    leaking, harmless = (
        file_order(data, measure, "standard") for data in (sorted_by_label, shuffled)
    )
    assert leaking.better_than_chance
    assert leaking.p_value < 1e-6
    assert not harmless.better_than_chance
    assert leaking.by_chance == pytest.approx(harmless.by_chance, rel=1e-12)
    backwards = RankingData(sorted_by_label.X, sorted_by_label.y[::-1], sorted_by_label.qid[::-1])
    assert file_order(backwards, measure, "standard").p_value > 0.99  # worse than chance


def test_it_is_not_seen_where_it_is_not():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(30), 8)
    wrong = 0
    for _ in range(400):
        labels = rng.choice([0.0, 1.0, 2.0], len(qid), p=[0.7, 0.2, 0.1])
        data = RankingData(np.zeros((len(qid), 1)), labels, qid)
        wrong += file_order(data, "ndcg@5", "standard").better_than_chance
    assert wrong <= 12  # 4 are expected; 13 or more have a chance of 0.0003


def test_few_queries_show_nothing():
    nine, ten = (compare_with_chance(np.ones(n), np.zeros(n)) for n in (9, 10))
    assert (nine.p_value, nine.better_than_chance) == (1, False)
    assert ten.better_than_chance


def test_wherever_the_data_lives(sorted_by_label, everywhere):
    source = everywhere(sorted_by_label, shard_bytes=2_000)
    assert file_order(source, "map", "letor4") == file_order(sorted_by_label, "map", "letor4")


def near(order):
    return pytest.approx(vars(order), rel=1e-9)


class TestInspect:
    def test_it_says_so(self, run, sorted_by_label, tmp_path):
        path = tmp_path / "data.txt"
        write_letor(sorted_by_label, path)
        found = inspect(sorted_by_label).file_order
        text = " ".join(run("inspect", path)[1].split())
        assert (
            f"file order ranks better than chance: NDCG@10 {found.value:.4f} against "
            f"{found.by_chance:.4f} of random orders. Conventions that break ties by file order "
            f"({', '.join(LEAKING)}) flatter weak models on this data."
        ) in text
        told = json.loads(run("inspect", path, "--format", "json")[1])["file_order"]
        assert told == near(found)
        assert told["better_than_chance"] is True

    def test_it_says_that_all_is_well(self, run):
        text = " ".join(run("inspect", "--demo")[1].split())
        assert "file order ranks no better than chance: NDCG@10 0.3" in text
        assert "flatter" not in text

    def test_mq2008(self, mq2008_dir):
        data = read_letor([mq2008_dir / f"S{part}.txt" for part in range(1, 6)])
        found = inspect(data).file_order
        assert (round(found.value, 4), round(found.by_chance, 4)) == (0.3347, 0.3358)
        assert not found.better_than_chance


def captions(result):
    return comparison_sheet(result, "rankrls").caption, curves_sheet(
        result, "rankrls", "MAP"
    ).caption


@pytest.fixture(scope="module")
def study_of(sorted_by_label, tmp_path_factory):
    """The folder and the result of a study by a convention, which runs once."""

    @cache
    def run(convention):
        folder = tmp_path_factory.mktemp(convention)
        return folder, Study(sorted_by_label, out=folder, **QUICK, convention=convention).run()

    return run


class TestStudies:
    WARNING = "Ties are broken by file order, which ranks better than chance here (MAP "

    @pytest.mark.parametrize("convention", ["letor4", "ranklib"])
    def test_a_convention_that_breaks_ties_by_it(self, sorted_by_label, convention, study_of):
        folder, result = study_of(convention)
        assert list(result.leaks) == ["MAP", "NDCG@10"]
        for measure, order in result.leaks.items():
            assert vars(order) == near(file_order(sorted_by_label, measure, convention))
        told = captions(result)
        assert all(self.WARNING in caption for caption in told)
        assert captions(load_study(folder)) == told  # from the ledger alone

    def test_one_that_averages(self, sorted_by_label):
        result = Study(sorted_by_label, **QUICK).run()
        assert not any("file order" in caption for caption in captions(result))

    def test_data_without_information_in_its_order(self, shuffled):
        result = Study(shuffled, **QUICK, convention="letor4").run()
        assert not any("file order" in caption for caption in captions(result))

    def test_queries_that_are_tested_twice_count_once(self, sorted_by_label, study_of):
        settings = QUICK | {"convention": "letor4", "protocol": "six-trials", "ks": [1]}
        once = study_of("letor4")[1].leaks
        twice = Study(sorted_by_label, **settings).run().leaks
        for measure, order in once.items():
            assert vars(twice[measure]) == near(order)
