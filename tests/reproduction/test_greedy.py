"""Greedy RankRLS as published, and the figure of the paths."""

import json
import re
import shutil

import numpy as np
import pytest

from ranksieve import reproduction as module
from ranksieve.report import report_of
from ranksieve.report.formats.latex import to_latex
from ranksieve.report.formats.plain_text import to_csv, to_markdown
from ranksieve.report.sheets.reproduction import reproduction_sheets
from ranksieve.reproduction import PAPERS, MethodOutcome, Reproduction, reproduce
from ranksieve.reproduction.collections import CollectionFacts
from ranksieve.reproduction.papers.greedy_rankrls import (
    CHOICES,
    FIGURE_LAMS,
    FULL,
    GREEDY,
    MEASURES,
    ON_FOLDS,
    RANKSVM,
)
from ranksieve.text import quantity
from tests.reproduction.printing import shown
from tests.reproduction.test_collections import write_collection

METHODS = (GREEDY, FULL)
FORMATS = {"markdown": to_markdown, "latex": to_latex, "csv": to_csv}
PUBLISHED = {method: ON_FOLDS["MQ2008"][method] for method in METHODS}
PUBLISHED_CHOICES = CHOICES["MQ2008"]


@pytest.fixture(scope="session")
def reproduced(mq2008_dir):
    return reproduce("greedy-rankrls", mq2008_dir)


def published(collection="MQ2008"):
    """A result that is as published, to be changed."""
    values = {
        method: {m: [list(ON_FOLDS[collection][method][m])] for m in MEASURES} for method in METHODS
    }
    choices = [dict(choice) for choice in CHOICES[collection]]
    outcomes = {
        GREEDY: MethodOutcome(values[GREEDY], [3.4], choices),
        FULL: MethodOutcome(values[FULL], [46.0], [{"lam": 1.0}] * 5),
    }
    facts = CollectionFacts(collection, collection, "letor4", 784, 46)
    return Reproduction(PAPERS["greedy-rankrls"], facts, outcomes)


def counts(result):
    """Numbers within the tolerance, numbers with one, and folds with the published features."""
    verdicts = [verdict for name in METHODS for verdict in result.verdicts(name)]
    return sum(verdicts), len(verdicts), sum(result.same_features(GREEDY))


def test_all_published_numbers(reproduced):
    for method, measures in PUBLISHED.items():
        for measure, paper in measures.items():
            found = [number.ours for number in reproduced.on_folds(method, measure)]
            assert [round(value, 4) for value in found] == list(paper)
    assert counts(reproduced) == (40, 40, 5)
    found = json.loads(json.dumps(reproduced.as_dict()))
    assert (found["within"], found["asked"]) == (40, 40)


def test_published_choices(reproduced):
    chosen = reproduced.outcomes[GREEDY].chosen
    assert list(chosen) == list(PUBLISHED_CHOICES)
    assert {choice["features"][0] for choice in chosen} == {39}


def test_on_folds_1_and_5_every_lambda_gives_the_same_ranking(reproduced):
    for fold in (0, 4):
        values = reproduced.outcomes[GREEDY].paths[fold].values_
        assert np.ptp(values[:, 0]) < 1e-12
        assert values[0, 0] == pytest.approx(np.max(values))


def test_counting():
    result = published()
    assert counts(result) == (40, 40, 5)
    result.outcomes[GREEDY].values["MAP"][0][1] = 0.42396  # the paper says 0.4239
    result.outcomes[GREEDY].chosen[2]["features"] = (39, 25)
    assert counts(result) == (39, 40, 4)
    within = [number.is_within for number in result.on_folds(GREEDY, "MAP")]
    assert within == [True, False, True, True, True]


def test_features_beyond_the_printed_ones_are_not_compared():
    result = published("MQ2007")
    first = result.outcomes[GREEDY].chosen[0]
    assert len(first["features"]) == 10
    first["features"] = (*first["features"], 46)
    assert sum(result.same_features(GREEDY)) == 5
    first["n_features"] = 12
    assert sum(result.same_features(GREEDY)) == 4
    first |= {"n_features": 11, "features": (39, 25)}
    assert sum(result.same_features(GREEDY)) == 4


