"""Sheets of studies: their numbers against plain computations, and how they look."""

import csv
import re
from dataclasses import replace
from io import StringIO
from statistics import mean, stdev

import numpy as np
import pytest
from scipy.stats import ttest_rel

from ranksieve import DataError
from ranksieve.report import report_of
from ranksieve.report.formats.latex import to_latex
from ranksieve.report.formats.plain_text import to_csv, to_markdown
from ranksieve.report.sheets import study_quality
from ranksieve.report.sheets.study_quality import comparison_sheet, curves_sheet, folds_sheet
from ranksieve.report.sheets.study_selections import cost_sheet, selected_sheet, stability_sheet
from ranksieve.report.sheets.study_statistics import statistics_sheet
from ranksieve.study import results  # Outcomes is no class of tests
from ranksieve.study.comparison import compare_with, enough_features
from ranksieve.study.results import Outcome, Run, StudyResult
from tests.report.test_sheets import printed

NUMBERS = (1, 3, 6)
SHIFTS = {"all": 0.0, "random": -0.2, "gas-e": 0.1, "fs-scpr": 0.001, "fsmrank": -0.3}


def study(
    shifts=SHIFTS,
    seeds=(("random", 4),),
    *,
    rankers=("ranksvm",),
    measures=("MAP", "NDCG@10"),
    n_folds=3,
    n_queries=20,
    noise=0.01,
    names=tuple("123456"),
):
    """A study whose selectors differ from all features by given shifts, and by noise."""
    rng = np.random.default_rng(0)
    folds = [
        results.FoldSummary(f"Fold{f}", 9, 4, [f"{f}-{q}" for q in range(n_queries)])
        for f in range(1, n_folds + 1)
    ]
    base = {m: rng.uniform(0.4, 0.6, (n_folds, n_queries)) for m in measures}

    def outcome(selector, ranker, fold, k):
        k = len(names) if selector == "all" else k
        values = {
            m: base[m][fold]
            + shifts[selector]
            + rng.normal(0, noise if selector != "all" else 0, n_queries)
            for m in measures
        }
        return Outcome(
            k,
            tuple(rng.permutation(len(names))[:k].tolist()),
            {} if selector in ("all", "random") else {"c": 0.5},
            {"C": 0.1 * 2.0**fold},
            0.5,
            0.01,
            values,
            float(rng.uniform(0, 200)),
            float(rng.uniform(0, 2)),
        )

    def tested(selector, ranker, k):
        n_seeds = dict(seeds).get(selector, 1)
        return results.Outcomes(
            [
                [outcome(selector, ranker, f, k or 1 + (f + s) % 3) for f in range(n_folds)]
                for s in range(n_seeds)
            ],
            folds,
        )

    runs = {
        (s, r): Run(
            s,
            r,
            tested(s, r, None),
            {k: tested(s, r, k) for k in ((len(names),) if s == "all" else NUMBERS)},
        )
        for r in rankers
        for s in shifts
    }
    return StudyResult(
        "MQ2008_small", "five folds of LETOR.", "letor4", "MAP", measures, folds, names, runs
    )


@pytest.fixture(scope="module")
def result():
    return study()


def column(sheet, name):
    """Cells of a column, by the name in the last column of names."""
    names = [c.name for c in sheet.columns]
    key = max(place for place, c in enumerate(sheet.columns) if c.is_name)
    return {row[key].value: row[names.index(name)] for row in sheet.rows}


def plain_means(result, ranker, measure):
    """Means over folds and seeds, with loops and nothing else."""
    return {
        selector: mean(
            mean(outcome.per_query[measure].tolist())
            for seed in run.chosen.outcomes
            for outcome in seed
        )
        for (selector, own), run in result.runs.items()
        if own == ranker
    }


