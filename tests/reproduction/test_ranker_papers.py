"""Rankers beside their published results on MQ2008."""

import json
import re
from collections import Counter

import numpy as np
import pytest
from scipy.stats import t as student

from ranksieve import reproduction as module
from ranksieve.data import DataError
from ranksieve.io.records import convert_record
from ranksieve.progress import listen
from ranksieve.reproduction import PAPERS, MethodOutcome, Reproduction, reproduce
from ranksieve.reproduction.collections import CollectionFacts
from ranksieve.reproduction.outcomes import Number
from ranksieve.reproduction.papers import rankers as letor
from ranksieve.reproduction.training import PATH_MEASURES, PATH_PARTS, FoldPaths, TrainMethod
from tests.reproduction.printing import shown
from tests.reproduction.test_collections import write_collection

PAPER = PAPERS["rankers"]
ROWS, MEASURES = PAPER.candidates, PAPER.measures
MEANS, ON_FOLDS = letor.MEANS["MQ2008"], letor.ON_FOLDS["MQ2008"]
MQ2008 = CollectionFacts("MQ2008", "MQ2008", "letor4", 784, 46)

AVERAGED = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MAP")
WITH_TARGETS = list(MEANS)
REPEATED = [name for name, row in ROWS.items() if row.tolerance is not None]


@pytest.fixture(scope="module")
def reproduced(mq2008_dir):
    return reproduce("rankers", mq2008_dir, methods=WITH_TARGETS)


def made_up(names=ROWS, facts=MQ2008, noise=0.0, **moved):
    """Results as published, or 0.5; those of some rankers are ``moved`` by so much on each fold.

    On 40 queries of each fold, they differ from those of RankSVM with so much ``noise``.
    """
    means = MEANS | {"ranksvm": MEANS["ranksvm-struct"] | MEANS["ranksvm"]}
    results, base = {}, means["ranksvm"]
    signs = np.tile([-1, 1], 20)
    for name in names:
        values, queries = {}, {}
        spread = 0.0 if name == "ranksvm" else noise * np.sqrt(199) / student.ppf(0.975, 199)
        for measure in MEASURES:
            mean = means.get(name, {}).get(measure, 0.5)
            folds = ON_FOLDS.get(name, {}).get(measure, [mean] * 5)
            values[measure] = [[value + moved.get(name, 0.0) for value in folds]]
            queries[measure] = [base[measure] + spread * signs] * 5
        chosen = [{"rounds": fold} for fold in range(5)]
        results[name] = MethodOutcome(values, [46.0], chosen, per_query=queries)
    return Reproduction(PAPER, facts, results)


class TestPublished:
    """Rankers with published results; :class:`TestVerdicts` has their tolerances."""

    @pytest.mark.parametrize(
        ("name", "ours", "furthest", "nearest"),
        [
            ("adarank-map", 0.4716, 0.006, 0.0),
            ("listnet", 0.4739, 0.006, 0.0),
            ("adarank-ndcg", 0.4712, 0.012, 0.006),  # does not reach what is published
        ],
    )
    def test_near_on_average(self, reproduced, name, ours, furthest, nearest):
        found = reproduced.mean(name, "MAP")
        assert found.ours == pytest.approx(ours, abs=0.0005)
        assert nearest <= found.published - found.ours <= furthest

    def test_verdicts(self, reproduced):
        judged = {name: reproduced.judgment(name) for name in reproduced.outcomes}
        assert {judged.pop(name) for name in REPEATED} == {"yes"}
        # RankSVM would pass for two of them; the third is not as good as published.
        expected = {"adarank-map": "cannot tell", "adarank-ndcg": "no", "listnet": "cannot tell"}
        assert judged == expected

    def test_chosen(self, reproduced):
        chosen = {name: result.chosen for name, result in reproduced.outcomes.items()}
        assert [c["C"] for c in chosen["ranksvm-struct"]] == [10, 2, 1, 0.2, 0.5]
        assert [c["n_rounds"] for c in chosen["rankboost"]] == [220, 11, 56, 58, 34]
        assert {c["C"] for c in chosen["ranksvm"]} <= {0.01, 0.1, 1, 10, 100}
        assert all(1 <= c["best_epoch"] <= 100 for c in chosen["listnet"])


