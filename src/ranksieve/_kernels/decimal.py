"""Decimal text to the nearest double, as Python's ``float`` does it.

Three ways, from the common to the rare: up to 15 digits with a small exponent are exact with
one multiplication or division (Clinger 1990); up to 19 digits go through a 128-bit product
with a truncated power of five (Lemire 2021, "Number parsing at a gigabyte per second"); what
that product cannot decide (near-halfway cases, subnormals) is reported as HARD, and the
caller asks ``float``.
"""

from functools import cache

import numpy as np

from ranksieve._kernels.compiling import inlined, part

OK, HARD, BAD = 0, 1, 2

_SMALLEST_POWER, _LARGEST_POWER = -342, 308
_EXACT_POWERS = 10.0 ** np.arange(23)
_MAX_DIGITS = 19  # digits that always fit into 64 bits


@cache
def powers_of_five() -> np.ndarray:
    """Top 128 bits of 5^q for q = -342..308, as (high, low) words.

    Truncated, but for -27 <= q < 0, where rounding up makes the product exact enough to show
    a halfway case.
    """
    table = np.empty((_LARGEST_POWER - _SMALLEST_POWER + 1, 2), dtype=np.uint64)
    for row, q in enumerate(range(_SMALLEST_POWER, _LARGEST_POWER + 1)):
        if q >= 0:
            power = 5**q
            shift = 128 - power.bit_length()
            bits = power << shift if shift >= 0 else power >> -shift
        else:
            divisor = 5**-q
            bits = (1 << (127 + divisor.bit_length())) // divisor + (q >= -27)
        table[row] = bits >> 64, bits & (2**64 - 1)
    return table