class TestComparison:
    @pytest.mark.parametrize("measure", ["MAP", "NDCG@10"])
    def test_means_and_ranks(self, result, measure):
        found = column(comparison_sheet(result, "ranksvm"), measure)
        expected = plain_means(result, "ranksvm", measure)
        assert list(found) == list(SHIFTS)
        order = sorted(expected, key=expected.get, reverse=True)
        for selector, cell in found.items():
            assert cell.value == pytest.approx(expected[selector], rel=1e-14)
            assert cell.text == f"{expected[selector]:.4f}"
            assert cell.rank == 1 + order.index(selector)
            assert cell.is_best == (selector == order[0])

    def test_spread_over_seeds(self, result):
        found = column(comparison_sheet(result, "ranksvm"), "MAP sd")
        seeds = result.run("random", "ranksvm").chosen.outcomes
        means = [mean(float(o.per_query["MAP"].mean()) for o in seed) for seed in seeds]
        assert found["random"].value == pytest.approx(stdev(means), rel=1e-12)
        assert {found[name].value for name in SHIFTS if name != "random"} == {None}

    def test_no_column_of_spread_with_one_seed(self):
        sheet = comparison_sheet(study(seeds=()), "ranksvm")
        assert [c.name for c in sheet.columns] == [
            "selector",
            "MAP",
            "NDCG@10",
            "features",
            "unified rank",
        ]
        assert not any(note.startswith("sd") for note in sheet.notes)

    def test_marks(self, result):
        found = column(comparison_sheet(result, "ranksvm"), "MAP")
        marks = {name: cell.mark for name, cell in found.items()}
        assert marks == {"all": "", "random": "-", "gas-e": "+", "fs-scpr": "=", "fsmrank": "-"}

    def test_a_small_loss_is_both_significant_and_shown_to_be_small(self):
        result = study({"all": 0.0, "gas-e": -0.002}, seeds=(), noise=0.001)
        sheet = comparison_sheet(result, "ranksvm")
        assert column(sheet, "MAP")["gas-e"].mark == "-="

    def test_marks_go_by_adjusted_p_values(self, monkeypatch):
        """A difference that is significant on its own need not be beside many others."""
        result = study({"all": 0.0, "gas-e": 0.1, "fsmrank": -0.1}, (), rankers=("a", "b"))
        comparisons = compare_with(result)
        notes = comparison_sheet(result, "a").notes
        assert any(f"all {2 * 2 * 2} comparisons" in note for note in notes)
        for adjusted, marks in ((0.049, ["", "+", "-"]), (0.051, ["", "=", ""])):
            moved = [replace(versus, adjusted=adjusted) for versus in comparisons]
            monkeypatch.setattr(study_quality, "compare_with", lambda _, moved=moved: moved)
            cells = column(comparison_sheet(result, "a"), "MAP")
            assert [cell.mark for cell in cells.values()] == marks

    def test_marks_are_those_of_the_ranker_and_measure(self, monkeypatch):
        result = study({"all": 0.0, "gas-e": 0.1}, (), rankers=("a", "b"))
        moved = [
            replace(
                versus, adjusted=0.001 if (versus.ranker, versus.measure) == ("b", "MAP") else 1.0
            )
            for versus in compare_with(result)
        ]
        monkeypatch.setattr(study_quality, "compare_with", lambda _: moved)
        for ranker in "ab":
            for measure in result.measures:
                cell = column(comparison_sheet(result, ranker), measure)["gas-e"]
                assert cell.mark == ("+" if (ranker, measure) == ("b", "MAP") else "=")

    def test_unified_rank(self, result):
        found = column(comparison_sheet(result, "ranksvm"), "unified rank")
        expected = dict.fromkeys(SHIFTS, 0.0)
        for measure in result.measures:
            means = plain_means(result, "ranksvm", measure)
            for place, name in enumerate(sorted(means, key=means.get, reverse=True)):
                expected[name] += (len(means) - place) / len(means)
        assert {name: cell.value for name, cell in found.items()} == pytest.approx(expected)

    def test_what_is_not_above_random_orders_is_told(self, result):
        notes = comparison_sheet(result, "ranksvm").notes
        told = [note for note in notes if "random order" in note]
        assert told == [
            f"{m} with ranksvm: random orders that do as well: 4 of 4 for fsmrank."
            for m in result.measures
        ]
        good = comparison_sheet(study({"all": 0.0, "gas-e": 0.1, "random": -0.2}), "ranksvm").notes
        assert (
            sum(note.endswith(": every other selector beats all 4 random orders.") for note in good)
            == 2
        )
        without = comparison_sheet(study({"all": 0.0, "gas-e": 0.1}), "ranksvm").notes
        assert sum("'random' is not in the study" in note for note in without) == 2

    def test_without_all_features(self):
        sheet = comparison_sheet(study({"gas-e": 0.1, "fsmrank": 0.0}), "ranksvm")
        assert {cell.mark for cell in column(sheet, "MAP").values()} == {""}
        assert any("'all' is not in the study" in note for note in sheet.notes)
        stability = stability_sheet(study({"gas-e": 0.1}), "ranksvm")
        assert column(stability, "enough features")["gas-e"].value is None

    def test_constant_results(self):
        result = study(dict.fromkeys(SHIFTS, 0.0), noise=0.0)
        sheet = comparison_sheet(result, "ranksvm")
        for measure in result.measures:
            cells = column(sheet, measure)
            assert all((cell.rank, cell.is_best) == (1, True) for cell in cells.values())
            assert {cell.mark for name, cell in cells.items() if name != "all"} == {"="}
        assert column(sheet, "MAP sd")["random"].text == "0.0000"
        for row in statistics_sheet(result).rows:
            assert [cell.text for cell in row[3:9]] == [
                "+0.0000",
                "+0.0000",
                "+0.0000",
                "+0.00",
                "1.0000",
                "1.0000",
            ]
            assert [cell.value for cell in row[11:15]] == [0.0, 0, 60, 0]


