"""Open, decompress and safely replace files, one or several of a directory together."""

from __future__ import annotations

import codecs
import errno
import gzip
import os
import shutil
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

from ranksieve.data import DataError

try:
    import fcntl
except ImportError:  # not on Windows, where only one process may run at a time
    fcntl = None  # type: ignore[assignment]

PathLike = str | os.PathLike[str]

_CHUNK = 2**20
_LONGEST_LINE = 2**26
_TEMPORARY = ".ranksieve-temporary-"  # prefix of temporary files
_NEXT = ".next"  # directory with new files, from the moment they count until each is in its place
_BEGUN = ".next-"  # prefix of directories with new files that do not count yet
_GONE = ".gone"  # suffix of an empty file: there is no such file any more
_WRITE_ERRORS = {
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM,
}  # fmt: skip


class NotAFileError(OSError):
    """A directory, pipe or device is named where a regular file is needed."""


class LongLineError(Exception):
    """The next line is too long to be read into memory."""

    def __init__(self) -> None:
        super().__init__(
            f"the line has more than {_LONGEST_LINE:,} bytes: not a text file, or damaged"
        )


def check_regular(path: PathLike) -> None:
    """Raise a NotAFileError unless the path is a regular file.

    Opening a named pipe would wait for a writer, and a device such as ``/dev/zero`` never ends.
    """
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise NotAFileError(f"is {_kind_of_file(mode)}, not a file")


def open_regular(path: PathLike) -> IO[bytes]:
    """Open a regular file for reading bytes; raise a NotAFileError for anything else."""
    check_regular(path)
    return Path(path).open("rb")


@contextmanager
def open_text(path: Path) -> Iterator[IO[bytes]]:
    """Open text that is read once: a file, a pipe or a terminal, but no other device."""
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not file.isatty()):
            raise NotAFileError(f"is {_kind_of_file(mode)}, not a file")
        yield file


def _kind_of_file(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def line_chunks(path: Path, advance: Callable[[int], None]) -> Iterator[bytes]:
    """Yield the decompressed text in pieces of about a megabyte, each of whole lines.

    The last line gets a newline if it has none. ``advance`` is called with the number of bytes of
    the file (before decompression) for each piece. Raises a LongLineError for an excessive line.
    """
    with open_text(path) as file:
        stream = open_decompressed(file, path)
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


def open_decompressed(file: IO[bytes], path: Path) -> Any:
    """Stream of the content of an opened file, decompressed according to its name."""
    if path.suffix == ".gz":
        return gzip.GzipFile(fileobj=file)
    if path.suffix == ".zst":
        import pyarrow

        return pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), "zstd")
    return file


def as_paths(paths: PathLike | Sequence[PathLike]) -> list[Path]:
    """Files that are one data set: a path, or several; a DataError if there are none."""
    named = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    found = [Path(path) for path in named]
    if not found:
        raise DataError("no file to read")
    return found


def place_of(path: Path, line: int) -> str:
    """Place of an error: ``file:line``, or the file alone before its first line."""
    return f"{path}:{line}" if line else str(path)


def explain_os_error(error: Exception) -> str:
    """Describe an error of a file in words."""
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
    return (isinstance(error, OSError) and error.strerror) or str(error)


READ_ERRORS = (OSError, EOFError, zlib.error, LongLineError)


@contextmanager
def explain_read_errors(path: PathLike) -> Iterator[None]:
    """Context manager that turns errors of reading a file into a DataError with its name."""
    try:
        yield
    except READ_ERRORS as error:
        raise DataError(f"{path}: {explain_os_error(error)}") from error


def read_file(path: PathLike) -> bytes:
    """Read a regular file; raise a DataError with its name if that fails."""
    with explain_read_errors(path), open_regular(path) as file:
        return file.read()


def read_numbered_lines(
    path: Path, advance: Callable[[int], None] = lambda n_bytes: None
) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of :func:`line_chunks` without their ends, numbered from 1.

    Errors of the file become a DataError with the line.
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
    """Total size of the accessible files in bytes; others raise an error when opened."""
    total = 0
    for path in paths:
        with suppress(OSError):
            total += path.stat().st_size
    return total


