"""Export to the native files of LightGBM, XGBoost and CatBoost, with feature names."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ranksieve.data import DataError
from ranksieve.export.reading import TrainedRanker, lightgbm_text, xgboost_booster
from ranksieve.export.targets.target import Artifact, Job, Target, distinct, list_names
from ranksieve.text import quantity


class _LibraryFile(Target):
    """Base of targets that write the native file of the library that trained the trees."""

    kinds = ("trees",)
    is_engine = False

    def check(self, trained: TrainedRanker) -> None:
        super().check(trained)
        if trained.library != self.name:
            made_by = f"{trained.library}'s" if trained.library else "ranksieve's own"
            raise DataError(
                f"the trees of the model are {made_by}, but only trees of {self.name} can be "
                "written to its own file"
            )

    def _artifact(
        self, file: str, content: str | bytes, names: list[str], names_in_data: list[str]
    ) -> Artifact:
        notes = []
        readme = (
            f"# A model for {self.name}\n\n`{file}` is a file in {self.name}'s own format. Its "
            f"features, in this order:\n\n{list_names(names)}\n"
        )
        n_changed = sum(new != old for new, old in zip(names, names_in_data, strict=True))
        if n_changed:
            notes.append(
                f"{self.name} does not accept some characters in the names of "
                f"{quantity(n_changed, 'feature')}; README.md lists the names in the file"
            )
            readme += (
                "\nIn the data that the model was trained on, their names are\n\n"
                f"{list_names(names_in_data)}\n"
            )
        return Artifact({file: content, "README.md": readme}, notes)


def _replace_characters(names: list[str], rejected: str) -> list[str]:
    """Replace characters that a library rejects with ``_``, and make names distinct."""
    return distinct(re.sub(rejected, "_", name) or "_" for name in names)


class LightGBMFile(_LibraryFile):
    """Writes LightGBM's text format."""

    name = "lightgbm"
    about = "LightGBM's own text file"

    def write(self, job: Job) -> Artifact:
        """Write the trees that predictions use, under the names of the features."""
        names = _replace_characters(job.trained.names, r'[\s",:\[\]{}\\\x00-\x1f\x7f]')
        line = "feature_names=" + " ".join(names)
        text = lightgbm_text(job.trained.ranker)
        text = re.sub(r"(?m)^feature_names=.*$", lambda found: line, text, count=1)
        return self._artifact("model.txt", text, names, job.trained.names)

    def scores(self, directory: Path, X: np.ndarray, names: list[str]) -> np.ndarray:
        """Score with LightGBM."""
        from lightgbm import Booster

        booster = Booster(model_str=(directory / "model.txt").read_text(encoding="utf-8"))
        return np.asarray(booster.predict(X, num_threads=1), dtype=np.float64)


class XGBoostFile(_LibraryFile):
    """Writes XGBoost's JSON format."""

    name = "xgboost"
    about = "XGBoost's own JSON file"

    def write(self, job: Job) -> Artifact:
        """Write the trees that predictions use, under the names of the features."""
        ranker: Any = job.trained.ranker
        booster = xgboost_booster(ranker.estimator_).copy()
        names = _replace_characters(job.trained.names, r"[\[\]<\x00]")
        booster.feature_names = names
        for attribute in ("best_iteration", "best_score"):  # the file contains only the used trees
            booster.set_attr(**{attribute: None})
        return self._artifact(
            "model.json", bytes(booster.save_raw("json")), names, job.trained.names
        )

    def scores(self, directory: Path, X: np.ndarray, names: list[str]) -> np.ndarray:
        """Score with XGBoost."""
        from xgboost import Booster, DMatrix

        booster = Booster(model_file=str(directory / "model.json"), params={"nthread": 1})
        rows = DMatrix(X, feature_names=booster.feature_names, nthread=1)
        return np.asarray(booster.predict(rows, output_margin=True), dtype=np.float64)


class CatBoostFile(_LibraryFile):
    """Writes CatBoost's binary format."""

    name = "catboost"
    about = "CatBoost's own binary file (cbm)"

    def write(self, job: Job) -> Artifact:
        """Write the trees under the names of the features."""
        ranker: Any = job.trained.ranker
        estimator = ranker.estimator_.copy()
        estimator.set_feature_names(job.trained.names)
        with TemporaryDirectory() as directory:
            path = Path(directory) / "model.cbm"
            estimator.save_model(str(path))
            content = path.read_bytes()
        return self._artifact("model.cbm", content, job.trained.names, job.trained.names)

    def scores(self, directory: Path, X: np.ndarray, names: list[str]) -> np.ndarray:
        """Score with CatBoost."""
        from catboost import CatBoost

        model = CatBoost()
        model.load_model(str(directory / "model.cbm"))
        scores = model.predict(X, prediction_type="RawFormulaVal", thread_count=1)
        return np.asarray(scores, dtype=np.float64)