class TestCosts:
    def test_numbers(self, result):
        sheet = cost_sheet(result, "ranksvm")
        for name in SHIFTS:
            outcomes = [o for seed in result.run(name, "ranksvm").chosen.outcomes for o in seed]
            sizes = [len(o.features) for o in outcomes]
            full = result.run("all", "ranksvm").chosen.outcomes[0]
            seconds = mean(o.training_seconds for o in outcomes)
            expected = {
                "features": mean(sizes),
                "fewest": min(sizes),
                "most": max(sizes),
                "selection seconds": mean(o.selection_seconds for o in outcomes),
                "training seconds": seconds,
                "training share": seconds / mean(o.training_seconds for o in full),
            }
            found = {key: column(sheet, key)[name].value for key in expected}
            assert found == pytest.approx(expected)

    def test_share_without_all_features(self):
        cells = column(cost_sheet(study({"gas-e": 0.1}), "ranksvm"), "training share")
        assert cells["gas-e"].text == "-"


class TestFolds:
    def test_numbers(self, result):
        sheet = folds_sheet(result, "ranksvm", "NDCG@10")
        assert sheet.name == "folds-ranksvm-ndcg10"
        assert [c.name for c in sheet.columns] == [
            "selector",
            "Fold1",
            "Fold2",
            "Fold3",
            "average",
        ]
        for fold in range(3):
            found = column(sheet, f"Fold{fold + 1}")
            expected = {
                name: mean(
                    float(seed[fold].per_query["NDCG@10"].mean())
                    for seed in result.run(name, "ranksvm").chosen.outcomes
                )
                for name in SHIFTS
            }
            assert {name: cell.value for name, cell in found.items()} == pytest.approx(expected)
            best = [name for name, cell in found.items() if cell.is_best]
            assert best == [max(expected, key=expected.get)]
        average = {name: cell.value for name, cell in column(sheet, "average").items()}
        assert average == pytest.approx(plain_means(result, "ranksvm", "NDCG@10"))

    def test_folds_of_the_same_name(self, result):
        folds = [results.FoldSummary("trial", 1, 1, fold.query_ids) for fold in result.folds]
        same = replace(result, folds=folds)
        sheet = folds_sheet(same, "ranksvm", "MAP")
        assert [c.name for c in sheet.columns][1:4] == ["trial (1)", "trial (2)", "trial (3)"]


