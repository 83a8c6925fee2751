"""CRC-32 by folding: the same as zlib's, for every length and whatever the bytes are."""

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranksieve.io.shards import format as module
from ranksieve.io.shards.format import crc32

LAP = 4 * module._FAR
RANDOM = np.random.default_rng(0).integers(0, 256, 6 * LAP, dtype=np.uint8)


@pytest.mark.parametrize("length", [0, 1, 5, LAP, 2 * LAP, 3 * LAP, 5 * LAP])
@pytest.mark.parametrize("more", [-1, 0, 1, 4, 7])
def test_equal_to_zlib_around_whole_laps(length, more):
    content = RANDOM[: max(0, length + more)]
    assert crc32(content) == zlib.crc32(content)


@given(st.integers(0, 6 * LAP), st.integers(0, 1000), st.integers(0, 255))
@settings(max_examples=20, deadline=None)
def test_equal_to_zlib_for_any_part(length, start, byte):
    content = RANDOM[4 * start : 4 * start + length].copy()
    content[: length // 8 * 4] ^= np.uint8(byte)
    assert crc32(content) == zlib.crc32(content)


def test_every_bit_that_changes_is_seen():
    content = RANDOM[: 3 * LAP].copy()
    before = crc32(content)
    for place in np.linspace(0, len(content) - 1, 40).astype(int):
        content[place] ^= 16
        assert crc32(content) != before
        content[place] ^= 16
    assert crc32(np.zeros(3 * LAP, dtype=np.uint8)) == zlib.crc32(bytes(3 * LAP))
