"""Methods by name: what each name makes, and what is told about wrong names."""

import math
import re
from dataclasses import asdict, fields, is_dataclass
from importlib import import_module
from inspect import signature
from numbers import Number

import numpy as np
import pytest
from sklearn.model_selection import ParameterGrid

from ranksieve import RankingData, load_demo, make_ranking, rankers, selectors
from ranksieve.base import RankSelector
from ranksieve.metrics import NDCG, get_convention
from ranksieve.rankers.base import Ranker
from ranksieve.rankers.registry import RANKERS, make_ranker
from ranksieve.report.sheets.methods import registry_sheet
from ranksieve.selectors import GAS, Importance, RandomSelector
from ranksieve.selectors.record import record_selection
from ranksieve.selectors.registry import SELECTORS, make_selector
from tests.every_method import make_quick

REGISTRY = dict.fromkeys(SELECTORS, SELECTORS) | dict.fromkeys(RANKERS, RANKERS)


@pytest.mark.parametrize("name", REGISTRY)
class TestEveryName:
    def test_the_class_is_public(self, name):
        kind, is_selector = REGISTRY[name][name].kind, name in SELECTORS
        assert issubclass(kind, RankSelector if is_selector else Ranker)
        assert getattr(selectors if is_selector else rankers, kind.__name__) is kind

    def test_defaults_are_those_of_what_it_makes(self, name):
        method, made = REGISTRY[name][name], REGISTRY[name].make(name)
        own = made._adapted  # of another library
        found, usual = own.get_params(deep=False), method.defaults
        assert repr(sorted(found.items())) == repr(sorted(usual.items()))  # XGBoost has NaN
        assert method.changed(made) == {}

    def test_the_grid_can_be_searched(self, name):
        method = REGISTRY[name][name]
        assert "n_features_to_select" not in method.grid
        k = {"n_features_to_select": 2} if "n_features_to_select" in method.defaults else {}
        for point in ParameterGrid(dict(method.grid)):
            made = method.make(**k, **point)
            made._validate_params()
            assert method.changed(made).items() <= (k | point).items()

    def test_the_description_fits_a_line(self, name):
        description = REGISTRY[name][name].description
        assert 0 < len(description) <= 80 - max(map(len, REGISTRY[name])) - 2
        assert "\n" not in description

    def test_unknown_parameters_are_refused(self, name):
        what = REGISTRY[name].what
        with pytest.raises(ValueError, match=f"{what} '{name}' has no parameter 'sigmma'; it has "):
            REGISTRY[name].make(name, sigmma=1)

    def test_a_name_means_the_same_everywhere(self, name):
        """A preset tells which variant of its class a name is; it tunes nothing."""
        method, registry = REGISTRY[name][name], REGISTRY[name]
        assert all(isinstance(value, str) for value in method.preset.values())
        same = [other.name for other in registry.values() if other.kind is method.kind]
        if len(same) == 1 or method.has_record:
            assert method.preset == {}
        else:  # the class as it is has one of the names
            usual = method.kind().get_params()
            assert sum(registry.make(other).get_params() == usual for other in same)

    def test_docstrings_list_all_parameters(self, name):
        """In the source, for editors; with what base classes say of them, for ``help``."""
        kind = REGISTRY[name][name].kind
        for text in (kind._source_doc, kind.__doc__):
            section = text.partition("    Parameters\n    -----")[2]
            section = re.split(r"\n\n    \w+\n    ---", section)[0]
            listed = re.findall(r"^    (\w+(?:,\s+\w+)*)(?: : .*)?$", section, re.MULTILINE)
            names = [one for entry in listed for one in re.findall(r"\w+", entry)]
            assert sorted(names) == sorted(signature(kind).parameters)
        bases = "|".join(base.__name__ for base in kind.__mro__)
        assert not re.search(
            rf"^    [\w, ]+\n        As in :class:`({bases})`\.$", kind.__doc__, re.M
        )