def test_the_published_averages():
    """Averages of LETOR and, as far as they are there, of Yeh and Tsai."""
    averages = {
        "rankboost": (0.3856, 0.4288, 0.4666, 0.2255, 0.4775),
        "adarank-map": (0.3754, 0.4370, 0.4794, 0.2288, 0.4764),
        "adarank-ndcg": (0.3826, 0.4420, 0.4821, 0.2307, 0.4824),
        "ranksvm-struct": (0.3627, 0.4286, 0.4695, 0.2279, 0.4696),
        "listnet": (0.3754, 0.4324, 0.4747, 0.2303, 0.4775),
        "ranksvm": (0.3725, 0.4333, 0.4765, 0.2309, 0.4744),
    }
    for name, expected in averages.items():
        assert tuple(MEANS[name][measure] for measure in AVERAGED) == expected
    of_rankrls = [MEANS["rankrls"][measure] for measure in ("MAP", "P@10", "MeanNDCG", "NDCG@10")]
    assert of_rankrls == [0.4719, 0.2477, 0.4838, 0.2268]
    assert set(REPEATED) < MEANS.keys()
    rest = {"ranksvm-struct": (0.2491, 0.4832), "rankboost": (0.2487, 0.4850)}
    rest |= {"adarank-map": (0.2454, 0.4915), "adarank-ndcg": (0.2454, 0.4950)}
    for name, expected in rest.items():
        assert (MEANS[name]["P@10"], MEANS[name]["MeanNDCG"]) == expected


