"""Load rankers from files."""

from __future__ import annotations

import inspect
import os
from typing import Any

import numpy as np

from ranksieve import rankers
from ranksieve._version import __version__
from ranksieve.data import DataError
from ranksieve.io.model import SavedModel, read_model
from ranksieve.rankers.base import Ranker
from ranksieve.rankers.library_models import read_library_model
from ranksieve.rankers.registry import RANKERS


def load_model(path: str | os.PathLike[str]) -> Ranker:
    """Read a ranker that ``save_model`` wrote, or a model of LightGBM or XGBoost.

    Models of LightGBM are its text files, those of XGBoost its JSON files.

    Returns
    -------
    Ranker
        The trained ranker. If it was saved with a selection, ``selection_`` has it, and
        ``predict`` also takes rows with all features.

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


def _restore(model: SavedModel) -> Ranker:
    ranker = _make_untrained(model)
    ranker.n_features_in_ = model.n_features_in
    if model.feature_names is not None:
        ranker.feature_names_in_ = np.array(model.feature_names, dtype=object)
    if model.selection is not None:
        ranker.selection_ = model.selection
    if model.missing is not None:
        ranker.missing_ = model.missing
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
