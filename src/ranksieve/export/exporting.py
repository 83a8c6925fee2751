"""Write trained models and feature sets for search engines, libraries and programs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ranksieve.costs import FeatureCosts
from ranksieve.data import DataError
from ranksieve.engine import in_memory
from ranksieve.export.directory import check_may_write, write_files, write_manifest
from ranksieve.export.feature_sets import FeatureSet, read_feature_set
from ranksieve.export.forms import LinearModel, TreeEnsemble
from ranksieve.export.reading import TrainedRanker, read_trained
from ranksieve.export.targets import find_target
from ranksieve.export.targets.target import Artifact, Job, MissingRule, Target
from ranksieve.export.verifying import (
    MEASURE,
    Rows,
    Verification,
    measure,
    rows_of,
    scores_of,
    verify_files,
)
from ranksieve.io.files import make_directory
from ranksieve.io.records import PathLike
from ranksieve.rankers.adapter import as_ranker
from ranksieve.rankers.loading import load_model
from ranksieve.text import quantity


@dataclass(frozen=True)
class Export:
    """Result of an export.

    Attributes
    ----------
    target : str
    files : list of Path
    features : list of str
        Features that the model uses.
    missing : {"nan", "zero"}
        Value that the target gets for a missing value.
    switched_off : dict of str to float or None
        Features that are no longer needed -> cost of each alone, None if unknown. They are features
        of the feature set if there is one, otherwise of the training data or, if the model uses
        all of these, of the costs.
    saved : float or None
        Total cost of these features, including groups that are no longer needed.
    cost_unit : str
        Unit of these costs; empty if it is not known.
    notes : list of str
    verification : Verification or None
    """

    target: str
    files: list[Path]
    features: list[str]
    missing: MissingRule
    switched_off: dict[str, float | None]
    saved: float | None = None
    cost_unit: str = ""
    notes: list[str] = field(default_factory=list)
    verification: Verification | None = None


def export_model(
    model: Any,
    to: str,
    out: PathLike,
    *,
    missing: MissingRule | None = None,
    feature_set: PathLike | None = None,
    verify: Any = None,
    tolerate: bool = False,
    name: str | None = None,
    costs: FeatureCosts | Mapping[str, float] | PathLike | None = None,
    inputs: Iterable[PathLike] = (),
    overwrite: bool = False,
) -> Export:
    """Write a trained model for a search engine, a library or a program.

    Parameters
    ----------
    model : path, ranker or estimator
        A model file, a trained ranker, or a fitted estimator of LightGBM, XGBoost or CatBoost.
    to : str
        The target: ``"lightgbm"``, ``"xgboost"``, ``"catboost"`` (their own files, for their own
        trees), ``"elasticsearch-ltr"``, ``"opensearch-ltr"``, ``"elasticsearch"``, ``"solr"``,
        ``"vespa"``, ``"onnx"``, ``"python"`` or ``"c"``.
    out : path
        Directory of the files; created if necessary. It must be empty, or have an earlier export,
        whose files are replaced unless they were changed. Nothing is written if anything is wrong.
    missing : {"nan", "zero"}, optional
        Value that the target gets for a missing value. Needed if a search engine is the target and
        the model was trained with missing values, or may have been.
    feature_set : path, optional
        The engine's definition of all features, in JSON. The definitions that the model needs are
        written next to the model, unchanged.
    verify : RankingData, optional
        Score this data with the written files, in the arithmetic of the target.
    tolerate : bool
        Whether to write files that order documents of ``verify`` differently from the model.
    name : str, optional
        Name of the model in the engine; by default the name of the file, or ``"ranksieve"``.
    costs : FeatureCosts, mapping of str to float, or path, optional
        Costs of features, for the list of features that can be switched off.
    inputs : paths
        Other files that must not be overwritten. The files of ``model``, ``feature_set`` and
        ``costs`` never are.
    overwrite : bool
        Whether to replace files of any origin that have the names of the exported ones. Symbolic
        links are never followed.

    Returns
    -------
    Export

    Raises
    ------
    DataError
        If the model cannot run on the target, or would rank differently there.

    Notes
    -----
    A tree sends a row to the left if ``x <= t``. Engines that compute in float32 get the largest
    float32 threshold up to t, so that all float32 values take the same branches; values of
    ``verify`` with more digits keep their branches if float32 can distinguish them.

    Verification counts the queries in which two documents swap or become tied although their scores
    differ by more than rounding explains. The rounding error of a sum is at most u times the sum of
    the absolute partial sums, with u = 2^-24 in float32 and 2^-53 in float64. Verification takes
    O(m T d) time for m rows and T trees of depth d.

    Examples
    --------
    >>> import tempfile
    >>> from ranksieve import make_ranking
    >>> from ranksieve.export import export_model
    >>> from ranksieve.rankers import RankSVM
    >>> data, _ = make_ranking(30)
    >>> export = export_model(RankSVM().fit(data), "solr", tempfile.mkdtemp(), verify=data)
    >>> [path.name for path in export.files]
    ['model.json', 'README.md']
    >>> export.verification.n_changed
    0
    """
    target = find_target(to)
    if missing not in (None, "nan", "zero"):
        raise ValueError(f"missing must be 'nan' or 'zero', got {missing!r:.40}")
    used = [Path(one) for one in (model, feature_set, costs) if isinstance(one, (str, os.PathLike))]
    default_name = "ranksieve"
    if isinstance(model, (str, os.PathLike)):
        default_name = Path(model).name.partition(".")[0] or default_name
        model = load_model(model)
    trained = read_trained(as_ranker(model))
    target.check(trained)
    definitions = None
    if feature_set is not None:
        if target.feature_set_kind is None:
            raise DataError(f"{target.name} does not use a feature set: leave out {feature_set}")
        definitions = read_feature_set(feature_set, target.feature_set_kind)
    rows = None if verify is None else rows_of(trained, in_memory(verify))
    rule = _missing_rule(missing, target, trained, rows)
    job = _make_job(trained, target, rule, name or default_name, definitions, rows)
    artifact = target.write(job)
    priced = _as_costs(costs)
    switched_off, saved = _find_switched_off(job, target, priced)
    verification = None
    if rows is not None:
        with TemporaryDirectory() as directory:
            write_files(Path(directory), artifact.files)
            verification = verify_files(target, Path(directory), job, rows)
        if verification.n_changed and not tolerate:
            raise DataError(_explain_refusal(verification, target, artifact))
    _check_inputs_stay(artifact, Path(out), [*used, *map(Path, inputs)])
    check_may_write(Path(out), artifact.files, overwrite=overwrite)
    files = write_files(make_directory(Path(out)), artifact.files)
    write_manifest(Path(out), artifact.files)
    notes = [*_notes(job, target), *artifact.notes]
    return Export(
        target.name,
        files,
        job.names,
        rule,
        switched_off,
        saved,
        priced.unit,
        notes,
        verification,
    )


def _make_job(
    trained: TrainedRanker,
    target: Target,
    rule: MissingRule,
    name: str,
    feature_set: FeatureSet | None,
    rows: Rows | None,
) -> Job:
    """Reduce the model to the features that it uses, or to the first feature if it uses none."""
    used = trained.model.used if len(trained.model.used) else np.array([0])
    model = trained.model.take_features(used)
    if isinstance(model, TreeEnsemble) and rule == "zero":
        model = model.with_missing_as_zero()
    if isinstance(model, LinearModel) and target.is_engine:
        model = LinearModel(model.weights)  # the intercept does not change the order
    names = [trained.names[feature] for feature in used]
    known = None if rows is None else rows.served(rule)[:, used]
    return Job(trained, model, names, name, rule, feature_set, known)


def _missing_rule(
    wanted: MissingRule | None, target: Target, trained: TrainedRanker, rows: Rows | None
) -> MissingRule:
    """Return the rule for missing values; raises DataError if it is required but not given."""
    model = trained.model
    if isinstance(model, LinearModel):
        if wanted == "nan":
            raise DataError("a linear model cannot use missing values: use missing 'zero'")
        if target.is_engine and wanted is None and trained.fills_by_query:
            raise DataError(_explain_missing_rule(target, trained, rows))
        return "zero"
    if wanted is not None:
        return wanted
    if not target.is_engine:
        return "nan"
    learned = trained.saw_missing is not False and model.tells_missing_from_zero
    if learned or trained.fills_by_query:
        raise DataError(_explain_missing_rule(target, trained, rows))
    return "zero"


def _explain_missing_rule(target: Target, trained: TrainedRanker, rows: Rows | None) -> str:
    """Explain why a rule for missing values is needed, and what zeros would change."""
    if trained.fills_by_query:
        why = f"the model was trained with missing values filled in ({trained.missing})"
    elif trained.saw_missing:
        why = "the model was trained with missing values"
    else:
        why = "XGBoost's file does not say whether the model was trained with missing values"
    loss = ""
    if rows is not None:
        as_trained = measure(rows.data, scores_of(trained, rows.as_trained))
        with_zeros = measure(rows.data, scores_of(trained, rows.served("zero")))
        loss = f". On this data, zeros change {MEASURE} from {as_trained:.4f} to {with_zeros:.4f}"
    nan = "" if trained.is_linear else "--missing nan if it serves no value, or "
    return (
        f"{why}, and {target.name} may serve 0 where a feature has no value: use {nan}--missing "
        f"zero if it serves 0{loss}"
    )


def _notes(job: Job, target: Target) -> list[str]:
    notes = []
    rule = job.trained.missing
    if rule is not None and not rule.keeps:
        notes.append(
            f"missing values of the training data were filled in ({rule}): the engine must serve "
            "features that are filled in the same way"
        )
    model = job.trained.model
    if isinstance(model, LinearModel) and model.intercept and target.is_engine:
        notes.append("the intercept is left out, which does not change the order")
    return notes


def _explain_refusal(verification: Verification, target: Target, artifact: Artifact) -> str:
    queries = quantity(verification.n_queries, "query", "queries")
    reasons = "".join(f"; {note}" for note in artifact.notes)
    return (
        f"{target.name} would order {verification.n_changed} of {queries} differently from the "
        f"model (the scores of {quantity(verification.n_strayed, 'row')} change by up to "
        f"{verification.largest_difference:.3g}, and {MEASURE} from {verification.before:.4f} to "
        f"{verification.after:.4f}){reasons}; nothing was written; use --tolerate to write the "
        "files anyway"
    )


def _check_inputs_stay(artifact: Artifact, directory: Path, inputs: list[Path]) -> None:
    """Raise a DataError if a file would replace an input."""
    for path in filter(Path.is_file, (directory / name for name in artifact.files)):
        if any(one.exists() and path.samefile(one) for one in inputs):
            raise DataError(
                f"{path}: is an input, and would be overwritten: choose another directory"
            )


def _as_costs(costs: Any) -> FeatureCosts:
    if costs is None or isinstance(costs, FeatureCosts):
        return costs or FeatureCosts({})
    return FeatureCosts(costs) if isinstance(costs, Mapping) else FeatureCosts.read(costs)


def _find_switched_off(
    job: Job, target: Target, costs: FeatureCosts
) -> tuple[dict[str, float | None], float | None]:
    """Return the features that are no longer needed, each with its cost, and their total cost."""
    if job.trained.library == target.name:
        return {}, None  # the library's file needs all features
    if job.feature_set is not None:
        needed = [name for name in job.names if name in job.feature_set.entries]
        kept = set(job.feature_set.prune(needed))
        known = list(job.feature_set.entries)
    else:
        kept = set(job.names)
        known = list(job.trained.names)
        if kept.issuperset(known):  # others may be known by their costs alone
            known += [name for name in costs.features if name not in kept]
    switched_off = {name: costs.features.get(name) for name in known if name not in kept}
    priced = [name for name in known if name in costs.features]
    still_paid = [name for name in priced if name in kept]
    paid = costs.only(priced)
    saved = paid.total(priced) - paid.total(still_paid) if priced else None
    return switched_off, saved