class TestVerdicts:
    def test_as_published(self):
        result = made_up(noise=1e-4)
        for name in ROWS:
            assert result.is_within(name) is (True if name in WITH_TARGETS else None)
            assert result.judgment(name) == ("yes" if name in WITH_TARGETS else "unpublished")

    @pytest.mark.parametrize(
        ("name", "within", "beyond"),
        [
            ("rankrls", 0.00004, 0.00006),
            ("ranksvm", 0.0001, 0.0003),
            ("ranksvm-struct", 0.0009, 0.0011),
            ("rankboost", 0.0001, 0.0003),
        ],
    )
    def test_tolerances(self, name, within, beyond):
        for sign in (1, -1):
            assert made_up([name], **{name: sign * within}).is_within(name)
            assert made_up([name], **{name: sign * beyond}).is_within(name) is False

    @pytest.mark.parametrize(
        ("name", "measure", "change", "expected"),
        [
            ("rankrls", "P@10", 0.0001, False),
            ("rankrls", "NDCG@1", 0.0001, True),  # not published
            ("ranksvm-struct", "MAP", 0.0045, True),
            ("ranksvm-struct", "MAP", 0.0061, False),
            ("ranksvm-struct", "NDCG@5", 0.1, True),  # not asked
            ("rankboost", "MAP", 0.0005, False),
        ],
    )
    def test_one_fold(self, name, measure, change, expected):
        result = made_up([name])
        result.outcomes[name].values[measure][0][2] += change
        assert result.is_within(name) is expected

    @pytest.mark.parametrize(
        ("noise", "moved", "judgment"),
        [
            # LETOR's AdaRank-NDCG has a MAP that is 0.0080 better than RankSVM's, and an NDCG@10
            # that is 0.0002 worse; by all other measures, they are further apart.
            (0.0001, 0.0, "yes"),
            (0.0001, 0.00005, "yes"),
            (0.0001, 0.00015, "no"),
            (0.001, 0.0, "6 of 7"),
            (0.02, 0.0, "cannot tell"),
            (0.02, -0.008, "cannot tell"),  # RankSVM's own MAP
            (0.02, -0.03, "no"),
        ],
    )
    def test_noise(self, noise, moved, judgment):
        result = made_up(["ranksvm", "adarank-ndcg"], noise=noise, **{"adarank-ndcg": moved})
        assert result.noise("adarank-ndcg", "MAP") == pytest.approx(noise)
        assert result.judgment("adarank-ndcg") == judgment
        assert result.judgment("ranksvm") == "yes"

    def test_the_noise_needs_ranksvm(self):
        result = made_up(["adarank-ndcg"], noise=0.01)
        assert result.judgment("adarank-ndcg") == "needs ranksvm"
        assert "needs ranksvm: without it, the noise is not known." in shown(result)

    def test_undecided_numbers(self):
        """Ours, published, tolerance, and the number of RankSVM."""
        assert Number(0.481, 0.48, 0.004, 0.47).is_within is True
        assert Number(0.475, 0.48, 0.004, 0.47).is_within is False
        for close in (
            Number(0.47, 0.48, 0.012, 0.47),  # RankSVM would pass
            Number(0.489, 0.48, 0.012, 0.47),  # even if ours is further from it
            Number(0.475, 0.48, 0.006, 0.47),  # as near to one as to the other
        ):
            assert close.is_within is None
            assert close.is_undecided
        assert not Number(0.47, 0.48, 0.012).is_undecided

    def test_numbers(self):
        result = made_up(["rankboost", "ranksvm", "ranknet"], rankboost=0.01)
        for number in (*result.on_folds("rankboost", "MAP"), result.mean("rankboost", "MAP")):
            assert number.difference == pytest.approx(0.01, abs=5e-5)
            assert number.is_within is False
        number = result.on_folds("rankboost", "NDCG@1")[0]
        assert number[:2] == pytest.approx((0.3946, 0.3846))
        assert number.is_within is None
        assert [number.published for number in result.on_folds("ranksvm", "MAP")] == [None] * 5
        assert result.mean("ranksvm", "MAP").published == 0.4744
        assert result.mean("ranknet", "MAP")[:2] == (0.5, None)
        assert result.mean("ranknet", "MAP").difference is None


class TestTables:
    @pytest.mark.parametrize("move", [0.0, -0.3])
    def test_all_of_it_fits(self, move):
        result = made_up(**dict.fromkeys(WITH_TARGETS, move))
        lines = shown(result)
        assert max(map(len, lines)) <= 80
        # Numbers are as with more room, except those of folds that are said to be left out.
        numbers = re.findall(r"[+-]?0[.]\d{4}[*]?", " ".join(lines))
        wide = re.findall(r"[+-]?0[.]\d{4}[*]?", " ".join(shown(result, 200)))
        assert not Counter(numbers) - Counter(wide)
        left_out = [line for line in lines if line.startswith("To fit 80 columns, left out: fold")]
        assert len(left_out) == 1
        for row in ROWS:
            assert any(line.split()[:1] == [row] for line in lines)

    def test_lines(self):
        result = made_up(rankboost=0.00131, noise=1e-4)
        lines = [line.split() for line in shown(result, 100)]  # unfolded
        published = ["0.4666", "0.4380", "0.4472", "0.5342", "0.5016", "0.4775"]
        ours = ["0.4679", "0.4393", "0.4485", "0.5355", "0.5029", "0.4788"]
        place = lines.index(["rankboost", "paper", *published])
        assert lines[place + 1] == ["ours", *ours]
        assert lines[place + 2] == ["diff", *["+0.0013*"] * 6]
        place = lines.index(["ranksvm", "paper", *"-----", "0.4744"])
        assert lines[place + 1] == ["ours", *["0.4744"] * 6]
        assert lines[place + 2][:2] == ["ranksvm-struct", "paper"]  # no difference shows
        assert ["lambdarank", "ours", *["0.5000"] * 6] in lines
        assert ["lambdarank", "ours", *["0.5000"] * 5] in lines
        place = lines.index(["rankboost", "paper", *map("{:.4f}".format, self.means("rankboost"))])
        assert lines[place + 2] == ["diff", *["+0.0013"] * 4, "+0.0013*"]
        text = " ".join(word for line in lines for word in line)
        assert (
            "Within the tolerance: 50 of 56 published numbers, and all numbers of 6 of 7 methods."
            in text
        )

    @staticmethod
    def means(name):
        return [MEANS[name][measure] for measure in AVERAGED]

    def test_settings(self):
        lines = shown(made_up(**{"adarank-ndcg": -0.01}, noise=0.003), 120)
        table = lines[next(n for n, line in enumerate(lines) if line.startswith("How methods")) :]
        rows = [line.split() for line in table[: len(table) - table[::-1].index("")]]
        starts = {row[0]: row[1:5] for row in reversed(rows) if row and row[1:]}
        assert starts["rankrls"] == ["46.0", "-", "4", "digits"]
        assert starts["ranksvm-struct"] == ["46.0", "0.001", "0.006", "yes"]
        assert starts["adarank-ndcg"] == ["46.0", "noise", "-", "no"]
        assert starts["lambdarank"] == ["46.0", "-", "-", "unpublished"]
        assert "unpublished: there is no published number to compare with." in lines
        words = " ".join(" ".join(lines).split())
        for name in ("ranksvm-struct", "lambdarank"):
            assert ROWS[name].note in words
        assert "LETOR's numbers of rounds; evenly spaced thresholds" in words

    def test_no_difference_has_no_sign_of_its_own(self):
        lines = shown(made_up(["ranksvm"], ranksvm=-0.00001))
        assert not any("-0.0000" in line for line in lines)


