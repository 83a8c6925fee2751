"""The plan of a study: its selectors and rankers by name, sizes, and how to tune and measure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any, Literal, get_args

from ranksieve.data.missing import Missing
from ranksieve.experiments.cells import CHOICES, make_selector
from ranksieve.metrics import get_convention, parse_measure
from ranksieve.preprocessing import SCALES
from ranksieve.rankers.registry import RANKERS
from ranksieve.registry import Method, Registry
from ranksieve.selectors.registry import SELECTORS
from ranksieve.study.results import BASE, RANDOM
from ranksieve.study.settings import check_settings
from ranksieve.text import file_stem

Parameters = dict[str, Any]
Rule = Literal["best", "one-se"]
_LONGEST = 60  # characters of a name that a user gives


def grid_points(grid: Mapping[str, Sequence[Any]]) -> list[Parameters]:
    """All combinations of the values of a grid, in the order of scikit-learn's ParameterGrid.

    Importing that would import half of scikit-learn with it.
    """
    names = sorted(grid)
    points = product(*(grid[name] for name in names))
    return [dict(zip(names, point, strict=True)) for point in points]


@dataclass(frozen=True)
class PlanSettings(ABC):
    """The settings of a plan, and the methods that they name.

    :class:`Plan` finds the methods to run them. :class:`RecordedPlan` reads the settings of a
    finished study, and knows its methods only by what its files say about them.
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
        selectors = self._find_methods(wanted, SELECTORS)
        rankers = self._find_methods(self.rankers, RANKERS)
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

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _find_methods(self, entries: Sequence[Any], registry: Registry) -> dict[str, Method]:
        """Find the methods that entries of the plan mean, by name, in their order."""
        return {entry: self._find_method(entry, registry) for entry in entries}

    @abstractmethod
    def _find_method(self, entry: Any, registry: Registry) -> Method:
        """Find the method that one entry means."""

    def _check_methods(self) -> None:
        """Raise a ValueError if there are settings for methods that are not in the study."""
        for name in (*self.parameters, *self.grids):
            if name not in (*self.selectors, *self.rankers):
                raise ValueError(f"there are parameters for {name!r}, which is not in the study")

    def _find_inside(self) -> dict[str, Method]:
        """Rankers that selectors train, which are given by name."""
        found = {}
        for selector in self.selectors:
            if self.method(selector).is_ours:
                settings = [self.parameters.get(selector, {}), *self.grid(selector)]
                for name in [own["ranker"] for own in settings if "ranker" in own]:
                    known = self._methods.get(name) if name in self.rankers else None
                    found[name] = known or self._find_method(name, RANKERS)
        return found

    def method(self, name: str) -> Method:
        """Selector or ranker with this name."""
        return self._methods[name]

    def seeds_of(self, selector: str, ranker: str) -> list[int | None]:
        """Seeds of a selector with a ranker: several if one of them draws random numbers."""
        if self.method(selector).is_seeded or self.method(ranker).is_seeded:
            return list(range(self.seed, self.seed + self.seeds))
        return [None]

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


PLAN_SETTINGS = tuple(setting.name for setting in fields(PlanSettings) if setting.init)


@dataclass(frozen=True)
class Plan(PlanSettings):
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
        missing values in any of them. ``"none"``: nothing is declared. Missing values are kept,
        and a method that takes none is an error before anything runs.
    seeds : int
        Number of runs of methods that draw random numbers.
    seed : int
        Random seed of the first run, and of protocols that divide queries at random.
    choose : {"best", "one-se"}
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

    Notes
    -----
    A plan is code to run: classes and objects that it names are imported and called.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        everyone = {**self._methods, **self.inside}.items()
        own = {name: method for name, method in everyone if method.has_record}
        self._set("own", {name: self._record(name, method) for name, method in own.items()})

    def _find_methods(self, entries: Sequence[Any], registry: Registry) -> dict[str, Method]:
        return find_methods(entries, registry, self.own)

    def _find_method(self, entry: Any, registry: Registry) -> Method:
        return find_method(entry, registry, self.own)

    def _check_methods(self) -> None:
        super()._check_methods()
        for names, registry in ((self.selectors, SELECTORS), (self.rankers, RANKERS)):
            for name in names:
                self._check_parameters(name, registry)

    def _check_parameters(self, name: str, registry: Registry) -> None:
        method, own, grid = self.method(name), self.parameters.get(name, {}), self._grid_of(name)
        registry.check_parameters(method, [*own, *grid])
        for what, wanted, why in (
            ("include", self.include, method.no_include),
            ("groups", self.groups, method.no_groups),
        ):
            if wanted and why and name in self.selectors:
                raise ValueError(f"{name} takes no {what}: {why}")
        for parameter, values in [*((p, [v]) for p, v in own.items()), *grid.items()]:
            for value in values:
                _check_value(method, parameter, value)

    def _record(self, name: str, method: Method) -> dict[str, Any]:
        """Record of an estimator for the plan file."""
        record = dict(method.record)
        if name in self.selectors:
            selectors = [self.make_selector(name, None, point) for point in self.grid(name)]
            record["nested"] = all(selector.is_nested for selector in selectors)
        return record

    def make_selector(
        self, name: str, k: int | None = None, point: Mapping[str, Any] | None = None
    ) -> Any:
        """Make a selector of the plan, with a point of its grid."""
        parameters = self.settings(name) | dict(point or {})
        return make_selector(self.method(name), k, parameters, self.inside)

    def is_nested(self, name: str, k: int, point: Mapping[str, Any]) -> bool:
        """Whether larger selections of a selector start with the smaller ones."""
        if name in self.own:
            return bool(self.own[name]["nested"])
        return bool(self.make_selector(name, k, point).is_nested)


