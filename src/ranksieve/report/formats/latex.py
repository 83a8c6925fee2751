"""Tables in LaTeX, with the rules of booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ranksieve.report.formats.folding import fold
from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet
from ranksieve.text import on_one_line

_WIDTH = 88  # characters of small print across a page
_TEXT_SHARE = 0.4  # of the line, for columns of text that wraps
_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    **{sign: "\\" + sign for sign in "{}$&#_%"},
    # At the start of a row they would be read as arguments of the command that ends the last one.
    **{sign: f"{{{sign}}}" for sign in "[]*"},
}


def to_latex(sheet: Sheet) -> str:
    r"""Write a sheet as a LaTeX table; the document needs ``\usepackage{booktabs}``.

    The best is bold and marks are superscripts. A sheet that is too wide for a page becomes
    several tables, one below the other.

    Parameters
    ----------
    sheet : Sheet

    Returns
    -------
    str
        A ``table`` with caption, label ``tab:`` and the sheet's name, and the notes below.

    Examples
    --------
    >>> columns = [Column("selector", align="left", is_name=True), Column("MAP")]
    >>> rows = [[Entry("gas_e"), Entry(0.4767, ".4f", is_best=True, rank=1)]]
    >>> print(to_latex(Sheet("example", "Quality", "Of an example.", columns, [rows])))
    % needs \usepackage{booktabs}
    \begin{table}[t]
    \centering\small
    \caption[Quality]{Quality. Of an example.}
    \label{tab:example}
    \begin{tabular}{@{}lr@{}}
    \toprule
    selector & MAP \\
    \midrule
    gas\_e & \textbf{0.4767} (1) \\
    \bottomrule
    \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    return "\n".join(_lines(sheet.printed())) + "\n"


def _lines(sheet: Sheet) -> Iterator[str]:
    yield r"% needs \usepackage{booktabs}"
    yield r"\begin{table}[t]"
    yield r"\centering\small"
    yield rf"\caption[{_escape(sheet.title)}]{{{_escape(sheet.caption)}}}"
    yield rf"\label{{tab:{sheet.name}}}"
    widths = [_width(column, place, sheet) for place, column in enumerate(sheet.columns)]
    for number, block in enumerate(fold(sheet.columns, widths, _WIDTH)):
        if number:
            yield r"\par\medskip"
        yield from _tabular(sheet, block)
    if sheet.notes:
        yield r"\par\smallskip"
        yield r"\begin{minipage}{\linewidth}\footnotesize"
        for note in sheet.notes:
            yield rf"{_escape(note)}\par"
        yield r"\end{minipage}"
    yield r"\end{table}"


def _width(column: Column, place: int, sheet: Sheet) -> int:
    """About how many characters wide a column is; text that wraps takes its share of the line."""
    if column.wraps:
        return int(_WIDTH * _share(sheet.columns))
    texts = (row[place].text + row[place].rank_text for row in sheet.rows)
    return max(len(column.above), *map(len, texts), 0)


def _share(columns: Sequence[Column]) -> float:
    return round(_TEXT_SHARE / sum(column.wraps for column in columns), 2)


def _tabular(sheet: Sheet, block: Sequence[int]) -> Iterator[str]:
    columns = [sheet.columns[place] for place in block]
    kinds = "".join(
        rf"p{{{_share(sheet.columns)}\linewidth}}" if column.wraps else column.align[0]
        for column in columns
    )
    ranks = [max((len(row[place].rank_text) for row in sheet.rows), default=0) for place in block]
    yield rf"\begin{{tabular}}{{@{{}}{kinds}@{{}}}}"
    yield r"\toprule"
    yield " & ".join(_escape(column.above) for column in columns) + r" \\"
    yield r"\midrule"
    for number, group in enumerate(sheet.groups):
        if number:
            yield r"\addlinespace"
        for row in group:
            yield " & ".join(_format_row(row, block, ranks)) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _format_row(row: Row, block: Sequence[int], ranks: Sequence[int]) -> Iterator[str]:
    for place, widest in zip(block, ranks, strict=True):
        cell = row[place]
        text = _escape(cell.text) if isinstance(cell.value, str) else _number(cell.text)
        # Empty digits and marks without a width keep digits below digits.
        empty = widest - len(cell.rank_text)
        pad = rf"\phantom{{{'0' * empty}}}" if cell.rank is not None and empty else ""
        mark = rf"\rlap{{\textsuperscript{{{_mark(cell)}}}}}" if cell.mark else ""
        yield (rf"\textbf{{{text}}}" if cell.is_best else text) + cell.rank_text + pad + mark


def _mark(cell: Entry) -> str:
    return _escape(cell.mark).replace("-", "$-$")


def _number(text: str) -> str:
    """A number with a minus sign rather than a hyphen, and with powers of ten."""
    if text == "-":  # there is no number
        return text
    power = re.fullmatch(r"([+-]?[\d.]+)e([+-]\d+)", text)
    if power:
        return rf"${power[1]}\cdot 10^{{{int(power[2])}}}$"
    if text.endswith("inf"):
        return rf"${text[:-3]}\infty$"
    return _escape(text).replace("-", "$-$").replace("+", "$+$")


def _escape(text: str) -> str:
    """Escape a text so that all of it is printed as it is, on one line."""
    signs = "".join(_ESCAPED.get(sign, sign) for sign in on_one_line(text))
    return re.sub("([-'])(?=\\1)", r"\1{}", signs)  # two would become a dash, or a closing quote