class TestSelected:
    def test_rows(self, result):
        sheet = selected_sheet(result, "ranksvm")
        outcomes = [
            (name, fold, result.run(name, "ranksvm").chosen.outcomes[0][fold])
            for name in ("gas-e", "fs-scpr", "fsmrank")
            for fold in range(3)
        ]
        assert [[cell.value for cell in row] for row in sheet.rows] == [
            [
                name,
                1,
                f"Fold{fold + 1}",
                outcome.k,
                outcome.k,
                f"c=0.5; C={0.1 * 2**fold:g}",
                " ".join(str(feature + 1) for feature in outcome.features),
            ]
            for name, fold, outcome in outcomes
        ]
        assert [len(group) for group in sheet.groups] == [3, 3, 3]
        shown = [c.name for c in sheet.columns if not c.only_csv]
        assert shown == ["selector", "fold", "k", "parameters", "features in order"]

    def test_one_selector_with_seeds(self, result):
        runs = {key: run for key, run in result.runs.items() if key[0] == "random"}
        sheet = selected_sheet(replace(result, runs=runs), "ranksvm")
        assert [c.name for c in sheet.columns if not c.only_csv][:2] == ["seed", "fold"]
        assert [row[1].value for row in sheet.rows] == [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3
        assert [row[5].value for row in sheet.rows][:3] == ["C=0.1", "C=0.2", "C=0.4"]

    def test_names_with_spaces_and_fewer_features_than_asked_for(self):
        names = ("title length", "bm25", "c", "d", "e", "f")
        result = study({"gas-e": 0.0}, (), names=names, n_folds=1)
        (outcome,) = result.run("gas-e", "ranksvm").chosen.outcomes[0]
        short = replace(outcome, k=3, features=(1, 0))
        tested = results.Outcomes([[short]], result.folds)
        runs = {("gas-e", "ranksvm"): Run("gas-e", "ranksvm", tested, {})}
        sheet = selected_sheet(replace(result, runs=runs), "ranksvm")
        ((*_, k, found, _, features),) = sheet.rows
        assert (k.value, found.value, features.value) == (3, 2, "bm25; title length")
        assert not next(c for c in sheet.columns if c.name == "found").only_csv

    def test_a_study_without_selection(self):
        sheet = selected_sheet(study({"all": 0.0}), "ranksvm")
        assert len(list(sheet.rows)) == 3


class TestStatistics:
    def test_numbers(self, result):
        sheet = statistics_sheet(result)
        names = [c.name for c in sheet.columns]
        b = {m: joined(result, "all", m) for m in result.measures}
        assert len(list(sheet.rows)) == 8
        for row in sheet.rows:
            found = {name: cell.value for name, cell in zip(names, row, strict=True)}
            a, measure = joined(result, found["selector"], found["measure"]), found["measure"]
            d = a - b[measure]
            assert found["difference"] == pytest.approx(d.mean())
            assert found["from"] < found["difference"] < found["to"]
            assert found["change %"] == pytest.approx(100 * (a.mean() / b[measure].mean() - 1))
            assert found["p (t-test)"] == pytest.approx(ttest_rel(a, b[measure]).pvalue)
            assert found["p (t-test)"] <= found["p (Holm)"]
            assert found["effect"] == pytest.approx(d.mean() / d.std(ddof=1))
            assert (found["won"], found["tied"], found["lost"]) == (
                (d > 0).sum(),
                0,
                (d < 0).sum(),
            )
            assert (found["not worse"] == "yes") == (found["bound %"] > -1)

    def test_csv_has_more_tests(self, result):
        shown = "\n".join(map(str, printed(statistics_sheet(result))))
        assert "Wilcoxon" not in shown
        rows = list(csv.DictReader(StringIO(to_csv(statistics_sheet(result)))))
        for row, versus in zip(rows, compare_with(result), strict=True):
            assert float(row["p (randomization)"]) == versus.randomization_p
            assert float(row["p (Wilcoxon)"]) == versus.wilcoxon_p
            assert float(row["bound %"]) == 100 * versus.not_worse.lower
            assert row["ranker"] == "ranksvm"

    def test_several_rankers(self):
        result = study(rankers=("ranksvm", "listnet"), measures=("MAP",))
        everything = statistics_sheet(result)
        assert [row[1].value for row in everything.rows] == ["ranksvm"] * 4 + ["listnet"] * 4
        assert [len(group) for group in everything.groups] == [4, 4]
        assert any("all 8 comparisons" in note for note in everything.notes)
        shown = {c.name for c in everything.columns if not c.only_csv}
        assert "ranker" in shown
        assert "measure" not in shown

    def test_other_base(self, result):
        sheet = statistics_sheet(result, "gas-e")
        assert sheet.name == "statistics-gas-e"
        assert "gas-e" not in {row[2].value for row in sheet.rows}
        assert all(row[3].value < 0 for row in sheet.rows)

    def test_nothing_to_compare(self):
        sheet = statistics_sheet(study({"all": 0.0}))
        assert list(sheet.rows) == []
        assert "nothing to compare" in sheet.notes[0]

    def test_small_p_values_are_not_printed_as_zero(self):
        result = study({"all": 0.0, "gas-e": 0.1, "fsmrank": 0.3}, noise=0.02, n_queries=40)
        for row in statistics_sheet(result).rows:
            for cell in row[7:9]:
                assert cell.text != "0.0000"
                assert float(cell.text) == pytest.approx(cell.value, rel=0.5)


def joined(result, selector, measure):
    """Values of all test queries, one after the other, averaged over seeds."""
    outcomes = result.run(selector, "ranksvm").chosen.outcomes
    return np.concatenate(
        [
            np.mean([seed[fold].per_query[measure] for seed in outcomes], axis=0)
            for fold in range(len(result.folds))
        ]
    )


class TestStability:
    def test_numbers(self, result):
        sheet = stability_sheet(result, "ranksvm")
        for name in SHIFTS:
            chosen = result.run(name, "ranksvm").chosen
            seeds = [[set(o.features) for o in seed] for seed in chosen.outcomes]
            jaccards = [
                len(a & b) / len(a | b)
                for sets in seeds
                for i, a in enumerate(sets)
                for b in sets[:i]
            ]
            stable = column(sheet, "Jaccard")[name].value
            assert stable == (None if name == "random" else pytest.approx(mean(jaccards)))
            sets = [features for seed in seeds for features in seed]
            assert column(sheet, "features")[name].value == pytest.approx(mean(map(len, sets)))
            enough = enough_features(result, name, "ranksvm", "MAP")
            assert column(sheet, "enough features")[name].value == enough
        low, index, high = (column(sheet, key) for key in ("from", "Nogueira", "to"))
        assert low["gas-e"].value <= index["gas-e"].value <= high["gas-e"].value
        assert index["all"].text == "-"  # nothing to be stable
        below = {name: cell.text for name, cell in column(sheet, "random below").items()}
        assert below == {
            "all": "100.0%",
            "random": "-",
            "gas-e": "100.0%",
            "fs-scpr": "100.0%",
            "fsmrank": "0.0%",
        }
        assert column(sheet, "enough features")["gas-e"].value == 1
        assert column(sheet, "enough features")["fsmrank"].text == "-"

    def test_measure(self, result):
        other = replace(result, tune="NDCG@10")
        assert any("mean NDCG@10" in note for note in stability_sheet(other, "ranksvm").notes)
        assert any("mean MAP" in note for note in stability_sheet(result, "ranksvm").notes)
        untested = replace(result, tune="P@1")
        assert any("mean MAP" in note for note in stability_sheet(untested, "ranksvm").notes)

    def test_one_selection(self):
        sheet = stability_sheet(study({"all": 0, "gas-e": 0.1}, (), n_folds=1), "ranksvm")
        for name in ("Nogueira", "from", "to", "Jaccard"):
            assert column(sheet, name)["gas-e"].text == "-"


class TestCurves:
    def test_numbers(self, result):
        sheet = curves_sheet(result, "ranksvm", "MAP")
        assert [c.name for c in sheet.columns] == ["selector", "chosen", "1", "3", "6"]
        chosen = {name: cell.value for name, cell in column(sheet, "chosen").items()}
        assert chosen == pytest.approx(plain_means(result, "ranksvm", "MAP"))
        for k in NUMBERS:
            cells = column(sheet, str(k))
            assert (cells["all"].text == "-") == (k != 6)
            for name in ("random", "gas-e"):
                outcomes = result.run(name, "ranksvm").by_k[k].outcomes
                expected = mean(float(o.per_query["MAP"].mean()) for seed in outcomes for o in seed)
                assert cells[name].value == pytest.approx(expected)
            assert [name for name, cell in cells.items() if cell.is_best] == ["gas-e"]


def test_few_numbers_of_features_span_a_curve():
    columns = study_quality._number_columns(range(1, 10))
    order = sorted(range(9), key=lambda place: (columns[place].importance, -place))
    left_out = [columns[place].name for place in order]
    assert left_out == ["8", "6", "4", "2", "7", "3", "5", "9", "1"]


SHAPES = {
    "usual": {},
    "one seed": {"seeds": ()},
    "one fold": {"n_folds": 1, "seeds": ()},
    "one selector": {"shifts": {"all": 0.0}},
    "five measures": {"measures": ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MAP")},
    "two rankers": {"rankers": ("coordinate-ascent", "lambdamart-lightgbm")},
    "many features": {"names": tuple(f"covered query term number {i}" for i in range(700))},
    "twelve selectors": {"shifts": {"all": 0.0, **{f"selector-{i}": 0.1 for i in range(12)}}},
    "long names": {"shifts": {"all": 0.0, "a-method-of-a-rather-long-name": 0.1}},
}


@pytest.fixture(scope="module", params=[*SHAPES, "recommendation", "inspection"])
def everything(request):
    """A result, studies of some shapes among them, and all sheets of its report."""
    if request.param in SHAPES:
        result = study(**SHAPES[request.param])
    else:
        result = request.getfixturevalue(RESULTS[request.param])
    return result, [part.sheet for part in report_of(result).parts]


RESULTS = {"recommendation": "answer", "inspection": "inspected"}


class TestEverySheet:
    @pytest.mark.parametrize("width", [60, 80])
    def test_it_fits_a_terminal_in_one_table_and_no_number_is_cut(self, everything, width):
        for sheet in everything[1]:
            lines = printed(sheet, width)
            assert max(map(len, lines)) <= width
            table, _, notes = "\n".join(lines).partition("\nTo fit")
            told = " ".join(notes.split()).partition("left out: ")[2].partition(";")[0]
            left_out = told.split(", ")
            first = re.escape(next(c.above for c in sheet.columns if not c.only_csv))
            heads = [line for line in lines if re.match(rf" *{first}(  |$)", line)]
            assert len(heads) == 1 or len(list(sheet.rows)) <= 3  # few rows may become columns
            words = table.split()
            for row in sheet.rows:
                for column, cell in zip(sheet.columns, row, strict=True):
                    is_shown = not column.only_csv and column.above not in left_out
                    if isinstance(cell.value, float) and is_shown and "more column" not in told:
                        assert any(word.startswith(cell.text) for word in words), cell

    def test_captions_and_names(self, everything):
        result, sheets = everything
        for sheet in sheets:
            if isinstance(result, StudyResult) and "Protocol" in sheet.setting:
                for part in (
                    *("MQ2008_small", "letor4", "five folds of LETOR.", "tuned by MAP"),
                    f" {result.n_queries} test queries",
                ):
                    assert part in sheet.caption
                assert r"MQ2008\_small" in to_latex(sheet)
                assert r"MQ2008\_small" in to_markdown(sheet)
            assert ".." not in sheet.caption
            assert re.fullmatch(r"[a-z0-9.-]+", sheet.name)

    def test_csv_is_exact(self, everything):
        for sheet in everything[1]:
            header, *rows = csv.reader(StringIO(to_csv(sheet)))
            assert header == [c.name for c in sheet.columns]
            for texts, row in zip(rows, sheet.rows, strict=True):
                for text, cell in zip(texts, row, strict=True):
                    if cell.value is None:
                        assert text == ""
                    elif not isinstance(cell.value, str):  # names may be quoted
                        assert type(cell.value)(text) == cell.value


def test_one_of_anything_is_no_plural():
    shifts = {"all": 0.0, "random": 0.3, "gas-e": 0.1}
    small = dict(measures=["MAP"], n_folds=1, n_queries=2, names=("1",))
    result = study(shifts, (), **small)
    sheets = [
        comparison_sheet(result, "ranksvm"),
        curves_sheet(result, "ranksvm", "MAP"),
        folds_sheet(result, "ranksvm", "MAP"),
        cost_sheet(result, "ranksvm"),
        selected_sheet(result, "ranksvm"),
        stability_sheet(result, "ranksvm"),
        statistics_sheet(study({"all": 0.0, "gas-e": 0.1}, (), **small)),
    ]
    for sheet in sheets:
        for text in (sheet.caption, *sheet.notes):
            if "unified rank" not in text:
                assert not re.search(r"\b1 \w+s\b", text)
    behind = "1 of 1 for all, 1 of 1 for gas-e"
    told = f"MAP with ranksvm: random orders that do as well: {behind}."
    assert told in sheets[0].notes
    assert "adjusted for the one comparison." in sheets[-1].notes[1]


def test_unknown_names(result):
    for make in (comparison_sheet, cost_sheet, selected_sheet, stability_sheet):
        with pytest.raises(DataError, match="'listnet' is not in the study; it has ranksvm"):
            make(result, "listnet")
    for make in (folds_sheet, curves_sheet):
        with pytest.raises(DataError, match="'P@1' is not in the study; it has MAP, NDCG@10"):
            make(result, "ranksvm", "P@1")
    with pytest.raises(DataError, match="'chi' with 'ranksvm' is not in the study"):
        statistics_sheet(result, "chi")
