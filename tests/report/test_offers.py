"""What can be had: one number for one thing wherever it is shown, and the slider along the sets."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from ranksieve import make_ranking, recommend
from ranksieve.data import DataError
from ranksieve.recommendation.answer import Recommendation
from ranksieve.report import report_of
from ranksieve.report.page import render, write_page
from tests.report.browser import HOSTILE, assert_quiet, opened
from tests.report.results import claim_of, made


def refuted(**more):
    """The test queries of a split say something else than cross-fitting."""
    other = claim_of(np.array([0.1, 0.2, 0.4]), np.array([0.5, 0.6, 0.5]), "test")
    return made(confirmed=other, **more)


def likely():
    """No set is shown to be enough, but one is likely."""
    curve = [replace(p, change=-0.00449, bound=-0.0333) for p in made(n_kept=12).curve[-1:]]
    return made(n_kept=12, curve=curve)


@pytest.fixture(scope="module")
def recommended():
    """What the program says, of features with costs, some of which are in a group."""
    data, _ = make_ranking(60, n_informative=3, n_redundant=0, n_noise=3, noise=0.1)
    names = [str(name) for name in data.feature_names]
    costs = {
        "features": {name: 1.234 + number / 7 for number, name in enumerate(names)},
        "groups": {names[0]: "call", names[3]: "call"},
        "group_costs": {"call": 3.21},
    }
    return recommend(data, "rankrls", margin=0.05, costs=costs, details=False)


def cells(sheet):
    names = [column.name for column in sheet.columns]
    return [dict(zip(names, (e.text for e in row), strict=True)) for row in sheet.rows]


def shown_of(answer):
    """The verdict, the tables, the dots, the axis and the slider of a page."""
    report = report_of(answer)
    (section,) = [one for one in report.sections if one.heading == "What can be had"]
    offers, curve = section.parts
    circles = re.findall(r'<circle [^>]*class="(\w+) \w+" data-tip="([^"]*)"', curve.chart.svg)
    dots = [(kind, tip.split("\n")) for kind, tip in circles]
    words = [text.text for text in ET.fromstring(curve.chart.svg).iter("text")]
    return report.sections[0], cells(offers.sheet), cells(curve.sheet), dots, words, curve.slider


KINDS = {
    "shown": made,
    "without costs": lambda: made(has_costs=False),
    "budget": lambda: made(budget=5.0, shift=-0.03),
    "none": lambda: made(n_kept=0),
    "all": lambda: made(n_kept=12),
    "likely": likely,
    "refuted": refuted,
}


def tiles_of(verdict):
    return {row[0].text: row[1].text for row in verdict.parts[0].sheet.rows}


class TestOneNumber:
    """Size, cost, mean change and bound are the same wherever they are, digit by digit."""

    @pytest.fixture(params=["recommended", *KINDS])
    def answer(self, request):
        own = KINDS.get(request.param)
        return request.getfixturevalue(request.param) if own is None else own()

    def test_the_slider_begins_at_the_ring(self, answer):
        *_, dots, _, slider = shown_of(answer)
        (ring,) = [tip for kind, tip in dots if kind == "ring"]
        facts = slider.stops[slider.start].facts
        assert ring[:-1] == [f"{name}: {value} {beside}".rstrip() for name, value, beside in facts]
        assert ring[-1] == ("recommended" if answer.risk is None else "at a risk")

    def test_the_verdict_names_what_has_the_ring(self, answer):
        verdict, _, _, _, words, slider = shown_of(answer)
        facts = {name: value for name, value, _ in slider.stops[slider.start].facts}
        size, cost = facts["Features"], facts.get("Cost", facts["Features"])
        if answer.confirmed is not None:
            self.check_tested(answer, verdict, size, cost)
        elif answer.risk is not None:
            lost, most = facts["Lost on average"], facts["Shown to lose less than"]
            ending = f"lose {lost} on average, and may lose {most}."
            assert f"take a risk: {size} features, " in verdict.sentence
            assert verdict.sentence.endswith(f"cost {cost}, {ending}")
            assert f"at a risk {cost}" in words
        elif answer.dropped:
            tiles = tiles_of(verdict)
            assert tiles["Features to keep"] == size
            assert tiles.get("Cost", size) == cost
            what = "Lost" if answer.claim.change < 0 else "Gained"
            sign = "-" if what == "Lost" else "+"
            assert f"a change of {sign}{facts[f'{what} on average']} (" in answer.claim.sentence
            most = facts["Shown to lose less than"]
            assert tiles["Loss, with 95% confidence"] == f"< {most}"
            assert f"The loss is below {most} with that confidence." in answer.claim.sentence
            assert f"recommended {cost}" in words
        else:
            tiles = tiles_of(verdict)
            assert tiles["Features to keep"] == size
            assert verdict.sentence == f"Keep all {size} features."
            assert "Lost on average" not in facts

    @staticmethod
    def check_tested(answer, verdict, size, cost):
        """Numbers of a test are in the whole verdict, and called so."""
        tiles, tested = tiles_of(verdict), answer.confirmed
        assert (tiles["Features at a risk"], tiles["Cost"]) == (size, cost)
        lost, most = f"{-tested.change:.2%}", f"{-tested.bound:.2%}"
        assert tiles["Loss on test queries, with 95% confidence"] == f"< {most}"
        assert tiles["NDCG@10 on test queries"] == f"{tested.with_chosen:.4f}"
        ending = f"lose {lost} on average on the test queries, and may lose {most}."
        assert verdict.sentence.endswith(ending)
        assert f"a change of -{lost} (" in verdict.notes[0]

    def test_tables_have_the_numbers_of_the_slider(self, answer):
        _, offers, curve, _, _, slider = shown_of(answer)
        assert len(curve) == len(slider.stops) - 1
        for row, stop in zip(curve, slider.stops[:-1], strict=True):
            facts = {name: value for name, value, _ in stop.facts}
            change = facts.get("Lost on average") or facts["Gained on average"]
            assert row["features"] == facts["Features"]
            assert row.get("cost") == facts.get("Cost")
            assert row["change"][1:] == change
            assert row["bound"] == facts["Shown to lose less than"]
        shown = [(row["features"], row["change"], row["bound"]) for row in curve]
        offered = [row for row in offers[:-1] if row["features"] != "-"]
        assert offered
        assert {(row["features"], row["change"], row["bound"]) for row in offered} <= set(shown)

    def test_all_features_are_on_the_axis_with_the_saving(self, answer):
        _, offers, _, dots, words, slider = shown_of(answer)
        last = {name: value for name, value, _ in slider.stops[-1].facts}
        size = str(answer.n_all)
        assert [tip[0] for _, tip in dots].count(f"Features: {size} of {size}") == 2  # in the band
        assert last["Features"] == offers[-1]["features"] == size
        cost = last.get("Cost", size)
        assert f"all {cost}" in words
        saved = [word for word in words if word.startswith("saves ")]
        point = answer.recommended or answer.risk
        if point is None:
            assert not saved
        else:
            share = (answer.cost_of_all - point.cost) / answer.cost_of_all
            (label,) = saved
            assert label.endswith(f"({share:.0%})")

    def test_an_answer_whose_numbers_differ_is_refused(self, recommended):
        record = recommended.to_record()
        assert Recommendation.from_record(record).cost == recommended.cost
        with pytest.raises(DataError, match="'curve' does not have the features to keep"):
            Recommendation.from_record(record | {"cost": record["cost"] + 0.23})
        others = [one for one in record["curve"] if one["features"] != record["features"]]
        with pytest.raises(DataError, match="'curve' does not have the features to keep"):
            Recommendation.from_record(record | {"curve": others})


class TestSlider:
    def test_it_has_all_sets_and_what_they_are_offered_for(self):
        slider = shown_of(made())[-1]
        assert [len(stop.features) for stop in slider.stops] == [0, 1, 2, 3, 4, 12]
        assert slider.start == 4
        assert [stop.remark for stop in slider.stops] == [
            *[""] * 3,
            "This is the cheapest set that is shown to lose less than 10%; to have it, repeat the "
            "command with --margin 10%.",
            "This set is recommended.",
            "Nothing is dropped.",
        ]
        assert shown_of(refuted())[-1].stops[4].remark == "This set is a risk."
        assert shown_of(made(n_kept=12))[-1].stops[-1].remark == "All features are recommended."

    def test_nothing_ends_its_element(self):
        """Names are text to the browser, and the same text again to the script."""
        names = [
            *HOSTILE,
            "</SCRIPT >",
            "<!--<script>",
            "]]>",
            "\u2028",
            "&lt;/script&gt;",
            "\udcff",
        ]
        slider = shown_of(made(names))[-1]
        assert not set(slider.data) & set("<>&\u2028")
        known = json.loads(slider.data)
        assert len(known["names"]) == len(names)
        assert known["names"][0] == "<script>alert(1)</script>"
        assert known["names"][-1] == "\\udcff"
        page = render(report_of(made(names)))
        inside = re.search(r'<script type="application/json">(.*?)</script>', page)[1]
        assert json.loads(inside) == known

    def test_notebooks_and_files_have_none(self):
        (section,) = [s for s in report_of(made()).sections if s.heading == "What can be had"]
        assert "slider" not in section._repr_html_()
        assert "data-stop" not in section._repr_html_()

    def test_it_moves_along_the_sets_by_keyboard(self, browser, pages, answer):
        with opened(browser, pages["recommendation"]) as shown:
            slider = shown.page.get_by_role("slider", name="Move along the sets")
            told = shown.page.locator(".slider output")
            sets = shown.page.locator(".slider .sets")
            assert "This set is recommended." in told.inner_text()
            assert "compared with" not in sets.inner_text()
            slider.press("ArrowLeft")
            point = answer.curve[3]
            assert f"\n{-100 * point.bound:.2f}%\n" in told.inner_text()
            assert f"\n{-100 * point.change:.2f}%\n" in told.inner_text()
            assert slider.get_attribute("aria-valuetext").startswith("Features 3 of 12, Cost 3 of")
            assert sets.locator("p").all_inner_texts() == [
                "Without 1, compared with the recommended set:"
            ]
            assert sets.locator("p + ul li").all_inner_texts() == ["feature 4"]
            (chosen,) = shown.page.locator(".chosen").all()
            assert chosen.get_attribute("data-tip").startswith("Features: 3 of 12")
            slider.press("End")
            assert "Nothing is dropped." in told.inner_text()
            assert "With 8, compared with the recommended set:" in sets.inner_text()
            sets.locator("summary").click()
            slider.press("Home")
            slider.press("ArrowRight")
            assert sets.locator("details li").all_inner_texts() == ["feature 1"]  # still unfolded

    def test_hostile_names_are_text(self, browser, pages):
        with opened(browser, pages["hostile recommendation"]) as shown:
            slider = shown.page.get_by_role("slider")
            slider.press("End")
            names = shown.page.locator(".slider li").all_text_contents()
            assert "<script>alert(1)</script> 0" in names
            assert "</script><b> 2" in names
            assert "\\u202egnp.exe 5" in names
            assert "<!-- <style> 10" in names
            assert_quiet(shown, pages["hostile recommendation"])

    @pytest.mark.parametrize("how", ["script", "print"])
    def test_it_is_not_there_where_it_cannot_move(self, browser, pages, how):
        more = {"java_script_enabled": False} if how == "script" else {}
        with opened(browser, pages["recommendation"], **more) as shown:
            if how == "print":
                assert shown.page.locator(".slider").is_visible()
                shown.page.emulate_media(media="print")
            assert not shown.page.locator(".slider").is_visible()
            assert shown.page.locator("#what-can-be-had table").first.is_visible()


@pytest.mark.parametrize("width", [320, 390, 520, 700, 900, 1200, 1600])
@pytest.mark.parametrize("kind", ["study", "recommendation", "inspection"])
def test_no_tile_of_the_verdict_stands_alone(browser, pages, kind, width):
    """In rows of several, in a row that it fills, or all one below the other."""
    with opened(browser, pages[kind], size=(width, 900)) as shown:
        boxes = [tile.bounding_box() for tile in shown.page.locator(".facts > div").all()]
        rows = {}
        for box in boxes:
            rows.setdefault(round(box["y"]), []).append(box)
        sizes = [len(row) for row in rows.values()]
        assert set(sizes) == {1} or min(sizes) > 1
        for row in rows.values():
            assert max(box["x"] + box["width"] for box in row) <= width


@pytest.mark.parametrize(("width", "shown_width"), [(1200, 900), (800, 760), (390, 704)])
def test_charts_shrink_as_far_as_they_can_be_read(browser, pages, width, shown_width):
    """And scroll beyond that; what they say under the pointer stays where it is."""
    with opened(browser, pages["recommendation"], size=(width, 900)) as shown:
        chart = shown.page.locator("#what-can-be-had svg.wide")
        assert chart.bounding_box()["width"] == pytest.approx(shown_width, abs=0.1)
        shown.page.locator('.ring[data-tip*="recommended"]').hover(force=True)
        assert shown.page.locator("#tip").inner_text().startswith("Features: 4 of 12")
        shown.page.set_viewport_size({"width": 600, "height": 900})
        shown.page.emulate_media(media="print")
        assert chart.bounding_box()["width"] <= 600


def test_many_long_names_fit_a_narrow_screen(browser, tmp_path):
    names = [f"a_feature_with_a_rather_long_name_{n}_{'x' * (n % 90)}" for n in range(500)]
    write_page(report_of(made(names, n_kept=40)), tmp_path / "p.html")
    with opened(browser, tmp_path / "p.html", size=(390, 800)) as shown:
        shown.page.get_by_role("slider").press("End")
        assert shown.page.locator(".slider li").count() == 460 + 500
        assert shown.page.evaluate("document.documentElement.scrollWidth") == 390
        assert_quiet(shown, tmp_path / "p.html")
