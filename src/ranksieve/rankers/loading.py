"""Load rankers from files: those of this library, of LightGBM, XGBoost and CatBoost."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve import rankers
from ranksieve._version import __version__
from ranksieve.data import DataError
from ranksieve.data.inputs import as_names
from ranksieve.io.files import READ_ERRORS, explain_os_error, open_regular
from ranksieve.io.model import SavedModel, read_model
from ranksieve.io.records import PathLike
from ranksieve.rankers.adapter import as_ranker
from ranksieve.rankers.base import Ranker
from ranksieve.rankers.libraries import find_library_class, library_of
from ranksieve.rankers.registry import RANKERS

# First characters of the files of other libraries.
_BEGINNINGS = {
    b"tree\n": "lightgbm.LGBMRanker",
    b'{"learner"': "xgboost.XGBRanker",
    b"CBM1": "catboost.CatBoostRanker",
}
_UBJSON = b"{L"  # and the length of a name


def load_model(path: str | os.PathLike[str]) -> Ranker:
    """Read a ranker that ``save_model`` wrote, or a file of LightGBM, XGBoost or CatBoost.

    LightGBM's files are text, XGBoost's JSON and CatBoost's cbm. Their models must have one score
    for each row; any objective will do. They are tried in a second process first, as a damaged
    model may crash the library: that takes about as long as to import the library.

    Returns
    -------
    Ranker
        The trained ranker. If it was saved with a selection, ``selection_`` has it, and
        ``predict`` also takes rows with all features. If it was saved with the queries that
        trained it, as by :func:`ranksieve.recommend`, ``trained_on_`` has them.

    Raises
    ------
    DataError
        If the file is damaged or not a model; the message has the file, the line and the reason.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ranksieve import make_ranking
    >>> from ranksieve.rankers import RankSVM, load_model
    >>> data, _ = make_ranking(20)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.json"
    >>> ranker = RankSVM(C=0.1).fit(data)
    >>> ranker.save_model(path)
    >>> load_model(path)
    RankSVM(C=0.1)
    >>> bool((load_model(path).predict(data) == ranker.predict(data)).all())
    True
    """
    found = read_library_model(path)
    if found is not None:
        return found
    model = read_model(path)
    try:
        return _class_of(model)._restore(model)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def check_loadable(ranker: Ranker) -> None:
    """Raise a ValueError if a ranker, trained or not, cannot be saved and loaded again."""
    ranker.check_savable()
    if type(ranker) not in RANKERS.classes.values():
        raise ValueError(
            f"{type(ranker).__name__} cannot be written to a model file, because predict could not "
            "find it: declare it as an entry point ranksieve.rankers of its package"
        )


def _class_of(model: SavedModel) -> type[Ranker]:
    kind: Any = RANKERS.classes.get(model.ranker)
    if kind is None and model.ranker in rankers.__all__:
        kind = getattr(rankers, model.ranker)
    if not (inspect.isclass(kind) and issubclass(kind, Ranker)):
        raise DataError(
            f"this version of ranksieve ({__version__}) has no ranker {model.ranker!r:.40}; "
            f"version {model.ranksieve:.20} wrote the file"
        )
    return kind


def read_library_model(path: PathLike) -> Ranker | None:
    """Read LightGBM's text, XGBoost's JSON or CatBoost's cbm; None if the file is none of them.

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
        content = Path(path).read_bytes()
    except READ_ERRORS as error:
        raise DataError(f"{path}: {explain_os_error(error)}") from error
    try:
        estimator = find_library_class(found[0])()
        library = library_of(estimator)
        library.restore(estimator, library.text_of_file(content))
        ranker = as_ranker(estimator)
        if hasattr(ranker, "feature_names_in_"):
            names = as_names(ranker.feature_names_in_, ranker.n_features_in_)
            del ranker.feature_names_in_  # may be placeholders such as Column_0
            if names is not None:
                ranker.feature_names_in_ = np.asarray(names, dtype=object)
        return ranker
    except Exception as error:  # each library has its own error classes
        reason = str(error).partition("\nStack trace")[0]
        name = found[0].partition(".")[0]
        raise DataError(f"{path}: {name} cannot read this model: {reason}") from None