class TestCommand:
    def test_some_rankers(self, run, mq2008_dir):
        command = ["reproduce", "rankers", "--data", mq2008_dir, "--ranker", "rankrls"]
        status, output, errors = run(*command, "--ranker", "ranknet", "--format", "json")
        assert (status, errors) == (0, "")
        found = json.loads(output)
        assert (found["collection"], found["convention"]) == ("MQ2008", "letor4")
        assert list(found["methods"]) == ["rankrls", "ranknet"]
        rankrls, ranknet = found["methods"].values()
        assert rankrls["within"] is True
        for measure, published in ON_FOLDS["rankrls"].items():
            folds = rankrls["values"][measure]["folds"]
            assert [fold["published"] for fold in folds] == list(published)
            assert [round(fold["ours"], 4) for fold in folds] == list(published)
        assert all(-10 <= np.log2(choice["lam"]) <= 10 for choice in rankrls["chosen"])
        assert ranknet["within"] is ranknet["asked"] is None
        assert ranknet["settings"] == {"measure": "map", "convention": "letor4"}
        mean = ranknet["values"]["MAP"]["mean"]
        assert mean["published"] is mean["difference"] is None
        assert 0.46 < mean["ours"] < 0.49

    def test_all_by_default(self, run, monkeypatch):
        asked = []

        def remember(name, directory, **options):
            asked.append((name, str(directory), options))
            return made_up(noise=1e-4)

        monkeypatch.setattr(module, "reproduce", remember)
        status, output, _ = run("reproduce", "rankers", "--data", "anywhere")
        assert (status, asked) == (0, [("rankers", "anywhere", {"convention": None, "out": None})])
        assert "all numbers of 7 of 7 methods." in " ".join(output.split())
        found = json.loads(run("reproduce", "rankers", "--data", "anywhere", "--format", "json")[1])
        assert list(found["methods"]) == list(ROWS)
        assert found["methods"]["listnet"]["settings"]["learning_rate"] == 0.02
        assert found["methods"]["ranksvm-struct"]["settings"]["loss"] == "hinge"


