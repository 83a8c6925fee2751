"""Estimators of other libraries and of users: parameters, copies, records, and fitting."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from typing import Any, NoReturn

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from ranksieve.data import Block, DataError, RankingData
from ranksieve.parameters import ParameterValue, plain_value
from ranksieve.registry.own_code import class_path, function_version, import_object, version_of

_SEEDED_BY_THEMSELVES = frozenset({"lightgbm", "xgboost", "catboost"})

Record = dict[str, Any]


def parameters_of(estimator: Any) -> dict[str, Any]:
    """Parameters by name: those of ``get_params``, or of the constructor, kept as attributes."""
    kind = type(estimator)
    try:
        if hasattr(estimator, "get_params"):
            has_deep = "deep" in inspect.signature(estimator.get_params).parameters
            return dict(estimator.get_params(**({"deep": False} if has_deep else {})))
        return {name: getattr(estimator, name) for name in _constructor_parameters(kind)}
    except (AttributeError, RuntimeError) as error:
        raise ValueError(
            f"the parameters of {kind.__name__} are unknown ({error}): its constructor must store "
            "each parameter in an attribute of the same name, without *args, as in scikit-learn"
        ) from None


def _constructor_parameters(kind: type[Any]) -> list[str]:
    parameters = inspect.signature(kind).parameters.values()
    return [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]


def copy_unfitted(estimator: Any) -> Any:
    """Unfitted copy of an estimator, which need not follow all rules of scikit-learn."""
    try:
        return clone(estimator)
    except (AttributeError, TypeError, RuntimeError):  # no get_params, or parameters are changed
        return _construct(type(estimator), parameters_of(estimator))


def copy_with(estimator: Any, /, **parameters: Any) -> Any:
    """Copy of an estimator with other parameters."""
    if not hasattr(estimator, "set_params"):
        return _construct(type(estimator), parameters_of(estimator) | parameters)
    copied = deepcopy(estimator)
    if parameters:
        copied.set_params(**parameters)
    return copied


def _construct(kind: type[Any], parameters: Mapping[str, Any]) -> Any:
    try:
        return kind(**parameters)
    except TypeError as error:
        raise ValueError(f"{kind.__name__} cannot be created: {error}") from None


def changed_parameters(estimator: Any) -> dict[str, Any]:
    """Parameters of an estimator that differ from the defaults of its class."""
    before = defaults_of(type(estimator))
    return {
        name: value
        for name, value in parameters_of(estimator).items()
        if name not in before or differ(value, before[name])
    }


def differ(value: Any, default: Any) -> bool:
    """Whether a parameter, which may be an array or an estimator, differs from its default."""
    return _text(value) != _text(default)


def defaults_of(kind: type[Any]) -> dict[str, Any]:
    """Default of each parameter, including those that a constructor passes to its base."""
    defaults: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if inspect.isfunction(constructor := vars(base).get("__init__")):
            parameters = inspect.signature(constructor).parameters
            defaults |= {n: p.default for n, p in parameters.items() if p.default is not p.empty}
    return defaults


def _text(value: Any) -> str:
    return json.dumps(plain_value(value, otherwise=repr), sort_keys=True)


def find_seeds(estimator: Any) -> list[str]:
    """Parameters named ``random_state``, also of nested estimators, that a user has not set.

    Without a seed, some libraries draw random numbers that differ from run to run, others do not.
    """
    deep = estimator.get_params() if hasattr(estimator, "get_params") else parameters_of(estimator)
    found = []
    for name, value in deep.items():
        owner, _, last = name.rpartition("__")
        if last == "random_state" and not _has_own_seed(deep.get(owner) if owner else estimator):
            is_default = not owner and value == defaults_of(type(estimator)).get(name)
            found += [name] if value is None or is_default else []
    return found


def _has_own_seed(estimator: Any) -> bool:
    """Whether an estimator is of a library whose default seed is fixed."""
    homes = [kind.__module__.partition(".")[0] for kind in type(estimator).__mro__]
    return not _SEEDED_BY_THEMSELVES.isdisjoint(homes)


def record_of(estimator: Any) -> Record:
    """Class, version and changed parameters of an estimator, as values that JSON can store.

    Estimators among the parameters are recorded in the same way, and so are functions of packages
    that have a version, such as scikit-learn's ``f_regression``. A ValueError is raised for other
    parameters that JSON cannot store.

    Examples
    --------
    >>> from lightgbm import LGBMRanker
    >>> from ranksieve.registry.foreign import record_of
    >>> record = record_of(LGBMRanker(num_leaves=63))
    >>> record["class"], record["parameters"]
    ('lightgbm:LGBMRanker', {'num_leaves': 63})
    """
    kind = type(estimator)
    return {
        "class": class_path(kind),
        "version": version_of(kind),
        "parameters": {
            name: plain_value(value, partial(_record_part, kind, name))
            for name, value in changed_parameters(estimator).items()
        },
    }


def _record_part(kind: type[Any], name: str, value: Any) -> Record:
    if hasattr(value, "get_params") and not isinstance(value, type):
        return record_of(value)
    if inspect.isfunction(value) and (version := function_version(value)) is not None:
        return {"function": class_path(value), "version": version}
    return _refuse(f"{name}={value!r:.60} of {kind.__name__}", value)


def _refuse(what: str, value: Any) -> NoReturn:
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        advice = "set it to a whole number, or to None to let the study set the seed"
    elif callable(value):
        advice = (
            "only functions of installed packages can; put other functions into a class of your "
            "own, whose parameters are numbers or strings"
        )
    else:
        advice = (
            "use finite numbers, strings, True, False, None, lists, or dictionaries with "
            "strings as keys"
        )
    raise ValueError(
        f"{what} cannot be written as JSON, which a study needs to recognize its results: {advice}"
    )


def make_from_record(record: Mapping[str, Any]) -> Any:
    """Make an estimator from its record; its class is imported.

    The record may name an estimator instead of a class; its parameters are then set.
    """
    found = import_object(record["class"])
    defaults = defaults_of(found) if isinstance(found, type) else {}
    parameters = {
        name: _restore_part(value, defaults.get(name))
        for name, value in record.get("parameters", {}).items()
    }
    if isinstance(found, type):
        return _construct(found, parameters)
    return copy_with(found, **parameters)


def _restore_part(value: Any, default: Any = None) -> Any:
    if isinstance(default, ParameterValue):
        return default.make(value, default)
    if isinstance(value, Mapping):
        if {"class", "parameters"} <= value.keys() <= {"class", "parameters", "version"}:
            return make_from_record(value)
        if value.keys() == {"function", "version"}:
            return import_object(value["function"])
        return {key: _restore_part(part) for key, part in value.items()}
    if isinstance(value, list):
        parts = [_restore_part(part) for part in value]
        is_step = len(parts) == 2 and hasattr(parts[1], "get_params")  # of a pipeline
        return tuple(parts) if is_step else parts
    return value


def tags_of(estimator: Any) -> Any:
    """Tags of an estimator, as scikit-learn defines them; None if it has none."""
    try:
        return get_tags(estimator)
    except (AttributeError, TypeError):  # also for a mixin without a base that has tags
        return None


def takes_missing(estimator: Any) -> bool:
    """Whether an estimator gets missing values; for scikit-learn, the tags decide."""
    tags = tags_of(estimator) if type(estimator).__module__.startswith("sklearn.") else None
    return tags is None or bool(tags.input_tags.allow_nan)


def rows_for(estimator: Any, X: Any) -> Any:
    """Convert rows for an estimator: some need dense rows, or a sparse matrix."""
    if not sparse.issparse(X):
        return X.view()  # CatBoost makes its input read-only
    tags = tags_of(estimator)
    if tags is None or not tags.input_tags.sparse:
        return X.toarray()
    short = np.int32 if X.nnz < 2**31 else np.int64
    indices = X.indices.astype(short), X.indptr.astype(short)
    return sparse.csr_matrix((X.data, *indices), shape=X.shape)


def row_weights(data: RankingData | Block) -> np.ndarray | None:
    """Weight of each row: its own, times that of its query; None if the data has no weights."""
    if data.query_weights is None:
        return data.row_weights
    of_queries = np.repeat(data.query_weights, np.diff(data.query_ptr))
    return of_queries if data.row_weights is None else of_queries * data.row_weights


def fit_foreign(estimator: Any, data: RankingData, vali: RankingData | None = None) -> Any:
    """Fit an estimator in place, with those arguments that its ``fit`` takes.

    ``fit(data)`` gets a RankingData, with its weights; ``fit(X, y)`` also gets ``qid``, ``group``
    (documents of each query, as in LightGBM), ``groups`` (as in scikit-learn), ``sample_weight``
    and ``eval_set`` if it has parameters of these names. ``eval_set`` is a RankingData, a tuple
    (X, y, qid), or a list of a pair (X, y) for a ``fit`` without query ids.
    """
    parameters = fit_parameters(estimator)
    arguments: dict[str, Any] = {}
    if "y" not in parameters:
        if vali is not None and "eval_set" in parameters:
            arguments["eval_set"] = vali
        return estimator.fit(data, **arguments)
    weights = row_weights(data)
    if weights is not None:
        if "sample_weight" not in parameters:
            raise DataError(
                f"{type(estimator).__name__} takes no weights, because its fit has no parameter "
                "sample_weight: use data without weights"
            )
        arguments["sample_weight"] = weights
    queries = {"qid": data.qid, "group": data.group_counts, "groups": data.query_codes}
    arguments |= {name: value for name, value in queries.items() if name in parameters}
    if vali is not None:
        arguments |= _held_out(estimator, parameters, vali)
    return estimator.fit(rows_for(estimator, data.X), data.y, **arguments)


def why_no_row_weights(estimator: Any) -> str:
    """Why an estimator takes no weights of rows; empty if it does, or gets all of the data."""
    lacking = {"y", "sample_weight"} - fit_parameters(estimator).keys()
    return "its fit has no parameter sample_weight." if lacking == {"sample_weight"} else ""


def why_no_positions(estimator: Any) -> str:
    """Why an estimator takes no positions; empty if it gets all of the data."""
    return "its fit has no parameter for them." if "y" in fit_parameters(estimator) else ""


def fit_parameters(estimator: Any) -> Mapping[str, Any]:
    """Parameters of an estimator's ``fit``; X and y if its signature is not known."""
    try:
        parameters = inspect.signature(estimator.fit).parameters
    except (TypeError, ValueError):
        return {"X": None, "y": None}
    takes_any = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    return dict(parameters) | ({"y": None} if takes_any else {})


def _held_out(estimator: Any, parameters: Mapping[str, Any], vali: RankingData) -> dict[str, Any]:
    X = rows_for(estimator, vali.X)
    if "eval_X" in parameters:  # LightGBM, where eval_set is deprecated
        return {"eval_X": (X,), "eval_y": (vali.y,)}
    if "eval_set" not in parameters:
        return {}
    if "qid" in parameters:
        return {"eval_set": (X, vali.y, vali.qid)}
    return {"eval_set": [(X, vali.y)]}
