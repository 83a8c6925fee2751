"""The plan of a study: selectors, rankers, numbers of features, and how to tune and measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any, Literal, NamedTuple, get_args

from ranksieve.base import RankSelector
from ranksieve.data import DataError
from ranksieve.data.missing import Missing
from ranksieve.metrics import get_convention, parse_measure
from ranksieve.preprocessing import SCALES
from ranksieve.rankers.registry import RANKERS
from ranksieve.registry import Method, OwnMethod, Registry
from ranksieve.selectors.registry import SELECTORS, make_method
from ranksieve.study.members import find_method, find_methods
from ranksieve.study.results import BASE, RANDOM
from ranksieve.study.settings import check_settings
from ranksieve.text import quantity

Parameters = dict[str, Any]
CHOICES = ("include", "exclude", "groups")
"""Settings that constrain the features of all selectors."""
Rule = Literal["best", "one_se"]


def grid_points(grid: Mapping[str, Sequence[Any]]) -> list[Parameters]:
    """All combinations of the values of a grid, in the order of scikit-learn's ParameterGrid.

    Importing that would import half of scikit-learn with it.
    """
    names = sorted(grid)
    points = product(*(grid[name] for name in names))
    return [dict(zip(names, point, strict=True)) for point in points]


class SelectorVariant(NamedTuple):
    """A selector with one point of its grid; ``seed`` is None if it draws no random numbers."""

    selector: str
    parameters: Parameters
    seed: int | None


@dataclass(frozen=True)
class Plan:
    """What to compare, and how.

    Parameters
    ----------
    selectors : sequence of str, selector or pair (name, selector)
        Names of methods (see ``ranksieve select --methods``); ``"module:object"`` for a class or an
        object to import; selectors, see :func:`ranksieve.selectors.as_selector`. A selector without
        a name has that of its class.
    rankers : sequence of str, ranker or pair (name, ranker)
        Names of rankers (see ``ranksieve train --rankers``), ``"module:object"``, or rankers, see
        :func:`ranksieve.rankers.as_ranker`.
    ks : sequence of int or "all"
        Numbers of features. Numbers above that of the data are left out, and so are those below
        that of the included features or of the largest group.
    measures : sequence of str
        Measures of the test queries, such as ``"map"`` and ``"ndcg@10"``.
    tune : str
        Measure of the validation queries by which everything is chosen.
    convention : str
        Convention of the measures; see :mod:`ranksieve.metrics`.
    scale : {"none", "min-max", "standard"}
        Scale features within each query: not at all, by
        :class:`~ranksieve.preprocessing.QueryMinMaxScaler` (as the LETOR collections do) or by
        :class:`~ranksieve.preprocessing.QueryStandardScaler`. Scaling matters to linear rankers,
        but hardly to trees.
    missing : str
        How to treat missing values (NaN), before features are scaled: ``"keep"``,
        ``"query-min"``, ``"query-median"`` or ``"zero"``, each also with ``"+indicators"``; see
        :class:`ranksieve.Missing`. Indicators are the same in all folds: of the features with
        missing values in any of them. ``"none"``: nothing is declared, and methods refuse NaN.
    seeds : int
        Number of runs of methods that draw random numbers.
    seed : int
        Random seed of the first run, and of protocols that divide queries at random.
    choose : {"best", "one_se"}
        Take the number of features with the best validation value (the fewest if several are
        equal), or the fewest within one standard error of it.
    baselines : bool
        Whether to add all features and random orders to the selectors.
    parameters : mapping of str to mapping
        Method or ranker -> parameters to set instead of their defaults.
    grids : mapping of str to mapping
        Method or ranker -> parameter -> values to choose from, instead of the usual grid.
    include, exclude, groups
        Features that all selectors start with, that are excluded, and that are selected together;
        see :class:`~ranksieve.base.RankSelector`. They hold for the baselines, too: ``all`` has
        all features but those that are excluded. Numbers of features count features.
    own : mapping of str to mapping
        Name of a selector or ranker -> its record: ``class`` (``module:object``), ``parameters``
        and more. Plans fill it in for all methods without a published name.
    """

    selectors: Sequence[Any] = ("greedy-rankrls", "gas-e", "fs-scpr", "fs-ed")
    rankers: Sequence[Any] = ("ranksvm", "lambdamart")
    ks: Sequence[int | str] = (1, 2, 3, 5, 10, 20)
    measures: Sequence[str] = ("map", "ndcg@10")
    tune: str = "map"
    convention: str = "standard"
    scale: str = "none"
    missing: str = "none"
    seeds: int = 5
    seed: int = 0
    choose: Rule = "best"
    baselines: bool = True
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    grids: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)
    include: Sequence[int | str] = ()
    exclude: Sequence[int | str] = ()
    groups: Mapping[str, Sequence[int | str]] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    inside: Mapping[str, Method] = field(init=False, repr=False, compare=False)
    _methods: Mapping[str, Method] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, value in check_settings(vars(self)).items():
            self._set(name, value)
        wanted = [*self.selectors, *((BASE, RANDOM) if self.baselines else ())]
        selectors = find_methods(wanted, SELECTORS, self.own)
        rankers = find_methods(self.rankers, RANKERS, self.own)
        for name in selectors.keys() & rankers.keys():
            raise ValueError(
                f"a selector and a ranker are both called {name!r}: rename one of them"
            )
        self._set("_methods", selectors | rankers)
        self._set("selectors", tuple(selectors))
        self._set("rankers", tuple(rankers))
        self._set("ks", tuple(sorted(set(self.ks), key=lambda k: (isinstance(k, str), k))))
        self._set("measures", tuple(dict.fromkeys(_measure(name) for name in self.measures)))
        self._set("tune", _measure(self.tune))
        for name in (*self.measures, self.tune):
            parse_measure(name).check_defined(get_convention(self.convention))
        if self.missing != "none":
            self._set("missing", Missing(self.missing).name)
        for what in ("selectors", "rankers", "measures", "ks"):
            if not getattr(self, what):
                raise ValueError(f"a study needs {what}, but there are none")
        for name, known in (("choose", get_args(Rule)), ("scale", SCALES)):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name} must be one of {', '.join(known)}, got {getattr(self, name)!r}"
                )
        self._check_methods()
        self._set("inside", self._find_inside())
        self._set("own", {name: self._record(name) for name in self._own_names()})

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_methods(self) -> None:
        for name in (*self.parameters, *self.grids):
            if name not in (*self.selectors, *self.rankers):
                raise ValueError(f"there are parameters for {name!r}, which is not in the study")
        for names, registry in ((self.selectors, SELECTORS), (self.rankers, RANKERS)):
            for name in names:
                self._check_parameters(name, registry)

    def _check_parameters(self, name: str, registry: Registry) -> None:
        method, own, grid = self.method(name), self.parameters.get(name, {}), self._grid_of(name)
        if isinstance(method, OwnMethod) and method.is_recorded:
            return  # it is finished, and its class may not be available
        registry.check_parameters(method, [*own, *grid])
        self._check_choices(name, method)
        for parameter, values in [*((p, [v]) for p, v in own.items()), *grid.items()]:
            for value in values:
                _check_value(method, parameter, value)

    def _check_choices(self, name: str, method: Method) -> None:
        """Raise a ValueError with the reason if a selector does not support a common setting."""
        for what, given, why in (
            ("include", self.include, method.no_include),
            ("groups", self.groups, method.no_groups),
        ):
            if given and why and name in self.selectors:
                raise ValueError(f"{name} takes no {what}: {why}")

    def _find_inside(self) -> dict[str, Method]:
        """Rankers that selectors train, which are given by name."""
        found = {}
        for selector in self.selectors:
            if self.method(selector).is_ours:
                given = [self.parameters.get(selector, {}), *self.grid(selector)]
                for name in [own["ranker"] for own in given if "ranker" in own]:
                    known = self._methods.get(name) if name in self.rankers else None
                    found[name] = known or find_method(name, RANKERS, self.own)
        return found

    def _own_names(self) -> list[str]:
        everyone = {**self._methods, **self.inside}
        return [name for name, method in everyone.items() if isinstance(method, OwnMethod)]

    def _record(self, name: str) -> dict[str, Any]:
        """Record of an estimator for the plan file."""
        method = {**self._methods, **self.inside}[name]
        assert isinstance(method, OwnMethod)
        record = dict(method.record)
        if name in self.selectors and not method.is_recorded:
            points = [self.settings(name) | point for point in self.grid(name)]
            selectors = [make_study_selector(method, None, point, self.inside) for point in points]
            record["nested"] = all(selector.is_nested for selector in selectors)
        return record

    def make_selector(
        self, name: str, k: int | None = None, point: Mapping[str, Any] | None = None
    ) -> Any:
        """Make a selector of the plan, with a point of its grid."""
        parameters = self.settings(name) | dict(point or {})
        return make_study_selector(self.method(name), k, parameters, self.inside)

    def is_nested(self, candidate: SelectorVariant, k: int) -> bool:
        """Whether larger selections of a candidate start with the smaller ones."""
        if candidate.selector in self.own:
            return bool(self.own[candidate.selector].get("nested", False))
        return self.make_selector(candidate.selector, k, candidate.parameters).is_nested

    def takes_number(self, selector: str) -> bool:
        """Whether a selector takes the number of features to select."""
        return selector in self.own or "n_features_to_select" in self.method(selector).defaults

    def sizes(self, n_features: int, least: int = 1) -> list[int]:
        """Numbers of features to try, ascending: at most ``n_features``, and at least ``least``."""
        sizes = {n_features if k == "all" else int(k) for k in self.ks}
        kept = sorted(k for k in sizes if least <= k <= n_features)
        if not kept and least > 1:
            raise DataError(
                f"set ks to numbers from {least}, because of included features or groups, to "
                f"{n_features}, or all"
            )
        if not kept:
            raise DataError(
                f"the data has only {quantity(n_features, 'feature')}; set ks to smaller numbers "
                "or all"
            )
        return kept

    def method(self, name: str) -> Method:
        """Selector or ranker with this name."""
        return self._methods[name]

    def seeds_of(self, selector: str, ranker: str) -> list[int | None]:
        """Seeds of a selector with a ranker: several if one of them draws random numbers."""
        if self.method(selector).is_seeded or self.method(ranker).is_seeded:
            return list(range(self.seed, self.seed + self.seeds))
        return [None]

    def candidates(self, selector: str, seed: int | None) -> Iterator[SelectorVariant]:
        """The selector with all parameters of its grid, for one seed."""
        own = seed if self.method(selector).is_seeded else None
        for point in self.grid(selector):
            yield SelectorVariant(selector, point, own)

    def settings(self, name: str) -> Parameters:
        """Parameters of a method or ranker that the plan fixes."""
        choices = {what: getattr(self, what) for what in CHOICES if getattr(self, what)}
        own = dict(self.parameters.get(name, {}))
        return choices | own if name in self.selectors else own

    def grid(self, name: str) -> list[Parameters]:
        """Grid of a method or ranker, point by point; one empty point if there is no grid."""
        return grid_points(self._grid_of(name))

    def _grid_of(self, name: str) -> Mapping[str, Sequence[Any]]:
        fixed, usual = self.parameters.get(name, {}), self.method(name).grid
        kept = {key: values for key, values in usual.items() if key not in fixed}
        return self.grids.get(name, kept)

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as values that TOML and JSON can store."""
        values = {name: getattr(self, name) for name in PLAN_SETTINGS}
        return {n: list(v) if isinstance(v, tuple) else v for n, v in values.items()}