class TestOtherCollections:
    def test_one_that_is_not_known(self, run, tmp_path):
        command = [
            "reproduce",
            "rankers",
            "--data",
            write_collection(tmp_path / "ours"),
            "--format",
            "json",
        ]
        wanted = ["rankrls", "rankboost", "listnet"]
        status, output, errors = run(
            *command, *(word for name in wanted for word in ("--ranker", name))
        )
        assert (status, errors) == (0, "")
        found = json.loads(output)
        assert (found["collection"], found["known_as"]) == ("ours", None)
        for name in wanted:
            record = found["methods"][name]
            assert record["asked"] is record["within"] is None
            assert record["values"]["MAP"]["mean"]["published"] is None
            assert 0.3 < record["values"]["MAP"]["mean"]["ours"] <= 1
        # What LETOR's runs had on MQ2008 is chosen by validation elsewhere.
        rounds = [chosen["best_round"] for chosen in found["methods"]["rankboost"]["chosen"]]
        assert all(1 <= number <= 600 for number in rounds)
        assert found["methods"]["rankboost"]["note"].startswith(
            "numbers of rounds chosen by validation;"
        )

    def test_its_tables(self):
        result = made_up(facts=CollectionFacts("ours", None, "standard", 45, 7))
        lines = shown(result)
        text = " ".join(" ".join(lines).split())
        assert "Rankers on all features: paper and ours on the folds of ours" in text
        assert "Measured on test queries (45 queries in all), convention standard" in text
        assert "diff" not in text
        assert "Within the tolerance:" not in text
        assert "Nothing is published about ours: its numbers have no verdict." in text
        assert "C chosen by validation; hinge, solved exactly" in text

    def test_the_convention_is_everywhere(self, run, tmp_path):
        command = ["reproduce", "rankers", "--data", write_collection(tmp_path / "ours")]
        command += ["--ranker", "ranknet", "--convention", "standard", "--format", "json"]
        found = json.loads(run(*command)[1])
        assert found["convention"] == "standard"
        assert found["methods"]["ranknet"]["settings"]["convention"] == "standard"

    def test_mq2007_has_numbers_and_settings_of_its_own(self):
        facts = CollectionFacts("MQ2007", "MQ2007", "letor4", 1692, 46)
        result = made_up(["rankrls", "ranksvm-struct", "rankboost", "ranksvm"], facts)
        first = [result.on_folds(name, "MAP")[0].published for name in result.outcomes]
        assert first == [0.4912, 0.4894, 0.4891, None]
        assert result.mean("ranksvm-struct", "NDCG@10").published == 0.4439
        assert result.is_within("ranksvm") is None  # nothing is published about it
        assert result.note("rankboost").startswith("LETOR's numbers of rounds;")
        assert letor.SETTINGS["MQ2007"]["rankboost"]["n_rounds"] == (163, 567, 491, 434, 195)

    def test_ohsumed_has_the_rows_of_yeh_and_tsai(self):
        facts = CollectionFacts("OHSUMED", "OHSUMED", "letor3", 106, 45)
        result = made_up(["ranksvm", "listnet", "rankrls"], facts)
        assert result.mean("ranksvm", "MAP").published == 0.4446
        assert result.mean("listnet", "NDCG@1").published == 0.5326
        assert result.mean("rankrls", "MAP").published is None
        assert [number.published for number in result.on_folds("ranksvm", "MAP")] == [None] * 5

    def test_every_collection_with_published_numbers_has_verdicts(self):
        for name, methods in letor.MEANS.items():
            facts = CollectionFacts(name, name, "letor3", 100, 45)
            result = made_up(facts=facts, noise=0.01)
            judged = {own for own in ROWS if result.judgment(own) != "unpublished"}
            assert judged == set(methods)
            assert result.judgment("ranksvm") in ("yes", "no", "unpublished")
        # Elsewhere, the rounds of LETOR's RankBoost are not known.
        assert made_up(noise=0.01).mean("rankboost", "MAP").tolerance == 0.0002
        facts = CollectionFacts("OHSUMED", "OHSUMED", "letor3", 106, 45)
        number = made_up(facts=facts, noise=0.01).mean("rankboost", "MAP")
        assert number[1:] == pytest.approx((0.4411, 0.01, 0.4446))


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return write_collection(tmp_path_factory.mktemp("data") / "ours", n_queries=4)