@pytest.mark.parametrize(
    ("collection", "greedy", "full", "ranksvm"),
    [
        (
            "MQ2007",
            (0.4643, 0.3796, 0.4983, 0.4431),
            (0.4650, 0.3804, 0.4987, 0.4435),
            (0.4645, 0.3833, 0.4966, 0.4439),
        ),
        (
            "MQ2008",
            (0.4720, 0.2467, 0.4840, 0.2251),
            (0.4719, 0.2477, 0.4838, 0.2268),
            (0.4696, 0.2491, 0.4832, 0.2279),
        ),
    ],
)
def test_the_published_averages(collection, greedy, full, ranksvm):
    # As the paper prints them; they are not among what is compared.
    for method, expected in ((GREEDY, greedy), (FULL, full), (RANKSVM, ranksvm)):
        found = [np.mean(ON_FOLDS[collection][method][measure]) for measure in MEASURES]
        np.testing.assert_allclose(found, expected, atol=5.1e-5)


@pytest.mark.parametrize("collection", ["MQ2007", "MQ2008"])
def test_published_choices_are_features(collection):
    for choice in CHOICES[collection]:
        features = choice["features"]
        assert len(set(features)) == min(10, choice["n_features"])
        assert features[0] == 39
        assert set(features) <= set(range(1, 47))


