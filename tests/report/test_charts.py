"""Charts: what they draw, and that it can be read on a page and in one column of a paper."""

import json
import re
import warnings
import xml.etree.ElementTree as ET
from functools import partial
from importlib.resources import files
from itertools import combinations, pairwise

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve.report import report_of
from ranksieve.report.charts.colors import KEPT, MEANINGS, OTHER, color_class
from ranksieve.report.charts.curves import (
    Bar,
    Curve,
    Landmark,
    Level,
    Span,
    draw_bars,
    draw_curves,
)
from ranksieve.report.charts.matrices import Taken, draw_selections
from ranksieve.report.charts.panels import Panel, draw_panels
from ranksieve.report.charts.paper import paint, to_svg
from ranksieve.report.charts.svg import COLUMN, PAGE, drawing, line, spread_labels
from ranksieve.report.formats.html import CellBars, table_of
from ranksieve.report.section import Chart
from ranksieve.report.sheets.sheet import Column, Entry, Sheet
from ranksieve.report.similarity import branches_of, leaves_of, tree_of
from ranksieve.text import printable
from tests.report.browser import HOSTILE
from tests.report.results import made, planted

KINDS = ("curves", "pairs", "selected", "similarity", "alone", "densities", "queries", "time",
         "kept", "curve", "shares", "work")  # fmt: skip


@pytest.fixture(scope="module")
def charts():
    """A chart of each kind, with many selectors and long names."""
    study = planted(
        9,
        40,
        names=[f"body_feature_number_{number}" for number in range(40)],
        selectors=[f"greedy-rankrls-validated-{number}" for number in range(9)],
        n_densities=6,
    )
    found = [p.chart for of in (study, made()) for p in report_of(of).parts if p.chart]
    return {kind: next(c for c in found if c.name.split("-")[0] == kind) for kind in KINDS}


def box_of(text):
    return text.get_window_extent().padded(-0.5)


class TestAllCharts:
    @pytest.mark.parametrize("kind", KINDS)
    def test_text_is_large_enough_inside_and_apart(self, charts, kind):
        figure = paint(charts[kind].draw(COLUMN))
        figure.draw_without_rendering()
        (ax,) = figure.axes
        page = figure.bbox.padded(2)
        for text in ax.texts:
            box = box_of(text)
            assert text.get_fontsize() >= 7
            assert page.x0 <= box.x0 <= box.x1 <= page.x1, text
            assert page.y0 <= box.y0 <= box.y1 <= page.y1, text
        level = [text for text in ax.texts if text.get_rotation() == 0]
        for one, other in combinations(level, 2):
            height = 0.75  # rows of heat maps are as narrow as letters without space
            first, second = (box_of(text) for text in (one, other))
            apart = abs(first.y0 - second.y0) >= height * min(first.height, second.height)
            assert apart or not first.overlaps(second), (one, other)

    @pytest.mark.parametrize("kind", ["curves", "densities", "queries", "time", "curve"])
    def test_one_column_is_enough(self, charts, kind):
        figure = paint(charts[kind].draw(COLUMN))
        assert figure.get_size_inches()[0] <= 3.5 + 1e-9

    @pytest.mark.parametrize("kind", KINDS)
    def test_same_bytes_again_and_no_state_is_left(self, charts, kind, tmp_path):
        before = dict(mpl.rcParams)
        forms = {".svg": b"<svg", ".pdf": b"%PDF"}
        if kind not in ("curves", "similarity", "densities"):  # lines, cells and areas
            del forms[".pdf"]
        for suffix, start in forms.items():
            for name in ("first", "second"):
                charts[kind].write(tmp_path / f"{name}{suffix}")
            first = (tmp_path / f"first{suffix}").read_bytes()
            assert first.startswith(start)
            assert first == (tmp_path / f"second{suffix}").read_bytes()
        assert dict(mpl.rcParams) == before

    @pytest.mark.parametrize("kind", KINDS)
    def test_files_need_no_style_sheet(self, charts, kind):
        root = ET.fromstring(to_svg(charts[kind].draw(COLUMN)))
        names = {name for element in root.iter() for name in element.attrib}
        assert not names & {"class", "data-tip", "data-grid"}
        values = {value for element in root.iter() for value in element.attrib.values()}
        assert not [value for value in values if "--" in value or "var(" in value]
        assert root.get("width").endswith("pt")

    def test_the_page_has_the_same_words(self, charts):
        for chart in charts.values():
            page, paper = (ET.fromstring(svg) for svg in (chart.svg, to_svg(chart.draw(PAGE))))
            words = [element.text for element in page.iter("text")]
            assert words == [e.text for e in paper.iter("{http://www.w3.org/2000/svg}text")]


