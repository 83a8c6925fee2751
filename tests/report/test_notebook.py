"""Results in Python and in notebooks: sentences, cards, frames and figures."""

import html
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ranksieve import RankingData
from ranksieve.recommendation.answer import OFFERED_MARGINS
from ranksieve.report import report_of, sections
from ranksieve.report.section import Chart
from ranksieve.sums.inspection import inspect
from tests.report.browser import assert_quiet, opened
from tests.report.conftest import NUMBERED
from tests.report.results import made, planted

MANY = [f"a_feature_with_a_name_of_some_length_{number}" for number in range(500)]


@pytest.fixture(scope="module")
def large():
    """Results on 500 features: of a recommendation, a study and an inspection."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 500)).round(1)
    X[:, 100:] = X[:, :1]  # 400 copies
    data = RankingData(X, rng.integers(0, 3, 60), np.repeat(range(10), 6), feature_names=MANY)
    return made(MANY, n_kept=250), planted(names=MANY), inspect(data)


@pytest.fixture(scope="module")
def hostile():
    name = "</script><script>alert(2)</script>\x1b[31m"
    data = RankingData(
        np.eye(12), [0, 1] * 6, np.repeat(range(3), 4), feature_names=NUMBERED, missing="keep"
    )
    return (
        made(NUMBERED, title=name),
        planted(names=NUMBERED, selectors=[f"{one} s" for one in NUMBERED], rankers=(name,)),
        inspect(data),
    )


class TestSentences:
    def test_say_what_there_is_to_know(self, answer, result, inspected):
        assert repr(answer) == (
            "<Recommendation: Keep 4 of 12 features, which cost 4 instead of 12; these features "
            "are shown to lose less than 2% of NDCG@10 with 95% confidence, on 90 queries, each "
            "ranked by models that it did not train>"
        )
        best = max(result.runs.values(), key=lambda run: run.chosen.mean("MAP"))
        assert repr(result) == (
            "<StudyResult: A study: 3 selectors with ranksvm on 200 test queries; best mean MAP "
            f"{best.chosen.mean('MAP'):.4f}, by {best.selector}>"
        )
        assert repr(inspected) == (
            "<Inspection: 240 rows of 40 queries with 9 features; 1 constant, 1 duplicated, 60 "
            "missing values>"
        )

    def test_of_what_is_not_shown(self):
        assert repr(made(n_kept=12)).startswith(
            "<Recommendation: Keep all 12 features; no smaller set of features is shown to lose"
        )

    def test_of_their_parts(self, answer, result):
        point, run = answer.recommended, result.run("selector-0", "ranksvm")
        bounds = f"change {100 * point.change:+.2f}%, bound {100 * point.bound:+.2f}%"
        assert repr(point) == f"<CurvePoint: 4 features, cost 4, {bounds}>"
        assert repr(answer.claim) == f"<Claim: {answer.claim.headline}>"
        assert "feature=0, name='feature 1'" in repr(answer.kept[0])
        assert "feature=4, name='feature 5'" in repr(answer.kept[0].substitutes)
        assert repr(run) == "<Run: selector-0 with ranksvm, sizes 1, 2, 5, 10>"
        assert repr(run.chosen) == "<Outcomes: 1 seed on 5 folds>"

    @pytest.mark.slow
    def test_are_short(self, large, hostile):
        for answer, study, inspection in (large, hostile):
            evidence, run = answer.evidence, next(iter(study.runs.values()))
            report = report_of(answer)
            short = [
                *(answer, answer.claim, *answer.curve, answer.kept[0]),
                *(evidence, evidence.judges, evidence.likeness, evidence.alone),
                *(study, study.folds[0], run, run.chosen, run.chosen.outcomes[0][0], inspection),
                *(report, *report.sections, *(part.sheet for part in report.parts)),
                *(part.chart for part in report.parts if part.chart is not None),
            ]
            for one in short:
                assert len(repr(one)) < 900, type(one)
                assert repr(one).isprintable()


class TestCards:
    @pytest.mark.slow
    def test_have_the_verdict_and_what_a_terminal_shows(self, answer, result, inspected):
        for one in (answer, result, inspected):
            card, (verdict, *others) = one._repr_html_(), sections(one)
            texts = [verdict.sentence, verdict.word, *verdict.notes]
            plain = html.unescape(re.sub(r"<[^>]*>", "", card))
            assert all(text in plain for text in texts)
            parts = [part for section in others for part in section.parts]
            for part in parts:
                is_there = f"<caption>{part.sheet.title}</caption>" in card.replace("\n", "")
                assert is_there == (part.brief is not None)

    @pytest.mark.slow
    def test_are_not_large(self, large):
        for one in large:
            card = one._repr_html_()
            style = re.search("<style>.*</style>", card, re.DOTALL)[0]
            assert len(card) - len(style) < 30_000
        assert re.search(r"2\d\d rows left out; to_frame\(\) has them", large[0]._repr_html_())

    @pytest.mark.slow
    def test_names_are_text(self, hostile):
        for one in hostile:
            card = one._repr_html_()
            assert not re.search(r"<(script|b>|!--)", card.replace("<b>0.", ""))
            assert "\x1b" not in card
            assert "\u202e" not in card

    def test_names_are_no_formulas(self, answer):
        """MathJax leaves such elements as they are."""
        classes = {"ranksieve", "mathjax_ignore", "tex2jax_ignore"}
        start = re.match('<div class="([^"]*)">', answer._repr_html_())
        assert set(start[1].split()) == classes

    def test_the_style_is_that_of_the_card(self, answer):
        style = re.search("<style>(.*)</style>", answer._repr_html_(), re.DOTALL)[1]
        style = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL).strip()
        start, rest = style.split("{", 1)
        assert start.strip() == ".ranksieve, #ranksieve"
        depth = 1
        for place, sign in enumerate(rest):  # the first rule has all others inside it
            depth += {"{": 1, "}": -1}.get(sign, 0)
            assert depth or place == len(rest) - 1
        assert ":root {" not in style


THEMES = {
    "light": 'data-jp-theme-light="true"',
    "dark": 'data-jp-theme-light="false"',
}
# As JupyterLab: what applies to tables in outputs, and must not win.
JUPYTER = """
.jp-RenderedHTMLCommon table { table-layout: fixed; color: rgb(255, 0, 0); margin-left: auto; }
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) { background: rgb(255, 255, 0); }
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th { text-align: right; border: none; }
[data-jp-theme-light="true"] { background: #ffffff; color: #000000; }
[data-jp-theme-light="false"] { background: #111111; color: #ffffff; }
a { color: inherit; }
"""


def notebook_of(cards, theme):
    outputs = "".join(f'<div class="jp-RenderedHTMLCommon">{card}</div>' for card in cards)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A notebook</title>'
        f"<style>{JUPYTER}</style></head><body {THEMES[theme]}><main><h1>A notebook</h1>"
        '<p id="own">Text with a <a href="#own">link</a></p>'
        f"{outputs}</main></body></html>"
    )


@pytest.mark.parametrize("theme", THEMES)
class TestInABrowser:
    @pytest.fixture
    def show(self, browser, tmp_path, theme):
        def open_notebook(*results, **options):
            path = tmp_path / "notebook.html"
            cards = [one._repr_html_() for one in results]
            path.write_text(notebook_of(cards, theme), encoding="utf-8")
            return opened(browser, path, **options), path

        return open_notebook

    @pytest.mark.parametrize("width", [1000, 400])
    def test_axe_finds_nothing(self, show, hostile, width):
        notebook, path = show(*hostile, size=(width, 900))
        with notebook as shown:
            assert shown.violations() == []
            assert shown.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert_quiet(shown, path)

    def test_colors_are_those_of_the_notebook_not_of_the_system(self, show, answer, theme):
        other = "dark" if theme == "light" else "light"
        notebook, _ = show(answer, color_scheme=other)
        with notebook as shown:
            of = "selector => getComputedStyle(document.querySelector(selector))"
            paper = shown.page.evaluate(f"({of})('.ranksieve').backgroundColor")
            assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 28)"}[theme]
            table = shown.page.evaluate(f"({of})('.ranksieve table').color")
            assert table == shown.page.evaluate(f"({of})('.ranksieve').color")
            row = shown.page.evaluate(f"({of})('.ranksieve tbody tr').backgroundColor")
            assert row == "rgba(0, 0, 0, 0)"

    def test_the_rest_of_the_notebook_is_as_before(self, show, answer, theme):
        """The same with a card whose style is taken away."""

        class Bare:
            def _repr_html_(self):
                return re.sub("<style>.*</style>", "", answer._repr_html_(), flags=re.DOTALL)

        looks = []
        for one in (answer, Bare()):
            notebook, _ = show(one)
            with notebook as shown:
                looks.append(
                    shown.page.evaluate(
                        "['html', 'body', 'main', 'h1', '#own', '#own a'].map(selector => "
                        "[...getComputedStyle(document.querySelector(selector))].filter(name => "
                        "!/size|height|width|origin|inset/.test(name)).map(name => [name, "
                        "getComputedStyle(document.querySelector(selector))[name]].join()).join())"
                    )
                )
        assert looks[0] == looks[1]


class TestFrames:
    def test_features(self, answer):
        frame = answer.to_frame(library="pandas")
        assert frame["feature"].tolist() == answer.feature_names
        assert frame["kept"].tolist() == [True] * 4 + [False] * 8
        assert frame["rank"].tolist()[:5] == [1, 2, 3, 4, pd.NA]
        first, last = frame.iloc[0], frame.iloc[-1]
        kept, gone = answer.kept[0], answer.dropped[-1]
        for name in ("cost", "loss", "lower", "upper", "stability", "cluster_stability"):
            assert first[name] == getattr(kept, name)
        assert first["substitutes"] == ["feature 5"]
        assert first["alone"] == answer.evidence.alone.values[kept.feature]
        assert last["reason"] == gone.reason
        assert pd.isna(last["loss"])

    def test_features_without_evidence_or_details(self, answer):
        bare = [replace(one, loss=None, stability=None) for one in answer.kept]
        frame = replace(answer, evidence=None, kept=bare).to_frame(library="polars")
        for name in ("alone", "loss", "stability"):
            assert frame[name].dtype == pl.Float64
            assert frame[name].is_null().all()

    def test_curve_and_offers(self, answer):
        curve = answer.to_frame("curve", library="polars")
        assert curve["size"].to_list() == [point.size for point in answer.curve]
        assert curve.filter(pl.col("recommended"))["features"].to_list() == [answer.names]
        for name in ("cost", "change", "error", "bound"):
            assert curve[name].to_list() == [getattr(point, name) for point in answer.curve]
        offers = answer.to_frame("offers", library="polars")
        assert offers["margin"].to_list() == [offer.margin for offer in answer.offers]
        assert set(offers["margin"]) <= {0.02, *OFFERED_MARGINS}
        assert offers.columns == ["margin", *curve.columns]

    def test_groups(self, answer):
        frame = answer.to_frame("groups", library="pandas")
        kept, gone = answer.kept_groups[0], answer.dropped_groups[0]
        assert frame["group"].tolist() == [kept.name, gone.name]
        assert frame["kept"].tolist() == [True, False]
        assert frame["saving"].tolist() == [kept.saving, gone.saving]
        assert frame["loss"].fillna(-1).tolist() == [kept.loss, -1]
        assert frame["features"].tolist() == [["feature 1"], ["feature 12"]]

    def test_another_table_is_refused(self, answer):
        with pytest.raises(ValueError, match="one of features, groups, curve, offers; got 'kept'"):
            answer.to_frame("kept")

    def test_study(self, result):
        frame = result.to_frame(library="pandas").set_index(["selector", "ranker", "size"])
        assert len(frame) == 3 * 4 + 1 + 4
        for (selector, ranker, size), row in frame.iterrows():
            run = result.run(selector, ranker)
            assert row["MAP"] == run.by_k[size].mean("MAP")
            assert row["features"] == size
            assert row["chosen"] == (size == max(run.by_k))

    def test_inspection(self, inspected):
        frame = inspected.to_frame(library="pandas")
        assert frame["feature"].tolist() == inspected.feature_names == NUMBERED[:9]
        assert frame["missing"].tolist() == [0] * 8 + [60]
        assert frame["constant"].fillna("").tolist() == [""] * 7 + ["everywhere", ""]
        assert frame["copy_of"].fillna("").tolist() == [""] * 6 + [NUMBERED[0], "", ""]
        by_name = {one.name: one for one in inspected.best_features}
        for row in frame.itertuples():
            alone = by_name[row.feature]
            assert (row.direction, row.value, row.reverse) == (
                *(alone.direction, alone.value, alone.reverse),
            )

    def test_inspection_of_what_cannot_be_compared(self):
        data = RankingData([[1.0, np.inf], [2.0, 0.0]], [0, 1], [1, 1], missing="keep")
        frame = inspect(data).to_frame(library="polars")
        assert frame["value"].is_null().all()


class TestFigures:
    def test_the_main_one(self, answer, result, inspected):
        names = [one.plot().name for one in (answer, result, inspected)]
        assert names == ["curve", "curves-ranksvm-map", "alone"]

    @pytest.mark.slow
    def test_by_name(self, answer, result, tmp_path):
        for one in (answer, result):
            for part in report_of(one).parts:
                if part.chart is not None:
                    assert one.plot(part.chart.name)._repr_svg_() == part.chart._repr_svg_()
        kept = answer.plot("kept")
        assert isinstance(kept, Chart)
        kept.write(tmp_path / "kept.svg")
        assert "<svg" in (tmp_path / "kept.svg").read_text(encoding="utf-8")

    def test_an_unknown_one(self, answer, result):
        known = "curve, kept, shares, similarity, alone, queries, work"
        message = f"no figure 'curv'; there are {known}. Did you mean curve"
        with pytest.raises(ValueError, match=message):
            answer.plot("curv")
        alone = replace(result, runs={("all", "ranksvm"): result.run("all", "ranksvm")}, seen=None)
        with pytest.raises(ValueError, match="there is no figure 'curves'; there are none"):
            alone.plot()