def make_directory(directory: Path) -> Path:
    """Create a directory if it does not exist, and return it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{directory}: cannot be created: {error.strerror}") from error
    return directory


def check_replaceable(path: Path, inputs: Iterable[Path | None] = ()) -> None:
    """Raise a DataError if a file cannot be written there, before a long computation.

    It must not be one of the inputs either, which would be lost.
    """
    for one in inputs:
        if one is not None and path.is_file() and one.exists() and path.samefile(one):
            raise DataError(f"{path}: is an input, which would be overwritten: name another file")
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise DataError(f"{path}: is a directory, not a file")
    if target.is_symlink():
        raise DataError(f"{path}: is a symbolic link to itself")
    if not target.parent.is_dir():
        missing = target.parent if path.parent.is_dir() else path.parent
        raise DataError(f"{path}: there is no directory {missing}")


@contextmanager
def replace_on_success(path: Path) -> Iterator[Path]:
    """Context manager that yields a temporary path, which replaces ``path`` on success.

    An error or interruption leaves an existing file unchanged; errors of writing become a
    DataError.
    A symbolic link stays, and the file that it points to is replaced. Special files, such as
    ``/dev/stdout``, are written to and never replaced. Temporary files that killed programs have
    left in the directory are removed.
    """
    check_replaceable(path)
    try:
        if path.exists() and not path.is_file():
            yield path
        else:
            with _write_beside(Path(os.path.realpath(path)), path.name) as temporary:
                yield temporary
    except OSError as error:
        if error.errno not in _WRITE_ERRORS:
            raise
        raise DataError(f"{path}: cannot be written: {os.strerror(error.errno)}") from error


@contextmanager
def _write_beside(target: Path, name: str) -> Iterator[Path]:
    """Yield a temporary file with the suffix of ``name``, which replaces the target on success."""
    _remove_leftovers(target.parent)
    with _locked_temporary(target.parent, name) as temporary:
        yield temporary
        os.chmod(temporary, _mode_at(target))  # it was made private
        os.replace(temporary, target)


@contextmanager
def _locked_temporary(directory: Path, name: str) -> Iterator[Path]:
    """Yield a new temporary file, locked so that other processes do not remove it."""
    # It has a name before it exists, so that it is removed whenever an interruption comes. Only the
    # end of the given name is kept, which sets the compression; long names would not be valid.
    temporary = directory / f"{_TEMPORARY}{token_hex(8)}-{name[-40:]}"
    handle = None
    try:
        while handle is None:
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            if fcntl is None:
                os.close(handle)  # Windows cannot replace an open file
                break
            with suppress(OSError):  # the file system may not support locks
                fcntl.flock(handle, fcntl.LOCK_EX)
            if not temporary.exists():  # removed as a leftover before it was locked
                os.close(handle)
                handle = None
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
        if fcntl is not None and handle is not None:
            os.close(handle)


def _remove_leftovers(directory: Path) -> None:
    """Remove temporary files that no process locks: their programs were killed."""
    if fcntl is None:
        return
    for path in directory.glob(f"{_TEMPORARY}*"):
        with suppress(OSError):  # locked, of another user, or removed meanwhile
            handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if stat.S_ISREG(os.fstat(handle).st_mode):
                    path.unlink()
            finally:
                os.close(handle)


def _mode_at(target: Path) -> int:
    """Permissions of the existing file, or else those of a new file."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


@contextmanager
def hold_directory(directory: Path) -> Iterator[bool | None]:
    """Lock a directory; yield whether that succeeded, or None if locks are not available."""
    if fcntl is None:
        yield None
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_free = True
        except OSError:  # another process has the lock, or locks are not supported
            is_free = False
        yield is_free
    finally:
        os.close(handle)  # also releases the lock


@contextmanager
def compressed_writer(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing, compressed according to its suffix."""
    if path.suffix == ".gz":
        with gzip.open(path, "wb", compresslevel=6) as stream:
            yield stream  # type: ignore[misc]
    elif path.suffix == ".zst":
        from zstandard import ZstdCompressor  # Arrow, which reads, writes no checksum

        packer = ZstdCompressor(level=1, write_checksum=True)
        with path.open("wb") as file, packer.stream_writer(file) as stream:
            yield stream
    else:
        with path.open("wb") as stream:
            yield stream


# Files of a directory that belong together: all of them are replaced, or none.


def file_of(directory: Path, name: str) -> Path:
    """Return where a file is found that :func:`replace_together` may be about to put in its place.

    There is no such file if it was not among the files that were written last.
    """
    following = directory / _NEXT
    is_waiting = (following / name).exists() or (following / f"{name}{_GONE}").exists()
    return (following if is_waiting else directory) / name


@contextmanager
def replace_together(directory: Path, names: Sequence[str]) -> Iterator[Path]:
    """Context manager that yields an empty directory, whose files replace those of ``directory``.

    Files of these names that are not written there are removed. The files change at one moment,
    that of renaming a directory: after an error, or if the process is killed, :func:`file_of`
    finds either all old files or all new ones.
    """
    _finish_replacing(directory)
    for name in names:
        check_replaceable(directory / name)
    begun = directory / f"{_BEGUN}{token_hex(8)}"
    try:
        _remove_begun(directory)
        begun.mkdir()
        with hold_directory(begun):
            yield begun
            for name in names:
                if not (begun / name).exists():
                    (begun / f"{name}{_GONE}").touch()
            _finish_replacing(directory)  # what another process may have begun to replace
            os.rename(begun, directory / _NEXT)
        _finish_replacing(directory)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise DataError(f"{directory}: cannot be written: {reason}") from error
    finally:
        shutil.rmtree(begun, ignore_errors=True)


def _finish_replacing(directory: Path) -> None:
    """Put the new files, if there are any, in their places; this may be done again."""
    following = directory / _NEXT
    if not following.is_dir():
        return
    for path in following.iterdir():
        with suppress(FileNotFoundError):  # another process has done it
            if path.suffix == _GONE:
                (directory / path.stem).unlink(missing_ok=True)
                path.unlink()
            else:
                os.replace(path, directory / path.name)
    with suppress(FileNotFoundError):
        following.rmdir()


def _remove_begun(directory: Path) -> None:
    """Remove what killed processes have left; a directory that is in use is locked."""
    for path in directory.glob(f"{_BEGUN}*"):
        with suppress(OSError), hold_directory(path) as is_free:
            if is_free:
                shutil.rmtree(path, ignore_errors=True)
