"""Read parameters of rankers from JSON files or trained models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ranksieve.data import DataError
from ranksieve.io.files import READ_ERRORS, explain_os_error, open_regular, read_file
from ranksieve.io.model import FORMAT, read_model
from ranksieve.io.records import locate_errors, object_of
from ranksieve.rankers.libraries.cbm import read_training_parameters
from ranksieve.rankers.registry import RANKERS
from ranksieve.registry import Method
from ranksieve.text import on_one_line

_LARGEST = 1e300


class FileParameters(NamedTuple):
    """Parameters of a ranker that a file contains."""

    kind: str | None  # name of the class, if the file has it
    parameters: dict[str, Any]


def read_parameters(path: Path) -> FileParameters:
    """Read parameters from JSON, or from a model of LightGBM, XGBoost, CatBoost or this library.

    The file is JSON with parameters by name; a text model of LightGBM; ``booster.save_config()`` of
    XGBoost, whose models lack most parameters; a model of CatBoost (.cbm or JSON); or what
    ``save_model`` wrote. Anything else raises a DataError.
    """
    try:
        with open_regular(path) as file:
            start = file.read(16)
    except READ_ERRORS as error:
        raise DataError(f"{path}: {explain_os_error(error)}") from error
    if start.startswith(b"CBM1"):
        with locate_errors(path):
            params = read_training_parameters(read_file(path))
        return FileParameters("CatBoostRanker", _catboost_parameters(params, path))
    if start.split(b"\n")[0].rstrip() == b"tree":
        return FileParameters("LGBMRanker", _lightgbm_parameters(path))
    record = _read_json(path)
    if not isinstance(record, dict):
        raise DataError(f"{path}: expected a JSON object with parameters by name")
    if record.get("format") == FORMAT:
        model = read_model(path)
        recorded = model.parameters.get("estimator")
        if isinstance(recorded, dict) and isinstance(recorded.get("parameters"), dict):
            kind = str(recorded.get("class")).rpartition(".")[2]
            return FileParameters(kind, recorded["parameters"])
        return FileParameters(model.ranker, _without_nulls(model.parameters))
    if isinstance(record.get("learner"), dict):
        return FileParameters("XGBRanker", _changed_xgboost_parameters(record["learner"], path))
    if isinstance(record.get("model_info"), dict):
        params = record["model_info"].get("params")
        return FileParameters("CatBoostRanker", _catboost_parameters(params, path))
    return FileParameters(None, _without_nulls(record))


def _read_json(path: Path) -> Any:
    """Read JSON; NaN, which ``get_params`` of XGBoost contains, becomes null."""
    try:
        return json.loads(
            path.read_bytes(), parse_constant=lambda _: None, object_pairs_hook=object_of
        )
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}:{error.lineno}: neither JSON ({error.msg}) nor a model of LightGBM, CatBoost "
            "or ranksieve"
        ) from None
    except READ_ERRORS as error:
        raise DataError(f"{path}: {explain_os_error(error)}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}") from None


def _without_nulls(record: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters whose value is not null; null keeps the default."""
    return {
        name: _without_nulls(value) if isinstance(value, dict) else value
        for name, value in record.items()
        if value is not None
    }


def parameters_from(path: Path, rankers: Mapping[str, Method]) -> dict[str, dict[str, Any]]:
    """Read parameters for some of these rankers from a file; see :func:`read_parameters`.

    JSON may have parameters by name, for the one ranker that has them all, or such objects by the
    names of rankers. Returns the parameters of each ranker, under the names of its class. Those of
    a model do not include files, machines and logs of the training that made it.
    """
    kind, found = read_parameters(path)
    if kind is None and found and all(isinstance(own, dict) for own in found.values()):
        by_name = found
        for name in by_name.keys() - rankers.keys():
            raise DataError(
                f"{path}: {name!r} is not among the rankers, which are {', '.join(rankers)}"
            )
    else:
        by_name = {_ranker_for(path, kind, found, rankers): found}
    try:
        for name, own in by_name.items():
            RANKERS.check_parameters(rankers[name], own)
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None
    translated = {name: rankers[name].translate(own) for name, own in by_name.items()}
    return translated if kind is None else {n: _about_training(p) for n, p in translated.items()}


def _ranker_for(
    path: Path, kind: str | None, found: Mapping[str, Any], rankers: Mapping[str, Method]
) -> str:
    """Name of the one ranker that takes these parameters."""
    if kind is not None:
        accepting = [name for name, method in rankers.items() if kind in _kinds(method)]
        of = f"parameters of {kind}"
    elif len(rankers) == 1:
        accepting = list(rankers)
    else:
        accepting = [name for name, method in rankers.items() if all(map(method.accepts, found))]
        of = f"the parameters {', '.join(map(on_one_line, found))}"
    if len(accepting) == 1:
        return accepting[0]
    several = f"{len(accepting)} rankers ({', '.join(accepting)}) take"
    fitting = several if accepting else "no ranker takes"
    raise DataError(
        f"{path} has {of}, which {fitting}; the rankers are {', '.join(rankers)}: name the right "
        'one, in JSON as {"NAME": {"PARAMETER": VALUE, ...}}'
    )


def _kinds(method: Method) -> list[str]:
    return [base.__name__ for base in type(method.prototype._adapted).__mro__]


