"""Opening, decompressing and safely replacing files."""

from __future__ import annotations

import codecs
import errno
import gzip
import os
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from ranksieve.data import DataError

try:
    import fcntl
except ImportError:  # not on Windows: there, run one process at a time
    fcntl = None  # type: ignore[assignment]

_CHUNK = 2**20
_LONGEST_LINE = 2**26
_TEMPORARY = ".ranksieve-temporary-"  # how names of temporary files begin
_OF_WRITING = {
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM,
}  # fmt: skip


class LongLineError(Exception):
    """A line that would take too much memory: the one after those that were read."""

    def __init__(self) -> None:
        super().__init__(
            f"the line has more than {_LONGEST_LINE:,} bytes: not a file of lines, or damaged"
        )


def line_chunks(path: Path, advance: Callable[[int], None]) -> Iterator[bytes]:
    """Yield the decompressed text in pieces of about a megabyte, each of whole lines.

    The last line gets a newline if it has none. ``advance`` is told the bytes of the file
    (before decompression) that each piece took. A line beyond all measure is a LongLineError.
    """
    with path.open("rb") as file:
        stream = decompressed(file, path)
        rest: list[bytes] = []
        n_rest = before = 0
        is_first = True
        while piece := stream.read(_CHUNK):
            if is_first:
                piece, is_first = piece.removeprefix(codecs.BOM_UTF8), False
            cut = piece.rfind(b"\n") + 1
            if cut:
                yield b"".join([*rest, piece[:cut]])
                rest, n_rest = [], 0
            if cut < len(piece):
                rest.append(piece[cut:])
                n_rest += len(piece) - cut
            if n_rest > _LONGEST_LINE:
                raise LongLineError
            position = file.tell() if file.seekable() else before  # a pipe has none
            advance(position - before)
            before = position
        if rest:
            yield b"".join([*rest, b"\n"])


def decompressed(file: IO[bytes], path: Path) -> Any:
    """Stream of the content of an opened file, decompressed as its name says."""
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


READ_ERRORS = (OSError, EOFError, zlib.error, LongLineError)


def numbered_lines(
    path: Path, advance: Callable[[int], None] = lambda n_bytes: None
) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of :func:`line_chunks` without their ends, numbered from 1.

    What is wrong with the file is a DataError with the line.
    """
    number = 0
    try:
        for chunk in line_chunks(path, advance):
            for line in chunk.split(b"\n")[:-1]:
                number += 1
                yield number, line
    except LongLineError as error:
        raise DataError(f"{path}:{number + 1}: {error}") from None
    except READ_ERRORS as error:
        raise DataError(f"{place_of(path, number)}: {explain_os_error(error)}") from error


def total_size(paths: list[Path]) -> int:
    """Bytes of the files that can be looked at; the others will be reported when opened."""
    total = 0
    for path in paths:
        with suppress(OSError):
            total += path.stat().st_size
    return total


def make_directory(directory: Path) -> Path:
    """Make a directory unless it is there, and return it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{directory}: cannot be made: {error.strerror}") from error
    return directory


def check_replaceable(path: Path, inputs: Iterable[Path | None] = ()) -> None:
    """Raise a DataError if no file can be put there: to know that before a long computation.

    Nor must it be one of the inputs, which would be lost.
    """
    for one in inputs:
        if one is not None and path.is_file() and one.exists() and path.samefile(one):
            raise DataError(f"{path}: is an input, which would be overwritten: name another file")
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise DataError(f"{path}: is a directory, not a file")
    if target.is_symlink():
        raise DataError(f"{path}: is a symbolic link that leads to itself")
    if not target.parent.is_dir():
        missing = target.parent if path.parent.is_dir() else path.parent
        raise DataError(f"{path}: there is no directory {missing}")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, which takes the place of ``path`` on success.

    An error or interruption leaves what was at ``path`` as it was; what keeps it from being written
    becomes a DataError.
    A symbolic link stays, and the file that it leads to is replaced. What is no file, such as
    ``/dev/stdout``, is never replaced, but written to. What programs that were killed have left in
    the directory is removed.
    """
    check_replaceable(path)
    try:
        if path.exists() and not path.is_file():
            yield path
        else:
            with _beside(Path(os.path.realpath(path)), path.name) as temporary:
                yield temporary
    except OSError as error:
        if error.errno not in _OF_WRITING:
            raise
        raise DataError(f"{path}: cannot be written: {os.strerror(error.errno)}") from error


@contextmanager
def _beside(target: Path, name: str) -> Iterator[Path]:
    """Give a temporary file whose name ends like ``name``, and put it at the target on success."""
    _remove_leftovers(target.parent)
    with _locked_temporary(target.parent, name) as temporary:
        yield temporary
        os.chmod(temporary, _mode_at(target))  # mkstemp made it private
        os.replace(temporary, target)


@contextmanager
def _locked_temporary(directory: Path, name: str) -> Iterator[Path]:
    """A new file, gone at the end; locked, so that others do not take it for a leftover."""
    while True:
        # The end of the name tells how to compress; a long one would become too long.
        handle, temporary = tempfile.mkstemp(f"-{name[-40:]}", _TEMPORARY, dir=directory)
        if fcntl is None:
            os.close(handle)  # Windows replaces no file that is open
            break
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.path.exists(temporary):  # nobody took it for a leftover before it was locked
            break
        os.close(handle)
    try:
        yield Path(temporary)
    finally:
        Path(temporary).unlink(missing_ok=True)
        if fcntl is not None:
            os.close(handle)


def _remove_leftovers(directory: Path) -> None:
    """Remove temporary files of ours that nobody holds: their programs have been killed."""
    if fcntl is None:
        return
    for path in directory.glob(f"{_TEMPORARY}*"):
        with suppress(OSError):  # it is held, it is not ours, or it is gone meanwhile
            handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if stat.S_ISREG(os.fstat(handle).st_mode):
                    path.unlink()
            finally:
                os.close(handle)


def _mode_at(target: Path) -> int:
    """Permissions of the file that is there, else those of a new one."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


@contextmanager
def holding(directory: Path) -> Iterator[bool | None]:
    """Hold a directory; whether no other process does, None where that cannot be known."""
    if fcntl is None:
        yield None
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_free = True
        except OSError:  # another has it, or there are no locks here
            is_free = False
        yield is_free
    finally:
        os.close(handle)  # and with it the lock


@contextmanager
def compressed_writer(path: Path) -> Iterator[IO[bytes]]:
    """Open for writing, compressed as the suffix says."""
    if path.suffix == ".gz":
        with gzip.open(path, "wb", compresslevel=6) as stream:
            yield stream  # type: ignore[misc]
    elif path.suffix == ".zst":
        from ranksieve.io.zstd import zstd_writer

        with zstd_writer(path) as stream:
            yield stream
    else:
        with path.open("wb") as stream:
            yield stream
