"""Load rankers from files: those of this library, and models of LightGBM and XGBoost."""

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
from ranksieve.rankers.registry import RANKERS
from ranksieve.rankers.tree_libraries import find_library_class, library_of

# First characters of the files of other libraries.
_BEGINNINGS = {b"tree\n": "lightgbm.LGBMRanker", b'{"learner"': "xgboost.XGBRanker"}
_UBJSON = b"{L"  # and the length of a name


def load_model(path: str | os.PathLike[str]) -> Ranker:
    """Read a ranker that ``save_model`` wrote, or a model of LightGBM (text) or XGBoost (JSON).

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
        return _restore(model)
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


def _restore(model: SavedModel) -> Ranker:
    ranker = _make_untrained(model)
    ranker.n_features_in_ = model.n_features_in
    if model.feature_names is not None:
        ranker.feature_names_in_ = np.array(model.feature_names, dtype=object)
    if model.selection is not None:
        ranker.selection_ = model.selection
    if model.missing is not None:
        ranker.missing_ = model.missing
    if model.trained_on is not None:
        ranker.trained_on_ = model.trained_on
    ranker._relearn(model.learned)
    return ranker


def _make_untrained(model: SavedModel) -> Ranker:
    """Make an untrained ranker of this class with these parameters."""
    kind: Any = RANKERS.classes.get(model.ranker)
    if kind is None and model.ranker in rankers.__all__:
        kind = getattr(rankers, model.ranker)
    if not (inspect.isclass(kind) and issubclass(kind, Ranker)):
        raise DataError(
            f"this version of ranksieve ({__version__}) has no ranker {model.ranker!r:.40}; "
            f"version {model.ranksieve:.20} wrote the file"
        )
    try:
        ranker: Ranker = kind._with_settings(model.parameters)
        ranker._validate_params()
    except (TypeError, ValueError) as error:
        raise DataError(f"the parameters are not those of {model.ranker}: {error}") from None
    return ranker


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
        estimator = find_library_class(found[0])()
        library_of(estimator).restore(estimator, text)
        ranker = as_ranker(estimator)
        if hasattr(ranker, "feature_names_in_"):
            names = as_names(ranker.feature_names_in_, ranker.n_features_in_)
            del ranker.feature_names_in_  # may be placeholders such as Column_0
            if names is not None:
                ranker.feature_names_in_ = np.asarray(names, dtype=object)
        return ranker
    except Exception as error:  # each library has its own error classes
        reason = str(error).partition("\nStack trace")[0]
        library = found[0].partition(".")[0]
        raise DataError(f"{path}: {library} cannot read this model: {reason}") from None