def test_names_are_shown_as_they_are(tmp_path):
    """No formula, no markup, and no warning about letters that a font lacks."""
    names = [*HOSTILE, "$\\frac{", "\u5b57" * 300, "\udcff", "\ufffe", " ", "\\$$", "_"]
    taken = {name: Taken(np.ones((len(names), 2)), "s0") for name in names}
    draw = partial(draw_selections, taken, names, ["f", "<f>"], "T", "share")
    chart = Chart("c", "", draw)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for suffix in (".svg", ".pdf"):
            chart.write(tmp_path / f"c{suffix}")
    svg = (tmp_path / "c.svg").read_text()
    words = [element.text or "" for element in ET.fromstring(svg).iter() if "text" in element.tag]
    assert {"$x$", "$\\frac{", "{{7*7}}", "\\u202egnp.exe", "a\\x1b[31mred"} <= set(words)
    assert all(word == printable(word) for word in words)
    drawn = [text.get_text() for text in paint(chart.draw(COLUMN)).axes[0].texts]
    assert drawn == words


def test_a_drawing_says_what_it_is():
    svg = drawing(10, 10, line(0, 0, 1, 1, "grid"), title="A & B")
    assert 'role="img" aria-label="A &amp; B"' in svg


class TestLines:
    def test_lines_differ_without_color(self):
        classes = [color_class(number) for number in range(40)]
        assert len(set(classes)) == 40
        for one, other in pairwise(classes):
            assert all(a != b for a, b in zip(one.split(), other.split(), strict=True))

    def test_values_are_where_they_should_be(self):
        curve = Curve("c", [1, 10, 100], [0.1, 0.2, 0.4], ["a", "b", "c"], "s0", [(0, 1)] * 3, 1)
        svg = draw_curves([curve], "T", "x", "y", PAGE, level=Level("all", 0.3, 0.05))
        root = ET.fromstring(svg)
        dots = [element for element in root.iter("circle") if "data-tip" in element.attrib]
        assert [dot.get("class").split()[0] for dot in dots] == ["dot", "ring", "dot"]
        x, y = ([float(dot.get(side)) for dot in dots] for side in ("cx", "cy"))
        assert x[1] - x[0] == pytest.approx(x[2] - x[1], abs=0.11)  # logarithmic
        assert (y[0] - y[1]) * 2 == pytest.approx(y[1] - y[2], abs=0.21)
        (base,) = [element for element in root.iter("line") if element.get("class") == "base whole"]
        assert float(base.get("y1")) == pytest.approx((y[1] + y[2]) / 2, abs=0.11)
        (band,) = [e for e in root.iter("rect") if e.get("class") == "band"]
        assert float(band.get("height")) == pytest.approx((y[1] - y[2]) / 4, abs=0.11)

    def test_what_is_far_below_is_cut_off_but_for_points_alone(self):
        high = Curve("high", [1, 2, 3, 4], [0.5, 0.51, 0.52, 0.53], [], "s0")
        low = Curve("low", [1, 2, 3, 4], [0.0, 0.1, 0.2, 0.3], [], "s1", may_leave=True)

        def lowest(curves):
            svg = draw_curves(curves, "T", "x", "y", PAGE)
            return min(float(mark) for mark in re.findall(r">(0\.\d+)</text>", svg))

        assert lowest([high, low]) > 0.4
        assert lowest([low]) < 0.1
        alone = [Curve(str(y), [1], [y], [], "s0") for y in (0.1, 0.8, 0.81, 0.82, 0.83)]
        assert lowest(alone) < 0.2

    def test_one_number_of_features_has_a_band(self):
        curve = Curve("c", [7], [0.5], ["tip"], "s0", [(0.4, 0.6)])
        root = ET.fromstring(draw_curves([curve], "T", "x", "y", COLUMN))
        (band,) = [e for e in root.iter("path") if e.get("class").startswith("range")]
        numbers = list(map(float, re.findall(r"-?[\d.]+", band.get("d"))))
        assert max(numbers[::2]) > min(numbers[::2])
        assert max(numbers[1::2]) > min(numbers[1::2])

    @pytest.mark.parametrize("x", [0.0, 50.0, 99.0, 100.0])
    def test_names_on_the_axis_are_apart(self, x):
        """Also in a column of a paper, and where two are nearly at the same place."""
        named = [Landmark(x, 0.0, "recommended 1,234 ms", "kept"), Landmark(100, 0, "all 99", "")]
        curve = Curve("c", [0, 100], [-1, 0], [], "s0")
        span = Span(x, 100.0, "saves 1,234 ms (27%)")
        figure = paint(draw_curves([curve], "T", "x", "y", COLUMN, landmarks=named, span=span))
        figure.draw_without_rendering()
        found = {text.get_text(): text.get_window_extent() for text in figure.axes[0].texts}
        first, last = (found[one.name] for one in named)
        assert first.x1 < last.x0
        assert figure.bbox.x0 <= first.x0 < last.x1 <= figure.bbox.x1
        assert figure.bbox.x0 <= found[span.name].x0 < found[span.name].x1 <= figure.bbox.x1

    @given(st.lists(st.floats(0, 300), min_size=1, max_size=20))
    def test_labels_are_apart(self, wanted):
        found = sorted(spread_labels(wanted, 16, 0, 400))
        assert all(b - a >= 16 - 1e-6 for a, b in pairwise(found))
        assert found[0] + 1e-6 >= 0
        assert found[-1] <= 400 + 1e-6


