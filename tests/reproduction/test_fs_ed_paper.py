"""Numbers of features at the best result of FS-ED, as published and made again."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ranksieve.metrics import evaluate
from ranksieve.rankers import RankBoost
from ranksieve.report.sheets.reproduction_numbers import pairs_sheet
from ranksieve.reproduction import PAPERS, MethodOutcome, Reproduction, reproduce
from ranksieve.reproduction.collections import CollectionFacts
from ranksieve.reproduction.outcomes import validation_mean
from ranksieve.reproduction.papers.fs_ed import GRIDS, MEASURE
from ranksieve.selectors import FSBFS, FSED
from ranksieve.significance import holm, paired_t_test
from ranksieve.study import results  # Outcomes is no class of tests
from tests.reproduction.printing import shown
from tests.reproduction.test_collections import folds_of, write_collection

PAPER = PAPERS["fs-ed"]
RANKERS = PAPER.rankers
FOLDS = [
    results.FoldSummary(f"Fold{n}", 6, 2, [f"{n}-{query}" for query in range(3)]) for n in (1, 2)
]


def outcomes_at(k, validation, test):
    """Values on two folds: of validation queries, and of three test queries each."""
    outcomes = [
        results.Outcome(
            k, tuple(range(k)), {}, {}, value, 0.1, {MEASURE: np.array(queries)}, 0.1, 0.2
        )
        for value, queries in zip(validation, test, strict=True)
    ]
    return results.Outcomes([outcomes], FOLDS)


def made_up(known_as="MQ2008", **others):
    """Two rankers; 2 features are best on validation queries, 1 on test queries."""
    by_k = {
        1: outcomes_at(1, (0.3, 0.4), ([0.9, 0.8, 0.7], [0.9, 0.8, 0.9])),
        2: outcomes_at(2, (0.9, 0.1), ([0.5, 0.6, 0.9], [0.1, 0.2, 0.3])),
        3: outcomes_at(3, (0.4, 0.6), ([0.5, 0.6, 0.8], [0.1, 0.2, 0.4])),
        4: outcomes_at(4, (0.5, 0.3), ([0.5, 0.5, 0.5], [0.1, 0.4, 0.3])),
    }
    runs = {}
    for ranker in ("ranksvm-struct", "lambdamart"):
        runs["fs-ed", ranker] = results.Run("fs-ed", ranker, by_k[2], by_k)
        runs["all", ranker] = results.Run("all", ranker, by_k[4], {4: by_k[4]})
        for name, own in others.items():
            runs[name, ranker] = results.Run(name, ranker, own[1], own)
    names = [str(number) for number in range(4)]
    protocol = "the folds of the collection"
    study = results.StudyResult("x", protocol, "standard", MEASURE, [MEASURE], FOLDS, names, runs)
    return Reproduction(PAPER, CollectionFacts("x", known_as, "standard", 6, 4), {}, study)


class TestBest:
    def test_by_validation_and_by_test(self):
        linear, trees = made_up().bests()
        # Means on validation queries: 0.35, 0.5, 0.5, 0.4: the fewest of equals.
        assert (linear.by_validation.k, linear.by_test.k) == (2, 1)
        assert linear.by_validation.value == pytest.approx((2 / 3 + 0.2) / 2)
        assert linear.by_test.value == pytest.approx((0.8 + 2.6 / 3) / 2)
        assert linear.base == pytest.approx((0.5 + 0.8 / 3) / 2)
        assert (linear.published, trees.published) == (3, 20)

    def test_significance_is_over_all_test_queries(self):
        first, second = (best.by_validation.against["all"] for best in made_up().bests())
        queries = [0.5, 0.6, 0.9, 0.1, 0.2, 0.3], [0.5, 0.5, 0.5, 0.1, 0.4, 0.3]
        test = paired_t_test(*queries)
        assert first[:2] == pytest.approx((test.difference, test.p_value))
        assert first.adjusted == second.adjusted == pytest.approx(min(1, 2 * first.p_value))

    def test_selectors_are_compared_with_each_other(self):
        other = {k: outcomes_at(k, (0.1 * k, 0.2), ([0.2] * 3, [0.1] * 3)) for k in (1, 2)}
        found = {(best.selector, best.ranker): best for best in made_up(rival=other).bests()}
        linear, rival = found["fs-ed", "ranksvm-struct"], found["rival", "ranksvm-struct"]
        # By test queries, fs-ed has 1 feature and wins on each query by 0.5 to 0.8.
        values = [0.9, 0.8, 0.7, 0.9, 0.8, 0.9], [0.2] * 3 + [0.1] * 3
        test, against = paired_t_test(*values), linear.by_test.against["rival"]
        assert against[:2] == pytest.approx((test.difference, test.p_value))
        # 3 pairs of selectors with 2 rankers; this one is the first or the second of them.
        assert 5 * test.p_value <= against.adjusted <= 6 * test.p_value * (1 + 1e-9)
        assert rival.by_test.against["fs-ed"].difference == -against.difference
        assert linear.by_test.better_than == ["all", "rival"]
        assert rival.by_test.better_than == []
        assert linear.by_validation.better_than == []

    def test_what_is_not_published(self):
        assert [best.published for best in made_up(None).bests()] == [None, None]
        assert [best.published for best in made_up("OHSUMED").bests()] == [15, 20]
        assert PAPER.best_numbers["fs-bfs", "rankboost"] == {
            "OHSUMED": 12,
            "MQ2007": 7,
            "MQ2008": 7,
        }

    def test_validation_mean_is_over_seeds_too(self):
        one = outcomes_at(1, (0.2, 0.4), ([0.1] * 3, [0.1] * 3))
        other = outcomes_at(1, (0.6, 0.8), ([0.1] * 3, [0.1] * 3))
        both = replace(one, outcomes=[*one.outcomes, *other.outcomes])
        assert validation_mean(both) == pytest.approx(0.5)


def test_tables():
    lines = shown(made_up())
    assert max(map(len, lines)) <= 80
    words = [line.split() for line in lines]
    place = words.index(["fs-ed", "ranksvm-struct", "paper", "3"])
    assert words[place + 1][:4] == ["validation", "2", "0.4333", "+0.0500"]
    assert words[place + 2][:4] == ["test", "1*", "0.8333", "+0.4500"]
    assert words[place + 2][-1] == "all"  # than which it is better
    text = " ".join(" ".join(lines).split())
    assert "*: chosen by looking at the test queries" in text
    assert "convention standard" in text
    assert "NDCG@10 by number of features with lambdamart on x" in text


def test_selectors_against_each_other():
    rival = {1: outcomes_at(1, (0.1, 0.2), ([0.2] * 3, [0.1] * 3))}
    study = made_up(rival=rival).study
    sheet = pairs_sheet(study, "lambdamart")
    assert [column.name for column in sheet.columns[1:]] == [
        "minus fs-ed",
        "minus all",
        "minus rival",
    ]
    cells = {row[0].value: row[1:] for row in sheet.rows}
    # With 2 features, which validation queries chose on each fold, and with all 4.
    chosen, every = [0.5, 0.6, 0.9, 0.1, 0.2, 0.3], [0.5, 0.5, 0.5, 0.1, 0.4, 0.3]
    assert cells["fs-ed"][1].value == pytest.approx(np.mean(chosen) - np.mean(every))
    assert cells["all"][0].value == -cells["fs-ed"][1].value
    assert [cells[name][place].text for place, name in enumerate(cells)] == ["", "", ""]
    values = {"fs-ed": chosen, "all": every, "rival": [0.2] * 3 + [0.1] * 3}
    pairs = [("fs-ed", "all"), ("fs-ed", "rival"), ("all", "rival")]
    p_values = holm([paired_t_test(values[a], values[b]).p_value for a, b in pairs])
    marks = [cells[a][list(cells).index(b)].mark for a, b in pairs]
    assert marks == ["*" if p < 0.05 else "" for p in p_values]
    assert set(marks) == {"", "*"}


def test_random_orders_with_one_ranker():
    """The paper has no MAP, so that NDCG@10 compares with random orders."""
    outcomes = {
        "fs-ed": MethodOutcome({MEASURE: [[0.5, 0.6]]}, [2.0]),
        "random": MethodOutcome({MEASURE: [[0.5, 0.5], [0.7, 0.7]]}, [2.0, 2.0]),
    }
    methods = replace(made_up(), outcomes=outcomes).as_dict()["methods"]
    assert [method["random_below"] for method in methods.values()] == [0.5, None]


def test_the_grid_of_ranksvm():
    (values,) = GRIDS["ranksvm-struct"].values()
    assert values[0] == 1e-5
    np.testing.assert_allclose(np.diff(np.log2(values)), 1)
    assert values[-1] <= 10 < 2 * values[-1]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Of as few features as its figures need: each number of them is tried."""
    return write_collection(tmp_path_factory.mktemp("data") / "ours", n_queries=4, n_noise=2)


