"""The pages of all kinds of results, in a real browser."""

import base64
import hashlib
import json
import re
import xml.etree.ElementTree as ET

import pytest

from ranksieve.report import report_of
from ranksieve.report.formats.html import to_html
from ranksieve.report.page import render, write_page
from ranksieve.report.section import Part, Report, Section
from ranksieve.report.sheets.sheet import Column, Entry, Sheet
from tests.report.browser import assert_quiet, opened
from tests.report.results import made, planted

KINDS = ("study", "recommendation", "inspection", "hostile study", "hostile recommendation")
HOSTILE_KINDS = ("inspection", "hostile study", "hostile recommendation")


class TestAllPages:
    @pytest.mark.parametrize("kind", KINDS)
    def test_opens_without_complaint_or_request(self, browser, pages, kind):
        with opened(browser, pages[kind]) as shown:
            assert shown.page.title().endswith(" - ranksieve")
            assert shown.page.locator("script:not([type])").count() == 1
            assert_quiet(shown, pages[kind])

    @pytest.mark.parametrize(
        ("kind", "scheme"),
        [
            *(("study", "light"), ("study", "dark"), ("recommendation", "light")),
            *(("inspection", "light"), ("hostile recommendation", "dark")),
        ],
    )
    def test_axe_finds_nothing(self, browser, pages, kind, scheme):
        with opened(browser, pages[kind], color_scheme=scheme, bypass_csp=True) as shown:
            assert shown.violations() == []

    def test_axe_finds_nothing_with_hostile_names(self, browser, pages):
        with opened(browser, pages["hostile study"], bypass_csp=True) as shown:
            assert shown.violations(contrast=False) == []  # colors do not depend on names

    @pytest.mark.parametrize("kind", HOSTILE_KINDS)
    def test_hostile_names_do_nothing_and_are_shown(self, browser, pages, kind):
        with opened(browser, pages[kind], size=(390, 800)) as shown:
            text = shown.page.locator("body").inner_text()
            for name in ("<script>alert(1)</script>", '"]}', "$x$", "{{7*7}}", "\\u202egnp.exe"):
                assert name in text
            assert "a\\x1b[31mred" in text
            # A narrow screen scrolls only within parts.
            assert shown.page.evaluate("document.documentElement.scrollWidth") == 390
            shown.page.locator("[data-tip], [data-grid]").first.hover(force=True)
            assert_quiet(shown, pages[kind])


class TestStudy:
    def test_tables_are_sorted_by_click_and_by_keyboard(self, browser, pages):
        with opened(browser, pages["study"]) as shown:
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
        write_page(Report("P", [Section("A", "", [Part(sheet)])], "Study"), tmp_path / "p.html")
        with opened(browser, tmp_path / "p.html") as shown:
            button = shown.page.locator("thead th.n button")
            button.click()
            cells = shown.page.locator("tbody th").all_inner_texts()
            assert cells == ["1200", "3", "0.5", "1e-07", "-2", "None"]
            button.click()
            cells = shown.page.locator("tbody th").all_inner_texts()
            assert cells == ["-2", "1e-07", "0.5", "3", "1200", "None"]

    def test_hover_tells_values(self, browser, pages, result):
        with opened(browser, pages["study"]) as shown:
            run = result.run("selector-0", "ranksvm")
            dot = shown.page.locator('[data-tip^="selector-0, 5 features"]')
            dot.hover(force=True)
            tip = shown.page.locator("#tip")
            assert f"MAP {run.by_k[5].mean('MAP'):.4f}" in tip.inner_text()
            shown.page.keyboard.press("Escape")
            assert not tip.is_visible()
            grid = shown.page.locator("#similar-features [data-grid]")
            told = json.loads(grid.get_attribute("data-grid"))
            grid.hover(position={"x": told["x"] + told["width"] * 1.5, "y": told["y"] + 3})
            assert tip.inner_text() == (
                f"{told['rows'][0]}\n{told['columns'][1]}\nsimilarity {told['values'][0][1]:g}"
            )

    def test_theme(self, browser, pages):
        def background(shown):
            return shown.page.evaluate("getComputedStyle(document.body).backgroundColor")

        with opened(browser, pages["study"], color_scheme="dark") as shown:
            dark = background(shown)
            shown.page.get_by_role("button", name="Light theme").click()
            light = background(shown)
            assert light == "rgb(255, 255, 255)" != dark
            shown.page.get_by_role("button", name="Dark theme").click()
            assert background(shown) == dark

    def test_reads_without_script(self, browser, pages):
        with opened(browser, pages["study"], java_script_enabled=False) as shown:
            assert "are enough for ranksvm" in shown.page.locator("#verdict").inner_text()
            assert shown.page.locator("#features table").is_visible()
            assert not shown.page.get_by_role("button").all()
            numbers = shown.page.locator("figure details").first
            numbers.locator("summary").click()
            assert numbers.locator("table").is_visible()

    def test_paper_has_everything_unfolded(self, browser, pages):
        with opened(browser, pages["study"]) as shown:
            shown.page.evaluate("dispatchEvent(new Event('beforeprint'))")
            shown.page.emulate_media(media="print")
            assert all(one.is_visible() for one in shown.page.locator("details table").all())
            assert not shown.page.locator("#theme").is_visible()


