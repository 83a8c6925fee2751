"""Exports as a whole: rules for missing values, verification, and what is refused."""

import json
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ranksieve import RankingData, load_model
from ranksieve.data import DataError
from ranksieve.export import TARGETS, export_model
from ranksieve.export.forms import add_up
from ranksieve.export.reading import read_trained
from ranksieve.export.targets.target import Target
from ranksieve.export.verifying import _changed_queries
from ranksieve.io.selection import SelectedFeature, Selection
from ranksieve.rankers import LambdaMART, RankBoost, RankSVM, as_ranker
from tests.export.trained import estimator, need, ranker_of, rows_for
from tests.test_hostile_names import NAMES as HOSTILE

ENGINES = [name for name, target in TARGETS.items() if target.is_engine]


@pytest.mark.parametrize(
    ("kind", "gaps", "target", "options", "message"),
    [
        *(
            ("lightgbm", True, target, {}, "trained with missing values, and .* use --missing nan")
            for target in ENGINES
        ),
        ("xgboost", False, "vespa", {}, "XGBoost's file does not say whether"),
        ("ranksvm", False, "python", {"missing": "nan"}, "a linear model cannot use missing val"),
        ("ranksvm", False, "python", {"missing": "mean"}, "must be 'nan' or 'zero', got 'mean'"),
        ("ranksvm", False, "lucene", {}, "unknown target 'lucene'; choose from lightgbm, xgboost"),
    ],
)
def test_what_is_refused(tmp_path, kind, gaps, target, options, message):
    out = tmp_path / "out"
    with pytest.raises(ValueError, match=message):
        export_model(ranker_of(kind, gaps=gaps), target, out, **options)
    assert not out.exists()