@pytest.mark.parametrize(
    ("package", "registry", "base"),
    [(selectors, SELECTORS, RankSelector), (rankers, RANKERS, Ranker)],
)
def test_every_class_has_a_name(package, registry, base):
    public = [getattr(package, name) for name in package.__all__]
    classes = {kind for kind in public if isinstance(kind, type) and issubclass(kind, base)}
    # An adapter of selectors needs an object of the user.
    assert {method.kind for method in registry.values()} == classes - {selectors.SelectorAdapter}


def test_what_a_name_makes():
    made = make_selector("gas-l", 5, c=0.1)
    assert isinstance(made, GAS)
    assert (made.n_features_to_select, made.importance, made.c) == (5, Importance("loss"), 0.1)
    assert make_selector("gas-e").importance == Importance("map")
    assert make_selector("gas-l", **{"importance.ties": "stable"}).importance == Importance(
        "loss", ties="stable"
    )
    assert make_selector("gas-l", importance={"ties": "stable"}).importance == Importance(
        "loss", ties="stable"
    )
    both = {"importance": "mrr", "importance.ties": "stable"}
    assert make_selector("fs-ed", **both).importance == Importance(
        "mrr", ties="stable", both_directions=False
    )
    assert make_selector("gas-e", importance="ndcg@5").importance == "ndcg@5"
    assert make_selector("mmr", 0.25).n_features_to_select == 0.25
    assert isinstance(make_selector("random", random_state=3), RandomSelector)


