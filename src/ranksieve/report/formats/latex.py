"""Write tables in LaTeX, with booktabs rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil
from unicodedata import normalize

from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet, fold
from ranksieve.text import on_one_line

_WIDTH = 74  # width of an article's page, in digits of small print
_GAP = 0.6  # additional space between columns compared with a terminal, in digits
_HEIGHT = 44  # lines of small print that fit on a page
_TEXT_SHARES = 0.4, 0.6, 0.8  # of the line, for one, two or more columns of wrapped text
_LONGEST = 34  # maximum width of a column that does not wrap, in digits
_WORD = 40  # longest word without a break in a caption or note, in characters
_BREAK, _PIECE = r"\hspace{0pt plus 3pt}", 4  # break in longer words, and its distance
_CELL = 30  # maximum number of lines in a cell
_WIDE, _NARROW = "@%&mMW", ".,:;!ijltfrsI()[]-"  # about 2 digits wide, and about 2/3
# Letters that every LaTeX supports in addition to accented ASCII letters. XeLaTeX and LuaLaTeX
# print all others if the font has them; for pdfLaTeX, which would stop, they become numbers.
_KNOWN = "\xc6\xd8\xdf\xe6\xf8\u0131\u0141\u0142\u0152\u0153"
_OGONEK, _END_OF_LATIN = "\u0328", "\u0180"
_LETTER = (
    r"\providecommand{\anyletter}[2]{\ifx\XeTeXversion\undefined"
    r"\ifx\directlua\undefined#1\else#2\fi\else#2\fi}"
)
_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    **{sign: "\\" + sign for sign in "{}$&#_%"},
    # At the start of a row they would be read as arguments of the command that ends the row above.
    **{sign: f"{{{sign}}}" for sign in "[]*"},
}


def to_latex(sheet: Sheet) -> str:
    r"""Write a sheet as a LaTeX table; its first line says which packages the document needs.

    The best value is bold and marks are superscripts. A sheet that is too wide for a page becomes
    several tables, one below the other, and one that is too long spans several pages. The ``table``
    or ``longtable`` has the caption, the label ``tab:`` plus the sheet's name, and the notes below.

    >>> columns = [Column("selector", align="left", is_name=True), Column("MAP")]
    >>> rows = [[Entry("gas_e"), Entry(0.4767, ".4f", is_best=True, rank=1)]]
    >>> print(to_latex(Sheet("example", "Quality", "Of an example.", columns, [rows])))
    % needs \usepackage{booktabs}
    \begin{table}[t]
    \centering\small
    \caption[Quality]{Quality. Of an example.}
    \label{tab:example}\par\smallskip
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
    sheet = _divide_cells(_wrap_long(sheet.printed()))
    widths = [_width(column, index, sheet) for index, column in enumerate(sheet.columns)]
    blocks = fold(sheet.columns, widths, _WIDTH)
    notes = sum(ceil(len(note) / _WIDTH) for note in sheet.notes)
    is_long = len(blocks) * (_height(sheet) + 3) + notes > _HEIGHT
    body = "\n".join(_long(sheet, blocks) if is_long else _short(sheet, blocks))
    letters = f"{_LETTER}\n" if r"\anyletter{" in body else ""
    packages = "booktabs,longtable" if is_long else "booktabs"
    return f"% needs \\usepackage{{{packages}}}\n{letters}{body}\n"


def _short(sheet: Sheet, blocks: Sequence[Sequence[int]]) -> Iterator[str]:
    """Write tables, one below the other, in one float."""
    yield r"\begin{table}[t]"
    yield r"\centering\small"
    yield _caption(sheet)
    yield rf"\label{{tab:{sheet.name}}}\par\smallskip"
    for number, block in enumerate(blocks):
        if number:
            yield r"\par\medskip"
        yield rf"\begin{{tabular}}{{@{{}}{_kinds(sheet, block)}@{{}}}}"
        yield from [*_head(sheet, block), *_body(sheet, block), r"\bottomrule", r"\end{tabular}"]
    if sheet.notes:
        yield r"\par\smallskip"
        yield r"\begin{minipage}{\linewidth}\footnotesize\raggedright"
        yield from _notes(sheet)
        yield r"\end{minipage}"
    yield r"\end{table}"