class TestResuming:
    """Methods outside of studies are kept in a ledger, too."""

    @pytest.fixture
    def trained(self, monkeypatch):
        """Folds and methods of the cells that are computed."""
        cells, run = [], TrainMethod.run

        def note(cell, trial):
            cells.append((trial.name, cell.name))
            return run(cell, trial)

        monkeypatch.setattr(TrainMethod, "run", note)
        return cells

    @pytest.mark.parametrize(
        ("paper", "methods"),
        [
            ("rankers", ["rankrls", "adarank-map"]),
            ("greedy-rankrls", ["greedy RankRLS", "RankRLS"]),
            ("fs-scpr", ["fsmrank", "adarank-map"]),
        ],
    )
    def test_finished_work_is_not_computed_again(
        self, directory, tmp_path, trained, paper, methods
    ):
        whole = reproduce(paper, directory, methods=methods, out=tmp_path)
        assert len(trained) == len(set(trained)) == 10
        ledger = tmp_path / "methods.jsonl"
        lines = ledger.read_text().splitlines(keepends=True)
        ledger.write_text("".join(lines[:-3]) + lines[-3][:50])
        resumed = reproduce(paper, directory, methods=methods, out=tmp_path)
        assert len(trained) == 13
        again = reproduce(paper, directory, methods=methods, out=tmp_path)
        assert len(trained) == 13
        for result in (resumed, again):
            assert json.dumps(result.as_dict()) == json.dumps(whole.as_dict())
            assert result.outcomes[methods[0]].paths == whole.outcomes[methods[0]].paths

    def test_more_rankers_are_added(self, directory, tmp_path, trained):
        reproduce("rankers", directory, methods=["rankrls"], out=tmp_path)
        reproduce("rankers", directory, methods=["rankrls", "adarank-map"], out=tmp_path)
        assert [name for _, name in trained] == ["rankrls"] * 5 + ["adarank-map"] * 5

    def test_other_ledgers_are_refused(self, directory, tmp_path):
        kept = tmp_path / "kept"

        def again(data=directory, **options):
            return reproduce("rankers", data, methods=["rankrls"], out=kept, **options)

        again()
        with pytest.raises(DataError, match=r"methods.jsonl:1: these are results with convention"):
            again(convention="standard")
        with pytest.raises(DataError, match=r"methods.jsonl:1: these are results with purpose"):
            reproduce("greedy-rankrls", directory, out=kept)
        with pytest.raises(DataError, match="Fold1 of these results has other data"):
            again(write_collection(tmp_path / "other", n_queries=5))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"means": {}}, "not the means of greedy RankRLS"),
        ({"lam_": 3.0}, "3.0 was not tried"),
        ({"lams_": [1.0]}, "not a mean for each regularization parameter and size"),
    ],
)
def test_paths_that_cannot_be_are_refused(change, message):
    means = {part: {measure: [[0.5], [0.6]] for measure in PATH_MEASURES} for part in PATH_PARTS}
    own = {"lams_": [1.0, 2.0], "lam_": 1.0, "selected_": [0], "n_features_in_": 1}
    convert_record(own | {"means": means}, FoldPaths)
    with pytest.raises(DataError, match=message):
        convert_record(own | {"means": means} | change, FoldPaths)


def test_progress(tmp_path):
    write_collection(tmp_path)
    seen = []
    with listen(lambda what, done, total: seen.append((what, done, total))):
        reproduce("rankers", tmp_path, methods=["rankrls"])
    steps = [step for step in seen if step[0] == "Methods"]
    assert steps[-1][1] == steps[-1][2]
    assert {what for what, _, _ in seen} == {"Methods", "Reading"}
