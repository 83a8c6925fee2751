"""Curves of GAS in six trials, and what its paper says of them."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ranksieve import make_ranking
from ranksieve.metrics import evaluate
from ranksieve.reproduction import PAPERS, Reproduction, reproduce
from ranksieve.reproduction.collections import CollectionFacts
from ranksieve.reproduction.papers.gas import GENERAL
from ranksieve.reproduction.statements import (
    Features,
    blocks_at_least,
    two_blocks_hold,
    weak_alone,
)
from ranksieve.study import results  # Outcomes is no class of tests
from tests.reproduction.printing import shown
from tests.reproduction.test_collections import write_collection, write_like_ohsumed

PAPER = PAPERS["gas"]
MEASURES, SELECTORS, RANKER = PAPER.measures, PAPER.candidates, "ranksvm"
FOLD = results.FoldSummary("Trial1", 2, 2, [1, 2])
LOSS = "GAS-L is at least as good as GAS-E in most cases, but not significantly better"
NUMBERS = [k for k in PAPER.study["ks"] if isinstance(k, int)]


def outcomes_at(k, value, spread=0.0):
    """Values of two queries, so far apart."""
    per_query = {measure: np.array([value - spread, value + spread]) for measure in MEASURES}
    return results.Outcomes(
        [[results.Outcome(k, tuple(range(k)), {}, {}, 0.5, 0.1, per_query, 0.1, 0.2)]], [FOLD]
    )


def made_up(known_as, **curves):
    """A study with a curve for each selector, as a function of the number of features."""
    runs = {}
    for name, curve in curves.items():
        numbers = [45] if name == "all" else NUMBERS
        # Where one selector wins, another one loses: no difference is significant.
        by_k = {k: outcomes_at(k, curve(k), 0.2 * (name == "gas_l")) for k in numbers}
        name = name.replace("_", "-")
        runs[name, RANKER] = results.Run(name, RANKER, by_k[numbers[-1]], by_k)
    names = [str(number) for number in range(45)]
    study = results.StudyResult(
        known_as, "six trials", "standard", "MAP", list(MEASURES), [FOLD], names, runs
    )
    return Reproduction(PAPER, CollectionFacts(known_as, known_as, "standard", 1, 45), {}, study)


def curves(known_as):
    return made_up(
        known_as,
        gas_e=lambda k: 0.40 + 0.002 * min(k, 18),
        gas_l=lambda k: 0.4112 if k < 12 else 0.39,
        ig=lambda k: 0.40,
        chi=lambda k: 0.39 if k != 2 else 0.41,
        all=lambda k: 0.4,
    )


class TestFeatures:
    def test_blocks_and_features_that_rank_badly_alone(self):
        data, truth = make_ranking(
            100, n_informative=2, n_redundant=4, n_noise=0, n_constant=1, copy_noise=0.1, tied=0
        )
        found = Features.measure(data, "standard")
        assert found.blocks == sorted(np.bincount(truth.families[truth.families >= 0]))[::-1]
        ranked = [
            max(
                evaluate(data.y, sign * column, data.qid, "map").mean["MAP"] for sign in (1.0, -1.0)
            )
            for column in data.X.T
        ]
        np.testing.assert_allclose(found.alone, ranked)

    def test_sentences(self):
        found = Features(np.array([0.05, 0.09, 0.1, 0.3]), [5, 2, 2, 1])
        assert weak_alone(found, 0.1, 1) == ("2 of 4 features", True)
        assert not weak_alone(found, 0.1, 2).holds
        assert blocks_at_least(found, 4) == ("4 blocks, the largest of 5, 2, 2 features", True)
        assert not blocks_at_least(found, 5).holds
        assert two_blocks_hold(found, 0.7).holds
        assert not two_blocks_hold(found, 0.71).holds


class TestStatements:
    def test_ohsumed(self):
        found = dict(curves("OHSUMED").findings())
        assert len(found) == 4
        # 1 to 10 and 12 features, of which CHI is above all features with 2.
        assert found["with fewer than 15 features, CHI is below all features"] == (
            "below with 10 of 11 numbers of features",
            False,
        )
        few = next(ours for paper, ours in found.items() if "fewer than 5" in paper)
        assert few == ("ig +0.0 %, gas-e +2.0 %, gas-l +2.8 %", True)
        gains = next(ours for paper, ours in found.items() if "1 to 2 %" in paper)
        assert gains == ("ig +9.0 %, all +9.0 %", False)  # 0.436 against 0.40
        loss = found[LOSS]
        # GAS-E is above 0.4112 from 6 features on.
        reached = f"reached with 5 of {len(NUMBERS)} numbers of features"
        assert loss == (f"{reached}, significantly better with none", False)

    def test_ohsumed_of_letor_2_has_the_same(self):
        both = [curves(name).findings() for name in ("OHSUMED", "OHSUMED of LETOR 2")]
        assert both[0] == both[1]
        assert PAPER.conventions["OHSUMED of LETOR 2"] == "standard:2"

    def test_gov(self):
        found = [ours for _, ours in curves("TD2004").findings()]
        assert found[0] == ("gas-l 0.411, gas-e 0.408, ig 0.400, chi 0.390", False)
        assert found[1] == ("gas-e +3.0 %, gas-l +2.8 %, ig +0.0 %, chi -2.5 %", True)
        assert found[2] == ("gas-e +9.0 %, gas-l -2.5 %, ig +0.0 %, chi -2.5 %", False)
        assert found[3] == ("gas-e +0.0 %, gas-l +0.0 %", True)
        assert found[4] == ("gas-e +9.0 %, gas-l +2.8 %, ig +0.0 %, chi +2.5 %", False)
        assert len(found) == 6

    def test_as_the_paper_says(self):
        result = made_up(
            "TD2004",
            gas_e=lambda k: 0.31 + 0.003 * min(k, 18),
            gas_l=lambda k: 0.311 + 0.003 * min(k, 18),
            ig=lambda k: 0.28 + 0.005 * (k > 4) * min(k, 14),
            chi=lambda k: 0.25 + 0.008 * (k > 4) * min(k, 14),
            all=lambda k: 0.315,
        )
        assert [ours.holds for _, ours in result.findings()] == [True] * 6

    def test_better_in_most_cases_but_significantly(self):
        names = ("gas_e", "gas_l", "ig", "chi", "all")
        result = made_up("OHSUMED", **{name: lambda k: 0.4 for name in names})
        assert dict(result.findings())[LOSS].holds
        by_k = result.study.run("gas-l", RANKER).by_k
        by_k[9] = outcomes_at(9, 0.41)  # on both queries by as much
        found = dict(result.findings())[LOSS]
        assert found.text.endswith(", significantly better with 1")
        assert not found.holds

    def test_significantly_worse_is_not_significantly_better(self):
        names = ("gas_e", "gas_l", "ig", "chi", "all")
        result = made_up("OHSUMED", **{name: lambda k: 0.4 for name in names})
        by_k = result.study.run("gas-l", RANKER).by_k
        by_k[9] = outcomes_at(9, 0.39)  # on both queries by as much
        n_others = len(NUMBERS) - 1
        reached = f"reached with {n_others} of {len(NUMBERS)} numbers of features"
        expected = (f"{reached}, significantly better with none", True)
        assert dict(result.findings())[LOSS] == expected
        for k in by_k:  # worse in most cases
            by_k[k] = outcomes_at(k, 0.39)
        assert not dict(result.findings())[LOSS].holds

    def test_others(self):
        found = dict(curves("MQ2008").findings())
        assert list(found) == [
            LOSS,
            "selection gains at least 1 % over all features: best of each method",
        ]
        text = " ".join(" ".join(shown(curves("MQ2008"))).split())
        assert "What the GAS paper says of its collections, and what is found on MQ2008" in text
        assert "Nothing is published about MQ2008: its numbers have no verdict." in text

    def test_tables(self):
        lines = shown(curves("OHSUMED"))
        assert max(map(len, lines)) <= 80
        text = " ".join(" ".join(lines).split())
        assert "What the GAS paper says of OHSUMED, and what is found on OHSUMED" in text
        assert "Nothing is published" not in text
        assert "MAP by number of features with ranksvm on OHSUMED" in text
        assert "holds" in text


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Of four features, as each number of them is tried."""
    return write_collection(tmp_path_factory.mktemp("data") / "ours", n_noise=0)


