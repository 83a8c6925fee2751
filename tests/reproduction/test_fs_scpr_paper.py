"""FS-SCPR and what it is compared with, as published and made again."""

import json

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.model_selection import ParameterGrid

from ranksieve.metrics import evaluate
from ranksieve.reproduction import PAPERS, MethodOutcome, Reproduction, reproduce
from ranksieve.reproduction.collections import CollectionFacts, open_at_hand
from ranksieve.reproduction.papers.fs_scpr import (
    ALL_FEATURES,
    MEANS,
    MEASURES,
    SELECTORS,
    UNIFIED_RANKS,
)
from ranksieve.reproduction.training import best_weights
from ranksieve.selectors import FSMRank
from ranksieve.selectors.registry import SELECTORS as REGISTERED
from ranksieve.study.results import BASE
from tests.reproduction.printing import shown
from tests.reproduction.test_collections import folds_of, write_collection

PAPER = PAPERS["fs-scpr"]
MQ2008 = CollectionFacts("MQ2008", "MQ2008", "letor4", 784, 46)
EVERYTHING = (*SELECTORS, *ALL_FEATURES)


@pytest.fixture(scope="module")
def reproduced(mq2008_dir):
    return reproduce("fs-scpr", mq2008_dir, methods=[BASE, "gas-e"])


class TestMQ2008:
    def test_no_selection_is_the_published_ranksvm(self, reproduced):
        for measure in MEASURES:
            number = reproduced.mean(BASE, measure)
            assert number.ours == pytest.approx(number.published, abs=0.0002)

    def test_gas_e(self, reproduced):
        assert reproduced.mean("gas-e", "MAP").ours == pytest.approx(0.4805, abs=0.0005)

    def test_verdicts(self, reproduced):
        assert reproduced.judgment(BASE) == "yes"
        # The paper's gains are smaller than the noise of 784 queries.
        assert 0.004 < reproduced.noise("gas-e", "MAP") < 0.02
        assert reproduced.mean("gas-e", "MAP").is_undecided
        assert reproduced.judgment("gas-e") == "cannot tell"

    def test_improvements(self, reproduced):
        found = reproduced.improvement("gas-e", "MAP")
        assert found.published == pytest.approx(100 * (0.4767 - 0.4744) / 0.4744)
        assert found.ours == pytest.approx(1.28, abs=0.1)


class TestPublished:
    """Numbers that the paper derives from others."""

    @pytest.mark.parametrize("table", UNIFIED_RANKS)
    def test_unified_ranks(self, table):
        assert PAPER.recompute_ranks(table) == UNIFIED_RANKS[table]

    def test_unified_ranks_from_the_printed_counts(self):
        counts = {
            "Table 11": {
                "fsmrank": [14, 3, 2, 1],
                "fs-scpr": [4, 14, 2, 0],
                "gas-e": [2, 1, 10, 7],
                "fsmsvm": [0, 2, 8, 10],
            },
            "Table 16": {
                "fs-scpr": [11, 8, 0, 0, 1],
                "adarank-map": [5, 4, 3, 8, 0],
                BASE: [2, 5, 5, 7, 1],
                "listnet": [1, 4, 10, 4, 1],
                "rankboost": [1, 1, 0, 1, 17],
            },
        }
        for table, methods in counts.items():
            places = [(place, m) for place in MEANS for m in MEASURES]
            for name, printed in methods.items():
                ranks = [
                    sum(MEANS[place][other][m] > MEANS[place][name][m] for other in methods)
                    for place, m in places
                ]
                assert np.bincount(ranks, minlength=len(methods)).tolist() == printed
                weights = 1 - np.arange(len(methods)) / len(methods)
                assert printed @ weights == pytest.approx(UNIFIED_RANKS[table][name])

    @pytest.mark.parametrize(
        ("collection", "printed"),
        [
            ("HP2004", (10.54, 6.47, 4.85, 5.95, 7.51)),
            ("NP2004", (-1.30, 5.07, 1.59, 2.63, 0.80)),
            ("OHSUMED", (-0.02, 2.14, 2.05, 1.78, 1.01)),
            ("MQ2008", (-0.89, 0.97, 0.10, 0.39, 0.67)),
        ],
    )
    def test_improvements_of_fs_scpr(self, collection, printed):
        result = made_up(
            CollectionFacts(collection, collection, "letor3", 75, 64), all=[1], fsmrank=[2]
        )
        results = dict(result.outcomes) | {"fs-scpr": result.outcomes["fsmrank"]}
        result = Reproduction(PAPER, result.facts, results)
        for measure, expected in zip(MEASURES, printed, strict=True):
            number = result.improvement("fs-scpr", measure)
            assert round(number.published, 2) == pytest.approx(expected)
            assert number.ours == pytest.approx(100)


