"""Greedy RankRLS as published, and the figure of the paths."""

import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from ranksieve import make_ranking, write_letor
from ranksieve import reproduction as module
from ranksieve.plots import plot_path_scores, write_figure
from ranksieve.reproduction import GreedyReproduction, reproduce_greedy_rankrls
from ranksieve.reproduction.greedy_rankrls import (
    FIGURE_LAMS,
    FULL,
    GREEDY,
    PUBLISHED,
    PUBLISHED_CHOICES,
    FoldResult,
)
from ranksieve.selectors import GreedyRankRLSCV
from tests.test_cli import runner


@pytest.fixture
def run(capsys):
    return runner(capsys)


@pytest.fixture(scope="session")
def reproduced(mq2008_dir):
    return reproduce_greedy_rankrls(mq2008_dir)


def published():
    """A result that is as published."""
    return GreedyReproduction(
        [
            FoldResult(
                choice,
                1.0,
                {
                    method: {measure: values[fold] for measure, values in measures.items()}
                    for method, measures in PUBLISHED.items()
                },
            )
            for fold, choice in enumerate(PUBLISHED_CHOICES)
        ]
    )


def test_all_published_numbers(reproduced):
    for method, measures in PUBLISHED.items():
        for measure, paper in measures.items():
            assert [round(value, 4) for value in reproduced.values(method, measure)] == list(paper)
    assert (reproduced.n_agreeing, reproduced.n_numbers) == (40, 40)


def test_published_choices(reproduced):
    assert [fold.choice for fold in reproduced.folds] == list(PUBLISHED_CHOICES)
    assert reproduced.n_same_features == 5
    first = {fold.choice.features[0] for fold in reproduced.folds}
    assert first == {39}


def test_on_folds_1_and_5_every_lambda_gives_the_same_ranking(reproduced):
    for fold in (0, 4):
        alone = reproduced.folds[fold].selector.values_[:, 0]
        assert np.ptp(alone) < 1e-12
        assert alone[0] == pytest.approx(np.max(reproduced.folds[fold].selector.values_))


def test_counting():
    result = published()
    assert (result.n_agreeing, result.n_numbers, result.n_same_features) == (40, 40, 5)
    values = {method: dict(found) for method, found in result.folds[1].values.items()}
    values[GREEDY]["MAP"] = 0.42396  # the paper says 0.4239
    folds = list(result.folds)
    folds[1] = replace(folds[1], values=values)
    folds[2] = replace(folds[2], choice=folds[2].choice._replace(features=(39, 25)))
    result = GreedyReproduction(folds)
    assert (result.n_agreeing, result.n_same_features) == (39, 4)
    assert result.agreeing(GREEDY, "MAP") == [True, False, True, True, True]


def test_the_published_averages():
    # As the paper prints them; they are not among what is compared.
    averages = {
        GREEDY: (0.4720, 0.2467, 0.4840, 0.2251),
        FULL: (0.4719, 0.2477, 0.4838, 0.2268),
    }
    for method, expected in averages.items():
        found = [np.mean(values) for values in PUBLISHED[method].values()]
        np.testing.assert_allclose(found, expected, atol=5.1e-5)


class TestCommand:
    @pytest.fixture
    def result(self, monkeypatch):
        """What the command finds, without the work."""
        result = published()
        monkeypatch.setattr(module, "reproduce_greedy_rankrls", lambda directory: result)
        return result

    def test_the_tables(self, run, result):
        status, output, errors = run("reproduce", "greedy-rankrls", "--data", "anywhere")
        assert (status, errors) == (0, "")
        assert max(map(len, output.splitlines())) <= 80
        lines = [line.split() for line in output.splitlines()]
        values = ["0.4311", "0.4239", "0.4582", "0.5283", "0.5183", "0.4720"]
        assert ["MAP", "greedy", "paper", *values] in lines
        assert sum(line[:1] == ["ours"] for line in lines) == 8 + 5
        assert ["3", "paper", "2^3", "7", *["39", "29", "25", "23", "46", "37", "19"]] in lines
        assert output.splitlines()[-2].rstrip() == "40 of 40 numbers agree to four digits"

    def test_differences_are_marked(self, run, result):
        result.folds[0].values[FULL]["P@10"] = 0.25
        _, output, _ = run("reproduce", "greedy-rankrls", "--data", "anywhere")
        assert "0.2500*" in output
        assert "39 of 40 numbers agree to four digits" in output
        assert max(map(len, output.splitlines())) <= 80

    def test_json(self, run, result):
        status, output, _ = run("reproduce", "greedy-rankrls", "--data", "anywhere", "--json")
        assert status == 0
        found = json.loads(output)
        assert (found["agreeing"], found["numbers"], found["same_features"]) == (40, 40, 5)
        assert found["values"][GREEDY]["MAP"]["paper"] == list(PUBLISHED[GREEDY]["MAP"])
        assert found["values"][GREEDY]["MAP"]["ours"] == list(PUBLISHED[GREEDY]["MAP"])
        assert found["choices"][3]["paper"] == {"lam": 64.0, "features": [39, 29, 25, 23]}

    def test_the_figure(self, run, reproduced, monkeypatch, tmp_path):
        monkeypatch.setattr(module, "reproduce_greedy_rankrls", lambda directory: reproduced)
        path = tmp_path / "figure.svg"
        command = ["reproduce", "greedy-rankrls", "--data", "anywhere"]
        assert run(*command, "--figure", path, "--fold", 3)[0] == 0
        third = path.read_text()
        assert "number of features" in third
        run(*command, "--figure", path)
        assert path.read_text() != third

    def test_errors(self, run, tmp_path):
        command = ["reproduce", "greedy-rankrls", "--data", tmp_path]
        assert "nothing to reproduce for 'gas'" in run("reproduce", "gas", "--data", tmp_path)[2]
        assert "must end in .pdf, .png, .svg" in run(*command, "--figure", "a.doc")[2]
        there = tmp_path / "none" / "a.pdf"
        assert "there is no directory" in run(*command, "--figure", there)[2]
        assert "no known layout" in run(*command)[2]

    def test_other_collections_are_refused(self, run, tmp_path):
        for number in range(1, 6):
            data, _ = make_ranking(3, random_state=number)
            data = data._replace(qid=data.qid + 100 * number)
            write_letor(data, tmp_path / f"S{number}.txt")
        errors = run("reproduce", "greedy-rankrls", "--data", tmp_path)[2]
        assert "not MQ2008, which has 15,211 rows, 784 queries and 46 features" in errors