# Parameters about files, machines, threads and logs, which do not change the model.
_NOT_ABOUT_TRAINING = frozenset(
    (
        # LightGBM
        *("task", "data", "valid", "input_model", "output_model", "verbosity", "header"),
        *("label_column", "weight_column", "group_column", "ignore_column", "two_round"),
        *("pre_partition", "precise_float_parser", "parser_config_file", "num_threads"),
        *("saved_feature_importance_type", "histogram_pool_size", "refit_decay_rate"),
        *("num_machines", "local_listen_port", "time_out", "machine_list_filename", "machines"),
        *("device_type", "tree_learner", "gpu_platform_id", "gpu_device_id", "gpu_device_id_list"),
        *("gpu_use_dp", "num_gpu"),
        # CatBoost
        *("verbose", "logging_level", "silent", "metric_period", "allow_writing_files"),
        *("train_dir", "save_snapshot", "snapshot_file", "snapshot_interval"),
        *("thread_count", "task_type", "devices"),
    )
)


def _about_training(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {n: value for n, value in parameters.items() if n not in _NOT_ABOUT_TRAINING}


def _lightgbm_parameters(path: Path) -> dict[str, Any]:
    """Parameters of a text model that differ from LightGBM's defaults.

    If training stopped early by other means than a parameter, the model has fewer trees than its
    parameters say, and the number of trees counts.
    """
    text = path.read_text(errors="replace")
    defaults = {"eval_at": [1, 2, 3, 4, 5]} | _lightgbm_section(_lightgbm_defaults())
    found = _lightgbm_section(text)
    if not found:
        raise DataError(f"{path}: this LightGBM model does not contain its parameters")
    changed = {
        name: value for name, value in _about_training(found).items() if value != defaults.get(name)
    }
    if "seed" in changed:  # the other seeds are derived from it
        changed = {name: value for name, value in changed.items() if not name.endswith("_seed")}
    n_trees = text.count("\nTree=")
    if n_trees and not found.get("early_stopping_round"):
        changed["num_iterations"] = n_trees
    return changed


def _lightgbm_section(text: str) -> dict[str, Any]:
    """Lines ``[name: value]`` of the section on parameters, except those without a value."""
    section = text.partition("\nparameters:\n")[2].partition("end of parameters")[0]
    lines = [line[1:-1].partition(": ") for line in section.split("\n") if line.startswith("[")]
    return {name: _lightgbm_value(value) for name, _, value in lines if value}


def _lightgbm_value(text: str) -> Any:
    parts = [_number(part) for part in text.split(",")]
    if len(parts) > 1 and all(not isinstance(part, str) for part in parts):
        return parts
    return parts[0] if len(parts) == 1 else text


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if abs(number) < _LARGEST else text
    return text


def _lightgbm_defaults() -> str:
    """Text of a model without trees, which lists LightGBM's defaults for all parameters."""
    import lightgbm

    settings = {"objective": "lambdarank", "verbosity": -1}
    rows = lightgbm.Dataset(np.zeros((2, 1)), [0, 1], group=[2], params={"verbosity": -1})
    return lightgbm.Booster(settings, rows).model_to_string()


def _catboost_parameters(params: Any, path: Path) -> dict[str, Any]:
    """Parameters from what a model of CatBoost says of its training."""
    flat = params.get("flat_params") if isinstance(params, dict) else None
    if not isinstance(flat, dict):
        raise DataError(f"{path}: this CatBoost model does not contain its parameters")
    return _about_training(flat)


_XGBOOST_PARTS = (
    ("gradient_booster", "tree_train_param"),
    ("gradient_booster", "gbtree_train_param"),
    ("gradient_booster", "gbtree_model_param"),
    ("objective", "lambdarank_param"),
)


def _changed_xgboost_parameters(learner: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Parameters of a configuration of XGBoost that differ from its defaults."""
    found = _xgboost_parameters(learner, path)
    if "max_depth" not in found:
        raise DataError(
            f"{path}: models of XGBoost do not contain their training parameters; instead of the "
            "model, write json.dumps(ranker.get_params()) or booster.save_config() to a file"
        )
    defaults = _xgboost_parameters(_xgboost_defaults(found["objective"], path), path)
    changed = {name: value for name, value in found.items() if value != defaults.get(name)}
    trees, parallel = changed.pop("num_trees", 0), found.get("num_parallel_tree", 1)
    return changed | ({"n_estimators": trees // max(1, parallel)} if trees else {})


def _xgboost_parameters(learner: Mapping[str, Any], path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"objective": _part(learner, "objective", path).get("name")}
    for room, part in _XGBOOST_PARTS:
        for name, value in _part(_part(learner, room, path), part, path).items():
            if not isinstance(value, (str, list)):
                raise DataError(f"{path}: {name!r:.40} should be a text, not {value!r:.40}")
            if name not in ("updater", "updater_seq", "eta", "alpha", "lambda"):
                known = "gamma" if name == "min_split_loss" else name
                found[known] = _number(value) if isinstance(value, str) else value
    return found


def _part(record: Mapping[str, Any], name: str, path: Path) -> dict[str, Any]:
    """A part of a configuration, empty if it is not there."""
    found = record.get(name, {})
    if not isinstance(found, dict):
        raise DataError(f"{path}: {name!r} should be an object, not {found!r:.40}")
    return found


def _xgboost_defaults(objective: Any, path: Path) -> Mapping[str, Any]:
    try:
        from xgboost import DMatrix, train
        from xgboost.core import XGBoostError
    except ImportError:
        raise DataError("XGBoost is not installed: pip install xgboost") from None
    rows = DMatrix(np.zeros((2, 1)), [0, 1], qid=[0, 0])
    try:
        defaults = train({"objective": objective, "verbosity": 0}, rows, 0).save_config()
    except (XGBoostError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{path}: XGBoost has no objective {objective!r:.40}: {reason}") from None
    return dict(json.loads(defaults)["learner"])
