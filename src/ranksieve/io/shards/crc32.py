"""Compute the CRC-32 of large arrays at least twice as fast as zlib."""

from __future__ import annotations

import zlib

import numpy as np

# Where x is one 32-bit word, 1 + x^_NEAR + x^_FAR is a multiple of CRC-32's polynomial.
_NEAR, _FAR = 49961, 91639
_CUT = _FAR - _NEAR


def crc32(content: np.ndarray) -> int:
    """Compute the CRC-32 of contiguous bytes.

    The checksum is the remainder of dividing the content by a polynomial, and stays the same if
    multiples of that polynomial are added. Adding a multiple with three terms turns a word into 0
    and changes two later words, at most ``_FAR`` ahead. So all but the last ``_FAR`` words can be
    folded into these by XOR of long slices at the speed of memory; zlib does the rest.

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
    ring[0] = ~ring[0]  # zlib's initial state
    for start in range(_FAR, n_laps * _FAR, _FAR):
        # Fold the words of this lap into each other, then into the next lap.
        ring[_NEAR:] ^= ring[:_CUT]
        ring[:_CUT] ^= ring[_CUT : 2 * _CUT]
        ring[_CUT:_NEAR] ^= ring[2 * _CUT :]
        ring ^= words[start : start + _FAR]
    folded = zlib.crc32(ring.data, 0xFFFFFFFF)  # start with remainder 0, which zlib inverts
    return zlib.crc32(content[n_laps * _FAR * 4 :].data, folded)
