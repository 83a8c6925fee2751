"""The list of sections of each kind of result: what it says, in which order, in all outputs."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ranksieve import RankingData
from ranksieve.recommendation.evidence import Judges
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
from tests.report.results import claim_of, made, planted, with_one_fold, with_unequal_folds


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
            "What can be had",
            "Features to keep",
            "Features to drop",
            "Features in each set",
            "Similar features",
            "How well features rank alone",
            "Queries that gain and lose",
            "Work and time",
            "Reproduce",
        ]
        how = facts_of(sections(answer)[-1])
        assert ("Command", "ranksieve recommend 'my data.txt'") in how
        assert ("Fingerprint of the data", "f1f2f3f4f5f6f7f8") in how
        groups = ", ".join(f"feature {number} 2" for number in (1, 2, 3))
        assert ("Costs of groups, paid once", groups) in how

    def test_of_an_inspection(self, inspected):
        assert headings_of(inspected) == [
            "Verdict",
            "Look at these first",
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
        assert len(charts) == 20
        for part in charts:
            assert part.chart.caption.endswith(".")
            assert list(part.sheet.rows)

    def test_names_of_files_are_distinct(self, result, answer, inspected):
        for of in (result, answer, inspected):
            parts = report_of(of).parts
            sheets = [part.sheet.name for part in parts]
            charts = [part.chart.name for part in parts if part.chart]
            assert len(set(sheets)) == len(sheets)
            assert len(set(charts)) == len(charts)

    def test_notebooks_can_show_all(self, answer):
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


class TestOneSplit:
    """Such as an earlier and a later part: nothing is shown twice, or called a mean over folds."""

    @pytest.fixture
    def one(self, result):
        return with_one_fold(result, "2026-03-20")

    def test_no_column_is_that_of_another(self, one):
        for part in report_of(one).parts:
            columns = [column for column in part.sheet.columns if not column.only_csv]
            texts = zip(*part.sheet.visible().rows, strict=True)
            known = {}
            for column, entries in zip(columns, texts, strict=True):
                values = tuple(entry.text for entry in entries)
                is_number = any(isinstance(entry.value, float) for entry in entries)
                assert not is_number or values not in known, (column.name, known.get(values))
                known[values] = column.name

    def test_the_mean_of_the_split_is_there_once(self, one, result):
        folds = sheet_of(one, "folds-ranksvm-map")
        assert [column.name for column in folds.visible().columns] == ["selector", "2026-03-20"]
        assert folds.title == "MAP of selectors with ranksvm on A study"
        folds = sheet_of(result, "folds-ranksvm-map")
        assert len(folds.visible().columns) == 7
        assert "on each fold of A study" in folds.title

    def test_one_selector_has_one_share(self):
        """It is kept wherever it is selected."""
        alone = with_one_fold(planted(n_selectors=1))
        columns = [column.name for column in sheet_of(alone, "features").visible().columns]
        assert "kept" in columns
        assert "selected" not in columns

    def test_no_caption_speaks_of_folds(self, one, result):
        words = [part.chart.caption for part in report_of(one).parts if part.chart]
        words += [text for section in sections(one) for text in (section.heading, section.sentence)]
        assert not [text for text in words if "folds" in text or "each fold" in text]
        assert "Selected features" in headings_of(one)
        assert "Selected features by fold" in headings_of(result)
        grid = json.loads(ET.fromstring(figure_of(one, "selected-ranksvm").svg).get("data-grid"))
        assert [name for name in grid["columns"] if name] == [
            f"selector-{number}, 2026-03-20" for number in range(3)
        ]


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


def cells_of(sheet):
    """Printed cells of a table, by column, without marks."""
    return [
        {column.name: cell.text for column, cell in zip(sheet.columns, row, strict=True)}
        for row in sheet.rows
    ]


def sheet_of(result, name):
    return next(part.sheet for part in report_of(result).parts if part.sheet.name == name)


def figure_of(result, name):
    return next(p.chart for p in report_of(result).parts if p.chart and p.chart.name == name)


class TestVerdict:
    def test_the_words_of_the_claim_are_those_of_the_answer(self, answer):
        verdict = sections(answer)[0]
        assert (verdict.word, verdict.is_shown) == ("Shown", True)
        assert (
            verdict.sentence
            == answer.advice
            == "Keep 4 of 12 features, which cost 4 instead of 12."
        )
        assert " ".join([verdict.sentence, *verdict.notes]) == answer.sentence
        assert facts_of(verdict) == [
            ("Features to keep", "4", "of 12"),
            ("Cost", "4", "of 12"),
            ("NDCG@10", f"{answer.claim.with_chosen:.4f}", f"with all {answer.claim.with_all:.4f}"),
            ("Loss, with 95% confidence", f"< {-100 * answer.claim.bound:.2f}%", "margin 2%"),
            ("Queries", "90"),
        ]

    def test_nothing_is_shown(self):
        """Never "keep 8" under a red badge: all, and what the queries do show."""
        nothing = made(n_kept=12)
        verdict, claim = sections(nothing)[0], nothing.claim
        assert (verdict.word, verdict.is_shown) == ("Not shown", False)
        assert verdict.sentence == "Keep all 12 features."
        offer = "with 3 features at a cost of 3, a loss of less than 10%"
        assert verdict.notes == [claim.sentence, f"What these queries do show: {offer}."]
        needed = f"about {claim.needed} needed"
        assert facts_of(verdict)[-1] == ("Queries", "90", needed) or claim.queries_needed < 90
        assert (
            "Loss of the nearest set (3 features)",
            f"< {-100 * claim.bound:.2f}%",
            "margin 2%",
        ) in (facts_of(verdict))
        assert not [fact for fact in facts_of(verdict) if fact[0] == "NDCG@10"]

    def test_how_many_queries_it_takes(self):
        claim = replace(made(n_kept=12).claim, queries_needed=1234.0)
        assert ("Queries", "90", "about 1,234 needed") in facts_of(
            sections(made(n_kept=12, claim=claim))[0]
        )
        fewer = replace(claim, queries_needed=80.0)  # something is lost, and no number shows less
        assert ("Queries", "90") in facts_of(sections(made(n_kept=12, claim=fewer))[0])

    def test_nothing_is_shown_at_any_margin(self):
        worse = [replace(p, change=-0.5, bound=-0.6) for p in made(n_kept=12).curve]
        notes = sections(made(n_kept=12, curve=worse))[0].notes
        assert notes[-1] == "No smaller set is shown to lose less than 10% either."

    def test_a_likely_set_is_named_as_a_risk(self):
        likely = [replace(p, change=-0.004, bound=-0.03) for p in made(n_kept=12).curve[-1:]]
        risky = made(n_kept=12, curve=likely)
        verdict = sections(risky)[0]
        assert (verdict.word, verdict.is_shown) == ("Not shown", False)
        assert verdict.sentence == (
            "Keep all 12 features, or take a risk: 3 features, which cost 3, lose 0.40% on "
            "average, and may lose 3.00%."
        )
        assert [row["margin"] for row in cells_of(sheet_of(risky, "offers"))] == [
            "2%, as asked",
            "at a risk",
            "all features",
        ]

    def test_other_queries_decide_where_there_are_any(self, answer):
        other = claim_of(np.array([0.1, 0.2, 0.4]), np.array([0.5, 0.6, 0.5]), "test")
        refuted = made(confirmed=other)
        verdict = sections(refuted)[0]
        assert (verdict.word, verdict.is_shown) == ("Not confirmed", False)
        assert verdict.sentence.startswith("Keep all 12 features, or take a risk: 4 features, ")
        assert verdict.notes == [other.sentence, answer.claim.sentence]
        assert facts_of(verdict)[0] == ("Features at a risk", "4", "of 12")
        assert facts_of(verdict)[-1][:2] == ("Test queries", "3")
        assert "Features to keep" not in headings_of(refuted)
        told = sections(refuted)[2]
        assert told.heading == "Features at a risk"
        assert "they are not shown to be enough" in told.sentence
        assert told.parts[0].sheet.title == "Features at a risk: 4 of 12"
        confirmed = made(confirmed=replace(other, is_shown=True))
        assert sections(confirmed)[0].word == "Confirmed"
        assert "Features to keep" in headings_of(confirmed)

    @pytest.mark.parametrize("shift", [0.0, -0.03])
    def test_a_budget_has_the_bound_of_its_loss(self, shift):
        within = made(budget=5.0, shift=shift)
        verdict, claim = sections(within)[0], within.claim
        loss = f"{-100 * claim.bound:.2f}%"
        assert claim.is_shown == verdict.is_shown == (shift == 0)
        assert verdict.word == ("Shown" if claim.is_shown else f"Loses < {loss}")
        assert verdict.sentence.endswith("the best within the budget of 5.")
        rows = cells_of(sheet_of(within, "offers"))
        assert rows[0]["bound"] == f"{-100 * claim.bound:.2f}%"
        assert rows[0]["margin"] == ("2%, as asked" if claim.is_shown else "budget 5")

    def test_nothing_helps(self):
        nothing = made(n_kept=0)
        assert sections(nothing)[0].sentence.startswith("No feature helps")
        assert "Features to keep" not in headings_of(nothing)
        assert "<svg" in render(report_of(nothing))

    def test_one_query(self):
        alone = made(claim=claim_of(np.array([0.4]), np.array([0.5]), "set"))
        verdict = sections(alone)[0]
        assert (verdict.word, facts_of(verdict)[-1]) == ("Not shown", ("Queries", "1"))
        assert ("Loss, with 95% confidence", "unknown", "margin 2%") in facts_of(verdict)

    def test_it_has_what_changes_its_meaning_and_no_technical_notes(self, capsys):
        limit, lacks = "The time limit was reached.", "Left out: a selector <that> needs numbers."
        report = report_of(made(warnings=[limit], notes=[lacks]))
        assert limit in report.sections[0].notes
        assert lacks not in report.sections[0].notes
        (told,) = [section for section in report.sections if section.heading == "Notes"]
        assert told.notes == [lacks]
        assert "Notes" not in headings_of(made())
        assert "Left out: a selector &lt;that&gt; needs numbers." in render(report)
        show_report(report, Path("out"))
        *_, note, end = capsys.readouterr().out.splitlines()
        assert note == f"Note: {lacks}"
        assert end.startswith("All of this is in out")

    def test_answers_without_evidence_or_numbers_have_a_page(self):
        claim = claim_of(np.zeros(1), np.zeros(1), "none")
        nothing = made(n_kept=12, evidence=None, claim=claim, curve=[])
        assert headings_of(nothing) == ["Verdict", "Features to keep", "Reproduce"]
        assert "unknown" in render(report_of(nothing))
        no_evidence = made(evidence=None)
        assert headings_of(no_evidence) == [
            "Verdict",
            "What can be had",
            "Features to keep",
            "Features to drop",
            "Reproduce",
        ]


class TestWhatCanBeHad:
    def test_what_was_asked_for_comes_first(self):
        """Each further offer says how its set differs from that of the first row."""
        own = made().curve[-1]
        curve = [
            replace(own, features=[0, 1, 7], cost=3.0, change=-0.02, bound=-0.045),
            own,
            replace(own, features=list(range(11)), cost=11.0, change=0.001, bound=-0.001),
        ]
        found = made(curve=curve)
        rows = cells_of(sheet_of(found, "offers"))
        assert [row["margin"] for row in rows] == ["2%, as asked", "0.5%", "5%", "all features"]
        assert [row["features"] for row in rows] == ["4", "11", "3", "12"]
        assert [row["cost"] for row in rows] == ["4", "11", "3", "12"]
        assert [row["bound"] for row in rows[1:]] == ["0.10%", "4.50%", "-"]
        assert [row["change"] for row in rows[1:]] == ["+0.10%", "-2.00%", "+0.00%"]
        assert [row["difference"] for row in rows] == [
            "",
            "with 7 features",
            "without feature 3, feature 4; with feature 8",
            "with 8 features",
        ]
        section = sections(found)[1]
        assert "bounds of all sets hold at once" in section.sentence
        assert [part.sheet.name for part in section.parts] == ["offers", "curve"]

    def test_the_table_of_the_curve_has_all_sets(self, answer):
        *others, chosen = cells_of(sheet_of(answer, "curve"))
        assert [row["features"] for row in others] == ["0", "1", "2", "3"]
        assert [row["recommended"] for row in others] == [""] * 4
        assert (chosen["features"], chosen["recommended"], chosen["shown"]) == ("4", "yes", "1%")
        assert chosen["names"] == "feature 1, feature 2, feature 3, feature 4"
        assert chosen["change"] == f"{100 * answer.claim.change:+.2f}%"
        assert chosen["bound"] == f"{-100 * answer.claim.bound:.2f}%"
        assert others[-1]["shown"] == "10%"
        assert others[0]["shown"] == "-"

    def test_the_figure_has_the_sets_that_matter(self, answer):
        """A ring for the recommended one; those that lose much are left out."""
        chart = figure_of(answer, "curve")
        dots = [e for e in ET.fromstring(chart.svg).iter("circle") if "data-tip" in e.attrib]
        kinds = [
            (
                re.match(r"Features: (\d+) of 12", dot.get("data-tip"))[1],
                dot.get("class").split()[0],
            )
            for dot in dots
        ]
        assert sorted(set(kinds)) == [
            ("12", "dot"),
            *(("2", "hollow"), ("3", "hollow"), ("4", "dot"), ("4", "ring")),
        ]
        assert "2 cheaper sets that lose more left out" in chart.caption
        assert "The ring is the recommended set." in chart.caption
        none = figure_of(made(n_kept=12), "curve")
        assert "The ring is all features, which are recommended." in none.caption
        (ring,) = re.findall('class="ring kept" data-tip="(.*?)\n', none.svg)
        assert ring == "Features: 12 of 12"

    @pytest.mark.parametrize("bound", [-np.inf, np.nan])
    def test_sets_without_a_bound(self, answer, bound):
        """They are not shown to lose less than anything."""
        curve = [replace(point, bound=bound) for point in answer.curve]
        loose = made(curve=curve, claim=replace(answer.claim, bound=bound, is_shown=False))
        rows = cells_of(sheet_of(loose, "curve"))
        assert {row["bound"] for row in rows} == {row["shown"] for row in rows} == {"-"}
        svg = figure_of(loose, "curve").svg
        assert not re.search(r"\b(nan|inf)\b", svg)
        assert "hown to lose" not in svg

    def test_without_costs(self):
        free = made(has_costs=False)
        for name in ("offers", "curve", "kept"):
            assert "cost" not in [column.name for column in sheet_of(free, name).columns]
        chart = figure_of(free, "curve")
        assert "number of features" in chart.svg
        assert "Cost" not in chart.svg
        columns = [column.name for column in sheet_of(free, "shares").columns]
        assert columns == ["feature", "recommended", *map(str, range(5))]

    def test_sets_that_differ_much_are_on_a_logarithmic_scale(self):
        sizes = [1, 2, 4, 8, 16, 32]
        flat = [replace(made().curve[0], features=list(range(k)), cost=k) for k in sizes]
        curve = [replace(point, change=-0.001, bound=-0.01) for point in flat]

        def places(most):
            found = made([f"f{n}" for n in range(50)], curve=curve, cost_of_all=most)
            found = re.findall(r'cx="([\d.]+)"[^>]*data-tip', figure_of(found, "curve").svg)
            return np.unique(list(map(float, found)))

        steps = np.diff(places(64))
        np.testing.assert_allclose(steps, steps[0], atol=0.2)
        steps = np.diff(places(40))  # from 0, so that the saving is seen
        np.testing.assert_allclose(steps, steps[0] * np.array([1, 2, 4, 8, 16, 8]), atol=0.3)


class TestFeaturesInEachSet:
    def test_shares_are_those_of_the_paths(self, answer):
        rows = cells_of(sheet_of(answer, "shares"))
        assert [row["feature"] for row in rows] == [f"feature {n}" for n in range(1, 6)]
        assert [row["recommended"] for row in rows] == ["yes"] * 4 + [""]
        for number, row in enumerate(rows):
            for size in range(5):
                expected = 1.0 if number < size else 0.5 if number == size else 0.0
                assert row[f"{size} ({size})"] == f"{expected:.2f}"
        grid = json.loads(ET.fromstring(figure_of(answer, "shares").svg).get("data-grid"))
        assert grid["columns"][::2] == [f"{size} ({size})" for size in range(5)]
        by_name = dict(zip(grid["rows"], grid["values"], strict=True))
        assert by_name["feature 4"][::2] == [0.0, 0.0, 0.0, 0.5, 1.0]
        assert 'class="fill kept ' in figure_of(answer, "shares").svg

    def test_sets_of_the_same_size_and_cost_have_columns_of_their_own(self, answer):
        """Names of columns would be the same, for sets that substitutes distinguish."""
        evidence, point = answer.evidence, answer.curve[1]
        twice = made(
            curve=[*answer.curve, replace(point, features=[7])],
            evidence=replace(evidence, shares=[*evidence.shares, {7: 0.25}]),
        )
        columns = [column.name for column in sheet_of(twice, "shares").columns]
        assert {"1 (1), set 2", "1 (1), set 6"} <= set(columns)
        assert len(set(columns)) == len(columns) == 8

    def test_evidence_that_lacks_something_has_a_page(self, answer):
        for change in (
            {"shares": []},
            {"shares": answer.evidence.shares[:2]},
            {"repeats": 0, "noise": 1.0},
            {"spent": []},
            {"judges": Judges([], [], [], None)},
        ):
            assert "<h1" in render(report_of(made(evidence=replace(answer.evidence, **change))))


class TestEvidence:
    def test_queries_that_judge(self, answer):
        section = next(s for s in sections(answer) if s.heading.startswith("Queries"))
        judges = answer.evidence.judges
        change = np.array(judges.with_chosen) - judges.with_all
        assert f"rises on {(change > 0).sum()} queries" in section.sentence
        assert "All 90 queries that judge" in section.parts[0].chart.caption
        first = cells_of(section.parts[0].sheet)[0]
        assert first["change"] == f"{change.min():+.4f}"
        everything = made(n_kept=12)  # nothing is gained or lost
        assert "Queries that gain and lose" not in headings_of(everything)

    def test_repeats_and_noise(self, answer):
        (work,) = [part for part in report_of(answer).parts if part.sheet.name == "work"]
        assert "Each query judged up to 3 times." in work.chart.caption
        assert "12.5% is the noise of training" in work.chart.caption
        once = made(evidence=replace(answer.evidence, repeats=1, noise=1.0))
        assert "the noise of training is not known apart" in sheet_of(once, "work").notes[-1]
        assert "1 time. " in sheet_of(once, "work").notes[-1]


class TestInspection:
    def test_warnings_come_first(self, inspected):
        verdict = sections(inspected)[0]
        assert verdict.word == "5 warnings"
        assert verdict.notes[0].startswith("The file order ranks better than chance")
        told = " ".join(verdict.notes)
        assert "Few queries: 40" in told
        assert "7: constant within every query: cannot rank documents." in told
        assert ": copy of <script>alert(1)</script> 0: ranks documents exactly alike." in told
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
        lines = self.lines_of(made(names), width, capsys, monkeypatch)
        for first in (["rank", "feature"], ["feature", "cost"], ["margin", "features"]):
            assert sum(line.split()[:2] == first for line in lines) == 1
        text = " ".join(" ".join(lines).split())
        assert "left out: " in text
        assert "names are shortened; the whole table: out/tables/kept.csv" in text
        for number in range(4):
            rows = [line for line in lines if re.match(rf" +{number + 1}  a_ra\S*_{number} ", line)]
            assert len(rows) == 1

    def test_offers_are_whole(self, width, capsys, monkeypatch):
        """The usual width has all of their columns."""
        lines = self.lines_of(made(), width, capsys, monkeypatch)
        start = lines.index("Sets of features to choose from")
        table = lines[start : lines.index("Features to keep: 4 of 12")]
        told = " ".join(table).partition("To fit")[2]
        assert told.startswith(" 60 columns, left out: difference;") if width == 60 else not told
        assert len([line for line in table if line.startswith("2%, as asked ")]) == 1
        assert len([line for line in table if line.startswith("10%")]) == 1

    def test_long_lists_show_what_matters(self, width, capsys, monkeypatch):
        names = [f"feature {number}" for number in range(700)]
        answer = made(names, 40)
        costly = [replace(one, cost=float(one.feature)) for one in answer.dropped]
        answer = replace(answer, dropped=costly)
        lines = self.lines_of(answer, width, capsys, monkeypatch)
        text = " ".join(" ".join(lines).split())
        assert len(lines) < 160  # of 750 rows
        assert "20 rows left out; tables/kept.csv has them all." in text
        assert len([line for line in lines if "feature 0 (1" in line]) == 1  # groups stay
        assert "641 rows left out; tables/dropped.csv has them all." in text
        assert sum(line.startswith("feature 6") for line in lines) == 20  # 699 to 680

    def test_other_outputs_have_all_rows_and_columns(self, width):
        sheets = {sheet.name: sheet for sheet in report_of(made(n_kept=11)).main_sheets}
        assert list(sheets) == ["offers", "kept", "groups", "dropped"]
        assert len(list(sheets["kept"].rows)) == 11 + 1