class TestCommand:
    @pytest.fixture
    def result(self, monkeypatch):
        """What the command finds, without the work."""
        result = published()
        monkeypatch.setattr(module, "reproduce", lambda *arguments, **options: result)
        return result

    def test_the_tables(self, run, result):
        status, output, errors = run("reproduce", "greedy-rankrls", "--data", "anywhere")
        assert (status, errors) == (0, "")
        assert max(map(len, output.splitlines())) <= 80
        lines = [line.split() for line in output.splitlines()]
        values = ["0.4311", "0.4239", "0.4582", "0.5283", "0.5183", "0.4720"]
        assert ["MAP", "greedy", "paper", *values] in lines
        assert sum(line[:1] == ["ours"] for line in lines) >= 8 + 3
        assert not any("diff" in line for line in lines)  # there is none
        assert "39 29 25 23 46 37 19" in output
        text = " ".join(output.split())
        assert (
            "Within the tolerance: 40 of 40 published numbers, and all numbers of 2 of 2 methods."
            in text
        )
        assert "The features of 5 of 5 folds are those of the paper, in the same order." in text
        assert "reproduce rankers trains it as ranksvm-struct" in text  # it is only printed

    @pytest.mark.parametrize("form", ["markdown", "latex", "csv"])
    def test_other_formats(self, run, result, form):
        command = ["reproduce", "greedy-rankrls", "--data", "anywhere", "--format", form]
        status, output, errors = run(*command)
        assert (status, errors) == (0, "")
        expected = [FORMATS[form](sheet) for sheet in reproduction_sheets(result)]
        assert output == "\n".join(expected)
        assert len({sheet.name for sheet in reproduction_sheets(result)}) == len(expected) == 4

    def test_differences_are_marked(self, run, result):
        result.outcomes[FULL].values["P@10"][0][0] = 0.25
        _, output, _ = run("reproduce", "greedy-rankrls", "--data", "anywhere")
        assert re.search(r"diff +[+]0[.]0109[*] +[+]0[.]0000 ", output)
        assert "Within the tolerance: 39 of 40 published numbers" in output
        assert max(map(len, output.splitlines())) <= 80

    def test_json(self, run, result):
        status, output, _ = run(
            "reproduce", "greedy-rankrls", "--data", "anywhere", "--format", "json"
        )
        assert status == 0
        found = json.loads(output)
        assert (found["within"], found["asked"]) == (40, 40)
        greedy = found["methods"][GREEDY]
        folds = greedy["values"]["MAP"]["folds"]
        assert [fold["published"] for fold in folds] == list(PUBLISHED[GREEDY]["MAP"])
        assert [fold["ours"] for fold in folds] == list(PUBLISHED[GREEDY]["MAP"])
        expected = {"lam": 64.0, "n_features": 4, "features": [39, 29, 25, 23]}
        assert greedy["chosen"][3] == greedy["published_choices"][3] == expected
        assert greedy["same_features"] == [True] * 5

    def test_the_folder(self, run, tmp_path):
        parts = write_collection(tmp_path / "parts")
        for number in (1, 2):  # few folds: each has a figure
            fold = tmp_path / "ours" / f"Fold{number}"
            fold.mkdir(parents=True)
            for role, part in (("train", number), ("vali", number + 1), ("test", number + 2)):
                shutil.copy(parts / f"S{part}.txt", fold / f"{role}.txt")
        kept = tmp_path / "kept"
        command = ["reproduce", "greedy-rankrls", "--data", tmp_path / "ours", "--out", kept]
        status, _, errors = run(*command)
        assert (status, errors) == (0, "")
        page = (kept / "report.html").read_text()
        parts_of_folds = ("validation", "test")
        names = [f"mean-{m}-{part}" for m in ("map", "meanndcg") for part in parts_of_folds]
        names += ["validation-fold-1", "validation-fold-2"]
        for name in names:
            assert "number of features" in (kept / "figures" / f"{name}.svg").read_text()
        assert {path.stem for path in (kept / "figures").iterdir()} == set(names)
        suffixes = {path.suffix for path in (kept / "tables").iterdir()}
        assert suffixes == {".tex", ".csv"}
        assert "each fold alone" in page
        assert "MeanNDCG on test queries, mean over the 2 folds" in page
        found = json.loads((kept / "results.json").read_text())
        assert (found["known_as"], found["asked"]) == (None, 0)
        assert len(found["methods"][GREEDY]["values"]["MAP"]["folds"]) == 2

    def test_means_of_the_figures(self, reproduced):
        paths = reproduced.outcomes[GREEDY].paths
        for own, number in zip(paths, reproduced.on_folds(GREEDY, "MAP"), strict=True):
            value = own.mean("test", "MAP")[own.lams_.index(own.lam_), len(own.selected_) - 1]
            assert value == pytest.approx(number.ours, abs=1e-12)
        parts = {part.sheet.name: part for part in report_of(reproduced).parts}
        means = np.mean([own.values_ for own in paths], axis=0)
        lams = paths[0].lams_
        columns = list(zip(*parts["mean-map-validation"].sheet.rows, strict=True))
        for lam, column in zip(FIGURE_LAMS, columns[1:], strict=True):
            values = [entry.value for entry in column]
            np.testing.assert_array_equal(values, means[lams.index(lam)])

    def test_the_figure_of_a_fold_tells_what_was_chosen(self, reproduced):
        """A ring is at the number of features and the lambda that were chosen."""
        own = reproduced.outcomes[GREEDY].paths[0]
        parts = {part.sheet.name: part for part in report_of(reproduced).parts}
        chart = parts["validation-fold-1"].chart
        k, row = len(own.selected_), own.lams_.index(own.lam_)
        told = f"lambda {own.lam_:g} with {quantity(k, 'feature')}, {own.values_[row, k - 1]:.4f}"
        assert told in chart.caption
        first = ", ".join(str(feature + 1) for feature in own.selected_[:5])
        assert f"In the order of selection: {first}" in chart.caption
        assert chart.svg.count('class="ring') == 1

    def test_a_collection_that_is_not_known(self, run, tmp_path):
        directory = write_collection(tmp_path / "ours")
        command = ["reproduce", "greedy-rankrls", "--data", directory]
        status, output, errors = run(*command)
        assert (status, errors) == (0, "")
        assert "Greedy RankRLS: paper and ours on the folds of ours" in output
        assert "convention letor4" in output
        assert "all 7" in output
        assert "Nothing is published about ours" in output
        assert "paper " not in output.replace("paper and", "")
        found = json.loads(run(*command, "--format", "json", "--convention", "standard")[1])
        assert (found["convention"], found["known_as"], found["asked"]) == ("standard", None, 0)
        greedy = found["methods"][GREEDY]
        assert greedy["same_features"] is greedy["published_choices"] is None
        folds = greedy["values"]["MAP"]["folds"]
        assert {fold["published"] for fold in folds} == {None}
        assert 0.3 < np.mean([fold["ours"] for fold in folds]) < 1


@pytest.mark.parametrize("width", [60, 80])
def test_it_is_readable_on_a_terminal(width):
    lines = shown(published("MQ2007"), width)
    assert max(map(len, lines)) <= width
    for number, choice in enumerate(CHOICES["MQ2007"], start=1):
        features = " ".join(map(str, choice["features"]))
        row = next(line for line in lines if f"fold {number}  paper  " in line)
        assert features in row
    titles = [sheet.title for sheet in reproduction_sheets(published("MQ2007"))]
    heads = [line for line in lines if line.split()[:1] in (["measure"], ["method"])]
    assert len(heads) == len(titles)


def test_mq2007_has_tables_of_its_own():
    lines = [line.split() for line in shown(published("MQ2007"))]
    values = ["0.4859", "0.4571", "0.4655", "0.4423", "0.4709", "0.4643"]
    assert ["MAP", "greedy", "paper", *values] in lines
    values = ["0.4894", "0.4573", "0.4676", "0.4401", "0.4680", "0.4645"]
    assert ["RankSVM", "paper", *values] in lines
    text = " ".join(word for line in lines for word in line)
    assert "39 19 25 23 32 16 43 22 5 33 ..." in text
    assert "Within the tolerance: 40 of 40 published numbers" in text