class TestOtherCollections:
    def test_all_of_it(self, run, directory, tmp_path, monkeypatch):
        kept = tmp_path / "kept"
        assert ("MAP", *(f"NDCG@{k}" for k in range(1, 11))) == MEASURES
        few = ("MAP", "NDCG@10")  # saves time
        monkeypatch.setitem(PAPERS, "gas", replace(PAPER, measures=few))
        command = ["reproduce", "gas", "--data", directory, "--out", kept]
        status, output, errors = run(*command, "--seeds", 1)
        assert (status, errors) == (0, "")
        figures = {path.stem for path in (kept / "figures").iterdir()}
        assert {"alone", "similarity"} < figures
        for measure in ("map", "ndcg10"):
            assert {f"curves-ranksvm-{measure}", f"curves-ranknet-{measure}"} < figures
        text = " ".join(output.split())
        assert "What the GAS paper says of its collections" in text
        assert text.endswith("Nothing is published about ours: its numbers have no verdict.")
        assert "six trials" in text
        found = json.loads((kept / "results.json").read_text())
        assert (found["convention"], len(found["findings"])) == ("standard", 2)
        page = (kept / "report.html").read_text()
        assert "NDCG@10 by number of features with ranknet on ours" in page
        assert (kept / "tables" / "curves-ranknet-ndcg10.tex").exists()
        assert "NDCG@10 of ranksvm: each point is a mean over" in page
        assert "divided into three parts, which train, tune and test in all six orders." in page
        for measure in few:
            curves = found["study"]["curves"][RANKER][measure]
            assert list(curves) == list(SELECTORS)
            assert list(curves["gas-l"]["by_k"]) == list("1234")
            assert list(curves["all"]["by_k"]) == ["4"]

    def test_six_trials(self, directory):
        study = reproduce("gas", directory, methods=["ig"], rankers=[RANKER]).study
        assert len(study.folds) == 6
        assert study.n_queries == 45
        roles = {(fold.n_train, fold.n_vali, len(fold.query_ids)) for fold in study.folds}
        assert roles == {(15, 15, 15)}