class TestRecommendation:
    def test_the_verdict_is_the_first_that_one_sees(self, browser, pages, answer):
        with opened(browser, pages["recommendation"], java_script_enabled=False) as shown:
            verdict = shown.page.locator("#verdict")
            assert "Shown" in verdict.locator("h2").inner_text()
            assert verdict.locator(".sentence").inner_text() == answer.advice
            assert answer.claim.sentence in verdict.inner_text()
            box = verdict.bounding_box()
            assert box["y"] + box["height"] < 900

    def test_queries_that_lost_most_are_named(self, browser, pages, answer):
        judges = answer.evidence.judges
        values = zip(judges.queries, judges.with_all, judges.with_chosen, strict=True)
        worst = min((chosen - whole, query) for query, whole, chosen in values)
        with opened(browser, pages["recommendation"]) as shown:
            table = shown.page.locator("#queries-that-gain-and-lose table").first
            assert table.is_visible()
            first = table.locator("tbody tr").first.inner_text()
            assert first.startswith(worst[1].split()[0])
            assert f"{worst[0]:+.4f}" in first

    def test_hover_and_sort(self, browser, pages, answer):
        with opened(browser, pages["recommendation"]) as shown:
            tip = shown.page.locator("#tip")
            shown.page.locator('.ring[data-tip*="recommended"]').hover(force=True)
            point = answer.recommended
            assert tip.inner_text() == (
                f"Features: 4 of 12\nCost: 4 of 12\n"
                f"Lost on average: {-100 * point.change:.2f}% of NDCG@10\n"
                f"Shown to lose less than: {-100 * point.bound:.2f}% with 95% confidence\n"
                "recommended"
            )
            shown.page.locator('[data-tip*="95% interval"]').first.hover(force=True)
            assert tip.inner_text() == "+3.00%\n95% interval +1.00% to +5.00%"
            table = shown.page.locator("#features-to-drop table")
            table.get_by_role("button", name="alone").click()
            values = table.locator("tbody td:nth-child(3)").all_inner_texts()
            assert values == sorted(values, reverse=True)


class TestSize:
    def test_a_usual_study_is_below_500_kilobytes(self):
        study = planted(8, 136, ("ranksvm", "lambdamart"))
        assert len(render(report_of(study)).encode()) < 500_000

    def test_a_large_study_opens(self, browser, tmp_path):
        study = planted(20, 700, ("ranksvm", "lambdamart"))
        file = tmp_path / "report.html"
        write_page(report_of(study), file)
        assert file.stat().st_size < 2_000_000
        with opened(browser, file) as shown:
            assert "500 rows left out" in shown.page.locator("#features").inner_text()
            assert_quiet(shown, file)

    @pytest.mark.parametrize("n_kept", [300, 700])
    def test_700_features_to_keep_stay_small_and_open(self, browser, tmp_path, n_kept):
        names = [f"a feature with a rather long name, number {n}" for n in range(700)]
        file = tmp_path / "report.html"
        write_page(report_of(made(names, n_kept, 3000)), file)
        assert file.stat().st_size < 2_000_000
        with opened(browser, file) as shown:
            assert "The first 60 of" in shown.page.locator("#features-to-keep").inner_text()
            assert_quiet(shown, file)


def test_the_policy_has_the_hashes_of_what_is_there(answer):
    html = render(report_of(answer))
    for tag in ("style", "script"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{digest}&#39;" in html


def test_long_lists_are_divided_and_long_texts_cut():
    columns = [Column("name", align="left", is_name=True), Column("text", wraps=True)]
    groups = [[[Entry(f"n{g}-{row}"), Entry("x" * 400)] for row in range(150)] for g in range(2)]
    sheet = Sheet("s", "S", "", columns, groups, ["A note."])
    html = render(Report("P", [Section("A", "", [Part(sheet)])], "Study"))
    first, rest = re.findall(r"<table>.*?</table>", html, re.DOTALL)
    assert (first.count("n0-"), rest.count("n0-"), rest.count("n1-")) == (20, 130, 50)
    assert html.index("100 rows left out; tables/s.csv has them all.") < html.index("Further rows")
    assert "x" * 400 in first
    folded = render(Report("P", [Section("A", "", [Part(sheet, is_folded=True)])], "Study"))
    assert "x" * 300 + " ..." in folded
    assert "x" * 301 not in folded
    assert len(re.findall("<table>", folded)) == 1


def test_an_empty_cell_is_no_heading():
    columns = [Column("rank", is_name=True), Column("name", is_name=True)]
    html = to_html(Sheet("s", "", "", columns, [[[Entry(""), Entry("a")]]]))
    cells = ET.fromstring(html).find("table/tbody/tr")
    assert [(cell.tag, cell.text) for cell in cells] == [("td", None), ("th", "a")]


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
