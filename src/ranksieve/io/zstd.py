"""Write zstd frames with a checksum of their content, which every reader of zstd compares.

pyarrow compresses, but has no switch for the checksum. It is a bit in the frame's header, and the
low half of the content's XXH64 behind the frame (RFC 8878, 3.1.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve._kernels.xxhash import mix

_DESCRIPTOR, _CHECKSUM_FLAG = 4, 4  # byte of the frame's header, after the magic number; its bit
_WORD = 2**64
_P1, _P2, _P3, _P4, _P5 = (
    11400714785074694791,
    14029467366897019727,
    1609587929392839161,
    9650029242287828579,
    2870177450012600261,
)


class Xxh64:
    """XXH64, with seed 0, of bytes that come in pieces."""

    def __init__(self) -> None:
        start = [(_P1 + _P2) % _WORD, _P2, 0, -_P1 % _WORD]
        self._state = np.array(start, dtype=np.uint64)
        self._rest = b""
        self._size = 0

    def update(self, content: bytes) -> None:
        """Add bytes."""
        self._size += len(content)
        content = self._rest + content
        whole = len(content) // 32 * 32
        mix(self._state, np.frombuffer(content, dtype="<u8", count=whole // 8))
        self._rest = content[whole:]

    def digest(self) -> int:
        """Hash of all bytes so far."""
        value = (self._join() if self._size >= 32 else _P5) + self._size
        rest = self._rest
        while len(rest) >= 8:
            word, rest = int.from_bytes(rest[:8], "little"), rest[8:]
            value = _turn(value ^ _round(0, word), 27) * _P1 + _P4
        if len(rest) >= 4:
            word, rest = int.from_bytes(rest[:4], "little"), rest[4:]
            value = _turn(value ^ word * _P1, 23) * _P2 + _P3
        for byte in rest:
            value = _turn(value ^ byte * _P5, 11) * _P1
        value %= _WORD
        value = (value ^ value >> 33) * _P2 % _WORD
        value = (value ^ value >> 29) * _P3 % _WORD
        return value ^ value >> 32

    def _join(self) -> int:
        lanes = self._state.tolist()
        value = sum(_turn(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            value = (value ^ _round(0, lane)) * _P1 + _P4
        return value


def _turn(value: int, bits: int) -> int:
    value %= _WORD
    return (value << bits | value >> 64 - bits) % _WORD


def _round(value: int, word: int) -> int:
    return _turn(value + word * _P2, 31) * _P1 % _WORD


class _HashingStream:
    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.hash = Xxh64()

    def write(self, content: bytes) -> None:
        self.hash.update(content)
        self._stream.write(content)


@contextmanager
def zstd_writer(path: Path) -> Iterator[Any]:
    """Open a file for writing as one zstd frame with a checksum."""
    import pyarrow

    with pyarrow.CompressedOutputStream(str(path), "zstd") as stream:
        hashing = _HashingStream(stream)
        yield hashing
    with path.open("r+b") as file:
        file.seek(_DESCRIPTOR)
        flags = file.read(1)[0] | _CHECKSUM_FLAG
        file.seek(_DESCRIPTOR)
        file.write(bytes([flags]))
        file.seek(0, 2)
        file.write((hashing.hash.digest() % 2**32).to_bytes(4, "little"))