@pytest.fixture(scope="module")
def like_ohsumed(tmp_path_factory):
    return write_like_ohsumed(tmp_path_factory.mktemp("data") / "ours")


class TestOHSUMED:
    @pytest.fixture(autouse=True)
    def _few_models(self, monkeypatch):
        """Nothing here depends on what they find."""
        monkeypatch.setitem(PAPER.study, "ks", (1, 2))
        of_gas = {"c": [0.1]}
        grids = {"gas-e": of_gas, "gas-l": of_gas, RANKER: {"C": [1.0]}}
        monkeypatch.setitem(PAPER.study, "grids", grids)

    @pytest.fixture
    def command(self, like_ohsumed):
        command = ["reproduce", "gas", "--data", like_ohsumed, "--seeds", 1, "--ranker", RANKER]
        return [*command, "--format", "json"]

    def test_only_the_top_grade_counts(self, run, command):
        status, output, errors = run(*command)
        assert (status, errors) == (0, "")
        found = json.loads(output)
        assert (found["known_as"], found["convention"]) == ("OHSUMED", "standard:2")
        assert len(found["findings"]) == 5
        assert " blocks, the largest of " in found["findings"][-1]["ours"]

    def test_published_findings_are_about_normalized_files(self, tmp_path):
        directory = write_like_ohsumed(tmp_path, last=12)
        result = reproduce("gas", directory, n_seeds=1, rankers=[RANKER])
        assert (result.facts.known_as, result.facts.unnormalized) == (None, "OHSUMED")
        assert result.facts.convention == "standard:2"
        assert [paper for paper, _ in result.findings()] == [own.paper for own in GENERAL]
        text = " ".join(" ".join(shown(result)).split())
        assert "This collection has the size of OHSUMED, but values that are" in text
        assert "Nothing is published about OHSUMED (not normalized)" in text

    def test_unless_another_convention_is_asked_for(self, run, command):
        found = json.loads(run(*command, "--convention", "letor3")[1])
        assert (found["known_as"], found["convention"]) == ("OHSUMED", "letor3")
