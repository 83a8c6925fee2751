"""Parse LETOR / SVMlight text to sparse rows in one pass over the bytes."""

from typing import NamedTuple

import numpy as np

from ranksieve._kernels.compiling import kernel, part
from ranksieve._kernels.decimal import BAD, HARD, OK, parse_number

# Reasons to reject a line. The caller turns the code and the position into a message.
NO_ERROR = 0
BAD_LABEL = 1
INFINITE_LABEL = 2
MISSING_QID = 3
EMPTY_QID = 4
BAD_PAIR = 5
BAD_VALUE = 6
INDEX_TOO_SMALL = 7
INDEX_TOO_LARGE = 8
INDEX_TWICE = 9
INDEX_ORDER = 10

_TAB, _NEWLINE, _RETURN, _SPACE = np.uint8(9), np.uint8(10), np.uint8(13), np.uint8(32)
_HASH, _ZERO, _NINE, _COLON, _EQUALS = (np.uint8(ord(byte)) for byte in "#09:=")
MAX_INDEX = 2**31 - 2  # the largest that fits into a 32-bit 0-based index

_QID = np.frombuffer(b"qid:", dtype=np.uint8)
_DOCID = np.frombuffer(b"docid", dtype=np.uint8)
_INC = np.frombuffer(b" inc =", dtype=np.uint8)
_NULL = np.frombuffer(b"NULL", dtype=np.uint8)  # LETOR 3's word for a missing value


@part
def _is_blank(byte):
    return byte == _SPACE or byte == _TAB or byte == _RETURN


@part
def _ends_token(byte):
    return _is_blank(byte) or byte == _NEWLINE or byte == _HASH


@part
def _skip_blanks(text, at):
    while _is_blank(text[at]):
        at += 1
    return at


@part
def _starts_with(text, at, word):
    for letter in word:
        if text[at] != letter:
            return False
        at += 1
    return True


@part
def _same_bytes(text, start, end, other_start, other_end):
    if end - start != other_end - other_start:
        return False
    for offset in range(end - start):
        if text[start + offset] != text[other_start + offset]:
            return False
    return True


@part
def _document_id(text, start, end):
    """Find the document id in a comment: all of it, or X in LETOR's 'docid = X inc = ...'."""
    if text[start] != _HASH:
        return start, start
    start = _skip_blanks(text, start + 1)
    if _starts_with(text, start, _DOCID):
        sign = _skip_blanks(text, start + _DOCID.size)
        if text[sign] == _EQUALS:
            start = _skip_blanks(text, sign + 1)
            for at in range(start, end):
                if _starts_with(text, at, _INC):
                    end = at
                    break
    while end > start and _is_blank(text[end - 1]):
        end -= 1
    return start, end if end > start else start


@part
def _note(spans, count, first, start, end):
    spans[count, 0], spans[count, 1], spans[count, 2] = first, start, end
    return count + 1


class HardNumbers(NamedTuple):
    """Numbers that are left to the caller to parse."""

    slots: np.ndarray  # index of the entry, or -1 - row for a label
    starts: np.ndarray  # position in the text
    digits: np.ndarray  # text of all numbers, concatenated:
    ptr: np.ndarray  # number i is digits[ptr[i]:ptr[i + 1]]


@part
def _copy(text, start, end, names, ptr, count):
    """Append a piece of the text to ``names``."""
    to = ptr[count]
    for at in range(start, end):
        names[to] = text[at]
        to += 1
    ptr[count + 1] = to


@part
def _leave(text, start, end, hard, count, slot):
    hard.slots[count], hard.starts[count] = slot, start
    _copy(text, start, end, hard.digits, hard.ptr, count)
    return count + 1


@part
def _parse_label(text, at, row, labels, hard, n_hard):
    """Parse a label; return (error, position after it or of the error, hard numbers so far)."""
    start = at
    status, label, at = parse_number(text, at)
    if status == BAD or not _ends_token(text[at]):
        return BAD_LABEL, start, n_hard
    if status == HARD:
        n_hard = _leave(text, start, at, hard, n_hard, -1 - row)
    elif not np.isfinite(label):
        return INFINITE_LABEL, start, n_hard
    labels[row] = label
    return NO_ERROR, at, n_hard


@part
def _parse_query(text, at, row, line, runs, n_runs):
    """Parse a query id, which starts a run if it is new; return (error, position, runs so far)."""
    at = _skip_blanks(text, at)
    if not _starts_with(text, at, _QID):
        return MISSING_QID, at, n_runs
    start = at + _QID.size
    at = start
    while not _ends_token(text[at]):
        at += 1
    if at == start:
        return EMPTY_QID, start, n_runs
    last = n_runs - 1
    if n_runs == 0 or not _same_bytes(text, start, at, runs[last, 1], runs[last, 2]):
        runs[n_runs, 3] = line
        n_runs = _note(runs, n_runs, row, start, at)
    return NO_ERROR, at, n_runs


@part
def _parse_index(text, at):
    """Parse an index, ignoring digits once it is too large; return (index, position)."""
    index = 0
    while _ZERO <= text[at] <= _NINE:
        if index <= MAX_INDEX:
            index = index * 10 + np.int64(text[at] - _ZERO)
        at += 1
    return index, at


