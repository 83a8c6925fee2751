"""The list of sections of each kind of result: what it says, in which order, in all outputs."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ranksieve import RankingData
from ranksieve.recommendation.claim import Claim
from ranksieve.report import report_of, sections
from ranksieve.report.formats.terminal import show_report
from ranksieve.report.inspection import inspection_report
from ranksieve.report.page import render
from ranksieve.report.sheets.study_quality import comparison_sheet, curves_sheet
from ranksieve.report.sheets.study_selections import stability_sheet
from ranksieve.report.study import curves_of, find_enough
from ranksieve.significance import bootstrap_interval
from ranksieve.study.comparison import corrected_level, describe_enough, enough_features
from ranksieve.study.results import Outcomes
from ranksieve.sums.inspection import inspect
from tests.report.results import front_of, made, planted, with_unequal_folds


def headings_of(result):
    return [section.heading for section in sections(result)]


def facts_of(section):
    """The most important numbers of a verdict."""
    return [tuple(entry.text for entry in row if entry.text) for row in section.parts[0].sheet.rows]


class TestOrder:
    def test_of_a_study(self, result):
        assert headings_of(result) == [
            "Verdict",
            "Features",
            "Quality by number of features",
            "Pairwise comparison",
            "Selected features by fold",
            "Similar features",
            "How well features rank alone",
            "Values by grade",
            "Queries that gain and lose",
            "Cost and time",
            "Reproduce",
        ]
        without = replace(result, seen=None)
        assert "Similar features" not in headings_of(without)
        page = re.sub("<style.*</style>", "", render(report_of(without)), flags=re.DOTALL)
        assert "importance" not in page

    def test_of_a_recommendation(self, answer):
        assert headings_of(answer) == [
            "Verdict",
            "Features to keep",
            "Features to drop",
            "Quality against cost",
            "Features chosen without each part",
            "Similar features",
            "How well features rank alone",
            "Queries that gain and lose",
            "Work and time",
            "Reproduce",
        ]
        how = facts_of(sections(answer)[-1])
        assert ("Command", "ranksieve recommend 'my data.txt'") in how
        assert ("Fingerprint of the data", "f1f2f3f4f5f6f7f8") in how

    def test_of_an_inspection(self, inspected):
        assert headings_of(inspected) == [
            "Verdict",
            "Labels and queries",
            "Features that add nothing",
            "Missing values",
            "How well features rank alone",
            "Similar features",
            "Reproduce",
        ]

    def test_every_figure_has_a_caption_and_a_table(self, result, answer, inspected):
        charts = [
            part for of in (result, answer, inspected) for part in report_of(of).parts if part.chart
        ]
        assert len(charts) == 21
        for part in charts:
            assert part.chart.name == "claim" or part.chart.caption.endswith(".")
            assert list(part.sheet.rows)

    def test_names_of_files_are_distinct(self, result, answer, inspected):
        for of in (result, answer, inspected):
            parts = report_of(of).parts
            sheets = [part.sheet.name for part in parts]
            charts = [part.chart.name for part in parts if part.chart]
            assert len(set(sheets)) == len(sheets)
            assert len(set(charts)) == len(charts)

    def test_notebooks_show_the_same(self, answer):
        report = report_of(answer)
        shown = report._repr_html_()
        for section in report.sections:
            assert section._repr_html_() in shown
            for part in section.parts:
                assert part.sheet._repr_html_() in shown
                assert part.chart is None or part.chart._repr_svg_() in shown
        assert 'class="line' not in shown  # no style sheet is needed


class TestStudy:
    def test_the_fewest_that_are_shown(self, result):
        verdict = sections(result)[0]
        assert verdict.is_shown
        assert re.match(
            r"2 features selected by selector-\d are enough for ranksvm", verdict.sentence
        )
        assert ("features", "2 of 12") in facts_of(verdict)

    def test_the_level_is_corrected(self, result):
        assert corrected_level(result) == pytest.approx(1 - 0.05 / 3)
        found = find_enough(result)
        assert [one.k for one in found] == [2, 2, 2]
        for one in found:
            assert one.claim.level == corrected_level(result)
            assert one.claim.lower > -0.01

    def test_nothing_is_shown(self, result):
        worse = {
            key: run
            for key, run in result.runs.items()
            if key[0] in ("all", "selector-0", "selector-1")
        }
        run = worse["selector-0", "ranksvm"]
        bad = {1: run.by_k[1]}
        for name in ("selector-0", "selector-1"):
            worse[name, "ranksvm"] = replace(worse[name, "ranksvm"], by_k=bad, chosen=run.by_k[1])
        verdict = sections(replace(result, runs=worse))[0]
        assert verdict.is_shown is False
        assert verdict.sentence.startswith("No selection is shown to be enough")
        assert "closest candidate: selector-0 with 1 feature and ranksvm" in verdict.notes[0]

    def test_all_features_are_no_selection(self, result):
        """A selector that is only tried with all features shows nothing."""
        every = result.run("all", "ranksvm")
        runs = {("all", "ranksvm"): every, ("s", "ranksvm"): replace(every, selector="s")}
        report = report_of(replace(result, runs=runs))
        assert report.sections[0].is_shown is False
        assert "fewest shown" not in render(report)

    def test_without_all_features(self, result):
        runs = {key: run for key, run in result.runs.items() if key[0] != "all"}
        without = replace(result, runs=runs)
        assert sections(without)[0].sentence.startswith("Nothing can be shown")
        assert "Queries that gain and lose" not in headings_of(without)
        curves = curves_of(without, "ranksvm", "MAP")
        assert [curve.name for curve in curves if curve.band] == ["random"]

    def test_only_all_features(self, result):
        alone = replace(result, runs={("all", "ranksvm"): result.run("all", "ranksvm")}, seen=None)
        assert headings_of(alone) == [
            "Verdict",
            "Features",
            "Quality by number of features",
            "Selected features by fold",
            "Cost and time",
            "Reproduce",
        ]
        assert not [part.chart for part in report_of(alone).parts if part.chart]


class TestCurves:
    def test_points_are_means_and_bands_are_intervals_of_differences(self, result):
        base = result.run("all", "ranksvm").chosen.per_query("MAP")
        curves = {curve.name: curve for curve in curves_of(result, "ranksvm", "MAP")}
        assert list(curves) == [*result.selecting, "random"]
        means = {name: np.mean(curve.y) for name, curve in curves.items() if name != "random"}
        best = sorted(means, key=means.get)[-2:]
        assert {name for name, curve in curves.items() if curve.band} == {*best, "random"}
        for name, curve in curves.items():
            by_k = result.run(name, "ranksvm").by_k
            assert curve.x == list(by_k)
            for y, band, tested in zip(
                curve.y, curve.band or [None] * len(by_k), by_k.values(), strict=True
            ):
                seeds = [np.mean([o.per_query["MAP"].mean() for o in s]) for s in tested.outcomes]
                assert y == pytest.approx(np.mean(seeds))
                if name == "random":
                    assert band == pytest.approx((min(seeds), max(seeds)))
                elif band is not None:
                    a = tested.per_query("MAP")
                    interval = bootstrap_interval(a, base, n_resamples=2000)
                    shift = y - (a - base).mean()
                    assert band == pytest.approx((interval.lower + shift, interval.upper + shift))

    def test_a_ring_is_around_what_is_enough(self, result):
        for curve in curves_of(result, "ranksvm", "MAP"):
            enough = None
            if curve.name != "random":
                enough = enough_features(result, curve.name, "ranksvm", "MAP")
            assert (None if curve.marked is None else curve.x[curve.marked]) == enough

    def test_times_tell_what_nothing_beats(self, result):
        runs = dict(result.runs)
        for seconds, name in zip((3.0, 0.0, 1.0), result.selecting, strict=True):
            run = runs[name, "ranksvm"]
            outcomes = [replace(o, selection_seconds=seconds) for o in run.chosen.outcomes[0]]
            chosen = Outcomes([outcomes], result.folds)
            runs[name, "ranksvm"] = replace(run, chosen=chosen)
        means = {name: runs[name, "ranksvm"].chosen.mean("MAP") for name in result.selecting}
        seconds = dict(zip(result.selecting, (3.0, 1e-6, 1.0), strict=True))
        front = [
            f"{name} ({means[name]:.4f} in {seconds[name]:.2g} s)"
            for name in sorted(means, key=seconds.get)
            if not any(seconds[o] < seconds[name] and means[o] >= means[name] for o in means)
        ]
        charts = [part.chart for part in report_of(replace(result, runs=runs)).parts]
        (time,) = [chart for chart in charts if chart and chart.name == "time-ranksvm"]
        assert time.caption.endswith(f"better than any of these: {', '.join(front)}.")


@pytest.fixture(scope="module")
def uneven():
    """Of five selectors, the first is shown to be enough only without a correction."""
    result = with_unequal_folds(planted(5, rankers=("ranksvm", "listnet")))
    runs = dict(result.runs)
    base, run = (runs[name, "ranksvm"] for name in ("all", "selector-0"))

    def disturbed(tested):
        outcomes = [
            replace(one, per_query={"MAP": whole.per_query["MAP"] + np.resize([0.03, -0.03], n)})
            for one, whole in zip(tested.outcomes[0], base.chosen.outcomes[0], strict=True)
            for n in [len(whole.per_query["MAP"])]
        ]
        return Outcomes([outcomes], result.folds)

    by_k = {k: disturbed(tested) for k, tested in run.by_k.items() if k > 1}
    runs["selector-0", "ranksvm"] = replace(run, by_k=by_k, chosen=by_k[10])
    return replace(result, runs=runs)


class TestOneVerdict:
    """Terminal, page and tables say the same of a study with unequal folds."""

    def test_verdicts(self, uneven, capsys):
        plain = enough_features(uneven, "selector-0", "ranksvm", "MAP", 0.95)
        assert plain is not None  # it would be shown without the correction
        found = {(one.selector, one.ranker): one.k for one in find_enough(uneven)}
        assert ("selector-0", "ranksvm") not in found
        report = report_of(uneven)
        show_report(report, Path("out"))
        told = " ".join(capsys.readouterr().out.split())
        for ranker in uneven.rankers:
            shown = [f"{name} {k}" for (name, own), k in found.items() if own == ranker]
            listed = told.partition(f"Enough features with {ranker} (")[2]
            listed = re.split(r"Quality|All of this", listed)[0]
            assert all(text in listed for text in shown)
            assert ("not shown for selector-0" in listed) == (ranker == "ranksvm")
            sheet = stability_sheet(uneven, ranker)
            in_table = {row[0].value: row[-1].value for row in sheet.rows}
            assert in_table == {
                name: found.get((name, ranker)) for name in [*uneven.selecting, "all", "random"]
            }
        caption = describe_enough(uneven, "MAP")
        assert "Bonferroni's correction for 10 combinations" in caption
        assert caption in told
        page = render(report)
        # In the verdict, and below the table of stability with each ranker.
        assert page.count(caption.replace("'", "&#39;")) == 3
        ringed = re.findall(r"(selector-\d), (\d+) features[^<]*fewest", page)
        assert sorted(ringed) == sorted((name, str(k)) for (name, _), k in found.items())

    def test_means(self, uneven):
        best, facts = find_enough(uneven)[0], dict(facts_of(sections(uneven)[0]))
        curves = curves_sheet(uneven, best.ranker, "MAP")
        at = [column.name for column in curves.columns].index(str(best.k))
        table = {row[0].value: row for row in curves.rows}
        compared = {row[0].value: row[1] for row in comparison_sheet(uneven, best.ranker).rows}
        assert facts["MAP with them, mean over folds"] == table[best.selector][at].text
        assert facts["MAP with all, mean over folds"] == compared["all"].text
        assert f"{best.claim.base:.4f}" != compared["all"].text  # the mean over queries
        for caption in (curves.caption, comparison_sheet(uneven, best.ranker).caption):
            assert "Means are over folds and seeds, tests and intervals over queries." in caption
        assert {"change, over queries", "lower bound, over queries"} <= set(facts)


class TestRecommendation:
    def test_what_is_not_shown_is_said_first(self):
        worse = made(shift=-0.02)
        verdict, claim = sections(worse)[0], worse.claim
        assert not claim.is_shown
        assert (verdict.word, verdict.sentence) == ("Not shown", f"{claim.headline}.")
        assert claim.numbers in verdict.notes
        needed = f"about {claim.queries_needed:,.0f} needed"
        assert ("Test queries", "90", needed) in facts_of(verdict)

    def test_the_words_of_the_claim_are_those_of_the_answer(self, answer):
        verdict = sections(answer)[0]
        assert " ".join([verdict.sentence, *verdict.notes]) == answer.sentence

    def test_other_queries_decide_where_there_are_any(self, answer):
        how = "set", "NDCG@10", 0.02, 0.95
        other = Claim.test(np.array([0.1, 0.2, 0.4]), np.array([0.5, 0.6, 0.5]), None, *how)
        verdict = sections(made(confirmed=other))[0]
        assert (verdict.word, verdict.sentence) == ("Not confirmed", f"{other.headline}.")
        assert answer.claim.sentence in verdict.notes

    def test_nothing_helps(self):
        nothing = made(n_kept=0, selector="none")
        assert sections(nothing)[0].sentence.startswith("No feature helps")
        assert "Features to keep" not in headings_of(nothing)
        assert "<svg" in render(report_of(nothing))

    def test_all_are_kept(self):
        everything = made(n_kept=12, selector="all")
        enough = "no cheaper set that was tried is enough."
        assert sections(everything)[0].sentence == f"Keep all 12 features: {enough}"
        assert "Features to keep" in headings_of(everything)
        assert "Features to drop" not in headings_of(everything)

    def test_answers_without_evidence_or_numbers_have_a_page(self):
        how = "procedure", "NDCG@10", 0.02, 0.95
        nothing = made(evidence=None, claim=Claim.test(np.zeros(1), np.zeros(1), None, *how))
        assert headings_of(nothing) == [
            "Verdict",
            "Features to keep",
            "Features to drop",
            "Quality against cost",
            "Reproduce",
        ]
        assert "unknown" in render(report_of(nothing))

    @pytest.mark.parametrize("is_tested", [False, True])
    def test_candidates_are_said_to_be_shown_only_where_they_are_tested(self, is_tested):
        """A split with validation queries tests only what they choose."""
        front = [replace(point, is_shown=is_tested or None) for point in front_of(2)]
        sheet = report_of(made(front=front)).main_sheets[-1]
        assert any(c.name == "shown" and not c.only_csv for c in sheet.columns) == is_tested
        assert any(note.startswith("shown: ") for note in sheet.notes) == is_tested


class TestInspection:
    def test_warnings_come_first(self, inspected):
        verdict = sections(inspected)[0]
        assert verdict.word == "5 warnings"
        assert verdict.notes[0].startswith("The file order ranks better than chance")
        told = " ".join(verdict.notes)
        assert "Few queries: 40" in told
        assert "1 feature constant within every query" in told
        assert "1 feature with the same values" in told
        assert re.search(r"Missing values: 2\.8%, of 1 feature", told)

    def test_clean_data_has_none(self):
        rng = np.random.default_rng(0)
        y = rng.permuted(np.tile([0, 0, 1, 2], (300, 1)), axis=1).ravel()
        data = RankingData(rng.normal(size=(1200, 3)), y, np.repeat(np.arange(300), 4))
        verdict = inspection_report("x", inspect(data)).sections[0]
        assert (verdict.word, verdict.is_shown, verdict.notes) == ("No warnings", True, [])

    def test_both_directions_are_told(self, inspected):
        by_name = {one.name: one for one in inspected.best_features}
        assert len(by_name) == 9
        assert all(one.value >= one.reverse for one in by_name.values())
        assert sum(one.queries for one in inspected.lengths) == 40


@pytest.mark.parametrize("width", [60, 80])
class TestOnATerminal:
    def lines_of(self, answer, width, capsys, monkeypatch):
        monkeypatch.setenv("COLUMNS", str(width))
        show_report(report_of(answer), Path("out"))
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= width
        return lines

    def test_tables_are_whole(self, width, capsys, monkeypatch):
        """Each table is one, even if names are long and a text wraps."""
        names = [f"a_rather_long_name_of_a_feature_with_number_{n}" for n in range(12)]
        answer = made(names, selector="greedy-rankrls, by cost")
        lines = self.lines_of(answer, width, capsys, monkeypatch)
        for first in (["rank", "feature"], ["feature", "cost"], ["selector", "features"]):
            assert sum(line.split()[:2] == first for line in lines) == 1
        text = " ".join(" ".join(lines).split())
        assert "left out: " in text
        assert "names are shortened; the whole table: out/tables/kept.csv" in text
        for number in range(4):
            rows = [line for line in lines if re.match(rf" +{number + 1}  a_ra\S*_{number} ", line)]
            assert len(rows) == 1

    def test_long_lists_show_what_matters(self, width, capsys, monkeypatch):
        names = [f"feature {number}" for number in range(700)]
        answer = made(names, 40, selector="greedy-rankrls, by cost", size=9, front=front_of(14))
        costly = [replace(one, cost=float(one.feature)) for one in answer.dropped]
        answer = replace(answer, dropped=costly)
        lines = self.lines_of(answer, width, capsys, monkeypatch)
        text = " ".join(" ".join(lines).split())
        assert len(lines) < 150  # of 750 rows
        assert "20 rows left out; tables/kept.csv has them all." in text
        assert "640 rows left out; tables/dropped.csv has them all." in text
        assert sum(line.startswith("feature 6") for line in lines) == 20  # 699 to 680
        # The front, of which size 9 is not, and the neighborhood of size 9, which is chosen.
        assert "choice: 15 of 43 candidates; tables/front.csv has them all." in text
        rows = [line.split() for line in lines if re.match("greedy-rankrls, by cost  ", line)]
        assert [row[3] for row in rows] == [f"{n}*" if n != 9 else "9<" for n in range(1, 15)]
        assert not [line for line in lines if line.startswith(("cegb", "sized"))]

    def test_other_outputs_have_all_rows_and_columns(self, width):
        front = report_of(made(front=front_of(14))).main_sheets[-1]
        assert len(list(front.rows)) == 43
        assert {"bound", "front", "chosen"} <= {column.name for column in front.columns}
