"""Known collections on a local disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from ranksieve.data import DataError, RankingData
from ranksieve.data.joining import concatenate
from ranksieve.datasets.fold_files import Fold, FoldFiles, fold_reader, join_parts, parts_reader
from ranksieve.splits import Split, adjacent_parts, rotate_parts

_TEXTS = (".txt", ".letor", ".svm", ".svmlight", ".dat", ".csv", ".tsv")
_SUFFIXES = (
    *(suffix + packed for suffix in _TEXTS for packed in ("", ".gz", ".zst")), ".parquet", ".pq"
)  # fmt: skip
# Stems of file names, in lower case.
_PARTS = ("s1", "s2", "s3", "s4", "s5")
_TRAIN = ("train", "trainingset")
_VALI = ("vali", "validationset", "valid", "validation", "dev")
_TEST = ("test", "testset")
# Directories that some archives have between the collection and its files.
_INNER = ("full", "sample", "querylevelnorm")


@dataclass(frozen=True)
class Collection:
    """A collection on disk; made by :func:`open_collection`."""

    name: str  # of its directory
    layout: str  # arrangement of its files: "parts", "folds", "sets" or "single"
    folds: list[FoldFiles]  # training, validation and test files of each fold

    def read_fold(self, fold: int, **read_options: Any) -> Fold:
        """Read one fold, counted from 0: data to train on, to validate on and to test on.

        All three have the same features. Their number is the highest feature number in any of the
        files, unless ``n_features`` is given. The second is None if there is no validation part.
        Options are ``columns`` for Parquet and CSV files, and those of :func:`read_letor`.
        """
        if not 0 <= fold < len(self.folds):
            raise DataError(f"{self.name} has folds 0 to {len(self.folds) - 1}, got {fold}")
        return self.fold_readers(**read_options)[fold]()

    def read_all(self, **read_options: Any) -> RankingData:
        """Read the whole collection: the parts of its first fold, joined.

        Every fold contains every query once, except that ``set1`` and ``set2`` are separate
        collections: choose one when opening them. Options are those of :meth:`read_fold`.
        """
        return join_parts(parts_reader([[path] for path in self.whole], **read_options)())

    @property
    def whole(self) -> tuple[Path, ...]:
        """Files that contain the whole collection: those of its first fold."""
        if self.layout == "sets" and len(self.folds) > 1:
            names = " or ".join(repr(fold.name) for fold in self.folds)
            raise DataError(
                f"{self.name} contains several collections: open it with subset={names}"
            )
        return self.folds[0].files

    def fold_readers(self, **read_options: Any) -> list[Callable[[], Fold]]:
        """Functions that read one fold each, as :meth:`read_fold` does with the same options.

        The files of the layout "parts", which all folds share, are read once, at the first call;
        they stay in memory as long as one of the functions exists.
        """
        if self.layout != "parts":
            return [fold_reader(fold, **read_options) for fold in self.folds]

        @cache
        def read_joined() -> tuple[RankingData, list[Split]]:
            parts = parts_reader([[path] for path in self.folds[0].files], **read_options)()
            sizes = [part.n_queries for part in parts]
            return concatenate(parts), rotate_parts(adjacent_parts(sizes))

        def rotate(turn: int) -> Fold:
            data, splits = read_joined()
            return splits[turn].apply(data)

        return [partial(rotate, turn) for turn in range(len(self.folds))]


def open_collection(path: str | os.PathLike[str], *, subset: str | None = None) -> Collection:
    r"""Open a downloaded collection: detect its layout, without reading it yet.

    ====== ==================================================== ===========================
    layout files                                                known from
    ====== ==================================================== ===========================
    folds  ``Fold1/{train,vali,test}.txt``, ``Fold2``, ... or   LETOR 3, LETOR 4, MSLR-WEB
           ``Fold1/{trainingset,validationset,testset}.txt``
    parts  ``S1.txt`` .. ``S5.txt``, rotated into five folds    LETOR 4
    sets   ``set1.{train,valid,test}.txt``, also ``set2``       Yahoo! LTR Challenge
    single ``{train,vali,test}.txt``, ``vali`` may be missing   Istella, a split of your own
    ====== ==================================================== ===========================

    Names may be in upper or lower case. Instead of ``.txt``, they may end in ``.parquet``,
    ``.pq``, ``.csv``, ``.tsv``, ``.letor``, ``.svm``, ``.svmlight`` or ``.dat``, and text may be
    compressed (``.gz``, ``.zst``). The validation file may also be called ``valid``,
    ``validation`` or ``dev``. The files may also be in a directory ``full``, ``sample`` (Istella)
    or ``QueryLevelNorm`` (LETOR 3) below the path.

    Parameters
    ----------
    path : path
        Directory of the collection.
    subset : str, optional
        Keep only the fold of this name, such as ``"set2"`` or ``"Fold1"``; or look in the
        directory of this name, such as ``"sample"``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ranksieve.datasets.collections import open_collection
    >>> directory = Path(tempfile.mkdtemp())
    >>> for number in range(1, 6):
    ...     _ = (directory / f"S{number}.txt").write_text(f"1 qid:{number} 1:0.5 2:1\n")
    >>> collection = open_collection(directory)
    >>> collection.layout, [fold.name for fold in collection.folds]
    ('parts', ['Fold1', 'Fold2', 'Fold3', 'Fold4', 'Fold5'])
    >>> train, vali, test = collection.read_fold(4)
    >>> train.query_ids.tolist(), vali.query_ids.tolist(), test.query_ids.tolist()
    ([5, 1, 2], [3], [4])
    """
    path = Path(path)
    if not path.is_dir():
        what = "is a file; read it with read_letor" if path.exists() else "no such directory"
        raise DataError(f"{path}: {what}")
    layout, folds = _detect(path)
    if not folds:
        layout, folds = _detect(_inner_directory(path, subset))
    elif subset is not None:
        folds = [fold for fold in folds if fold.name.lower() == subset.lower()]
    if not folds:
        looked = f"a fold or directory {subset!r}" if subset else f"any of {_LOOKED_FOR}"
        raise DataError(f"{path}: no known layout; did not find {looked}")
    return Collection(path.resolve().name, layout, folds)


def _inner_directory(path: Path, subset: str | None) -> Path:
    """Directory below the path that contains the files, or the path itself."""
    below = _entries(path)
    names = _INNER if subset is None else (subset.lower(),)
    found = [below[name] for name in names if name in below and below[name].is_dir()]
    if len(found) > 1:
        choices = " or ".join(repr(directory.name) for directory in found)
        raise DataError(f"{path}: contains several collections: pass subset={choices}")
    return found[0] if found else path


def _detect(directory: Path) -> tuple[str, list[FoldFiles]]:
    """Layout of a directory and its folds; no folds if it has none of the layouts."""
    entries = _entries(directory)
    for layout, find in _LAYOUTS.items():
        folds = find(entries)
        if folds:
            return layout, folds
    return "", []


def _entries(directory: Path) -> dict[str, Path]:
    """List a directory: each path by its name in lower case."""
    return {path.name.lower(): path for path in sorted(directory.iterdir())}


def _find_folds(entries: dict[str, Path]) -> list[FoldFiles]:
    numbers = sorted(
        int(name[4:])
        for name, path in entries.items()
        if name.startswith("fold") and name[4:].isdecimal() and path.is_dir()
    )
    folds = []
    for number in numbers:
        directory = entries[f"fold{number}"]
        fold = _roles(_entries(directory), f"Fold{number}")
        if fold is None:
            raise DataError(f"{directory}: there is no {' or '.join(_TRAIN)} file")
        folds.append(fold)
    for fold in folds:
        if not fold.vali and any(other.vali for other in folds):
            raise DataError(
                f"{fold.train[0].parent}: there is no {_VALI[0]} or {_VALI[1]} file, which other "
                "folds have"
            )
    return folds


def _find_parts(entries: dict[str, Path]) -> list[FoldFiles]:
    files = [_file(entries, (part,)) for part in _PARTS]
    present = [file for file in files if file is not None]
    if 0 < len(present) < len(_PARTS):
        missing = _PARTS[files.index(None)]
        raise DataError(f"{present[0].parent}: {missing.upper()} of S1..S5 is missing")
    if not present:
        return []
    folds = []
    for number, split in enumerate(rotate_parts(adjacent_parts([1] * len(_PARTS))), start=1):
        parts = (split.train, split.vali, split.test)
        files_of = (tuple(present[file] for file in part) for part in parts)
        folds.append(FoldFiles(f"Fold{number}", *files_of))
    return folds


def _find_sets(entries: dict[str, Path]) -> list[FoldFiles]:
    folds = [_roles(entries, name, prefix=f"{name}.") for name in ("set1", "set2")]
    return [fold for fold in folds if fold is not None]


def _find_single(entries: dict[str, Path]) -> list[FoldFiles]:
    fold = _roles(entries, "Fold1")
    return [] if fold is None else [fold]


_LAYOUTS = {"folds": _find_folds, "parts": _find_parts, "sets": _find_sets, "single": _find_single}


_LOOKED_FOR = (
    "Fold1/train.txt or Fold1/trainingset.txt (LETOR 3 and 4, MSLR), S1.txt..S5.txt (LETOR 4), "
    "set1.train.txt or set2.train.txt (Yahoo!), train.txt and test.txt (Istella), also below "
    "full/, sample/ or QueryLevelNorm/; each may end in .gz or .zst, or be Parquet or CSV. Several "
    "files of one data set are named by a pattern, such as '*.parquet'"
)


def _roles(entries: dict[str, Path], name: str, prefix: str = "") -> FoldFiles | None:
    """Fold made of the train, validation and test file of a directory; None without train."""
    train, vali, test = (
        _file(entries, [prefix + stem for stem in stems]) for stems in (_TRAIN, _VALI, _TEST)
    )
    if train is None:
        return None
    if test is None:
        raise DataError(f"{train}: there is no test file next to it")
    return FoldFiles(name, (train,), () if vali is None else (vali,), (test,))


def _file(entries: dict[str, Path], stems: Sequence[str]) -> Path | None:
    """File with one of the stems; raises a DataError if there are several different files."""
    names = [stem + suffix for stem in stems for suffix in _SUFFIXES]
    found = [entries[name] for name in names if name in entries]
    for other in found[1:]:
        if _name_without_compression(other) != _name_without_compression(found[0]):
            raise DataError(
                f"{other}: there is also {found[0].name}; name the files to use, such as "
                f"compare {found[0]} --test ..."
            )
    return found[0] if found else None


def _name_without_compression(path: Path) -> str:
    return path.name.lower().removesuffix(".gz").removesuffix(".zst")