def _long(sheet: Sheet, blocks: Sequence[Sequence[int]]) -> Iterator[str]:
    """Write tables that may continue on the next page."""
    yield r"\begingroup\small\setlength{\LTcapwidth}{\linewidth}"
    for number, block in enumerate(blocks):
        head = list(_head(sheet, block))
        yield rf"\begin{{longtable}}{{@{{}}{_kinds(sheet, block)}@{{}}}}"
        if not number:
            yield rf"{_caption(sheet)}\label{{tab:{sheet.name}}}\\"
        yield from [*head, r"\endfirsthead", *head, r"\endhead", r"\bottomrule", r"\endfoot"]
        yield from _body(sheet, block)
        yield r"\end{longtable}"
        if number:  # every longtable increases the counter
            yield r"\addtocounter{table}{-1}"
    if sheet.notes:
        yield r"\footnotesize\raggedright"
        yield from _notes(sheet)
    yield r"\endgroup"


def _caption(sheet: Sheet) -> str:
    return rf"\caption[{_escape(sheet.title, _WORD)}]{{{_escape(sheet.caption, _WORD)}}}"


def _notes(sheet: Sheet) -> Iterator[str]:
    for note in sheet.notes:
        yield rf"{_escape(note, _WORD)}\par"


def _wrap_long(sheet: Sheet) -> Sheet:
    """Let columns of names wrap if they are too long for a line."""
    columns = [
        replace(column, wraps=True)
        if column.align == "left" and _width(column, index, sheet) > _LONGEST
        else column
        for index, column in enumerate(sheet.columns)
    ]
    return replace(sheet, columns=columns)


def _divide_cells(sheet: Sheet) -> Sheet:
    """Continue text with too many lines for a cell in additional rows."""
    most = int(_CELL * _WIDTH * _share(sheet.columns))

    def divide(row: Row) -> Iterator[Row]:
        pieces = [
            _pieces(cell, most) if column.wraps else [cell]
            for column, cell in zip(sheet.columns, row, strict=True)
        ]
        for number in range(max(map(len, pieces), default=1)):
            yield [cells[number] if number < len(cells) else Entry("") for cells in pieces]

    groups = [[part for row in group for part in divide(row)] for group in sheet.groups]
    return replace(sheet, groups=groups)


def _pieces(cell: Entry, most: int) -> list[Entry]:
    """Split a cell whose text is longer than ``most`` into several, between words."""
    if len(cell.text) <= most:
        return [cell]
    texts = [""]
    for word in cell.text.split():
        if texts[-1] and len(texts[-1]) + len(word) >= most:
            texts.append("")
        texts[-1] = f"{texts[-1]} {word}".lstrip()
    return [replace(cell, value=text) for text in texts]


def _width(column: Column, index: int, sheet: Sheet) -> int:
    """Estimate the width of a column in digits; wrapped text takes its share of the line."""
    if column.wraps:
        return ceil(_WIDTH * _share(sheet.columns) + _GAP)
    cells = [row[index] for row in sheet.rows]
    texts = [_digits(cell.text + cell.rank_text) * (1.15 if cell.is_best else 1) for cell in cells]
    return ceil(max(_digits(column.above), *texts, 0) + _GAP)


def _digits(text: str) -> float:
    """Estimate the printed width of a text in digits."""
    return sum(map(_width_of, text))


def _width_of(sign: str) -> float:
    if not _is_known(sign):
        return 6.0  # printed as its number
    if sign in _NARROW:
        return 0.7
    return 1.9 if sign in _WIDE else 1.5 if sign.isupper() else 1.0


def _height(sheet: Sheet) -> int:
    """Estimate the number of lines that the rows of a sheet fill."""
    wrapping = [index for index, column in enumerate(sheet.columns) if column.wraps]
    line = _WIDTH * _share(sheet.columns) * 0.9  # because words do not fill lines
    lines = [max([1, *(ceil(len(row[i].text) / line) for i in wrapping)]) for row in sheet.rows]
    return sum(lines) + len(sheet.groups) // 2


