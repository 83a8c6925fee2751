"""The page of a study, in a real browser."""

import base64
import hashlib
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ranksieve.report.formats.html import to_html
from ranksieve.report.page.charts.svg import drawing, line
from ranksieve.report.page.page import Chart, MainResult, Page, Section, Table, render, write_page
from ranksieve.report.page.study import find_enough, study_page
from ranksieve.report.sheets.sheet import Column, Entry, Sheet
from ranksieve.report.sheets.study_quality import comparison_sheet, curves_sheet
from ranksieve.report.sheets.study_selections import stability_sheet
from ranksieve.report.study import show_report
from ranksieve.study.comparison import corrected_level, describe_enough, enough_features
from ranksieve.study.first_fold import FirstFold
from ranksieve.study.results import FoldSummary, Outcome, Outcomes, Run, StudyResult
from tests.report.browser import HOSTILE, assert_quiet, opened


def planted(
    n_selectors=3, n_features=12, rankers=("ranksvm",), n_queries=40, names=None, selectors=None
):
    """A study whose selectors are as good as all features from two features on, but for noise."""
    rng = np.random.default_rng(0)
    names = names or [f"feature {number}" for number in range(1, n_features + 1)]
    selectors = list(selectors or (f"selector-{number}" for number in range(n_selectors)))
    ids = [f"{f}:{q} {HOSTILE[q % len(HOSTILE)]}" for f in range(5) for q in range(n_queries)]
    folds = [
        FoldSummary(
            f"Fold{f + 1}", 9, 4, ids[f * n_queries : (f + 1) * n_queries], fingerprint="f0"
        )
        for f in range(5)
    ]
    base = rng.uniform(0.3, 0.7, (5, n_queries))
    sizes = [k for k in (1, 2, 5, 10, 20) if k < len(names)]

    def outcome(fold, k, shift, noise):
        values = {"MAP": base[fold] + shift + rng.normal(0, noise, n_queries)}
        taken = tuple(rng.permutation(len(names))[:k].tolist())
        return Outcome(k, taken, {}, {}, 0.5, 0.01, values, 1.5, 0.2)

    def run(selector, ranker):
        if selector == "all":
            tested = Outcomes([[outcome(f, len(names), 0, 0) for f in range(5)]], folds)
            return Run(selector, ranker, tested, {len(names): tested})
        shifts = {k: -0.2 if selector == "random" else -0.1 if k == 1 else 0.001 for k in sizes}
        by_k = {
            k: Outcomes([[outcome(f, k, shift, 0.005) for f in range(5)]], folds)
            for k, shift in shifts.items()
        }
        return Run(selector, ranker, by_k[sizes[-1]], by_k)

    runs = {(s, r): run(s, r) for r in rankers for s in (*selectors, "all", "random")}
    settings = {"ranksieve": "1.0", "seed": 7, "seeds": 1, "scale": "none", "choose": "best"}
    return StudyResult(
        "A study", "five folds", "standard", "MAP", ["MAP"], folds, names, runs, settings=settings
    )


def first_fold(n_features, compared=150):
    rng = np.random.default_rng(1)
    compared = np.arange(min(compared, n_features))
    similarity = np.abs(np.corrcoef(rng.normal(size=(len(compared), 8))))
    return FirstFold(
        "Fold1", "MAP", rng.uniform(0.2, 0.5, n_features), compared, similarity, {"numpy": "2.0"}
    )


@pytest.fixture(scope="module")
def result():
    return planted()


