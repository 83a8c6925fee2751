"""CRC-32 of large arrays, as zlib computes it, at twice its speed or more."""

from __future__ import annotations

import zlib

import numpy as np

# Where x is one 32-bit word, 1 + x^_NEAR + x^_FAR is a multiple of CRC-32's polynomial.
_NEAR, _FAR = 49961, 91639
_CUT = _FAR - _NEAR


def crc32(content: np.ndarray) -> int:
    """CRC-32 of contiguous bytes.

    A checksum is the remainder of the content by a polynomial, and stays the same if multiples of
    that polynomial are added. Adding a multiple of three terms turns a word into 0 and changes two
    later words, the farthest ``_FAR`` ahead. So all but the last ``_FAR`` words can be folded into
    these by XOR of long slices, which is as fast as memory; zlib does the rest.

    Examples
    --------
    >>> hex(crc32(np.frombuffer(b"123456789", dtype=np.uint8)))
    '0xcbf43926'
    """
    words = content[: content.nbytes // 4 * 4].view(np.uint32)
    n_laps = len(words) // _FAR
    if n_laps < 2:
        return zlib.crc32(content.data)
    ring = words[:_FAR].copy()
    ring[0] = ~ring[0]  # as zlib begins
    for start in range(_FAR, n_laps * _FAR, _FAR):
        # What is folded here: first the words of this lap into each other, then into the next one.
        ring[_NEAR:] ^= ring[:_CUT]
        ring[:_CUT] ^= ring[_CUT : 2 * _CUT]
        ring[_CUT:_NEAR] ^= ring[2 * _CUT :]
        ring ^= words[start : start + _FAR]
    folded = zlib.crc32(ring.data, 0xFFFFFFFF)  # from a remainder of 0, which zlib inverts
    return zlib.crc32(content[n_laps * _FAR * 4 :].data, folded)