def _share(columns: Sequence[Column]) -> float:
    n_texts = max(1, sum(column.wraps for column in columns))
    return round(_TEXT_SHARES[min(n_texts, len(_TEXT_SHARES)) - 1] / n_texts, 2)


def _kinds(sheet: Sheet, block: Sequence[int]) -> str:
    """Alignment of the columns."""
    return "".join(
        rf"p{{{_share(sheet.columns)}\linewidth}}" if column.wraps else column.align[0]
        for column in (sheet.columns[index] for index in block)
    )


def _head(sheet: Sheet, block: Sequence[int]) -> Iterator[str]:
    yield r"\toprule"
    yield " & ".join(_escape(sheet.columns[index].above) for index in block) + r" \\"
    yield r"\midrule"


def _body(sheet: Sheet, block: Sequence[int]) -> Iterator[str]:
    ranks = [max((len(row[index].rank_text) for row in sheet.rows), default=0) for index in block]
    # In a ragged cell, the usual end of a row would only end a line.
    end = r" \tabularnewline" if sheet.columns[block[-1]].wraps else r" \\"
    for number, group in enumerate(sheet.groups):
        if number:
            yield r"\addlinespace"
        for row in group:
            yield " & ".join(_format_row(sheet, row, block, ranks)) + end


def _format_row(
    sheet: Sheet, row: Row, block: Sequence[int], ranks: Sequence[int]
) -> Iterator[str]:
    word = int(0.9 * _WIDTH * _share(sheet.columns))
    for index, widest in zip(block, ranks, strict=True):
        cell = row[index]
        if sheet.columns[index].wraps:
            yield rf"\raggedright {_escape(cell.text, word)}"
            continue
        text = _escape(cell.text) if isinstance(cell.value, str) else _number(cell.text)
        # Invisible digits and marks of zero width keep digits aligned.
        empty = widest - len(cell.rank_text)
        pad = rf"\phantom{{{'0' * empty}}}" if cell.rank is not None and empty else ""
        mark = _escape(cell.mark).replace("-", "$-$")
        mark = rf"\rlap{{\textsuperscript{{{mark}}}}}" if mark else ""
        yield (rf"\textbf{{{text}}}" if cell.is_best else text) + cell.rank_text + pad + mark


def _number(text: str) -> str:
    """Format a number with a minus sign instead of a hyphen, and with powers of ten."""
    if text == "-":  # no value
        return text
    power = re.fullmatch(r"([+-]?[\d.]+)e([+-]\d+)", text)
    if power:
        return rf"${power[1]}\cdot 10^{{{int(power[2])}}}$"
    if text.endswith("inf"):
        return rf"${text[:-3]}\infty$"
    return _escape(text).replace("-", "$-$").replace("+", "$+$")


def _escape(text: str, longest: int | None = None) -> str:
    """Escape a text so that it is printed unchanged on one line.

    Words longer than ``longest`` may break.
    """
    words = on_one_line(text).split(" ")
    escaped = " ".join(
        _signs(word) if longest is None or _digits(word) <= longest else _break(word)
        for word in words
    )
    return re.sub("([-'])(?=\\1)", r"\1{}", escaped)  # two would become a dash or closing quote


def _break(word: str) -> str:
    size = _PIECE if all(map(_is_known, word)) else 1
    pieces = [word[start : start + size] for start in range(0, len(word), size)]
    return _BREAK.join(map(_signs, pieces))


def _signs(text: str) -> str:
    return "".join(_ESCAPED.get(sign, sign if _is_known(sign) else _any(sign)) for sign in text)


def _is_known(sign: str) -> bool:
    if sign.isascii() or sign in _KNOWN:
        return True
    parts = normalize("NFD", sign)
    return sign < _END_OF_LATIN and parts[0].isascii() and _OGONEK not in parts


def _any(sign: str) -> str:
    return rf"\anyletter{{\textbackslash{{}}{ascii(sign)[2:-1]}}}{{{sign}}}"
