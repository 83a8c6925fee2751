"""The pages of a recommendation and of an inspection, in a real browser."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ranksieve import RankingData
from ranksieve.recommendation.answer import (
    Alone,
    DroppedFeature,
    Evidence,
    FrontPoint,
    JudgedPart,
    KeptFeature,
    Likeness,
    Recommendation,
    Spent,
    Substitute,
)
from ranksieve.recommendation.claim import Claim
from ranksieve.report.page.inspection import inspection_page
from ranksieve.report.page.page import Chart, render, write_page
from ranksieve.report.page.recommendation import recommendation_page
from ranksieve.report.recommendation import show_recommendation, write_recommendation
from ranksieve.report.sheets.recommendation import recommendation_sheets
from ranksieve.sums.inspection import inspect
from tests.report.browser import HOSTILE, assert_quiet, opened

NAMES = [f"feature {number}" for number in range(1, 13)]


def made(names=NAMES, n_kept=4, n_queries=30, selector="greedy-rankrls", **change):
    """An answer by hand: ``n_kept`` features, judged by three parts of the queries."""
    rng = np.random.default_rng(0)
    n = len(names)
    kept, gone = list(range(n_kept)), list(range(n_kept, n))
    base = rng.uniform(0.3, 0.8, (3, n_queries))
    values = base + rng.normal(0, 0.02, base.shape) + change.pop("shift", 0.0)
    how = "procedure", "NDCG@10", 0.02, 0.95
    claim = Claim.test(np.concatenate(values), np.concatenate(base), None, *how)
    outcomes = [
        JudgedPart(
            str(part + 1),
            selector,
            n_kept,
            float(n_kept),
            kept,
            [f"{part}:{q} {HOSTILE[q % len(HOSTILE)]}" for q in range(n_queries)],
            base[part].tolist(),
            values[part].tolist(),
            None,
        )
        for part in range(3)
    ]
    similarity = np.abs(np.corrcoef(rng.normal(size=(min(n, 150), 8)))).round(4)
    evidence = Evidence(
        outcomes=outcomes,
        alone=Alone(rng.uniform(0.2, 0.6, n).tolist(), rng.choice([-1, 1], n).tolist()),
        likeness=Likeness(
            list(range(len(similarity))),
            [similarity[row, :row].tolist() for row in range(len(similarity))],
        ),
        spent=[Spent("lambdamart", 90, 12.5), Spent(selector, 3, 0.25)],
        elapsed=8.0,
        n_resumed=0,
        versions={"python": "3.11", "numpy": "2.0"},
        command=["ranksieve", "recommend", "my data.txt"],
    )
    front = [
        FrontPoint(selector, size, float(size), 0.5 + size / 100, 0.0, -0.01, size > 2, True)
        for size in (1, 2, 3, n_kept)
        if selector not in ("all", "none")
    ]
    front += [
        FrontPoint("all", n, float(n), 0.55, 0.0, 0.0, True, True),
        FrontPoint("none", 0, 0.0, 0.3, -0.4, -np.inf, None, True),
    ]
    settings = {
        "measure": "NDCG@10", "convention": "standard", "ranker": "lambdamart",
        "ranker_parameters": {}, "selectors": [selector], "rule": "half-margin", "margin": 0.02,
        "budget": None, "level": 0.95, "seed": 7, "include": [], "exclude": [], "missing": "none",
        "ranksieve": "1.0", "fingerprint": "f1f2f3f4f5f6f7f8", "scale": "none", "treated": None,
        "division": "3 parts",
        "costs": {
            "features": dict.fromkeys(names, 1.0),
            "groups": {name: name for name in names[:3]},
            "group_costs": dict.fromkeys(names[:3], 2.0),
        },
    }  # fmt: skip
    parts = dict(
        title="My data",
        feature_names=list(names),
        features=kept,
        selector=selector,
        size=n_kept,
        claim=claim,
        cost=float(n_kept),
        cost_of_all=float(n),
        has_costs=True,
        front=front,
        kept=[
            KeptFeature(f, 1.0, 0.03, 0.01, 0.05, 0.9, 1.0, (Substitute(gone[0], 0.95, 1.0),))
            if gone
            else KeptFeature(f, 1.0)
            for f in kept
        ],
        dropped=[DroppedFeature(f, 1.0, f"near-copy of {names[0]}") for f in gone],
        settings=settings,
        evidence=evidence,
    )
    return Recommendation(**parts | change)


@pytest.fixture(scope="module")
def answer():
    return made()


@pytest.fixture(scope="module")
def path(answer, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "report.html"
    write_page(recommendation_page(answer), file)
    return file


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    file = tmp_path_factory.mktemp("hostile") / "report.html"
    names = [f"{name} {n}" for n, name in enumerate(HOSTILE)]
    strange = made(names, title="</script><script>alert(2)</script>", selector="<b>s</b>")
    write_page(recommendation_page(strange), file)
    return file


def planted_data(names=None, n_queries=40):
    rng = np.random.default_rng(3)
    n = 6 * n_queries
    X = rng.normal(size=(n, 9))
    X[:, 6] = X[:, 0]
    X[:, 7] = 1.0
    X[::4, 8] = np.nan
    y = np.clip(np.round(X[:, 0] - X[:, 1] + rng.normal(size=n)), 0, 3)
    qid = np.repeat(np.arange(n_queries), 6)
    order = np.lexsort((-y, qid))  # relevant documents first: the file order leaks
    return RankingData(X[order], y[order], qid, feature_names=names, missing="keep")


@pytest.fixture(scope="module")
def inspected():
    return inspect(planted_data([f"{name} {n}" for n, name in enumerate(HOSTILE[:9])]))


@pytest.fixture(scope="module")
def looked_at(inspected, tmp_path_factory):
    file = tmp_path_factory.mktemp("inspected") / "inspect.html"
    write_page(inspection_page("<i>data</i>", inspected), file)
    return file


class TestInTheBrowser:
    @pytest.mark.parametrize("page", ["path", "hostile", "looked_at"])
    def test_opens_without_complaint_or_request(self, browser, page, request):
        file = request.getfixturevalue(page)
        with opened(browser, file) as shown:
            assert_quiet(shown, file)
            assert shown.page.locator("script").count() == 2

    @pytest.mark.parametrize(
        ("page", "scheme"),
        [("path", "light"), ("hostile", "dark"), ("looked_at", "light")],
    )
    def test_axe_finds_nothing(self, browser, page, scheme, request):
        file = request.getfixturevalue(page)
        with opened(browser, file, color_scheme=scheme, bypass_csp=True) as shown:
            assert shown.violations() == []

    def test_the_verdict_is_the_first_that_one_sees(self, browser, path, answer):
        with opened(browser, path, java_script_enabled=False) as shown:
            verdict = shown.page.locator("#verdict")
            assert "Shown" in verdict.locator("h2").inner_text()
            assert verdict.locator(".sentence").inner_text() == answer.advice
            assert answer.claim.sentence in verdict.inner_text()
            box = verdict.bounding_box()
            assert box["y"] + box["height"] < 900

    def test_queries_that_lost_most_are_named(self, browser, path, answer):
        worst = min(
            (chosen - whole, query)
            for one in answer.evidence.outcomes
            for query, whole, chosen in zip(one.queries, one.with_all, one.with_chosen, strict=True)
        )
        with opened(browser, path) as shown:
            table = shown.page.locator("#queries-that-gain-and-lose table")
            assert table.is_visible()
            first = table.locator("tbody tr").first.inner_text()
            assert first.startswith(worst[1].split()[0])
            assert f"{worst[0]:+.4f}" in first

    def test_hover_sort_and_theme(self, browser, path):
        with opened(browser, path) as shown:
            tip = shown.page.locator("#tip")
            shown.page.locator('[data-tip*="recommended"]').hover(force=True)
            assert "cost 4" in tip.inner_text()
            assert "shown to lose less than 2%" in tip.inner_text()
            shown.page.locator('[data-tip*="95% interval"]').first.hover(force=True)
            assert tip.inner_text() == "+3.00%\n95% interval +1.00% to +5.00%"
            table = shown.page.locator("#features-to-drop table")
            table.get_by_role("button", name="alone").click()
            values = table.locator("tbody td:nth-child(3)").all_inner_texts()
            assert values == sorted(values, reverse=True)
            shown.page.get_by_role("button", name="Dark theme").click()
            assert shown.page.locator("html").get_attribute("data-theme") == "dark"

    @pytest.mark.parametrize("page", ["hostile", "looked_at"])
    def test_hostile_names_are_shown_and_do_nothing(self, browser, page, request):
        file = request.getfixturevalue(page)
        with opened(browser, file, size=(390, 800)) as shown:
            text = shown.page.locator("body").inner_text()
            for name in ("<script>alert(1)</script>", '"]}', "$x$", "{{7*7}}", "\\u202egnp.exe"):
                assert name in text
            assert shown.page.evaluate("document.documentElement.scrollWidth") == 390
            assert_quiet(shown, file)


class TestAnswers:
    def test_what_is_not_shown_is_said_first(self):
        page = recommendation_page(made(shift=-0.02))
        claim = made(shift=-0.02).claim
        assert not claim.is_shown
        assert page.verdict.word == "Not shown"
        assert page.verdict.sentence == f"{claim.headline}."
        assert claim.numbers in page.verdict.notes
        needed = f"about {claim.queries_needed:,.0f} needed"
        assert ("Test queries", "90", needed) in page.verdict.facts

    def test_the_words_of_the_claim_are_those_of_the_answer(self, answer):
        page = recommendation_page(answer)
        assert " ".join([page.verdict.sentence, *page.verdict.notes]) == answer.sentence

    def test_other_queries_decide_where_there_are_any(self, answer):
        other = Claim.test(
            np.array([0.1, 0.2, 0.4]), np.array([0.5, 0.6, 0.5]), None, "set", "NDCG@10", 0.02, 0.95
        )
        page = recommendation_page(made(confirmed=other))
        assert page.verdict.word == "Not confirmed"
        assert page.verdict.sentence == f"{other.headline}."
        assert answer.claim.sentence in page.verdict.notes

    def test_nothing_helps(self):
        page = recommendation_page(made(n_kept=0, selector="none"))
        assert page.verdict.sentence.startswith("No feature helps")
        assert "Features to keep" not in [section.heading for section in page.sections]
        assert "<svg" in render(page)

    def test_all_are_kept(self):
        page = recommendation_page(made(n_kept=12, selector="all"))
        enough = "no cheaper set that was tried is enough."
        assert page.verdict.sentence == f"Keep all 12 features: {enough}"
        headings = [section.heading for section in page.sections]
        assert "Features to keep" in headings
        assert "Features to drop" not in headings

    def test_answers_without_evidence_or_numbers_have_a_page(self):
        nothing = Claim.test(np.zeros(1), np.zeros(1), None, "procedure", "NDCG@10", 0.02, 0.95)
        page = recommendation_page(made(evidence=None, claim=nothing))
        assert [section.heading for section in page.sections] == [
            "Features to keep",
            "Features to drop",
            "Quality against cost",
        ]
        assert "unknown" in render(page)

    def test_the_order_is_the_readers(self, answer):
        page = recommendation_page(answer)
        assert [section.heading for section in page.sections] == [
            "Features to keep",
            "Features to drop",
            "Quality against cost",
            "Features chosen without each part",
            "Similar features",
            "How well features rank alone",
            "Queries that gain and lose",
            "Work and time",
        ]
        assert ("Command", "ranksieve recommend 'my data.txt'") in page.provenance
        assert ("Fingerprint of the data", "f1f2f3f4f5f6f7f8") in page.provenance

    def test_every_figure_has_a_caption_and_a_table(self, answer, inspected):
        charts = [
            block
            for page in (recommendation_page(answer), inspection_page("x", inspected))
            for section in page.sections
            for block in section.blocks
            if isinstance(block, Chart)
        ]
        assert len(charts) == 12
        assert all(chart.caption.endswith(".") and list(chart.table.sheet.rows) for chart in charts)

    @pytest.mark.parametrize("n_kept", [300, 700])
    def test_700_features_stay_small_and_open(self, browser, tmp_path, n_kept):
        names = [f"a feature with a rather long name, number {n}" for n in range(700)]
        file = tmp_path / "report.html"
        write_page(recommendation_page(made(names, n_kept, 3000)), file)
        assert file.stat().st_size < 2_000_000
        with opened(browser, file) as shown:
            assert "The first 60 of" in shown.page.locator("#features-to-keep").inner_text()
            assert_quiet(shown, file)


class TestInspection:
    def test_warnings_come_first(self, inspected):
        page = inspection_page("x", inspected)
        assert page.verdict.word == "5 warnings"
        assert page.verdict.notes[0].startswith("The file order ranks better than chance")
        told = " ".join(page.verdict.notes)
        assert "Few queries: 40" in told
        assert "1 feature constant within every query" in told
        assert "1 feature with the same values" in told
        assert re.search(r"Missing values: 2\.8%, of 1 feature", told)

    def test_clean_data_has_none(self):
        rng = np.random.default_rng(0)
        y = rng.permuted(np.tile([0, 0, 1, 2], (300, 1)), axis=1).ravel()
        data = RankingData(rng.normal(size=(1200, 3)), y, np.repeat(np.arange(300), 4))
        verdict = inspection_page("x", inspect(data)).verdict
        assert verdict.word == "No warnings"
        assert verdict.is_shown
        assert not verdict.notes

    def test_both_directions_are_told(self, inspected):
        by_name = {one.name: one for one in inspected.best_features}
        assert len(by_name) == 9
        assert all(one.value >= one.reverse for one in by_name.values())
        assert sum(one.queries for one in inspected.lengths) == 40


def front_of(n_sizes):
    """Candidates of three selectors at many sizes; the first has all of the front but one."""
    points = [
        FrontPoint(name, size, size + 0.5 * place, 0.5, -0.1, -0.2, None, place == 0 and size != 9)
        for size in range(1, n_sizes + 1)
        for place, name in enumerate(("greedy-rankrls, by cost", "cegb, by cost", "sized-trees"))
    ]
    return [*points, FrontPoint("all", 700, 700.0, 0.55, 0.0, 0.0, True, True)]


@pytest.mark.parametrize("width", [60, 80])
class TestOnATerminal:
    def lines_of(self, answer, width, capsys, monkeypatch):
        monkeypatch.setenv("COLUMNS", str(width))
        show_recommendation(answer, Path("out"))
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
        assert "20 rows left out; out/tables/kept.csv has them all." in text
        assert "640 rows left out; out/tables/dropped.csv has them all." in text
        assert sum(line.startswith("feature 6") for line in lines) == 20  # 699 to 680
        # The front, of which size 9 is not, and the neighborhood of size 9, which is chosen.
        assert "choice: 15 of 43 candidates; out/tables/front.csv has them all." in text
        rows = [line.split() for line in lines if re.match("greedy-rankrls, by cost  ", line)]
        assert [row[3] for row in rows] == [f"{n}*" if n != 9 else "9<" for n in range(1, 15)]
        assert not [line for line in lines if line.startswith(("cegb", "sized"))]

    def test_files_have_all_rows_and_columns(self, width):
        answer = made(front=front_of(14))
        front = recommendation_sheets(answer)[-1]
        assert len(list(front.rows)) == 43
        assert {"bound", "front", "chosen"} <= {column.name for column in front.columns}


@pytest.mark.parametrize("is_tested", [False, True])
def test_candidates_are_said_to_be_shown_only_where_they_are_tested(is_tested):
    """A split with validation queries tests only what they choose."""
    front = [replace(point, is_shown=is_tested or None) for point in front_of(2)]
    sheet = recommendation_sheets(made(front=front))[-1]
    assert any(c.name == "shown" and not c.only_csv for c in sheet.columns) == is_tested
    assert any(note.startswith("shown: ") for note in sheet.notes) == is_tested


def test_files_of_an_earlier_recommendation_are_removed(tmp_path):
    answer = made()
    write_recommendation(answer, tmp_path)
    assert (tmp_path / "figures" / "front.svg").exists()
    assert (tmp_path / "tables" / "alone.csv").exists()
    (tmp_path / "tables" / "mine.csv").write_text("of somebody else")
    write_recommendation(replace(answer, evidence=None), tmp_path, figures=False)
    assert not list((tmp_path / "figures").iterdir())
    stems = {path.stem for path in (tmp_path / "tables").iterdir()}
    assert stems == {"kept", "dropped", "front", "mine"}