class TestMissing:
    def test_the_loss_is_shown(self, tmp_path):
        ranker = ranker_of("lightgbm", gaps=True)
        data = rows_for(ranker, gaps=True)
        zeros = RankingData(
            np.nan_to_num(data.X), data.y, data.qid, feature_names=data.feature_names
        )
        expected = f"NDCG@10 from {ranker.score(data):.4f} to {ranker.score(zeros):.4f}"
        with pytest.raises(DataError, match=expected):
            export_model(ranker, "solr", tmp_path, verify=data)
        found = export_model(ranker, "opensearch-ltr", tmp_path, missing="zero", verify=data)
        assert found.verification.as_trained == pytest.approx(ranker.score(data))
        assert found.verification.before == pytest.approx(ranker.score(zeros))

    def test_models_that_saw_none_get_zeros(self, tmp_path):
        for kind in ("lightgbm", "catboost", "rankboost", "ranksvm"):
            assert export_model(ranker_of(kind), "opensearch-ltr", tmp_path).missing == "zero"
        assert export_model(ranker_of("lightgbm"), "c", tmp_path).missing == "nan"
        export_model(ranker_of("xgboost"), "xgboost", tmp_path)
        fitted = ranker_of("xgboost").estimator_
        assert export_model(fitted, "python", tmp_path).features == ["1", "2", "3", "4", "5"]

    def test_values_of_the_query_cannot_be_served(self, tmp_path):
        data = rows_for(ranker_of("rankboost"), gaps=True)
        ranker = RankBoost(n_rounds=5).fit(data.with_missing("query-min"))
        with pytest.raises(DataError, match=r"filled in \(query-min\), and solr may serve 0"):
            export_model(ranker, "solr", tmp_path)
        made = export_model(ranker, "opensearch-ltr", tmp_path, missing="zero", verify=data)
        assert made.verification.as_trained == pytest.approx(ranker.score(data))
        assert "filled in (query-min)" in made.notes[0]

    def test_sparse_rows_of_xgboost(self, tmp_path):
        """What a sparse matrix does not store is missing for XGBoost."""
        X = np.where(np.random.default_rng(0).random((200, 3)) < 0.5, 0.0, 1.5)
        X += X * np.arange(200)[:, None]
        data = RankingData(sparse.csr_matrix(X), np.arange(200) % 3, np.arange(200) // 20)
        ranker = as_ranker(estimator("xgboost")).fit(data)
        made = export_model(ranker, "elasticsearch-ltr", tmp_path, missing="nan", verify=data)
        assert made.verification.largest_difference == 0


class Wrong(Target):
    """Scores that are off at some rows."""

    name = "python"
    about = ""
    is_engine = False

    def __init__(self, wrapped, change):
        self._wrapped, self._change = wrapped, change

    def write(self, job):
        return self._wrapped.write(job)

    def scores(self, directory, X, names):
        return self._change(self._wrapped.scores(directory, X, names))


class TestVerification:
    def test_a_changed_order_is_an_error(self, tmp_path, monkeypatch):
        ranker = ranker_of("lightgbm")
        data = rows_for(ranker)
        wrong = Wrong(TARGETS["python"], lambda scores: -scores)
        monkeypatch.setitem(TARGETS, "python", wrong)
        out = tmp_path / "out"
        with pytest.raises(DataError, match=r"python would order \d+ of \d+ queries differently"):
            export_model(ranker, "python", out, verify=data)
        assert not out.exists()
        made = export_model(ranker, "python", out, verify=data, tolerate=True)
        assert made.verification.n_changed > 0
        assert made.verification.n_strayed > 0
        assert (out / "model.py").exists()

    def test_ties_are_no_changes(self, tmp_path, monkeypatch):
        ranker = ranker_of("lightgbm")
        data = rows_for(ranker)
        noise = 1e-16 * np.sign(np.arange(data.n_rows) % 2 - 0.5)
        wrong = Wrong(TARGETS["python"], lambda scores: scores + noise)
        monkeypatch.setitem(TARGETS, "python", wrong)
        made = export_model(ranker, "python", tmp_path, verify=data)
        assert made.verification.n_changed == 0

    @given(
        st.lists(
            st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 3), st.integers(0, 2)),
            min_size=1,
            max_size=12,
        )
    )
    def test_changed_queries(self, rows):
        rows.sort(key=lambda row: row[3])
        reference, bound, scores = np.array(rows, dtype=float).T[:3]
        queries = [row[3] for row in rows]
        names = sorted(set(queries))
        ptr = np.array([queries.index(q) for q in names] + [len(rows)])
        expected = [
            any(
                reference[i] - reference[j] > bound[i] + bound[j] and scores[i] <= scores[j]
                for i in range(start, end)
                for j in range(start, end)
            )
            for start, end in pairwise(ptr.tolist())
        ]
        assert _changed_queries(reference, bound, scores, ptr).tolist() == expected

    def test_decimals_that_float32_cannot_tell_apart(self, tmp_path):
        X = np.array([[1.0], [1.0 + 1e-9], [1.0 + 2e-9], [1.0 + 3e-9]] * 40)
        y = np.array([0, 0, 2, 2] * 40)
        data = RankingData(X, y, np.arange(160) // 4, feature_names=["tight"])
        ranker = RankBoost(n_rounds=3).fit(data)
        with pytest.raises(
            DataError, match=r"equal in single precision, such as 1\.0\d* and 1\.0\d* of feature"
        ):
            export_model(ranker, "elasticsearch-ltr", tmp_path, verify=data)
        export_model(ranker, "elasticsearch", tmp_path, verify=data)  # fields are float64 there

    def test_rounding_is_bounded(self):
        """Sums in float32 differ by no more than the bound that verification allows."""
        rng = np.random.default_rng(0)
        model = read_trained(ranker_of("lightgbm")).model
        X = rows_for(ranker_of("lightgbm")).X
        values = model.leaf_values(X) * rng.choice([1, 1e3, 1e-3], len(model.roots))
        exact = values.sum(axis=1)
        bound = 2.0**-24 * (np.abs(np.cumsum(values, axis=1)) + np.abs(values)).sum(axis=1)
        assert (np.abs(add_up(values, np.float32) - exact) <= bound).all()


def test_rows_are_scored_in_pieces(monkeypatch):
    model = read_trained(ranker_of("lightgbm")).model
    X = rows_for(ranker_of("lightgbm")).X
    scores, bounds = model.scores(X), model.rounding(X, 2.0**-24)
    for chunk in (1, 30):
        monkeypatch.setattr("ranksieve.export.forms._CHUNK", chunk)
        np.testing.assert_array_equal(model.scores(X), scores)
        np.testing.assert_array_equal(model.rounding(X, 2.0**-24), bounds)
    assert model.scores(X[:0]).shape == (0,)


def selected(ranker_data, columns):
    features = [SelectedFeature(index, str(index + 1), None, "") for index in columns]
    return Selection("top", {}, ranker_data.n_features, ["data"], "0", features)


class TestNames:
    def test_numbers_of_the_data_that_was_selected_from(self, tmp_path):
        data = rows_for(ranker_of("rankboost"), names=False)
        ranker = RankSVM().fit(data.take_features([1, 4]))
        path = tmp_path / "model.json"
        ranker.save_model(path, selection=selected(data, [4, 1]))
        made = export_model(path, "elasticsearch-ltr", tmp_path / "out", verify=data)
        assert made.features == ["2", "5"]
        assert made.verification.n_changed == 0

    @pytest.mark.parametrize("target", TARGETS)
    def test_anything_may_be_a_name(self, tmp_path, target):
        need(target)
        rng = np.random.default_rng(0)
        names = [name or "empty" for name in HOSTILE]
        X = rng.normal(size=(120, len(names)))
        y = np.argsort(np.argsort(X.sum(axis=1))) // 30
        data = RankingData(X, y, np.arange(120) // 10, feature_names=names)
        kind = target if target in ("xgboost", "catboost") else "lightgbm"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ranker = as_ranker(estimator(kind)).fit(data)
        rule = "zero" if kind == "xgboost" else None
        made = export_model(
            ranker,
            target,
            tmp_path,
            missing=rule,
            verify=data,
            name='a"b\\c \u5c0f/../x',
            tolerate=False,
        )
        assert made.verification.n_changed == 0
        for path in made.files:
            assert path.is_relative_to(tmp_path)
            if path.suffix == ".json":
                json.loads(path.read_text())


class TestAdviceForSolr:
    """What to change in the features, if Solr cannot reach a threshold, is enough."""

    def given(self, X):
        y = np.argsort(np.argsort(X.sum(axis=1))) // 40
        return RankingData(X, y, np.arange(120) // 10)

    @pytest.mark.parametrize(
        ("X", "advice", "cured"),
        [
            (
                lambda X: X,
                "add a number to '1', '2' so that no value is negative,",
                lambda X: X + 9,
            ),
            (
                lambda X: 1e-7 * np.abs(X),
                "multiply '1', '2' by a large number,",
                lambda X: np.abs(X),
            ),
        ],
    )
    def test_it_helps(self, tmp_path, X, advice, cured):
        values = np.random.default_rng(0).normal(size=(120, 2))
        ranker = LambdaMART(20).fit(self.given(X(values)))
        with pytest.raises(DataError, match=f"cannot reach .*: {advice} in training and in Solr"):
            export_model(ranker, "solr", tmp_path)
        export_model(LambdaMART(20).fit(self.given(cured(values))), "solr", tmp_path)


class TestModels:
    @pytest.mark.parametrize("kind", ["lightgbm", "xgboost"])
    def test_files_of_libraries_are_models(self, tmp_path, kind):
        ranker = ranker_of(kind, gaps=True, names=False)
        data = rows_for(ranker, gaps=True, names=False)
        export_model(ranker, kind, tmp_path)
        path = tmp_path / ("model.txt" if kind == "lightgbm" else "model.json")
        loaded = load_model(path)
        assert not hasattr(loaded, "feature_names_in_")
        np.testing.assert_array_equal(loaded.predict(data), ranker.predict(data))
        made = export_model(path, "c", tmp_path / "c", verify=data)
        assert made.verification.largest_difference == 0

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("tree\nversion=v4\n", ""),
            ('{"learner": {}}', ""),
            ("tree\n\xff", ""),
            ('{"format": "ranksieve-model", "version": 2}', "written by a newer version of ranks"),
        ],
    )
    def test_files_that_are_no_models(self, tmp_path, text, message):
        path = tmp_path / "model"
        path.write_bytes(text.encode("latin-1"))
        for read in (load_model, lambda path: export_model(path, "c", tmp_path / "out")):
            with pytest.raises(DataError, match=f"{path}.*{message}"):
                read(path)

    def test_an_intercept_is_left_out_for_engines(self, tmp_path):
        from sklearn.linear_model import Ridge

        data = rows_for(ranker_of("rankboost"))
        ranker = as_ranker(Ridge()).fit(data)
        made = export_model(ranker, "solr", tmp_path, verify=data)
        assert made.notes == ["the intercept is left out, which does not change the order"]
        made = export_model(ranker, "c", tmp_path, verify=data)
        assert made.verification.largest_difference < 1e-12