@pytest.fixture(scope="module")
def path(result, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "report.html"
    write_page(study_page(result, first_fold(12)), file)
    return file


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A page in which all names do something where they are not escaped."""
    file = tmp_path_factory.mktemp("hostile") / "report.html"
    study = planted(
        names=[f"{name} {n}" for n, name in enumerate(HOSTILE)],
        selectors=[f"{name} s" for name in HOSTILE],
        rankers=("</script><script>alert(2)</script>",),
    )
    write_page(study_page(study, first_fold(len(HOSTILE))), file)
    return file


class TestInTheBrowser:
    def test_opens_without_complaint_or_request(self, browser, path):
        with opened(browser, path) as shown:
            assert shown.page.title() == "A study - ranksieve"
            assert_quiet(shown, path)

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_nothing(self, browser, path, scheme):
        with opened(browser, path, color_scheme=scheme, bypass_csp=True) as shown:
            assert shown.violations() == []

    def test_tables_are_sorted_by_click_and_by_keyboard(self, browser, path):
        with opened(browser, path) as shown:
            table = shown.page.locator("#features table").first
            before = table.locator("tbody th").all_inner_texts()
            head = table.locator("thead th", has_text="importance")
            head.get_by_role("button").click()
            assert head.get_attribute("aria-sort") == "descending"
            column = table.locator("tbody tr td:nth-child(4)").all_inner_texts()
            assert column == sorted(column, reverse=True)
            head.get_by_role("button").press("Enter")
            assert head.get_attribute("aria-sort") == "ascending"
            column = table.locator("tbody tr td:nth-child(4)").all_inner_texts()
            assert column == sorted(column)
            head.get_by_role("button").press("Space")
            assert head.get_attribute("aria-sort") is None
            assert table.locator("tbody th").all_inner_texts() == before

    def test_what_is_missing_is_sorted_last(self, browser, tmp_path):
        columns = [Column("name", align="left", is_name=True), Column("n")]
        values = [3, None, 1200, 0.5, -2, 1e-7]
        rows = [[Entry(str(v)), Entry(v, ",.3g" if v != 1e-7 else ".0e")] for v in values]
        sheet = Sheet("s", "S", "", columns, [rows[:2], rows[2:]])
        file = tmp_path / "page.html"
        file.write_text(render(Page("P", MainResult("V."), [Section("A", "", [Table(sheet)])])))
        with opened(browser, file) as shown:
            button = shown.page.locator("thead th.n button")
            button.click()
            cells = shown.page.locator("tbody th").all_inner_texts()
            assert cells == ["1200", "3", "0.5", "1e-07", "-2", "None"]
            button.click()
            cells = shown.page.locator("tbody th").all_inner_texts()
            assert cells == ["-2", "1e-07", "0.5", "3", "1200", "None"]

    def test_hover_tells_values(self, browser, path, result):
        with opened(browser, path) as shown:
            run = result.run("selector-0", "ranksvm")
            dot = shown.page.locator('[data-tip^="selector-0, 5 features"]')
            dot.hover(force=True)
            tip = shown.page.locator("#tip")
            assert f"MAP {run.by_k[5].mean('MAP'):.4f}" in tip.inner_text()
            shown.page.keyboard.press("Escape")
            assert not tip.is_visible()
            grid = shown.page.locator('[data-grid="similarity"]')
            told = json.loads(shown.page.locator("#data").inner_text())["similarity"]
            grid.hover(position={"x": told["x"] + told["width"] * 1.5, "y": told["y"] + 3})
            assert tip.inner_text() == (
                f"{told['rows'][0]}\n{told['columns'][1]}\nsimilarity {told['values'][0][1]:g}"
            )

    def test_theme(self, browser, path):
        def background(shown):
            return shown.page.evaluate("getComputedStyle(document.body).backgroundColor")

        with opened(browser, path, color_scheme="dark") as shown:
            dark = background(shown)
            shown.page.get_by_role("button", name="Light theme").click()
            light = background(shown)
            assert light == "rgb(255, 255, 255)" != dark
            shown.page.get_by_role("button", name="Dark theme").click()
            assert background(shown) == dark

    def test_reads_without_script(self, browser, path):
        with opened(browser, path, java_script_enabled=False) as shown:
            assert "are enough for ranksvm" in shown.page.locator("#verdict").inner_text()
            assert shown.page.locator("#features table").is_visible()
            assert not shown.page.get_by_role("button").all()
            numbers = shown.page.locator("figure details").first
            numbers.locator("summary").click()
            assert numbers.locator("table").is_visible()

    def test_paper_has_everything_unfolded(self, browser, path):
        with opened(browser, path) as shown:
            shown.page.evaluate("dispatchEvent(new Event('beforeprint'))")
            shown.page.emulate_media(media="print")
            assert all(one.is_visible() for one in shown.page.locator("details table").all())
            assert not shown.page.locator("#theme").is_visible()

    def test_a_narrow_screen_scrolls_only_within_parts(self, browser, hostile):
        with opened(browser, hostile, size=(390, 800)) as shown:
            assert shown.page.evaluate("document.documentElement.scrollWidth") == 390

    def test_hostile_names_do_nothing_and_are_shown(self, browser, hostile):
        with opened(browser, hostile) as shown:
            text = shown.page.locator("body").inner_text()
            for name in ("<script>alert(1)</script>", '"]}', "$x$", "{{7*7}}", "\\u202egnp.exe"):
                assert name in text
            assert "a\\x1b[31mred" in text
            assert "\u05d0\u05d1\u05d2" in text
            assert shown.page.locator("script").count() == 2
            assert_quiet(shown, hostile)
            shown.page.locator('[data-tip*="alert"]').first.hover(force=True)
            assert_quiet(shown, hostile)

    def test_axe_finds_nothing_with_hostile_names(self, browser, hostile):
        with opened(browser, hostile, bypass_csp=True) as shown:
            assert shown.violations(contrast=False) == []  # colors do not depend on names


class TestSize:
    def test_a_usual_study_is_below_500_kilobytes(self):
        study = planted(8, 136, ("ranksvm", "lambdamart"), n_queries=150)
        assert len(render(study_page(study, first_fold(136))).encode()) < 500_000

    def test_a_large_study_opens(self, browser, tmp_path):
        study = planted(20, 700, ("ranksvm", "lambdamart"), n_queries=150)
        file = tmp_path / "report.html"
        write_page(study_page(study, first_fold(700)), file)
        assert file.stat().st_size < 2_000_000
        with opened(browser, file) as shown:
            assert "550 rows left out" in shown.page.locator("#features").inner_text()
            assert_quiet(shown, file)


class TestPage:
    def test_the_order_is_the_readers(self, result):
        headings = [section.heading for section in study_page(result, first_fold(12)).sections]
        assert headings == [
            "Features",
            "Quality by number of features",
            "Pairwise comparison",
            "Selected features by fold",
            "Similar features",
            "Importance of single features",
            "Queries that gain and lose",
            "Cost and time",
        ]

    def test_without_facts_of_the_data(self, result):
        page = study_page(result)
        assert "Similar features" not in [section.heading for section in page.sections]
        assert "importance" not in re.sub("<style.*</style>", "", render(page), flags=re.DOTALL)

    def test_every_figure_has_a_caption_and_a_table(self, result):
        charts = [
            block
            for section in study_page(result, first_fold(12)).sections
            for block in section.blocks
            if isinstance(block, Chart)
        ]
        assert len(charts) == 7
        assert all(chart.caption.endswith(".") and list(chart.table.sheet.rows) for chart in charts)

    def test_the_policy_has_the_hashes_of_what_is_there(self, result):
        html = render(study_page(result))
        for tag in ("style", "script"):
            content = re.search(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)[1]
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"{tag}-src &#39;sha256-{digest}&#39;" in html

    def test_no_name_ends_the_data(self):
        data = {"a": "</script><!--", "b": "\u2028\udcff&"}
        sheet = Sheet("s", "T", "", [Column("a")], [])
        chart = Chart(
            drawing(1, 1, line(0, 0, 1, 1, "grid"), title="T"), "", Table(sheet), data=data
        )
        page = Page("P", MainResult("V."), [Section("A", "", [chart])])
        found = re.search(r'id="data">(.*?)</script>', render(page))[1]
        assert json.loads(found) == page.data == data

    def test_a_drawing_says_what_it_is(self):
        svg = drawing(10, 10, line(0, 0, 1, 1, "grid"), title="A & B")
        assert 'role="img" aria-label="A &amp; B"' in svg


class TestVerdict:
    def test_the_fewest_that_are_shown(self, result):
        verdict = study_page(result).verdict
        assert verdict.is_shown
        assert re.match(
            r"2 features selected by selector-\d are enough for ranksvm", verdict.sentence
        )
        assert ("features", "2 of 12") in verdict.facts

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
        worse["selector-0", "ranksvm"] = replace(run, by_k=bad, chosen=run.by_k[1])
        worse["selector-1", "ranksvm"] = replace(run, by_k=bad, chosen=run.by_k[1])
        verdict = study_page(replace(result, runs=worse)).verdict
        assert not verdict.is_shown
        assert verdict.sentence.startswith("No selection is shown to be enough")
        assert "comes closest: selector-0 with 1 feature and ranksvm" in verdict.notes[0]

    def test_all_features_are_no_selection(self, result):
        """A selector that is only tried with all features shows nothing."""
        every = result.run("all", "ranksvm")
        runs = {("all", "ranksvm"): every, ("s", "ranksvm"): replace(every, selector="s")}
        page = study_page(replace(result, runs=runs))
        assert not page.verdict.is_shown
        assert "fewest shown" not in render(page)

    def test_without_all_features(self, result):
        runs = {key: run for key, run in result.runs.items() if key[0] != "all"}
        page = study_page(replace(result, runs=runs))
        assert page.verdict.sentence.startswith("Nothing can be shown")
        assert "Queries that gain and lose" not in [section.heading for section in page.sections]

    def test_only_all_features(self, result):
        runs = {("all", "ranksvm"): result.run("all", "ranksvm")}
        headings = [s.heading for s in study_page(replace(result, runs=runs)).sections]
        assert headings == ["Features", "Cost and time"]


def with_unequal_folds(result):
    """The study with fewer queries in each further fold, and better values there."""
    folds = [
        replace(fold, query_ids=fold.query_ids[: 40 - 8 * f]) for f, fold in enumerate(result.folds)
    ]

    def cut(tested):
        outcomes = [
            replace(outcome, per_query={"MAP": outcome.per_query["MAP"][: 40 - 8 * f] + f / 20})
            for f, outcome in enumerate(tested.outcomes[0])
        ]
        return Outcomes([outcomes], folds)

    runs = {
        key: replace(run, chosen=cut(run.chosen), by_k={k: cut(o) for k, o in run.by_k.items()})
        for key, run in result.runs.items()
    }
    return replace(result, folds=folds, runs=runs)


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
    """Terminal, page, tables and figures say the same of a study with unequal folds."""

    def test_verdicts(self, uneven, capsys):
        plain = enough_features(uneven, "selector-0", "ranksvm", "MAP", 0.95)
        assert plain is not None  # it would be shown without the correction
        found = {(one.selector, one.ranker): one.k for one in find_enough(uneven)}
        assert ("selector-0", "ranksvm") not in found
        show_report(uneven, Path("out"), figures=False)
        told = " ".join(capsys.readouterr().out.split())
        for ranker in uneven.rankers:
            shown = [f"{name} {k}" for (name, own), k in found.items() if own == ranker]
            line = told.partition(f"with {ranker} on ")[2].partition("Enough features (")[2]
            listed = re.split(r"Quality| \(1\)", line)[0]
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
        page = render(study_page(uneven))
        # In the verdict, and with each ranker below the curves and the table of stability.
        assert page.count(caption.replace("'", "&#39;")) == 5
        ringed = re.findall(r"(selector-\d), (\d+) features[^<]*fewest", page)
        assert sorted(ringed) == sorted((name, str(k)) for (name, _), k in found.items())

    def test_means(self, uneven):
        best, facts = find_enough(uneven)[0], dict(study_page(uneven).verdict.facts)
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


def test_a_table_in_html():
    columns = [Column("a", align="left", is_name=True), Column("b"), Column("c", only_csv=True)]
    rows = [[Entry("<x>"), Entry(0.5, ".2f", True, "+", 1), Entry(1)]]
    html = to_html(Sheet("s", "T", "Of it.", columns, [rows, rows], ["A & B."]))
    root = ET.fromstring(html)
    assert root.findtext("table/caption") == "T. Of it."
    assert [head.text for head in root.iterfind("table/thead/tr/th")] == ["a", "b"]
    assert len(root.findall("table/tbody")) == 2
    cell = root.find("table/tbody/tr/td")
    assert "".join(cell.itertext()) == "0.50 (1)+"
    assert (root.findtext("table/tbody/tr/th"), root.findtext("ul/li")) == ("<x>", "A & B.")
