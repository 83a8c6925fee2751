"""Categories: features whose values are names, of which X holds codes.

The code of a name is its position in the vocabulary of the feature; a missing value is NaN.
:func:`recode` translates between vocabularies, and :class:`CategoryCodes` makes codes of the
columns of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse

from ranksieve.data.errors import DataError
from ranksieve.text import list_names

Vocabulary = tuple[str, ...]
Categories = Mapping[str, Vocabulary]
"""Feature -> its names; features that are numbers are left out."""

NO_CATEGORIES: Categories = MappingProxyType({})
_LARGEST_CODE = 2**24  # float32, and XGBoost, count to here


def as_categories(given: Mapping[str, Iterable[str]], X: Any, names: np.ndarray) -> Categories:
    """Check vocabularies, and the codes in X."""
    position = {str(name): column for column, name in enumerate(names)}
    found = {str(name): tuple(vocabulary) for name, vocabulary in given.items()}
    if found and sparse.issparse(X):
        raise DataError("a sparse matrix cannot hold categories: convert it with X.toarray()")
    for name, vocabulary in found.items():
        if name not in position:
            raise DataError(f"categories: there is no feature named {name!r}")
        if not all(isinstance(one, str) and one for one in vocabulary):
            raise DataError(f"categories of feature {name!r} must be texts that are not empty")
        if len(set(vocabulary)) < len(vocabulary):
            raise DataError(f"categories of feature {name!r} list a name twice")
        codes = X[:, position[name]]
        present = codes[~np.isnan(codes)]
        if ((present != np.floor(present)) | (present < 0) | (present >= len(vocabulary))).any():
            raise DataError(
                f"codes of feature {name!r} must be NaN or whole numbers below {len(vocabulary)}"
            )
    return found


def recode(codes: np.ndarray, before: Vocabulary, after: Vocabulary) -> np.ndarray:
    """Codes of the same names in another vocabulary; NaN for names that it lacks."""
    position = {name: code for code, name in enumerate(after)}
    table = np.array([position.get(name, np.nan) for name in before] + [np.nan])
    return table[np.where(np.isnan(codes), len(before), codes).astype(np.intp)]


def export_remark(categories: Categories) -> str:
    """What to know of exports before a model with categories is trained; empty without any."""
    if not categories:
        return ""
    return (
        f"No target of export takes categories ({list_names(list(categories))}): if the model is "
        "to run elsewhere, leave them out with --ignore."
    )


def refuse_categories(names: Iterable[str], place: Any, what: str) -> None:
    """Raise a DataError if there are features with categories, which a format cannot hold."""
    for name in names:
        raise DataError(
            f"{place}: feature {name!r} has categories, but {what} hold only numbers: keep the "
            "data in Parquet, or leave the feature out (--ignore)"
        )


def join_vocabularies(vocabularies: Iterable[Vocabulary]) -> Vocabulary:
    """Names of all vocabularies, those of the first at first."""
    return tuple(dict.fromkeys(name for own in vocabularies for name in own))


def plain_name(value: Any) -> str | None:
    """Name of a category; None if it is missing.

    Numbers are named alike whatever their type.

    Examples
    --------
    >>> from ranksieve.data.categories import plain_name
    >>> [plain_name(value) for value in (3, 3.0, 0.5, True, "3", " 3", "", float("nan"))]
    ['3', '3', '0.5', 'true', '3', ' 3', None, None]
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value != value:
            return None
        return str(int(value)) if value.is_integer() else repr(value)
    return None if value is None else str(value) or None


class CategoryCodes:
    """Codes of the names in columns of tables that are read piece by piece.

    The vocabulary is known when all is read: that of a categorical type if it is the same
    everywhere, otherwise the names that occur, sorted.
    """

    def __init__(self, names: Iterable[str], missing: Iterable[str] = ()) -> None:
        self._missing = frozenset(missing)  # texts that stand for a missing value
        self._codes: dict[str, dict[str, int]] = {name: {} for name in names}
        self._values: dict[str, list[Any]] = {name: [] for name in self._codes}
        self._declared: dict[str, Vocabulary | None] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._codes

    def of_column(self, name: str, column: Any) -> np.ndarray:
        """Codes of a column of Arrow, in the order in which names appear."""
        import pyarrow as pa
        import pyarrow.types as kinds

        is_declared = kinds.is_dictionary(column.type)
        if kinds.is_null(column.type):
            column = column.cast(pa.string())
        encoded = column if is_declared else column.dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.unify_dictionaries().combine_chunks()
            if isinstance(encoded, pa.ChunkedArray):  # of no rows, in older versions
                encoded = pa.concat_arrays(encoded.chunks)
        values = encoded.dictionary.to_pylist()
        codes, own = self._codes[name], self._values[name]
        table = np.full(len(values) + 1, np.nan)
        for place, value in enumerate(values):
            text = plain_name(value)
            if text is None or text in self._missing:
                continue
            if text not in codes:
                codes[text] = len(codes)
                own.append(value)
            table[place] = codes[text]
        if len(codes) > _LARGEST_CODE:
            raise DataError(f"column {name!r} has more than {_LARGEST_CODE:,} categories")
        declared = tuple(filter(None, map(plain_name, values))) if is_declared else None
        if self._declared.setdefault(name, declared) != declared:
            self._declared[name] = None
        indices = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
        return table[indices]

    def settle(self, X: np.ndarray, features: Sequence[str]) -> dict[str, Vocabulary]:
        """Make the codes in X, in place, those of the vocabularies, which are returned."""
        found: dict[str, Vocabulary] = {}
        for column, name in enumerate(features):
            if name in self._codes:
                before = tuple(self._codes[name])
                found[name] = self._declared.get(name) or _sorted(before, self._values[name])
                X[:, column] = recode(X[:, column], before, found[name])
        return found


NO_CODES = CategoryCodes(())
"""For tables whose features are numbers."""


def _sorted(names: Vocabulary, values: Sequence[Any]) -> Vocabulary:
    """Names in the order of their values: numbers by size, texts by their letters."""
    pairs = list(zip(values, names, strict=True))
    if any(isinstance(value, str) for value in values):
        return tuple(sorted(names))
    return tuple(name for _, name in sorted(pairs))


def has_few(read: Callable[[], Iterable[Any]]) -> bool:
    """Whether a column of text, in pieces of Arrow, has so few values that they are categories.

    They are 2 to 50, of which each occurs 50 times on average.
    """
    import pyarrow.compute as pc

    seen: set[Any] = set()
    n_rows = 0
    for piece in read():
        seen.update(pc.unique(piece).to_pylist())
        n_rows += len(piece) - piece.null_count
        if len(seen) > _FEW + 1:  # and a missing value
            return False
    names = seen - {None, ""}
    return 1 < len(names) <= _FEW and n_rows >= _ROWS_EACH * len(names)


_FEW, _ROWS_EACH = 50, 50
