"""How kernels are compiled: without features of numba that take long to compile.

The first run of a command waits for every function that its kernels call, and for all that these
call. Things that numba compiles slowly, and that kernels therefore do without:

- assigning an array to a slice, and arithmetic of whole arrays: numba adds the text of an error
  for shapes that do not fit, and with it a library of strings; a loop has the same speed;
- unpacking the rows of an array, ``a, b = np.empty((2, n))``: they count as not contiguous, and
  every function that takes them is compiled once more;
- literals as arguments of long functions: ``0`` and a number are different types;
- ``np.sort`` and its relatives, ``np.arange``, ``reshape``, and ``min`` and ``max`` of an array,
  which take as long as a short kernel;
- many arguments: a NamedTuple of arrays is taken as one, and is compiled faster.

Where one of several ways is chosen by an option, there is a kernel for each of them, made by a
function that has the option as its argument: numba then compiles the branch that is used.
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
    """Compile a function, and keep the result for other processes if there is a place for it.

    Numba refuses to define a cached function if neither the directory of the package nor the home
    can be written: in a read-only container, or if the user who runs it did not install it.
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
    """Compiled code of a function, which is compiled anew if it cannot be read.

    An index names the classes of arguments. numba reads it before it sees that the code was that
    of an older version, whose classes may be gone; and it may be damaged.
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
            raise OSError(f"{name}: {error}") from error  # which numba takes for a missing file


@cache
def _can_cache():
    """Whether there is a place; one in the directory for temporary files will do."""
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
    except RuntimeError:  # there is none for this file, and so for none of this directory
        return False
    return True


def _probe():
    pass


def _own_directory():
    """A directory that only this user can write: what is in there will be run."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    path = Path(tempfile.gettempdir(), f"ranksieve-numba-{user}")
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user or found.st_mode & 0o077:
        raise PermissionError(f"{path} is not a directory of this user alone")
    return path


# A division by zero gives what it gives in numpy: to raise an error takes code at every division.
_OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy"}

kernel = njit(**_OPTIONS, no_cfunc_wrapper=True)  # called from Python
part = njit(**_OPTIONS, no_cfunc_wrapper=True, no_cpython_wrapper=True)  # by kernels
inlined = njit(**_OPTIONS, inline="always")  # the same, a copy in each place