class TestOtherCollections:
    def test_all_of_it(self, run, directory, tmp_path, monkeypatch):
        # Saves time. Which numbers of features are tried is seen in another test.
        monkeypatch.setitem(PAPER.study, "ks", (1, 2, 4, "all"))
        monkeypatch.setitem(GRIDS["ranksvm-struct"], "C", [0.01, 1.0])
        for name, rounds in (("rankboost", "n_rounds"), ("lambdamart", "n_estimators")):
            monkeypatch.setitem(PAPER.study["parameters"][name], rounds, 20)
        kept = tmp_path / "kept"
        command = ["reproduce", "fs-ed", "--data", directory, "--out", kept, "--seeds", 1]
        status, output, errors = run(*command)
        assert (status, errors) == (0, "")
        drawn = {path.name for path in (kept / "figures").iterdir() if path.suffix == ".svg"}
        assert drawn == {"alone.svg", "densities.svg", "similarity.svg"} | {
            f"curves-{ranker}-ndcg10.svg" for ranker in RANKERS
        }
        tables = {path.stem for path in (kept / "tables").iterdir()}
        assert {"fs-ed-numbers", "fs-ed-printed-numbers"} < tables
        page = (kept / "report.html").read_text()
        assert "Selectors against &#39;all&#39; with" in page
        assert "Selectors against each other with rankboost on ours: NDCG@10" in page
        assert "on ours: paper and ours" in " ".join(output.split())
        found = json.loads((kept / "results.json").read_text())
        assert (found["convention"], found["known_as"]) == ("ranklib", None)
        bests = [best for best in found["best"] if best["selector"] == "fs-ed"]
        assert [best["ranker"] for best in bests] == list(RANKERS)
        for best in bests:
            curve = found["study"]["curves"][best["ranker"]][MEASURE]["fs-ed"]["by_k"]
            assert list(curve) == ["1", "2", "4", "6"]
            assert best["published"] is None
            top = max(point["validation"] for point in curve.values())
            peak = best["by_validation"]
            assert curve[str(peak["k"])]["validation"] == pytest.approx(top)
            assert peak["value"] == curve[str(peak["k"])]["test"]
            assert set(peak["against"]) == {"fs-bfs", "random", "all"}
            assert best["by_test"]["value"] == max(point["test"] for point in curve.values())
            assert best["base"] == pytest.approx(curve["6"]["test"])

    def test_settings_by_hand(self, directory, monkeypatch):
        """RankBoost as the paper has it, on three features of FS-ED."""
        monkeypatch.setitem(PAPER.study, "ks", (3,))
        found = reproduce("fs-ed", directory, methods=["fs-ed"], rankers=["rankboost"]).study
        outcomes = found.run("fs-ed", "rankboost").by_k[3].outcomes[0]
        for fold, outcome in zip(folds_of(directory), outcomes, strict=True):
            chosen = FSED(3).fit(fold.train, eval_set=fold.vali).selected_
            assert outcome.features == tuple(chosen.tolist())
            train, vali, test = (
                part.take_features(sorted(chosen.tolist()))
                for part in (fold.train, fold.vali, fold.test)
            )
            ranker = RankBoost(
                1000, n_thresholds=10, binning="width", measure="ndcg@10", early_stopping_rounds=100
            ).fit(train, eval_set=vali)
            for data, values in (
                (vali, [outcome.validation]),
                (test, [outcome.per_query[MEASURE].mean()]),
            ):
                mean = evaluate(data.y, ranker.predict(data), data.qid, MEASURE, "ranklib").mean
                assert mean[MEASURE] == pytest.approx(values[0])

    def test_rankers_use_the_features_that_fs_bfs_constructs(
        self, directory, tmp_path, monkeypatch
    ):
        monkeypatch.setitem(PAPER.study, "ks", (1, 2))
        monkeypatch.setitem(GRIDS["ranksvm-struct"], "C", [0.1])
        wanted = {"methods": ["fs-bfs"], "rankers": ["ranksvm-struct"], "out": tmp_path}
        found = reproduce("fs-ed", directory, **wanted).study
        assert found.selectors == ["fs-bfs", "all"]
        run = found.run("fs-bfs", "ranksvm-struct")
        assert list(run.by_k) == [1, 2]
        for place, fold in enumerate(folds_of(directory)):
            new = FSBFS(None, output="constructed").fit(fold.train)
            # The subset that ranks the training queries best alone; it has several features.
            best = int(np.argmax([subset.score for subset in new.subsets_]))
            outcome = run.by_k[1].outcomes[0][place]
            assert (outcome.k, outcome.features) == (1, new.subsets_[best].features)
            scores = new.construct(fold.test)[:, best]  # one feature ranks as it does alone
            values = evaluate(fold.test.y, scores, fold.test.qid, MEASURE, "ranklib").per_query
            np.testing.assert_allclose(outcome.per_query[MEASURE], values[MEASURE])
        assert max(len(features) for features in run.by_k[1].selections) > 1
        # Nothing is trained again.
        monkeypatch.setattr("ranksieve.experiments.cells.Train.make", None)
        again = reproduce("fs-ed", directory, **wanted).study
        assert again.run("fs-bfs", "ranksvm-struct").by_k[2].mean(MEASURE) == run.by_k[2].mean(
            MEASURE
        )

    def test_methods_on_request(self, directory, monkeypatch):
        monkeypatch.setitem(GRIDS["ranksvm-struct"], "C", [1.0])  # saves time
        result = reproduce(
            "fs-ed",
            directory,
            methods=["fs-ed", "fs-bfs", "random"],
            rankers=["ranksvm-struct"],
            n_seeds=2,
        )
        assert result.study.selectors == ["fs-ed", "fs-bfs", "random", "all"]
        assert [best.selector for best in result.bests()] == ["fs-ed", "fs-bfs", "random"]
        assert result.study.run("random", "ranksvm-struct").chosen.n_seeds == 2
        assert list(result.study.run("fs-ed", "ranksvm-struct").by_k) == [1, 2, 3, 4, 5, 6]
