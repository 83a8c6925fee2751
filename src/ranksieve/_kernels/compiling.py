"""Compile kernels with numba, and cache the compiled code.

The first run of a command waits until every function that its kernels call, directly or indirectly,
is compiled. Kernels therefore avoid features of numba that compile slowly:

- assigning an array to a slice, and arithmetic of whole arrays: numba adds the message of an error
  for wrong shapes, and with it a library of strings; a loop has the same speed;
- unpacking the rows of an array, ``a, b = np.empty((2, n))``: they are typed as not contiguous, and
  every function that takes them is compiled again;
- literals as arguments of long functions: the literal ``0`` and a variable have different types;
- ``np.sort`` and its relatives, ``np.arange``, ``reshape``, and ``min`` and ``max`` of an array,
  which take as long to compile as a short kernel;
- many arguments: a NamedTuple of arrays counts as one and compiles faster.

If an option selects one of several algorithms, a function that takes the option makes a kernel for
each of them, so that numba compiles only the branch that is used.
"""

import os
import stat
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numba
from numba.core.caching import IndexDataCacheFile


def njit(**options):
    """Compile a function, and cache the result for other processes if a directory is writable.

    Numba refuses to define a cached function if neither the package nor the home directory is
    writable, as in a read-only container, or if another user installed the package.
    """
    if options.get("cache") and not _can_cache():
        options["cache"] = False
    compile_function = numba.njit(**options)

    def compile_and_keep(function):
        compiled = compile_function(function)
        kept = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
        if type(kept) is IndexDataCacheFile:
            kept.__class__ = _CacheFile
        return compiled

    return compile_and_keep


class _CacheFile(IndexDataCacheFile):
    """Cache file of a function, which is compiled again if the file cannot be read.

    The index names the classes of arguments. Numba reads it before checking whether it belongs to
    an older version, whose classes may no longer exist; it may also be damaged.
    """

    def _load_index(self):
        try:
            return super()._load_index()
        except Exception:
            return {}

    def _load_data(self, name):
        try:
            return super()._load_data(name)
        except Exception as error:
            raise OSError(f"{name}: {error}") from error  # numba treats it as a missing file


@cache
def _can_cache():
    """Whether a cache directory is writable; falls back to one for temporary files."""
    if _has_place():
        return True
    try:
        numba.config.CACHE_DIR = str(_own_directory())
    except OSError as error:
        warnings.warn(
            f"the cache of numba cannot be written ({error}), so every process compiles again, "
            "which takes a minute or two: set NUMBA_CACHE_DIR to a directory of yours",
            stacklevel=3,
        )
        return False
    return _has_place()


def _has_place():
    try:
        numba.njit(cache=True)(_probe)
    except RuntimeError:  # if none for this file, then none for the others in its directory
        return False
    return True


def _probe():
    pass


def _own_directory():
    """Return a directory that only this user can write, because its content will be executed."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    path = Path(tempfile.gettempdir(), f"ranksieve-numba-{user}")
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user or found.st_mode & 0o077:
        raise PermissionError(f"{path} is not a directory of this user alone")
    return path


# Division by zero follows numpy: raising an error would need code at every division.
_OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy"}

kernel = njit(**_OPTIONS, no_cfunc_wrapper=True)  # for functions called from Python
part = njit(**_OPTIONS, no_cfunc_wrapper=True, no_cpython_wrapper=True)  # called by kernels
inlined = njit(**_OPTIONS, inline="always")  # copied into each caller