PLAN_SETTINGS = tuple(setting.name for setting in fields(Plan) if setting.init)


def reimport_estimators(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a plan file for another run, in which estimators are imported again."""
    own = {
        name: {key: record[key] for key in ("class", "parameters", "grid") if key in record}
        for name, record in _records(settings.get("own", {})).items()
    }
    return dict(settings) | ({"own": own} if own else {})


def _records(own: Any) -> dict[str, Any]:
    checked: dict[str, Any] = check_settings({"own": own})["own"]
    return checked


def _check_value(method: Method, parameter: str, value: Any) -> None:
    """Raise a ValueError for values that estimators would misinterpret; they check others."""
    if not method.is_ours:
        return
    if parameter == "ranker" and not isinstance(value, str):
        raise ValueError(f"{method.name}: ranker must be the name of a ranker, got {value!r:.60}")
    if isinstance(value, bool) and "." not in parameter:  # fields of values are checked there
        allowed = method.kind._parameter_constraints[parameter]
        if not any(kind in allowed for kind in ("boolean", "verbose", "no_validation")):
            raise ValueError(f"{method.name}: {parameter} must not be true or false")


def make_study_selector(
    method: Method, k: int | None, parameters: Mapping[str, Any], inside: Mapping[str, Method]
) -> RankSelector:
    """Make a selector; the ranker that it trains is given by name, as in files."""
    own = dict(parameters)
    if method.is_ours and "ranker" in own:
        own["ranker"] = inside[own["ranker"]].make()
    # Adapters of other estimators have these parameters themselves.
    choices = {name: own.pop(name) for name in CHOICES if name in own}
    return make_method(method, k, **own).set_params(**choices)


def _measure(name: str) -> str:
    """Name of a measure as printed; raises a ValueError if unknown or if smaller is better."""
    measure = parse_measure(name)
    if not measure.greater_is_better:
        raise ValueError(f"{measure} is an error; studies need measures where larger is better")
    return str(measure)