@part
def _check_index(index, previous, first_index, last_index):
    if index < first_index:
        return INDEX_TOO_SMALL
    if index > last_index:
        return INDEX_TOO_LARGE
    if index == previous:
        return INDEX_TWICE
    if index < previous:
        return INDEX_ORDER
    return NO_ERROR


@part
def _parse_pairs(text, at, bounds, entries, n_entries, hard, n_hard):
    """Parse pairs index:value up to a comment or the end of the line.

    Returns (error, position, entries so far, hard numbers so far, last index).
    """
    first_index, last_index = bounds
    indices, values = entries
    previous = np.int64(-1)
    while True:
        at = _skip_blanks(text, at)
        if text[at] == _NEWLINE or text[at] == _HASH:
            return NO_ERROR, at, n_entries, n_hard, previous
        start = at
        index, at = _parse_index(text, at)
        if at == start or text[at] != _COLON:
            return BAD_PAIR, start, n_entries, n_hard, previous
        error = _check_index(index, previous, first_index, last_index)
        if error != NO_ERROR:
            return error, start, n_entries, n_hard, previous
        previous = index

        start = at + 1
        status, value, at = parse_number(text, start)
        if status == BAD and _starts_with(text, start, _NULL):
            status, value, at = OK, np.nan, start + _NULL.size
        if status == BAD or not _ends_token(text[at]):
            return BAD_VALUE, start, n_entries, n_hard, previous
        if status == HARD:
            n_hard = _leave(text, start, at, hard, n_hard, n_entries)
            value = np.nan  # placeholder until the caller fills it in
        indices[n_entries] = index - first_index
        values[n_entries] = value
        n_entries += value != 0.0 or np.signbit(value)  # zeros are overwritten by the next entry


@part
def _line_end(text, at):
    while text[at] != _NEWLINE:
        at += 1
    return at


class ParsedLines(NamedTuple):
    """Arrays with room for the rows of a text, for the kernel to fill."""

    labels: np.ndarray  # (rows,)
    row_ptr: np.ndarray  # (rows + 1,) entries of row i are row_ptr[i]:row_ptr[i + 1]
    names: np.ndarray  # document ids, concatenated:
    name_ptr: np.ndarray  # row i has names[name_ptr[i]:name_ptr[i + 1]]
    runs: np.ndarray  # (rows, 4), see parse_lines
    indices: np.ndarray  # (entries,) 0-based features
    values: np.ndarray  # (entries,) zeros are left out
    hard: HardNumbers
    remarks: np.ndarray  # (lines, 3), see parse_lines


@kernel
def parse_lines(text, bounds, lines):
    """Parse whole lines into the arrays of ``lines``, in place.

    Parameters
    ----------
    text : uint8 array that ends with a newline, so that no scan runs past its end
    bounds : smallest and largest index that a line may use
    lines : ParsedLines, where ``runs`` has, for each run of rows with one query id, its first row,
        start and end of the id in the text, and line of the first row; ``remarks`` has, for each
        line with only a comment, the row that follows it, start and end

    Returns
    -------
    (rows, runs, hard, remarks, lines), width, error, position of the error
    """
    labels, row_ptr, names, name_ptr, runs = lines[:5]
    hard, remarks = lines.hard, lines.remarks
    entries = lines.indices, lines.values
    zero = np.int64(0)  # a literal would have another type
    n_rows = n_runs = n_hard = n_remarks = n_entries = n_lines = width = at = zero
    error = NO_ERROR
    row_ptr[0] = name_ptr[0] = hard.ptr[0] = 0
    while at < text.size:
        at = _skip_blanks(text, at)
        if text[at] == _HASH:
            start = at
            at = _line_end(text, at)
            n_remarks = _note(remarks, n_remarks, n_rows, start, at)
        n_lines += 1
        if text[at] == _NEWLINE:
            at += 1
            continue
        error, at, n_hard = _parse_label(text, at, n_rows, labels, hard, n_hard)
        if error != NO_ERROR:
            break
        error, at, n_runs = _parse_query(text, at, n_rows, n_lines, runs, n_runs)
        if error != NO_ERROR:
            break
        error, at, n_entries, n_hard, last = _parse_pairs(
            text, at, bounds, entries, n_entries, hard, n_hard
        )
        if error != NO_ERROR:
            break
        if last + 1 - bounds[0] > width:
            width = last + 1 - bounds[0]
        comment = at
        at = _line_end(text, at)
        start, end = _document_id(text, comment, at)
        _copy(text, start, end, names, name_ptr, n_rows)
        at += 1
        n_rows += 1
        row_ptr[n_rows] = n_entries
    return (n_rows, n_runs, n_hard, n_remarks, n_lines), width, error, at


@kernel
def fill_dense(row_ptr, indices, values, out):
    """Scatter sparse rows into ``out``, which must hold zeros."""
    for row in range(out.shape[0]):
        for entry in range(row_ptr[row], row_ptr[row + 1]):
            out[row, indices[entry]] = values[entry]