class TestBars:
    def test_they_start_where_they_should(self):
        """What is worse than the start goes to the left of its line."""
        bars = [Bar("a", 0.5, "0.5"), Bar("b", 0.3, "0.3"), Bar("c", 0.2, "0.2")]
        root = ET.fromstring(draw_bars(bars, "T", PAGE, start=0.3, start_name="random"))
        (line_of_start,) = [float(e.get("x1")) for e in root.iter("line")]
        ends = [[float(e.get(n)) for n in ("x", "width")] for e in root.iter("rect")]
        assert ends[0][0] == line_of_start
        assert ends[1][1] == 0
        assert sum(ends[2]) == pytest.approx(line_of_start, abs=0.11)
        assert ends[0][1] == pytest.approx(2 * ends[2][1], abs=0.21)
        assert "random" in [e.text for e in root.iter("text")]

    @pytest.mark.parametrize("values", [[0.0, 0.0], [-1.0, -2.0], [3.0]])
    def test_all_fit(self, values):
        panel = Panel("p", values, ".1f", start=1.0)
        root = ET.fromstring(draw_panels(["n"] * len(values), [panel], [], "", "T", PAGE))
        for bar in root.iter("rect"):
            x, width = float(bar.get("x")), float(bar.get("width"))
            assert 0 <= x <= x + width <= float(root.get("width"))

    def test_bars_in_tables_start_there_too(self):
        columns = [Column("n", is_name=True), Column("v")]
        rows = [[Entry(str(v)), Entry(v)] for v in (0.5, 0.1, None, np.inf)]
        table = table_of(Sheet("s", "", "", columns, [rows]), "", {"v": CellBars("kept", 0.3)})
        root = ET.fromstring(table)
        bars = [(bar.get("x"), bar.get("width")) for bar in root.findall(".//svg/rect")]
        assert bars == [("32", "32"), (None, "32")]
        assert {svg.get("class") for svg in root.iter("svg")} == {"bar kept"}


class TestColors:
    """Each meaning has a color of its own on light and on dark paper."""

    @pytest.fixture(params=[0, 1], ids=["light", "dark"])
    def colors(self, request):
        sheet = (files("ranksieve.report") / "templates" / "charts.css").read_text()
        known = dict(re.findall(r"(--[\w-]+): light-dark\((.*)\);", sheet))
        own = dict(re.findall(r"^\.(\w+) { --color: var\((.*)\); }", sheet, re.MULTILINE))
        names = {**{name: own[name] for name in MEANINGS}, "paper": "--paper"}
        return {name: known[color].split(", ")[request.param] for name, color in names.items()}

    @staticmethod
    def contrast(one, other):
        def luminance(color):
            parts = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
            linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
            return linear @ [0.2126, 0.7152, 0.0722]

        dark, light = sorted((luminance(one), luminance(other)))
        return (light + 0.05) / (dark + 0.05)

    def test_they_differ_and_can_be_seen(self, colors):
        assert len(set(colors.values())) == len(MEANINGS) + 1
        paper = colors.pop("paper")
        for meaning, color in colors.items():
            least = 2.5 if meaning == OTHER else 3.0  # what is not recommended may be faint
            assert self.contrast(color, paper) >= least, meaning

    def test_what_is_kept_can_be_told_in_grayscale(self, colors):
        assert self.contrast(colors[KEPT], colors[OTHER]) >= 1.8


class TestCells:
    def test_shares_are_those_of_the_selections(self):
        study = planted(3, 8)
        (chart, *_) = [p.chart for p in report_of(study).parts if p.sheet.name.startswith("selec")]
        grid = json.loads(ET.fromstring(chart.svg).get("data-grid"))
        for row, feature in enumerate(grid["rows"]):
            index = study.feature_names.index(feature)
            for column, name in enumerate(grid["columns"]):
                if name:
                    selector, fold = name.split(", ")
                    number = [f.name for f in study.folds].index(fold)
                    outcome = study.run(selector, "ranksvm").chosen.outcomes[0][number]
                    assert grid["values"][row][column] == (index in outcome.features)

    @given(st.lists(st.integers(0, 3), min_size=1, max_size=20), st.randoms(use_true_random=False))
    def test_a_tree_brings_like_features_together(self, families, random):
        random.shuffle(families)
        families = np.array(families)
        order = leaves_of(tree_of(np.where(families == families[:, None], 0.9, 0.1)))
        assert sorted(order) == list(range(len(families)))
        changes = np.count_nonzero(np.diff(families[order]))
        assert changes == len(np.unique(families)) - 1

    def test_the_tree_joins_features_at_their_distance(self):
        values = np.array([[1.0, 0.2, 0.9], [0.2, 1.0, 0.4], [0.9, 0.4, 1.0]])
        tree = tree_of(values)
        order = leaves_of(tree).tolist()
        first, last = (np.array(branch) for branch in branches_of(tree))
        joined = {order.index(0), order.index(2)}
        assert set(first[[0, -1], 0]) == joined
        np.testing.assert_allclose(first[1:3, 1], 0.1)
        np.testing.assert_allclose(last[1:3, 1], 1 - (0.2 + 0.4) / 2)
        assert set(last[[0, -1], 0]) == {order.index(1), sum(joined) / 2}