@pytest.fixture(scope="module")
def selector():
    data, _ = make_ranking(60, random_state=2)
    train, held_out = (data.take_queries(part) for part in np.split(np.arange(60), [40]))
    return GreedyRankRLSCV(max_features=8).fit(train, eval_set=held_out)


class TestFigure:
    def test_a_line_for_each_lambda(self, selector):
        ax = plot_path_scores(selector, FIGURE_LAMS)
        assert len(ax.lines) == 4
        for line, power in zip(ax.lines, (-7, 2, 6, 8), strict=True):
            assert line.get_label() == rf"$\lambda = 2^{{{power}}}$"
            x, y = line.get_data()
            np.testing.assert_array_equal(x, np.arange(1, 9))
            np.testing.assert_array_equal(y, selector.values_[power + 10])
        assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == 4
        (chosen,) = ax.collections
        point = len(selector.selected_), selector.path_[-1].score
        np.testing.assert_allclose(chosen.get_offsets(), [point])

    def test_labels(self, selector):
        ax = plot_path_scores(selector)
        assert (ax.get_xlabel(), ax.get_ylabel()) == (
            "number of features",
            "MAP on validation queries",
        )
        assert [line.get_label()[11:-1] for line in ax.lines] == [
            "2^{-10}",
            "2^{-3}",
            "2^{3}",
            "2^{10}",
        ]
        data, _ = make_ranking(30)
        alone = GreedyRankRLSCV(3, lams=[0.3]).fit(data)
        ax = plot_path_scores(alone)
        assert [line.get_label() for line in ax.lines] == [r"$\lambda = 0.3$"]
        assert ax.get_ylabel() == "leave-query-out error"
        ax = plot_path_scores(alone.set_params(criterion="map").fit(data))
        assert ax.get_ylabel() == "leave-query-out MAP"

    def test_axes_of_others_are_used_and_no_state_is_left(self, selector):
        import matplotlib as mpl
        from matplotlib import pyplot

        before = dict(mpl.rcParams)
        figure = Figure()
        left, right = figure.subplots(1, 2)
        assert plot_path_scores(selector, [1.0], ax=right) is right
        assert not left.lines
        assert pyplot.get_fignums() == []
        assert dict(mpl.rcParams) == before

    def test_unknown_lambda(self, selector):
        with pytest.raises(ValueError, match="lam=3 was not tried; tried were 0.000976562, "):
            plot_path_scores(selector, [3.0])

    @pytest.mark.parametrize(
        ("kind", "start"), [("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<?xml")]
    )
    def test_files(self, selector, tmp_path, kind, start):
        path = tmp_path / f"figure.{kind}"
        write_figure(plot_path_scores(selector, FIGURE_LAMS), path)
        first = path.read_bytes()
        assert first.startswith(start)
        write_figure(plot_path_scores(selector, FIGURE_LAMS), str(path))
        assert path.read_bytes() == first
        if kind == "svg":  # text that can be edited and searched
            assert b">number of features<" in first
        assert [entry.name for entry in tmp_path.iterdir()] == [path.name]

    def test_unknown_formats(self, selector, tmp_path):
        with pytest.raises(ValueError, match="must end in .pdf, .png, .svg"):
            write_figure(plot_path_scores(selector), tmp_path / "figure.tiff")
