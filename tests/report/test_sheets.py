"""Sheets: the same table on a terminal, in Markdown, in LaTeX and in CSV."""

import csv
import json
import re
import shutil
import subprocess
from io import StringIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console
from scipy.stats import rankdata

from ranksieve.report.formats.latex import to_latex
from ranksieve.report.formats.plain_text import to_csv, to_json, to_markdown
from ranksieve.report.formats.terminal import show_sheets, to_terminal
from ranksieve.report.sheets.sheet import GAP, Column, Entry, Sheet, fold, rank_cells

SPECIAL = "a_b%c&d#e~f^g\\h{i}j$k|l*m[n]<o>`p!"
ODD_TEXT = st.text(alphabet="ab1 _%&#~^\\{}$|*[]<>`'\"!-+=.()@:,;/\n", max_size=12)
SELECTOR = Column("selector", align="left", is_name=True)


def sheet_of(names, columns=("MAP",), *, notes=(), title="Quality", form=".4f"):
    rows = [[Entry(name), *(Entry(0.5, form) for _ in columns)] for name in names]
    return Sheet("example", title, "On queries.", [SELECTOR, *map(Column, columns)], [rows], notes)


def printed(sheet, width=80):
    console = Console(width=width, highlight=False, emoji=False)
    with console.capture() as capture:
        console.print(to_terminal(sheet))
    return [line.rstrip() for line in capture.get().splitlines()]


@pytest.fixture
def sheet():
    """Ranks of two digits, marks, the best, nothing, groups, and a column for CSV alone."""
    columns = [
        Column("ranker", align="left", is_name=True),
        SELECTOR,
        Column("MAP"),
        Column("MAP sd", "sd"),
        Column("exact", only_csv=True),
    ]
    rows = [
        ["ranksvm", "all", Entry(0.47191, ".4f", rank=10), Entry(None), Entry(1 / 3)],
        ["ranksvm", "gas_e", Entry(0.4767, ".4f", True, "+", 1), Entry(0.001, ".4f"), Entry(None)],
        ["listnet", "all", Entry(-0.25, "+z.4f", mark="-="), Entry(2e-7, ".0e"), Entry(7)],
    ]
    rows = [[Entry(c) if isinstance(c, str) else c for c in row] for row in rows]
    return Sheet("example", "Quality", "On 7 queries.", columns, [rows[:2], rows[2:]], ["+: up"])


class TestCells:
    @pytest.mark.parametrize(
        ("cell", "text"),
        [
            (Entry(None), "-"),
            (Entry(None, ".4f"), "-"),
            (Entry(0.47761, ".4f"), "0.4776"),
            (Entry(-0.00001, "+z.4f"), "+0.0000"),
            (Entry(12), "12"),
            (Entry(np.float64(0.5), ".1%"), "50.0%"),
            (Entry(" two\n lines "), "two lines"),
            (Entry(float("-inf"), ".2f"), "-inf"),
        ],
    )
    def test_text(self, cell, text):
        assert cell.text == text

    def test_ties_share_the_better_rank_and_all_are_bold(self):
        cells = rank_cells([0.1 + 0.2, 0.2, 0.3, None, 0.1], with_ranks=True)
        assert [cell.rank for cell in cells] == [1, 3, 1, None, 4]
        assert [cell.is_best for cell in cells] == [True, False, True, False, False]

    @given(st.lists(st.integers(0, 5), min_size=1))
    def test_ranks(self, values):
        cells = rank_cells([value / 7 for value in values], with_ranks=True)
        assert [cell.rank for cell in cells] == rankdata(-np.array(values), "min").tolist()
        assert [cell.is_best for cell in cells] == [value == max(values) for value in values]

    def test_a_sheet_that_cannot_be(self):
        with pytest.raises(ValueError, match="has 1 cells, but there are 2 columns"):
            Sheet("a", "", "", [SELECTOR, Column("MAP")], [[[Entry("all")]]])
        with pytest.raises(ValueError, match="columns of the same name"):
            Sheet("a", "", "", [Column("MAP"), Column("MAP")], [])
        with pytest.raises(ValueError, match="columns of names first"):
            Sheet("a", "", "", [Column("MAP"), SELECTOR], [])
        for name in ("", "../a", "a b", ".a"):
            with pytest.raises(ValueError, match="not a valid file name"):
                Sheet(name, "", "", [SELECTOR], [])