def made_up(facts=MQ2008, **values):
    """The same values of all measures, by method, one for each seed."""
    results = {
        name.replace("_", "-"): MethodOutcome(
            {m: [[value] for value in maps] for m in MEASURES}, [9.5] * len(maps)
        )
        for name, maps in values.items()
    }
    return Reproduction(PAPER, facts, results)


def published(collection, noise, **others):
    """Methods as published, or as another one, which differ from RankSVM with so much noise."""
    facts = CollectionFacts(collection, collection, "letor3", 75, 64)
    signs = np.tile([-1, 1], 100)
    outcomes = {}
    for name in (*MEANS[collection], "fs-scpr-closest"):
        numbers = MEANS[collection][others.get(name, name.removesuffix("-closest"))]
        spread = 0 if name == BASE else noise * np.sqrt(199) / student.ppf(0.975, 199)
        outcomes[name] = MethodOutcome(
            {measure: [[value]] for measure, value in numbers.items()},
            [9.5],
            per_query={measure: [0.5 + spread * signs] for measure in MEASURES},
        )
    return Reproduction(PAPER, facts, outcomes)


class TestVerdicts:
    def test_as_published(self):
        # FS-SCPR gains 0.036 or more on HP2004.
        result = published("HP2004", 0.03)
        assert result.judgment("fs-scpr") == "yes"
        assert result.judgment(BASE) == "yes"

    @pytest.mark.parametrize("noise", [0.0, 0.001, 0.01, 0.03, 0.06, 0.1])
    @pytest.mark.parametrize("collection", MEANS)
    def test_all_features_never_pass_as_fs_scpr(self, collection, noise):
        result = published(collection, noise, **{"fs-scpr": BASE})
        for measure in MEASURES:
            number = result.mean("fs-scpr", measure)
            can_tell = abs(number.published - number.rival) > noise
            assert number.is_within is (False if can_tell else None)
            assert number.is_undecided is not can_tell

    def test_where_they_cannot_be_told_apart(self):
        result = published("OHSUMED", 0.015)
        assert result.judgment("fs-scpr") == "cannot tell"
        lines = [line.split() for line in shown(result)]
        at = lines.index(
            ["fs-scpr,", "literal", "paper", "0.5459", "0.4959", "0.4785", "0.4584", "0.4491"]
        )
        assert lines[at + 2] == ["diff", *["+0.0000?"] * 5]
        assert lines[at + 3] == ["noise", *["0.0150"] * 5]
        text = " ".join(" ".join(line) for line in lines)
        assert "?: within it, but cannot be told apart from ranksvm on all." in text
        assert "so that ranksvm on all would pass for the method" in text

    def test_numbers_of_two_readings_are_counted_once(self):
        result = published("HP2004", 0.0005)
        assert len(result.verdicts("fs-scpr-closest")) == 5
        found = result.as_dict()
        assert (found["asked"], found["within"], found["undecided"]) == (40, 40, 0)
        text = " ".join(" ".join(shown(result)).split())
        assert "Within the tolerance: 40 of 40 published numbers, and all numbers of 8 of 8" in text
        alone = {name: own for name, own in result.outcomes.items() if name != "fs-scpr"}
        assert Reproduction(PAPER, result.facts, alone).as_dict()["asked"] == 40