@part
def _multiply(a, b):
    """128-bit product of two 64-bit words, as (high, low)."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a_high, a_low, b_high, b_low = a >> half, a & mask, b >> half, b & mask
    low = a_low * b_low
    middle = a_high * b_low + (low >> half)
    other = a_low * b_high + (middle & mask)
    high = a_high * b_high + (middle >> half) + (other >> half)
    return high, (other << half) | (low & mask)


@part
def _leading_zeros(word):
    count = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(64 - step) == np.uint64(0):
            word <<= np.uint64(step)
            count += step
    return count


@part
def _nearest_double(digits, power, table):
    """Bits of the double nearest to ``digits * 10**power`` and whether they are decided."""
    zero, one, full = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
    infinity = np.uint64(0x7FF) << np.uint64(52)
    if digits == zero or power < _SMALLEST_POWER:
        return zero, True
    if power > _LARGEST_POWER:
        return infinity, True
    shift = _leading_zeros(digits)
    digits <<= np.uint64(shift)
    row = power - _SMALLEST_POWER
    high, low = _multiply(digits, table[row, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):  # the low word of 5^q may carry into a bit
        carry, _ = _multiply(digits, table[row, 1])
        low += carry
        if low < carry:
            high += one
    if low == full and (power < -27 or power > 55):
        return zero, False
    upper = high >> np.uint64(63)
    cut = upper + np.uint64(9)  # keep 54 bits: 53 of the significand and one to round
    mantissa = high >> cut
    exponent = ((217706 * power) >> 16) + 1086 + np.int64(upper) - shift
    if exponent <= 0:
        return zero, False
    exactly_halfway = (
        low <= one
        and -4 <= power <= 23
        and mantissa & np.uint64(3) == one
        and mantissa << cut == high
    )
    if exactly_halfway:  # round to even: drop the bit instead of rounding it up
        mantissa -= one
    mantissa = (mantissa + (mantissa & one)) >> one
    if mantissa >> np.uint64(53) != zero:
        mantissa >>= one
        exponent += 1
    if exponent >= 0x7FF:
        return infinity, True
    fraction = mantissa & ((one << np.uint64(52)) - one)
    return fraction | (np.uint64(exponent) << np.uint64(52)), True


@part
def _word_ends(text, at, word):
    """Position after ``word`` (lower case) at ``at``, ignoring case, or -1."""
    for letter in word:
        if text[at] | np.uint8(32) != letter:
            return -1
        at += 1
    return at


_NAN = np.frombuffer(b"nan", dtype=np.uint8)
_INF = np.frombuffer(b"inf", dtype=np.uint8)
_INITY = np.frombuffer(b"inity", dtype=np.uint8)


@part
def _parse_special(text, at, sign):
    end = _word_ends(text, at, _NAN)
    if end > 0:
        return OK, np.nan, end
    end = _word_ends(text, at, _INF)
    if end < 0:
        return BAD, 0.0, at
    longer = _word_ends(text, end, _INITY)
    return OK, sign * np.inf, longer if longer > 0 else end


@part
def _scan_digits(text, at, digits):
    """Append decimal digits to ``digits``, modulo 2^64: (digits, position after them)."""
    while True:
        value = text[at] - np.uint8(48)  # wraps around for bytes below '0'
        if value > np.uint8(9):
            return digits, at
        digits = digits * np.uint64(10) + np.uint64(value)
        at += 1


@part
def _scan_many_digits(text, at):
    """Digits that may be too many for 64 bits: (the first 19, power of ten, whether cut off)."""
    digits = np.uint64(0)
    n_kept = power = 0  # leading zeros are not kept; digits after the 19th only move the power
    truncated = after_point = False
    while True:
        byte = text[at]
        if byte == np.uint8(46) and not after_point:
            after_point = True
        elif np.uint8(48) <= byte <= np.uint8(57):
            power -= after_point
            if n_kept < _MAX_DIGITS:
                digits = digits * np.uint64(10) + np.uint64(byte - np.uint8(48))
                n_kept += digits != np.uint64(0)
            else:
                power += 1
                truncated |= byte != np.uint8(48)
        else:
            return digits, power, truncated
        at += 1


@part
def _scan_exponent(text, at):
    """Exponent after an 'e': (whether there is one, exponent, position after it)."""
    negative = text[at] == np.uint8(45)
    if negative or text[at] == np.uint8(43):
        at += 1
    start, exponent = at, 0
    while np.uint8(48) <= text[at] <= np.uint8(57):
        if exponent < 100_000_000:  # beyond this it cannot change the result
            exponent = exponent * 10 + np.int64(text[at] - np.uint8(48))
        at += 1
    return at > start, -exponent if negative else exponent, at


@part
def _parse_any(text, at, table):
    """What :func:`parse_number` does, for all numbers."""
    sign = 1.0
    if text[at] == np.uint8(45):
        sign = -1.0
        at += 1
    elif text[at] == np.uint8(43):
        at += 1

    start = at
    digits, at = _scan_digits(text, at, np.uint64(0))
    n_digits = at - start
    power = 0
    truncated = False
    if text[at] == np.uint8(46):
        point = at
        digits, at = _scan_digits(text, point + 1, digits)
        power = point + 1 - at
        n_digits -= power
    if n_digits == 0:
        return _parse_special(text, start, sign)
    if n_digits > _MAX_DIGITS:
        digits, power, truncated = _scan_many_digits(text, start)

    if text[at] | np.uint8(32) == np.uint8(101):
        found, exponent, at = _scan_exponent(text, at + 1)
        if not found:
            return BAD, 0.0, at
        power += exponent

    if digits <= np.uint64(1 << 53) and -22 <= power <= 22 and not truncated:
        value = np.float64(digits)
        value = value / _EXACT_POWERS[-power] if power < 0 else value * _EXACT_POWERS[power]
        return OK, sign * value, at
    bits, decided = _nearest_double(digits, power, table)
    if truncated and decided:  # the true value lies between digits and digits + 1
        above, decided = _nearest_double(digits + np.uint64(1), power, table)
        decided = decided and above == bits
    if not decided:
        return HARD, 0.0, at
    return OK, sign * np.uint64(bits).view(np.float64), at


@inlined
def parse_number(text, at, table):
    """Parse a number that starts at ``at``: (status, value, position after it).

    ``text`` must end with a byte that no number contains, such as a newline: no loop passes it.
    The grammar is that of ``float`` without underscores and surrounding blanks. Few plain digits,
    which is what nearly all numbers are, are read here; all else by a function that is too large
    to be inlined.
    """
    digits, end = _scan_digits(text, at, np.uint64(0))
    n_digits = end - at
    n_decimals = 0
    if text[end] == np.uint8(46):
        point = end
        digits, end = _scan_digits(text, point + 1, digits)
        n_decimals = end - point - 1
        n_digits += n_decimals
    if 0 < n_digits <= 15 and text[end] | np.uint8(32) != np.uint8(101):
        return OK, np.float64(digits) / _EXACT_POWERS[n_decimals], end
    return _parse_any(text, at, table)