class TestTerminal:
    def test_lines(self, sheet):
        assert printed(sheet) == [
            "Quality",
            "On 7 queries.",
            "",
            "ranker   selector             MAP      sd",
            "ranksvm  all        0.4719 (10)         -",
            "         gas_e      0.4767 (1) +   0.0010",
            "",
            "listnet  all       -0.2500     -=   2e-07",
            "",
            "+: up",
        ]

    def test_the_last_name_is_always_printed(self):
        columns = [Column("measure", is_name=True), SELECTOR]
        rows = [
            [Entry("MAP"), Entry("all")],
            [Entry("MAP"), Entry("all")],
            [Entry("P"), Entry("all")],
        ]
        lines = printed(Sheet("a", "t", "", columns, [rows]))
        assert [line.split() for line in lines[3:]] == [["MAP", "all"], ["all"], ["P", "all"]]

    def test_the_best_is_bold(self, sheet):
        console = Console(width=80, force_terminal=True, highlight=False)
        with console.capture() as capture:
            console.print(to_terminal(sheet))
        assert re.findall("\x1b\\[1m(0.*?)\x1b\\[0m", capture.get()) == ["0.4767"]

    @pytest.mark.parametrize("width", [40, 80, 120])
    def test_a_wide_sheet_leaves_out_its_least_important_columns(self, width):
        columns = [Column(f"NDCG@{k}", importance=0 if k < 10 else 1) for k in range(1, 21)]
        names = ["all", "x" * 50, "[red]"]
        rows = [
            [Entry(name), *(Entry((i + 1) / 1000, ".4f", rank=i + 1, mark="+") for i in range(20))]
            for name in names
        ]
        sheet = Sheet("a", "t" * 90, "s" * 90, [SELECTOR, *columns], [[*rows, rows[0]]], ["n" * 90])
        lines = printed(sheet, width)
        text = "\n".join(lines)
        assert max(map(len, lines)) <= width
        assert text.count("selector") == text.count("[red]") == 1
        assert re.search(r"^x+(\.\.\.)?x+ ", text, re.MULTILINE)
        table, _, notes = text.partition("To fit")
        shown = [
            place
            for place, column in enumerate(columns)
            if f" {column.name} " in f"{table} ".replace("\n", " ")
        ]
        assert shown == list(range(9, 9 + len(shown)))  # the first of the more important ones
        for place in shown:
            numbers = re.findall(rf"{(place + 1) / 1000:.4f} \({place + 1}\) ?\+", table)
            assert len(numbers) == len(rows) + 1
        told = " ".join(notes.split())
        assert told.startswith(
            f"{width} columns, left out: NDCG@1, NDCG@2, NDCG@3, NDCG@4, NDCG@5,"
        )
        n_more = len(columns) - len(shown) - 6
        assert f"NDCG@6, {n_more} more columns; " in told
        assert "the whole table: --format csv" in told
        assert all(text.count(letter) >= 90 for letter in "tsn")

    def test_columns_that_belong_together_are_left_out_together(self):
        interval = [Column(name, group="interval", importance=0) for name in ("from", "to")]
        columns = [SELECTOR, Column("MAP"), *interval, Column("queries")]
        rows = [[Entry("all"), *(Entry(0.5, ".4f") for _ in columns[1:])] for _ in range(4)]
        lines = printed(Sheet("a", "t", "", columns, [rows]), 30)
        assert lines[2].split() == ["selector", "MAP", "queries"]
        assert " ".join(lines[8:]) == (
            "To fit 30 columns, left out: from, to; the whole table: --format csv"
        )

    def test_the_note_names_the_file(self):
        sheet = sheet_of(["all"] * 4, [f"NDCG@{k}" for k in range(9)])
        console = Console(width=40, highlight=False)
        with console.capture() as capture:
            console.print(to_terminal(sheet, Path("study")))
        told = " ".join(capture.get().split())
        assert "left out: NDCG@4, NDCG@5, NDCG@6, NDCG@7, NDCG@8" in told
        assert told.endswith("the whole table: study/tables/example.csv")

    def test_a_few_rows_become_columns(self):
        """Of measures that were asked for, none is left out."""
        lines = printed(sheet_of(["mean of 7 queries"], [f"NDCG@{k}" for k in range(1, 21)]))
        assert " ".join(" ".join(lines[3:-20]).split()) == "mean of 7 queries"
        assert [line.split() for line in lines[-20:]] == [
            [f"NDCG@{k}", "0.5000"] for k in range(1, 21)
        ]

    def test_names_give_way_on_a_narrow_terminal(self):
        lines = printed(sheet_of(["greedy-rankrls"]), width=12)
        assert max(map(len, lines)) <= 12
        assert "gree  0.5000" in lines

    @given(
        st.lists(st.integers(1, 60), min_size=1, max_size=3),
        # Longer numbers would leave less than two characters for each of three names.
        st.lists(st.tuples(st.integers(1, 12), st.integers(0, 2), st.sampled_from(["", "a"]))),
        st.integers(0, 80),
        st.integers(24, 120),
    )
    def test_every_row_is_one_row_of_one_table(self, names, numbers, text, width):
        columns = [
            *(Column(f"n{i}", align="left", is_name=True) for i in range(len(names))),
            *(
                Column(f"c{i}", importance=importance, group=group)
                for i, (_, importance, group) in enumerate(numbers)
            ),
            Column("text", align="left", wraps=True),
        ]
        rows = [
            [
                *(Entry(f"{row}{'x' * size}{row}") for size in names),
                *(Entry("7" * size) for size, _, _ in numbers),
                Entry("word " * (text // 5)),
            ]
            for row in range(5)
        ]
        lines = printed(Sheet("a", "t", "", columns, [rows]), width)
        assert max(map(len, lines)) <= width
        assert sum(line.split()[:1] == ["n0"] for line in lines) == 1
        table = lines[2 : lines.index("", 2) if "" in lines[2:] else None]
        started = [line for line in table if re.match(r"[0-4](x|\.)", line)]
        assert [line[0] for line in started] == list("01234")
        others = [line for line in table if line not in started]
        assert all(re.fullmatch(r"[nc0-9 ]*(text)?|( *word)+", line) for line in others)

    def test_names_are_no_markup(self):
        assert any(
            "[bold]x[/bold] :smile:" in line
            for line in printed(sheet_of(["[bold]x[/bold] :smile:"]))
        )

    def test_no_rows(self):
        assert printed(Sheet("a", "Nothing", "", [SELECTOR, Column("MAP")], [])) == [
            "Nothing",
            "",
            "selector  MAP",
        ]


@given(
    st.lists(st.tuples(st.integers(1, 12), st.sampled_from(["", "a", "b"])), max_size=12),
    st.integers(1, 10),
    st.integers(10, 60),
)
def test_folding(others, name_width, width):
    columns = [SELECTOR, *(Column(str(i), group=group) for i, (_, group) in enumerate(others))]
    widths = [name_width, *(one for one, _ in others)]
    blocks = fold(columns, widths, width)
    assert all(block[0] == 0 for block in blocks)
    assert [place for block in blocks for place in block[1:]] == list(range(1, len(columns)))

    def total(places):
        return sum(widths[place] + GAP for place in places) - GAP

    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        assert total(block) <= width or len(block) <= 2
        if following is None:
            continue
        first = following[1]
        unit = [first]
        group = columns[first].group
        while group and unit[-1] + 1 < len(columns) and columns[unit[-1] + 1].group == group:
            unit.append(unit[-1] + 1)
        # A new table begins only where the column, or the group it begins, would not have fit.
        assert total(block + unit) > width
        if group and columns[block[-1]].group == group:  # a group that was cut
            start = block[-1]
            while columns[start].group == group and start > 0:
                start -= 1
            assert total([0, *range(start + 1, unit[-1] + 1)]) > width


def parsed(markdown):
    """Headings and cells of a Markdown table: text of each, and which is bold."""
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    cells, rows = [], []
    for before, token in pairwise(tokens):
        if before.type in ("th_open", "td_open"):
            text = "".join(child.content for child in token.children)
            bold = any(child.type == "strong_open" for child in token.children)
            cells.append((text, bold))
        if token.type == "tr_close":
            rows.append(cells)
            cells = []
    return tokens, rows


class TestMarkdown:
    def test_read_back(self, sheet):
        tokens, rows = parsed(to_markdown(sheet))
        assert [[text for text, _ in row] for row in rows] == [
            ["ranker", "selector", "MAP", "sd"],
            ["ranksvm", "all", "0.4719 (10)", "-"],
            ["ranksvm", "gas_e", "0.4767 (1)+", "0.0010"],
            ["listnet", "all", "-0.2500-=", "2e-07"],
        ]
        assert [(i, j) for i, row in enumerate(rows) for j, (_, b) in enumerate(row) if b] == [
            (2, 2)
        ]
        inline = [token for token in tokens if token.type == "inline"]
        assert "".join(child.content for child in inline[0].children) == "Quality. On 7 queries."
        assert "".join(child.content for child in inline[-1].children) == "+: up"
        styles = [token.attrGet("style") for token in tokens if token.type == "th_open"]
        assert styles == [f"text-align:{side}" for side in ("left", "left", "right", "right")]

    @given(ODD_TEXT)
    def test_names_are_shown_as_they_are(self, name):
        line = " ".join(name.split())
        note = f"{line} note"
        tokens, rows = parsed(to_markdown(sheet_of([name], [f"M{name}"], notes=[note])))
        assert rows[0][1] == (" ".join(f"M{name}".split()), False)
        assert rows[1] == [(line, False), ("0.5000", False)]
        last = [token for token in tokens if token.type == "inline"][-1]
        assert "".join(child.content for child in last.children) == " ".join(note.split())
        assert [token.type for token in tokens].count("bullet_list_open") == 1


def no_formula(name):
    """The name, quoted if it begins like a formula and is no number with a sign."""
    begins = name.lstrip()[:1] in ("=", "+", "-", "@")
    return f"'{name}" if begins and not re.fullmatch(r"[-+](1+\.?1*|\.1+)", name) else name


class TestCsv:
    def test_read_back(self, sheet):
        assert list(csv.reader(StringIO(to_csv(sheet)))) == [
            ["ranker", "selector", "MAP", "MAP sd", "exact"],
            ["ranksvm", "all", "0.47191", "", "0.3333333333333333"],
            ["ranksvm", "gas_e", "0.4767", "0.001", ""],
            ["listnet", "all", "-0.25", "2e-07", "7"],
        ]

    @given(st.lists(st.tuples(ODD_TEXT, st.floats()), min_size=1))
    def test_to_the_last_bit(self, pairs):
        rows = [[Entry(name), Entry(np.float64(value), ".1f")] for name, value in pairs]
        text = to_csv(Sheet("a", "", "", [SELECTOR, Column("MAP")], [rows]))
        _, *read = csv.reader(StringIO(text, newline=""))
        assert [name for name, _ in read] == [no_formula(name) for name, _ in pairs]
        found = np.array([float(value) for _, value in read])
        np.testing.assert_array_equal(found, [value for _, value in pairs])
        assert np.signbit(found[found == 0]).tolist() == [
            np.signbit(value) for _, value in pairs if value == 0
        ]


COMMANDS = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\textasciigrave{}": "`",
    "-{}": "-",
    "'{}": "'",
    r"\hspace{0pt plus 3pt}": "",  # where a long word may break
    r"\raggedright ": "",
    **{"\\" + sign: sign for sign in "{}$&#_%"},
    **{f"{{{sign}}}": sign for sign in "[]*"},
}
TOKEN = re.compile("|".join(map(re.escape, sorted(COMMANDS, key=len, reverse=True))) + "|(.)")


class TestJson:
    def test_values_are_those_of_csv(self, sheet):
        columns, *rows = csv.reader(StringIO(to_csv(sheet)))
        found = json.loads(to_json(sheet))
        assert found["columns"] == columns
        assert (found["title"], found["notes"]) == (sheet.title, list(sheet.notes))
        texts = [["" if v is None else str(v) for v in row.values()] for row in found["rows"]]
        assert texts == rows

    def test_numbers_that_json_does_not_have(self):
        values = [np.float64(0.5), float("nan"), float("inf"), np.int64(3), None]
        rows = [[Entry("a"), Entry(value)] for value in values]
        text = to_json(Sheet("a", "", "", [SELECTOR, Column("MAP")], [rows]))
        found = [row["MAP"] for row in json.loads(text, parse_constant=pytest.fail)["rows"]]
        assert found == [0.5, None, None, 3, None]


class TestShowing:
    @pytest.mark.parametrize(
        ("form", "write"), [("markdown", to_markdown), ("latex", to_latex), ("csv", to_csv)]
    )
    def test_an_empty_line_separates_sheets(self, capsys, sheet, form, write):
        show_sheets([sheet, sheet], form)
        assert capsys.readouterr().out == f"{write(sheet)}\n{write(sheet)}"

    def test_several_sheets_are_an_array_in_json(self, capsys, sheet):
        show_sheets([sheet, sheet], "json")
        assert json.loads(capsys.readouterr().out) == [json.loads(to_json(sheet))] * 2
        show_sheets([sheet], "json")
        assert capsys.readouterr().out == to_json(sheet)

    def test_terminal_is_the_default(self, capsys, sheet):
        show_sheets([sheet, sheet])
        lines = capsys.readouterr().out.splitlines()
        middle = len(lines) // 2
        assert lines[:middle] == lines[middle + 1 :]
        assert lines[middle] == ""


def as_printed(latex):
    """What LaTeX prints for escaped text; fails if a special character was left bare."""

    def plain(found):
        assert found[1] is None or found[1] not in "\\~^<>|`{}$&#_%[]*", (found[1], latex)
        return COMMANDS.get(found[0], found[0])

    return TOKEN.sub(plain, latex)


ROW_END = r" (\\\\|\\tabularnewline)$"


def latex_rows(latex):
    """Cells of each tabular; ends of rows and columns are told from escaped signs."""
    for kinds, body in re.findall(
        r"\\begin\{(?:tabular|longtable)\}\{@\{\}(.*?)@\{\}\}\n(.*?)\\end\{(?:tabular|longtable)\}",
        re.sub(r"\\caption.*\n", "", latex),
        re.DOTALL,
    ):
        lines = [line for line in body.splitlines() if not re.fullmatch(r"\\[a-z]+", line)]
        n_columns = len(re.sub(r"p\{[^}]*\}", "p", kinds))
        rows = [re.split(r"(?<!\\) & ", re.sub(ROW_END, "", line)) for line in lines]
        assert all(re.search(ROW_END, line) for line in lines)
        assert all(len(row) == n_columns for row in rows)
        yield rows


def assert_balanced(latex):
    bare = re.sub(r"\\[\\{}%]", "", re.sub(r"^%.*", "", latex, flags=re.MULTILINE))
    depth = 0
    for sign in bare:
        depth += (sign == "{") - (sign == "}")
        assert depth >= 0
    assert depth == 0
    stack = []
    for what, name in re.findall(r"\\(begin|end)\{(\w+)\}", latex):
        if what == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack


class TestLatex:
    def test_rows(self, sheet):
        latex = to_latex(sheet)
        assert_balanced(latex)
        assert list(latex_rows(latex)) == [
            [
                ["ranker", "selector", "MAP", "sd"],
                ["ranksvm", "all", "0.4719 (10)", "-"],
                [
                    "",
                    r"gas\_e",
                    r"\textbf{0.4767} (1)\phantom{0}\rlap{\textsuperscript{+}}",
                    "0.0010",
                ],
                [
                    "listnet",
                    "all",
                    r"$-$0.2500\rlap{\textsuperscript{$-$=}}",
                    r"$2\cdot 10^{-7}$",
                ],
            ]
        ]
        for command in (r"\toprule", r"\midrule", r"\addlinespace", r"\bottomrule"):
            assert latex.count(command + "\n") == 1
        assert r"\caption[Quality]{Quality. On 7 queries.}" in latex
        assert r"\label{tab:example}" in latex
        assert latex.index(r"\end{tabular}") < latex.index(r"+: up\par")

    @given(ODD_TEXT)
    def test_names_are_printed_as_they_are(self, name):
        latex = to_latex(sheet_of([name], notes=[name], title=name))
        assert_balanced(latex)
        ((_, (first, value)),) = latex_rows(latex)
        assert value == "0.5000"
        line = " ".join(name.split())
        assert as_printed(first) == line
        short, long = re.fullmatch(
            r"\\caption\[(.*)\]\{(.*)\}",
            next(row for row in latex.splitlines() if "caption" in row),
        ).groups()
        assert as_printed(short) == line
        assert as_printed(long) == " ".join(f"{name}. On queries.".split())
        note = latex.split("footnotesize\\raggedright\n")[1].split("\\par\n")[0]
        assert as_printed(note) == line
        # What follows the end of a row must not look like its argument, nor two hyphens a dash.
        assert not first.startswith(("[", "*"))
        assert "--" not in first
        assert "''" not in first

    def test_every_special_character(self):
        ((_, (first, _)),) = latex_rows(to_latex(sheet_of([SPECIAL])))
        assert as_printed(first) == SPECIAL
        plain = first.replace(r"\hspace{0pt plus 3pt}", "")
        assert r"a\_b\%c\&d\#e\textasciitilde{}f\textasciicircum{}g\textbackslash{}h" in plain

    def test_hyphens_stay_hyphens(self):
        ((_, (first, _)),) = latex_rows(to_latex(sheet_of(["a---b----c"])))
        assert first == "a-{}-{}-b-{}-{}-{}-c"

    @pytest.mark.parametrize(
        ("cell", "written"),
        [
            (Entry(-1e-5, ".0e"), r"$-1\cdot 10^{-5}$"),
            (Entry(float("inf"), ".2f"), r"$\infty$"),
            (Entry(float("-inf"), "+.2f"), r"$-\infty$"),
            (Entry(0.05, ".0%"), r"5\%"),
            (Entry(0.5, "+.1f"), "$+$0.5"),
            (Entry("a-b"), "a-b"),
            (Entry(None), "-"),
        ],
    )
    def test_numbers(self, cell, written):
        sheet = Sheet("a", "t", "s", [SELECTOR, Column("MAP")], [[[Entry("all"), cell]]])
        ((_, (_, found)),) = latex_rows(to_latex(sheet))
        assert found == written

    def test_a_wide_sheet_becomes_several_tabulars(self):
        latex = to_latex(sheet_of(["all", "gas-e"], [f"NDCG@{k}" for k in range(1, 31)]))
        assert_balanced(latex)
        tabulars = list(latex_rows(latex))
        assert len(tabulars) > 1
        assert all([row[0] for row in rows] == ["selector", "all", "gas-e"] for rows in tabulars)
        headings = [heading for rows in tabulars for heading in rows[0][1:]]
        assert headings == [f"NDCG@{k}" for k in range(1, 31)]

    def test_text_that_wraps(self):
        columns = [SELECTOR, Column("k"), Column("features", align="left", wraps=True)]
        rows = [[Entry("all"), Entry(46), Entry(" ".join(map(str, range(1, 47))))]]
        latex = to_latex(Sheet("a", "t", "s", columns, [rows]))
        assert r"\begin{tabular}{@{}lrp{0.4\linewidth}@{}}" in latex
        ((head, (*_, text)),) = latex_rows(latex)
        assert head[-1] == "features"
        assert as_printed(text) == " ".join(map(str, range(1, 47)))

    def test_a_long_sheet_goes_over_pages(self):
        names = [f"selector-{number}" for number in range(60)]
        latex = to_latex(sheet_of(names, ["MAP", *(f"NDCG@{k}" for k in range(1, 21))]))
        assert latex.startswith("% needs \\usepackage{booktabs,longtable}\n")
        assert_balanced(latex)
        tables = list(latex_rows(latex))
        assert len(tables) > 1
        assert r"\begin{table}" not in latex
        assert latex.count(r"\caption") == 1
        assert latex.count(r"\addtocounter{table}{-1}") == len(tables) - 1
        for rows in tables:  # the heading of the first page and that of the others
            assert [row[0] for row in rows] == ["selector", "selector", *names]

    def test_long_names_wrap_and_may_break(self):
        name = "x" * 80
        latex = to_latex(sheet_of([name, "short"]))
        ((_, (first, _), (second, _)),) = latex_rows(latex)
        assert r"\begin{tabular}{@{}p{0.4\linewidth}r@{}}" in latex
        assert as_printed(first) == name
        assert max(map(len, first.split(r"\hspace{0pt plus 3pt}"))) < 20
        assert second == r"\raggedright short"

    def test_a_cell_of_many_lines_becomes_several_rows(self):
        words = [f"feature{number}" for number in range(700)]
        columns = [SELECTOR, Column("features", align="left", wraps=True)]
        latex = to_latex(Sheet("a", "t", "s", columns, [[[Entry("all"), Entry(" ".join(words))]]]))
        rows = [row for rows in latex_rows(latex) for row in rows if row[0] != "selector"]
        assert [row[0] for row in rows] == ["all"] + [""] * (len(rows) - 1)
        assert " ".join(as_printed(row[1]) for row in rows).split() == words
        assert max(len(row[1]) for row in rows) < 1000

    @pytest.mark.parametrize("name", ["caf\xe9", "\xdf\xf8\u0142", "\u017eivot"])
    def test_letters_that_every_latex_knows(self, name):
        latex = to_latex(sheet_of([name]))
        ((_, (first, _)),) = latex_rows(latex)
        assert first == name
        assert "anyletter" not in latex

    @pytest.mark.parametrize("sign", ["\u5c0f", "\u05e9", "\u0105", "\xab", "\U0001f600", "\u03b1"])
    def test_letters_that_only_some_know(self, sign):
        latex = to_latex(sheet_of([sign]))
        ((_, (first, _)),) = latex_rows(latex)
        number = ascii(sign)[2:-1]
        assert first == rf"\anyletter{{\textbackslash{{}}{number}}}{{{sign}}}"
        assert latex.index(r"\providecommand{\anyletter}[2]") < latex.index(first)

    def test_it_compiles(self, sheet, tmp_path):
        programs = [name for name in ("pdflatex", "tectonic") if shutil.which(name)]
        if not programs:
            pytest.skip("needs pdflatex or tectonic")
        hostile = [
            SPECIAL,
            "[a]",
            "*b",
            "x" * 80,
            "W" * 60,
            "\u5c0f\u05e9\u0105",
            "\u202ea\x1b[31m",
        ]
        measures = [f"NDCG@{k}" for k in range(1, 31)]
        wide = sheet_of(hostile, measures, notes=hostile, title=" ".join(hostile))
        long = sheet_of(hostile * 20, measures, notes=hostile)
        columns = [SELECTOR, Column("features", align="left", wraps=True)]
        listed = Sheet("l", "t", "s", columns, [[[Entry("all"), Entry(" ".join(hostile * 99))]]])
        tables = [to_latex(one) for one in (sheet, wide, long, listed)]
        needs = {
            line[8:] for table in tables for line in table.splitlines() if line[:8] == "% needs "
        }
        (tmp_path / "tables.tex").write_text(
            "\n".join(["\\documentclass{article}", *needs, "\\begin{document}\n\\listoftables"])
            + "\n"
            + "\n".join([*tables, "\\end{document}\n"]),
            encoding="utf-8",
        )
        options = ["-halt-on-error", "-interaction=nonstopmode"] if "pdflatex" in programs else []
        done = subprocess.run(
            [programs[0], *options, "tables.tex"], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout[-2000:]
        assert (tmp_path / "tables.pdf").stat().st_size > 0
        assert not re.findall(r"Overfull .hbox \((?!\d\.)\d+", done.stdout)  # by 10 points or more
        assert "Float too large" not in done.stdout