class TestReadings:
    def test_one_of_them(self, directory):
        others = [name for name in EVERYTHING if name != "fs-scpr"]
        assert PAPER.choose(None, "closest") == others
        wanted = {"methods": ["fs-scpr", "random"], "reading": "closest", "n_seeds": 2}
        result = reproduce("fs-scpr", directory, **wanted)
        assert list(result.outcomes) == ["fs-scpr-closest", "random", "random-closest"]
        assert set(result.outcomes["fs-scpr-closest"].n_features) == {7}  # fewer than 10 there are

    def test_each_has_its_random_orders(self):
        result = made_up(
            fs_scpr=[0.45], fs_scpr_closest=[0.45], random=[0.4, 0.5], random_closest=[0.46]
        )
        assert result.random_below("fs-scpr") == 0.5
        assert result.random_below("fs-scpr-closest") == 0
        assert result.random_below("random-closest") is None

    def test_both_stand_beside_the_same_numbers(self):
        result = made_up(fs_scpr=[0.45], fs_scpr_closest=[0.47])
        assert result.mean("fs-scpr", "MAP").published == 0.4776
        assert result.mean("fs-scpr-closest", "MAP").published == 0.4776

    def test_the_closest_is_near_on_mq2008(self, mq2008_dir):
        methods = ["fs-scpr-closest"]
        result = reproduce("fs-scpr", mq2008_dir, methods=methods, n_seeds=2)
        assert result.mean("fs-scpr-closest", "MAP").ours == pytest.approx(0.4776, abs=0.006)
        assert result.judgment("fs-scpr-closest") == "needs all"
        assert result.mean("fs-scpr-closest", "NDCG@10").ours == pytest.approx(0.2293, abs=0.002)


def test_what_does_not_beat_random_orders_is_told():
    result = made_up(all=[0.47, 0.5], fsmrank=[0.45], gas_e=[0.43], random=[0.44, 0.48])
    assert result.random_below("all") == 1
    assert result.random_below("fsmrank") == 0.5
    assert result.random_below("gas-e") == 0
    assert result.random_below("random") is None
    assert result.spread("fsmrank", "MAP") is None
    assert result.spread("random", "MAP") == pytest.approx(np.sqrt(0.0008))
    assert made_up(all=[0.47]).random_below("all") is None


def test_unified_ranks_of_one_collection():
    values = {"fsmrank": [0.4], "fs-scpr": [0.5], "gas-e": [0.4], "fsmsvm": [0.1, 0.2]}
    ranks = made_up(**values).unified_ranks("Table 11")
    # 5 cells: first in all of them, twice second, fourth.
    assert {name: rank.ours for name, rank in ranks.items()} == pytest.approx(
        {"fs-scpr": 5, "fsmrank": 3.75, "gas-e": 3.75, "fsmsvm": 1.25}
    )
    # FS-SCPR of the paper is first, second, third, second and first on MQ2008.
    assert {name: rank.published for name, rank in ranks.items()} == pytest.approx(
        {"fsmrank": 4.5, "fs-scpr": 4.0, "gas-e": 2.5, "fsmsvm": 1.5}
    )
    assert made_up(**values).unified_ranks("Table 16") is None
    here = made_up(CollectionFacts("ours", None, "letor4", 45, 7), **values).unified_ranks(
        "Table 11"
    )
    assert [rank.published for rank in here.values()] == [None] * 4


class TestTables:
    def test_all_of_it_fits(self):
        lines = shown(made_up(**{name: [0.4721, 0.3] for name in EVERYTHING}))
        assert max(map(len, lines)) <= 80
        text = "\n".join(lines)
        assert "-0.0883" in text
        # RankSVM on all features is in two tables.
        assert sum(line.split()[:1] == ["spread"] for line in lines) == len(EVERYTHING) + 1
        assert "convention letor4" in text
        assert "paper: Tables 10 and 15; improvements of FS-SCPR: Table 6." in text

    def test_lines(self):
        values = {name: [0.4721] for name in EVERYTHING} | {BASE: [0.4]}
        lines = [line.split() for line in shown(made_up(**values))]
        literal = ["fs-scpr,", "literal"]
        place = lines.index([*literal, "paper", "0.3692", "0.4375", "0.4770", "0.2318", "0.4776"])
        assert lines[place + 1] == ["ours", *["0.4721"] * 5]
        assert lines[place + 2][-1] == "-0.0055"
        place = lines.index([*literal, "paper", "-0.89", "+0.97", "+0.10", "+0.39", "+0.67"])
        assert lines[place + 1] == ["ours", *["+18.02"] * 5]
        assert lines[place + 2][-1] == "+17.35"  # 18.025 - 0.675
        assert ["fsmrank", "17.5", "17.5", "4.50", "5.00", "+0.50"] in lines
        assert ["ranksvm", "on", "all", "12.0", "12.0", "2.60", "1.00", "-1.60"] in lines

    def test_ohsumed(self):
        values = {name: [0.1] for name in EVERYTHING}
        lines = shown(made_up(CollectionFacts("OHSUMED", "OHSUMED", "letor3", 106, 45), **values))
        text = "\n".join(lines)
        assert "-0.3491" in text  # from FS-SCPR's 0.4491
        assert ["fsmsvm", "paper", "0.5492", "0.4690", "0.4640", "0.4447", "0.4441"] in [
            line.split() for line in lines
        ]
        assert "paper: Tables 9 and 14; improvements of FS-SCPR: Table 5." in text

    def test_a_part_of_it(self):
        lines = shown(made_up(all=[0.4721]))
        assert "Improvement" not in "\n".join(lines)
        assert "ours: only if all 4 methods are run." in lines
        assert "Selectors with" not in "\n".join(shown(made_up(rankboost=[0.4])))


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return write_collection(tmp_path_factory.mktemp("data") / "ours")


