"""Fields of estimators: what ``__init__`` takes, and what is checked before ``fit``."""

import inspect
import re
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError, StrOptions, make_constraint

from ranksieve.base import RankSelector
from ranksieve.parameters import FeatureCount, Positive, Seed, Ties
from ranksieve.rankers import RANKERS, RankerAdapter
from ranksieve.selectors import SELECTORS

CLASSES = [*SELECTORS.classes.values(), *RANKERS.classes.values(), RankerAdapter]
ANYTHING = {"ranker", "checkpoint", "estimator"}  # these check themselves


@dataclass(eq=False, repr=False)
class Example(RankSelector):
    """Has a parameter of every kind; annotations are no strings here, as others may write them."""

    n_features_to_select: FeatureCount | Literal["best"] = 10
    _: KW_ONLY
    rate: Positive | None = None
    ties: Ties = "average"
    options: dict[str, Any] | None = None
    order: Annotated[Any, StrOptions({"up"}), list] = "up"
    random_state: Seed = 0
    progress: bool = True

    def _choose(self, source, choices):
        return np.arange(choices.k)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_parameter_is_checked(kind):
    names = set(inspect.signature(kind).parameters)
    assert names <= kind._parameter_constraints.keys()
    unchecked = {name for name in names if kind._parameter_constraints[name] == "no_validation"}
    assert unchecked <= ANYTHING


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_default_is_allowed(kind):
    for name, parameter in inspect.signature(kind).parameters.items():
        allowed = kind._parameter_constraints[name]
        if allowed != "no_validation":
            given = parameter.default
            assert any(make_constraint(c).is_satisfied_by(given) for c in allowed), name


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"n_features_to_select": "worst"}, "a str among {'best'}"),
        ({"n_features_to_select": 1.5}, r"a float in the range \(0.0, 1.0\)"),
        ({"rate": 0.0}, r"a float in the range \(0.0, inf\) or None"),
        ({"ties": "random"}, "a str among"),
        ({"options": []}, "an instance of 'dict' or None"),
        ({"order": "down"}, "a str among {'up'} or an instance of 'list'"),
        ({"random_state": "x"}, "an instance of 'numpy.random.mtrand.RandomState' or None"),
        ({"progress": "yes"}, "an instance of 'bool'"),
    ],
)
def test_types_say_what_is_wrong(wrong, told):
    with pytest.raises(InvalidParameterError, match=told):
        Example(**wrong)._validate_params()


def test_fields_are_the_signature():
    assert Example(3).get_params()["n_features_to_select"] == 3
    with pytest.raises(TypeError, match="positional"):
        Example(3, 0.5)
    assert clone(Example(rate=0.5)).rate == 0.5
    assert repr(Example(rate=0.5)) == "Example(rate=0.5)"
    assert Example() != Example()  # estimators are told by their identity


def test_other_classes_may_add_to_the_constraints_of_all_selectors():
    allowed = [
        make_constraint(c) for c in RankSelector._parameter_constraints["n_features_to_select"]
    ]
    assert [any(c.is_satisfied_by(k) for c in allowed) for k in (0, 3, 0.5, "best")] == [
        False,
        True,
        True,
        False,
    ]
    assert RankSelector._parameter_constraints["progress"] == ["boolean"]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_parameter_is_described(kind):
    doc = inspect.getdoc(kind)
    assert not re.search(r"^ *\{\w+\}", doc, re.MULTILINE)  # what is shared is filled in
    section = re.split(r"\n\w+\n-+\n", doc.partition("Parameters\n----------\n")[2])[0]
    entries = re.findall(r"^(\w+(?:, \w+)*)(?: :.*)?$", section, re.MULTILINE)
    named = {name for entry in entries for name in entry.split(", ")}
    assert named == set(inspect.signature(kind).parameters)
