"""Read model files of LightGBM and XGBoost as rankers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ranksieve.data import DataError
from ranksieve.data.feature_names import as_names
from ranksieve.io.files import READ_ERRORS, explain_os_error, open_regular
from ranksieve.io.records import PathLike
from ranksieve.rankers.adapter import as_ranker
from ranksieve.rankers.base import Ranker
from ranksieve.rankers.libraries import find_library_class, library_of

# First characters of the files.
_BEGINNINGS = {b"tree\n": "lightgbm.LGBMRanker", b'{"learner"': "xgboost.XGBRanker"}
_UBJSON = b"{L"  # and the length of a name


def read_library_model(path: PathLike) -> Ranker | None:
    """Read LightGBM's text or XGBoost's JSON; None if the file is neither.

    Raises a DataError if the library cannot read the file, or is not installed.
    """
    try:
        with open_regular(path) as file:
            head = file.read(32).replace(b"\r", b"").lstrip()
        if head.startswith(_UBJSON) and b"learner" in head:
            raise DataError(
                f"{path}: XGBoost's binary format is not read: save the model under a name that "
                "ends in .json"
            )
        if head.startswith(b"{"):  # it may be indented
            head = head.translate(None, b" \t\n")
        found = [name for start, name in _BEGINNINGS.items() if head.startswith(start)]
        if not found:
            return None
        text = Path(path).read_text(encoding="utf-8")
    except READ_ERRORS as error:
        raise DataError(f"{path}: {explain_os_error(error)}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not text in UTF-8: {error}") from None
    try:
        return _restore(find_library_class(found[0])(), text)
    except Exception as error:  # each library has its own error classes
        reason = str(error).partition("\nStack trace")[0]
        library = found[0].partition(".")[0]
        raise DataError(f"{path}: {library} cannot read this model: {reason}") from None


def _restore(estimator: Any, text: str) -> Ranker:
    library_of(estimator).restore(estimator, text)
    ranker = as_ranker(estimator)
    if hasattr(ranker, "feature_names_in_"):
        names = as_names(ranker.feature_names_in_, ranker.n_features_in_)
        if names is None:
            del ranker.feature_names_in_  # placeholders such as Column_0
        else:
            ranker.feature_names_in_ = np.asarray(names, dtype=object)
    return ranker