@dataclass(frozen=True)
class RecordedPlan(PlanSettings):
    """The plan of a finished study, as its files record it, to show the results.

    Files may come from anybody, so nothing that they name is imported, made or called: methods are
    published ones of this version, or names with a record.
    """

    def _find_method(self, entry: Any, registry: Registry) -> Method:
        if not isinstance(entry, str):
            raise ValueError(f"expected the name of a {registry.what}, got {entry!r:.60}")
        if entry in self.own:
            return Method.from_record(entry, self.own[entry])
        published = registry.built_in.get(entry)
        if published is None or not published.is_ours:
            raise ValueError(
                f"{entry!r:.80} is neither a {registry.what} of this version nor recorded under "
                "'own': another version wrote the file, or another program"
            )
        return published


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


def _measure(name: str) -> str:
    """Name of a measure as printed; raises a ValueError if unknown or if smaller is better."""
    measure = parse_measure(name)
    if not measure.greater_is_better:
        raise ValueError(f"{measure} is an error; studies need measures where larger is better")
    return str(measure)


def find_methods(
    entries: Sequence[Any], registry: Registry, recorded: Mapping[str, Mapping[str, Any]]
) -> dict[str, Method]:
    """Find the methods that the entries of a plan mean, by name, in their order.

    :meth:`Registry.find` says what an entry can be; ``recorded`` maps names to the records of
    estimators in a plan file.
    """
    methods = [find_method(entry, registry, recorded) for entry in entries]
    are_named = [_is_named(entry, recorded) for entry in entries]
    taken = {file_stem(m.name) for m, is_named in zip(methods, are_named, strict=True) if is_named}
    found: dict[str, Method] = {}
    for entry, method, is_named in zip(entries, methods, are_named, strict=True):
        if not is_named:
            name = _free_name(method.name, taken)
            taken.add(file_stem(name))
            found[name] = replace(method, name=name)
        elif isinstance(entry, str) and "=" not in entry:  # the same method twice is allowed
            found[method.name] = method
        else:
            _check_name(method.name, found, registry)
            found[method.name] = method
    return found


def find_method(
    entry: Any, registry: Registry, recorded: Mapping[str, Mapping[str, Any]]
) -> Method:
    """Find the method of one entry; methods without published names have class and version."""
    if isinstance(entry, str) and entry in recorded:
        return registry.from_record(entry, recorded[entry])
    method = registry.find(entry)
    own = method if method.is_ours else registry.with_record(method)
    is_own_selector = own.has_record and registry is SELECTORS
    if is_own_selector and "n_features_to_select" not in own.defaults:
        raise ValueError(
            f"selector {own.name!r} takes no number of features, but a study compares subsets "
            "of given sizes: add a parameter n_features_to_select, k or max_features to it"
        )
    return own


def _is_named(entry: Any, recorded: Mapping[str, Any]) -> bool:
    if isinstance(entry, str):
        return entry in recorded or ":" not in entry or "=" in entry
    return isinstance(entry, (tuple, list))


def _free_name(wanted: str, taken: set[str]) -> str:
    """The name, or the name with the first number that makes it unique."""
    name, number = wanted, 1
    while file_stem(name) in taken or _is_published(name):
        number += 1
        name = f"{wanted}-{number}"
    return name


def _check_name(name: str, others: Mapping[str, Method], registry: Registry) -> None:
    what = registry.what if registry is RANKERS else "selector"
    is_plain = name.isprintable() and name == name.strip() and file_stem(name)
    if not is_plain or len(name) > _LONGEST:
        raise ValueError(
            f"a {what} cannot be called {name!r:.80}: use letters, digits and other characters "
            f"that can be printed, at most {_LONGEST}"
        )
    if _is_published(name):
        raise ValueError(
            f"{name!r} is a published name and cannot stand for another {what}: choose another name"
        )
    for other in others:
        if file_stem(other) == file_stem(name):
            raise ValueError(
                f"two {what}s are called {name!r}"
                + (f" and {other!r}, which is the same in names of files" if other != name else "")
                + ": give each a name of its own, as in [('first', ...), ('second', ...)]"
            )


def _is_published(name: str) -> bool:
    return name in SELECTORS or name in RANKERS
