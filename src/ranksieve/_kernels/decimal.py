"""Parse decimal text to the nearest double where one multiplication or division suffices.

Numbers of up to 19 digits that fit into 53 bits, with a power of ten up to 22, are exact (Clinger
1990, "How to read floating point numbers accurately"). All others are reported as HARD and left to
the caller.
"""

import numpy as np

from ranksieve._kernels.compiling import part

OK, HARD, BAD = 0, 1, 2

_EXACT_POWERS = 10.0 ** np.arange(23)
_MAX_DIGITS = 19  # digits that always fit into 64 bits

_PLUS, _MINUS, _POINT, _ZERO, _E = (np.uint8(ord(byte)) for byte in "+-.0e")
_LOWER = np.uint8(32)  # the bit that distinguishes lower case from upper case

_NAN = np.frombuffer(b"nan", dtype=np.uint8)
_INF = np.frombuffer(b"inf", dtype=np.uint8)
_INITY = np.frombuffer(b"inity", dtype=np.uint8)


@part
def _word_ends(text, at, word):
    """Return the position after ``word`` (lower case) at ``at``, ignoring case, or -1."""
    for letter in word:
        if text[at] | _LOWER != letter:
            return -1
        at += 1
    return at


@part
def _parse_word(text, at):
    end = _word_ends(text, at, _NAN)
    if end > 0:
        return OK, np.nan, end
    end = _word_ends(text, at, _INF)
    if end < 0:
        return BAD, 0.0, at
    longer = _word_ends(text, end, _INITY)
    return OK, np.inf, longer if longer > 0 else end


@part
def _scan_digits(text, at, digits):
    """Append decimal digits to ``digits`` modulo 2^64; return (digits, position after them)."""
    while True:
        value = text[at] - _ZERO  # wraps around for bytes below '0'
        if value > np.uint8(9):
            return digits, at
        digits = digits * np.uint64(10) + np.uint64(value)
        at += 1


@part
def parse_number(text, at):
    """Parse the number that starts at ``at``; return (status, value, position after it).

    ``text`` must end with a byte that no number contains, such as a newline, which stops every
    loop. The grammar is that of ``float`` without underscores and surrounding blanks.
    """
    negative = text[at] == _MINUS
    start = at + (negative or text[at] == _PLUS)
    digits, at = _scan_digits(text, start, np.uint64(0))
    n_digits = at - start
    power = 0
    if text[at] == _POINT:
        point = at
        digits, at = _scan_digits(text, point + 1, digits)
        power = point + 1 - at
        n_digits -= power
    if n_digits == 0:
        status, value, at = _parse_word(text, start)
        return status, -value if negative else value, at
    n_exponent = 0
    if text[at] | _LOWER == _E:
        below = text[at + 1] == _MINUS
        at += 1 + (below or text[at + 1] == _PLUS)
        exponent, end = _scan_digits(text, at, np.uint64(0))
        n_exponent = end - at
        if n_exponent == 0:
            return BAD, 0.0, at
        at = end
        power += -np.int64(exponent) if below else np.int64(exponent)
    if (
        n_digits > _MAX_DIGITS
        or n_exponent > _MAX_DIGITS - 1
        or digits > np.uint64(1 << 53)
        or not -22 <= power <= 22
    ):
        return HARD, 0.0, at
    value = np.float64(digits)
    value = value / _EXACT_POWERS[-power] if power < 0 else value * _EXACT_POWERS[power]
    return OK, -value if negative else value, at
