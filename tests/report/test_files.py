"""Files of a report: which there are, and that those of others stay."""

import hashlib
import json
from dataclasses import replace

import pytest

from ranksieve.report import report_of, write_report
from ranksieve.report.section import Chart
from tests.report.results import made, planted


def names_in(directory):
    return {f"{path.parent.name}/{path.name}" for path in directory.glob("*/*.*")}


def test_every_part_has_its_files(tmp_path, result, answer):
    for number, of in enumerate((result, answer)):
        out = tmp_path / str(number)
        report = write_report(of, out)
        assert (out / "report.html").exists()
        names = {part.sheet.name for part in report.parts}
        charts = {part.chart.name for part in report.parts if part.chart}
        assert names_in(out) == {
            *(f"tables/{name}{suffix}" for name in names for suffix in (".csv", ".tex")),
            *(f"figures/{name}{suffix}" for name in charts for suffix in (".svg", ".pdf")),
        }


def test_other_formats_of_figures_are_refused(tmp_path, answer):
    (chart, *_) = [part.chart for part in report_of(answer).parts if part.chart]
    assert isinstance(chart, Chart)
    with pytest.raises(ValueError, match=r"a.png: the name of a figure must end in .svg or .pdf"):
        chart.write(tmp_path / "a.png")


def test_nothing_of_an_earlier_report_is_left(tmp_path):
    """What somebody else wrote or changed stays."""
    out, new = tmp_path / "out", tmp_path / "new"
    write_report(planted(2, rankers=("rankrls", "ranksvm")), out)
    others = {"figures/mine.txt", "tables/comparison-other.csv"}
    for name in others:
        (out / name).write_text("of somebody else")
    changed = out / "tables" / "curves-rankrls-map.csv"
    changed.write_text("changed by somebody else")
    fewer = planted(1, rankers=("ranksvm",))
    for directory in (out, new):
        write_report(fewer, directory, figures=False)
    assert names_in(out) == names_in(new) | others | {"tables/curves-rankrls-map.csv"}
    assert changed.read_text() == "changed by somebody else"


def test_files_of_an_earlier_recommendation_are_removed(tmp_path):
    answer = made()
    write_report(answer, tmp_path)
    assert (tmp_path / "figures" / "curve.svg").exists()
    assert (tmp_path / "tables" / "alone.csv").exists()
    (tmp_path / "tables" / "mine.csv").write_text("of somebody else")
    write_report(replace(answer, evidence=None), tmp_path, figures=False)
    assert not list((tmp_path / "figures").iterdir())
    stems = {path.stem for path in (tmp_path / "tables").iterdir()}
    expected = {"verdict", "offers", "curve", "kept", "groups", "dropped", "reproduce", "mine"}
    assert stems == expected


@pytest.mark.parametrize(
    "name", ["../mine.csv", "tables/../../mine.csv", "{}/mine.csv", "mine.csv"]
)
def test_a_record_cannot_name_files_of_others(tmp_path, answer, name):
    out = tmp_path / "study"
    (out / "tables").mkdir(parents=True)
    name = name.format(tmp_path)
    (out / name).write_text("mine")
    checksum = f"sha256:{hashlib.sha256(b'mine').hexdigest()}"
    files = {name: checksum, "tables": "", "tables/none.csv": ""}
    (out / "report-files.json").write_text(json.dumps({"files": files}))
    write_report(answer, out, figures=False)
    assert (out / name).read_text() == "mine"
    (out / "report-files.json").write_text('{"files": [1')  # damaged: nothing is known
    write_report(answer, out, figures=False)
