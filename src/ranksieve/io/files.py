"""Opening, decompressing and safely replacing files."""

from __future__ import annotations

import codecs
import gzip
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from ranksieve.data import DataError

_CHUNK = 2**20


def line_chunks(path: Path, advance: Callable[[int], None]) -> Iterator[bytes]:
    """Yield the decompressed text in pieces of about a megabyte, each of whole lines.

    The last line gets a newline if it has none. ``advance`` is told the bytes of the file
    (before decompression) that each piece took.
    """
    with path.open("rb") as file:
        stream = _decompressed(file, path)
        rest: list[bytes] = []
        before = 0
        while piece := stream.read(_CHUNK):
            if not before:
                piece = piece.removeprefix(codecs.BOM_UTF8)
            cut = piece.rfind(b"\n") + 1
            if cut:
                yield b"".join([*rest, piece[:cut]])
                rest = []
            if cut < len(piece):
                rest.append(piece[cut:])
            advance(file.tell() - before)
            before = file.tell()
        if rest:
            yield b"".join([*rest, b"\n"])


def _decompressed(file: IO[bytes], path: Path) -> Any:
    if path.suffix == ".gz":
        return gzip.GzipFile(fileobj=file)
    if path.suffix == ".zst":
        import pyarrow

        return pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), "zstd")
    return file


def place_of(path: Path, line: int) -> str:
    """Where an error is: ``file:line``, or the file alone before its first line."""
    return f"{path}:{line}" if line else str(path)


def explain_os_error(error: Exception) -> str:
    """What went wrong with a file, in words."""
    if isinstance(error, IsADirectoryError):
        return "is a directory, not a file"
    if isinstance(error, PermissionError):
        return "no permission to read it"
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, EOFError) or "Truncated" in str(error):
        return "the compressed file is truncated"
    if isinstance(error, (gzip.BadGzipFile, zlib.error)) or "decompress" in str(error):
        return f"the compressed file is damaged ({error})"
    return str(error)


READ_ERRORS = (OSError, EOFError, zlib.error)


def total_size(paths: list[Path]) -> int:
    """Bytes of the files that can be looked at; the others will be reported when opened."""
    total = 0
    for path in paths:
        with suppress(OSError):
            total += path.stat().st_size
    return total


def check_replaceable(path: Path) -> None:
    """Raise a DataError if no file can be put there: to know that before a long computation."""
    if os.path.isdir(path):
        raise DataError(f"{path}: is a directory, not a file")
    if not os.path.isdir(path.parent):
        raise DataError(f"{path}: there is no directory {path.parent}")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, which takes the place of ``path`` on success.

    An error or interruption leaves what was at ``path`` as it was.
    """
    check_replaceable(path)
    try:
        handle, name = tempfile.mkstemp(f"-{path.name}", ".", dir=path.parent)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp made it private
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def compressed_writer(path: Path) -> Iterator[IO[bytes]]:
    """Open for writing, compressed as the suffix says."""
    if path.suffix == ".gz":
        with gzip.open(path, "wb", compresslevel=6) as stream:
            yield stream  # type: ignore[misc]
    elif path.suffix == ".zst":
        import pyarrow

        with pyarrow.CompressedOutputStream(str(path), "zstd") as stream:
            yield stream
    else:
        with path.open("wb") as stream:
            yield stream