@pytest.fixture(scope="module")
def result(directory):
    return reproduce("fs-scpr", directory, n_seeds=2)


class TestOtherCollections:
    def test_all_methods_run(self, result):
        assert list(result.outcomes) == list(EVERYTHING)
        for name in EVERYTHING:
            n_seeds = 2 if name.startswith(("fs-scpr", "random")) else 1
            assert len(result.means_by_seed(name, "MAP")) == n_seeds
            number = result.mean(name, "MAP")
            assert (number.published, number.is_within) == (None, None)
            assert 0.3 < number.ours <= 1
        assert result.improvement("gas-e", "MAP").published is None
        assert result.outcomes[BASE].n_features == [7]

    def test_its_tables(self, result):
        lines = shown(result)
        text = " ".join(" ".join(lines).split())
        assert "Selectors with ranksvm on ours" in text
        assert "Measured on test queries (45 queries in all), convention letor4" in text
        assert max(map(len, lines)) <= 80

    def test_rankers_are_those_of_the_other_command(self, directory, result):
        rankers = reproduce("rankers", directory, methods=[*ALL_FEATURES, "ranksvm"])
        for name in (*ALL_FEATURES, "ranksvm"):
            for measure in MEASURES:
                ours = result.mean(BASE if name == "ranksvm" else name, measure).ours
                assert ours == pytest.approx(rankers.mean(name, measure).ours, abs=1e-12)


class TestFSMRank:
    def test_penalties_by_hand(self, directory):
        fold = folds_of(directory)[0]

        def value(coef, data):
            scores = data.X @ coef
            return evaluate(data.y, scores, data.qid, "map", "letor4").mean["MAP"]

        fits = [
            FSMRank(**point).fit(fold.train).coef_
            for point in ParameterGrid(dict(REGISTERED["fsmrank"].grid))
        ]
        best = max(value(coef, fold.vali) for coef in fits)
        assert value(best_weights(fold, "letor4"), fold.vali) == pytest.approx(best, abs=1e-3)

    def test_nothing_of_the_test_queries_is_chosen_by(self, directory):
        fold = folds_of(directory)[0]
        blind = type(fold)(fold.name, fold.train, fold.vali, None)
        np.testing.assert_array_equal(best_weights(blind, "letor4"), best_weights(fold, "letor4"))

    def test_measures_are_those_of_the_weights(self, directory):
        at_hand = open_at_hand(directory)
        found = reproduce("fs-scpr", directory, methods=["fsmrank"]).outcomes["fsmrank"]
        kept = []
        for place, fold in enumerate(trial.open() for trial in at_hand.trials):
            coef = best_weights(fold, "letor4")
            scores = fold.test.X @ coef
            expected = evaluate(fold.test.y, scores, fold.test.qid, "map", "letor4").mean["MAP"]
            assert found.values["MAP"][0][place] == pytest.approx(expected)
            kept.append(np.count_nonzero(coef))
        assert found.n_features == [np.mean(kept)]


def test_the_command(run, directory, mq2008_dir):
    command = ["reproduce", "fs-scpr", "--data", mq2008_dir, "--method", "all", "--format", "json"]
    status, output, _ = run(*command)
    assert status == 0
    found = json.loads(output)
    record = found["methods"]["all"]
    assert record["values"]["MAP"]["mean"]["published"] == 0.4744
    assert record["values"]["MAP"]["mean"]["within"]
    assert found["unified_ranks"]["Table 11"]["recomputed"] == UNIFIED_RANKS["Table 11"]
    assert found["unified_ranks"]["Table 11"]["here"] is None
    command = ["reproduce", "fs-scpr", "--data", directory]
    status, output, _ = run(*command, "--method", "random", "--seeds", 3, "--method", "all")
    assert status == 0
    assert "a random order, as a baseline" in " ".join(output.split())