def test_published_grids():
    assert list(SELECTORS["gas-e"].grid["c"]) == [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1]
    assert SELECTORS["gas-l"].grid == SELECTORS["gas-e"].grid
    for name in ("mmr", "msd", "mpt", "mrmr"):
        assert list(SELECTORS[name].grid["trade_off"]) == [n / 10 for n in range(1, 10)]
    lams = RANKERS["rankrls"].grid["lam"]
    assert (lams[0], lams[-1], len(lams)) == (2.0**-10, 2.0**10, 21)
    assert list(RANKERS["ranksvm"].grid["C"]) == [0.01, 0.1, 1, 10, 100]
    struct = RANKERS["ranksvm-struct"].grid["C"]
    assert (len(struct), min(struct), max(struct)) == (19, 1e-5, 10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: make_selector("gas", 3),
            "unknown method 'gas'; choose from fs-ed, fs-scpr, gas-e",
        ),
        (lambda: make_ranker("svm"), "unknown ranker 'svm'; choose from adarank-map, "),
        (lambda: make_selector("Gas_E"), r"fs-ed, .*, all, .*\. Did you mean gas-e\?$"),
        (lambda: make_ranker("rank-svm"), r" catboost\. Did you mean ranksvm\?$"),
        (lambda: SELECTORS[3], "unknown method 3; choose from fs-ed"),
        (
            lambda: make_selector("random", random_stat=1),
            r" random_state\. Did you mean random_state\?$",
        ),
        (lambda: make_selector("random", 3, seed=1), "count, progress, random_state$"),
        (
            lambda: SELECTORS.check_parameters(SELECTORS["top"], [3]),
            "'top' has no parameter 3; it has n_features_to_select",
        ),
        (lambda: make_selector("all", 10), "method 'all' keeps all features"),
    ],
)
def test_wrong_names_list_the_known_ones(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_held_out_data():
    assert SELECTORS["fs-ed"].uses_held_out_data
    assert not SELECTORS["gas-e"].uses_held_out_data


class TestRecord:
    def test_scores_are_those_of_the_choice(self):
        data, _ = load_demo()
        selector = make_selector("gas-e", 3, c=0.3).fit(data)
        features = record_selection(selector, data, "gas-e", []).features
        assert [f.index for f in features] == selector.selected_.tolist()
        assert [f.score for f in features] == [step.score for step in selector.path_]
        assert [f.reason for f in features] == selector.reasons()
        assert [f.name for f in features] == data.feature_names[selector.selected_].tolist()

    def test_scores_of_features_serve_where_there_is_no_path(self):
        data, _ = load_demo()
        selector = make_selector("top", 2).fit(data)
        expected = selector.scores_[selector.selected_].tolist()
        del selector.path_
        features = record_selection(selector, data, "top", []).features
        assert [f.score for f in features] == expected
        selector.scores_[:] = math.inf  # which JSON cannot tell
        assert [f.score for f in record_selection(selector, data, "top", []).features] == [None] * 2
        del selector.scores_
        assert [f.score for f in record_selection(selector, data, "top", []).features] == [None] * 2

    def test_parameters_become_plain(self):
        data, _ = load_demo()
        selector = make_selector("gas-e", 1, importance=NDCG(5)).fit(data)
        assert record_selection(selector, data, "gas-e", []).parameters["importance"] == "NDCG@5"
        found = record_selection(make_selector("top", 1).fit(data), data, "top", []).parameters
        assert found["importance"] == asdict(Importance("ndcg@10"))
        assert make_selector("top", **found).importance == Importance("ndcg@10")


WITH_CONVENTION = {
    name: (method, make)
    for registry, make in ((SELECTORS, make_selector), (RANKERS, make_ranker))
    for name, method in registry.items()
    if "convention" in method.defaults or "importance.convention" in method.paths
}


def convention_of(method):
    return "convention" if "convention" in method.defaults else "importance.convention"


@pytest.mark.parametrize("name", WITH_CONVENTION)
class TestConventions:
    """Whatever has a convention takes all that ``get_convention`` does."""

    def test_names_with_a_label_are_taken(self, name):
        method, _ = WITH_CONVENTION[name]
        data, _ = make_ranking(12, n_informative=2, n_redundant=0, n_noise=2, random_state=0)
        train, held_out = data.take_queries(range(8)), data.take_queries(range(8, 12))
        beside = {"eval_set": held_out} if method.uses_held_out_data else {}
        own = {"measure": "map"} if "measure" in method.defaults else {}
        made = make_quick(name, **own, **{convention_of(method): "standard:2"})
        made.fit(train, **beside)
        judge = made if "convention" in method.defaults else made.importance
        assert get_convention(judge.convention).relevance == 2
        if isinstance(made, RankSelector):
            assert 1 <= len(set(made.selected_.tolist())) <= train.n_features
        else:
            assert np.isfinite(made.predict(held_out)).all()

    @pytest.mark.parametrize("wrong", ["nonsense", "standard:high", "standard:nan", 2, None])
    def test_others_are_refused_with_a_list(self, name, wrong):
        method, make = WITH_CONVENTION[name]
        with pytest.raises(
            ValueError, match="standard, letor3, .*, and NAME:LABEL with"
        ) as refused:
            make(name, **{convention_of(method): wrong})._validate_params()
        assert re.search(f"(Got|convention) {wrong!r}", str(refused.value))


def test_many_have_a_convention():
    assert len(WITH_CONVENTION) >= 30


HELD_OUT = [
    name
    for registry in (SELECTORS, RANKERS)
    for name, method in registry.items()
    # Trees stop by measures of their libraries.
    if method.uses_held_out_data and name not in ("lambdamart", "lightgbm", "xgboost", "catboost")
]
# Every ranker takes held-out data, so that all are called alike; these have no use for it.
IGNORING = ("rankrls", "ranksvm", "ranksvm-struct")
# With these parameters, held-out queries decide: else they serve only members of borda that ask for
# them, and elimination only to choose the number of features.
JUDGING = {
    "borda": {"selectors": ["top", "sequential"]},
    "elimination": {"n_features_to_select": "best"},
    "rankrls-cv": {"measure": "map"},
}


def numbers_in(value):
    """All numbers in an object that a method has recorded, one after the other."""
    if is_dataclass(value):
        value = [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in numbers_in(item)]
    return [float(number) for number in np.ravel(value) if isinstance(number, (Number, np.number))]


def learned_numbers(estimator):
    """All numbers that an estimator has learned or recorded."""
    found = sorted((name, value) for name, value in vars(estimator).items() if name.endswith("_"))
    return numbers_in([value for _, value in found])


@pytest.mark.parametrize("name", HELD_OUT)
def test_the_order_of_held_out_documents_does_not_matter(name):
    """Not even with many equal scores and the relevant documents first."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(40), 8)
    X = rng.integers(0, 3, (len(qid), 4)).astype(float)
    y = np.digitize(X[:, 0] + rng.normal(0, 1.5, len(qid)), [1.5, 2.5]).astype(float)
    by_label = np.lexsort((-y, qid))
    data = RankingData(X[by_label], y[by_label], qid)
    train, held_out = data.take_queries(range(25)), data.take_queries(range(25, 40))
    backwards = RankingData(held_out.X[::-1], held_out.y[::-1], held_out.qid[::-1])
    # Values of queries are recorded in their order: here each keeps its place.
    in_place = np.arange(held_out.n_rows).reshape(15, 8)[:, ::-1].ravel()
    relevant_last = RankingData(held_out.X[in_place], held_out.y[in_place], held_out.qid)
    other_labels = RankingData(held_out.X, held_out.y[::-1], held_out.qid)

    def judged_by(queries):
        made = make_quick(name).set_params(**JUDGING.get(name, {}))
        return made.fit(train, eval_set=queries)

    first, second = judged_by(held_out), judged_by(backwards)
    if isinstance(first, RankSelector):
        assert first.selected_.tolist() == second.selected_.tolist()
    else:
        np.testing.assert_array_equal(first.predict(data), second.predict(data))
    expected = learned_numbers(first)
    np.testing.assert_allclose(learned_numbers(judged_by(relevant_last)), expected, rtol=1e-12)
    # What is compared tells of the held-out queries.
    assert (learned_numbers(judged_by(other_labels)) == expected) == (name in IGNORING)


def test_traits_are_listed():
    sheet = registry_sheet(SELECTORS)
    rows = {row[0].value: [cell.value for cell in row[2:]] for row in sheet.rows}
    assert list(rows) == list(SELECTORS)
    assert rows["gas-e"] == ["nested, missing", "c", 8]
    assert rows["sequential"] == ["held-out, nested, in memory", "", 1]
    assert (
        rows["bt-randomized"][0]
        == "related, held-out, seeded, missing, row weights, positions, no groups"
    )
    legend, *reasons = sheet.notes
    assert "no groups: cannot select groups of features" in legend
    assert "no include" not in legend  # every method can
    assert f"no groups (fs-bfs): {SELECTORS['fs-bfs'].no_groups}" in reasons
    assert [column.name for column in registry_sheet(RANKERS).columns] == ["ranker", "description"]


def test_methods_that_are_there_to_compare_with_papers_come_last():
    related = [name for name, method in SELECTORS.items() if method.family == "related"]
    assert list(SELECTORS)[-len(related) :] == related
    assert {"mrmr", "rankwrapper", "bt-genetic", "risk-pareto"} <= set(related)
    listed = registry_sheet(SELECTORS)
    assert [row[0].value for row in listed.groups[-1]] == related
    marked = [row[0].value for row in listed.rows if "related" in row[2].value.split(", ")]
    assert marked == related
    assert "related: there so that papers can be compared" in listed.notes[0]


@pytest.mark.parametrize("name", ["ranksieve", "ranksieve.datasets"])
def test_names_that_are_imported_on_first_use(name):
    package = import_module(name)
    assert set(package.__all__) <= set(dir(package))
    for public in package.__all__:
        assert getattr(package, public) is not None
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'make_rankng'"):
        package.make_rankng  # noqa: B018
