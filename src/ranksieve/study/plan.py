"""The plan of a study: selectors, rankers, numbers of features, and how to tune and measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from sklearn.model_selection import ParameterGrid

from ranksieve.data import DataError
from ranksieve.metrics import get_convention, parse_measure
from ranksieve.missing import Missing
from ranksieve.preprocessing import SCALES
from ranksieve.rankers.registry import RANKERS
from ranksieve.registry import Registry
from ranksieve.selectors.registry import SELECTORS
from ranksieve.study.results import BASE, RANDOM
from ranksieve.study.settings import check_settings
from ranksieve.text import quantity

Parameters = dict[str, Any]
Rule = Literal["best", "one_se"]


class Candidate(NamedTuple):
    """A selector with one point of its grid; ``seed`` is None if it draws no random numbers."""

    selector: str
    parameters: Parameters
    seed: int | None


@dataclass(frozen=True)
class Plan:
    """What to compare, and how.

    Parameters
    ----------
    selectors : sequence of str
        Names of methods; see ``ranksieve select --methods``.
    rankers : sequence of str
        Names of rankers; see ``ranksieve train --rankers``.
    ks : sequence of int or "all"
        Numbers of features. Numbers above that of the data are left out.
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
        What is done with missing values (NaN), before features are scaled: ``"keep"``,
        ``"query-min"``, ``"query-median"`` or ``"zero"``, each also with ``"+indicators"``; see
        :class:`ranksieve.Missing`. Indicators are the same in all folds: of the features with
        missing values in any of them. ``"none"``: nothing is declared, and methods refuse NaN.
    seeds : int
        Number of runs of methods that draw random numbers.
    seed : int
        Random seed of the first run, and of protocols that divide queries at random.
    choose : {"best", "one_se"}
        Take the number of features with the best validation value (the fewest of equals), or the
        fewest within one standard error of it.
    baselines : bool
        Whether to add all features and random orders to the selectors.
    parameters : mapping of str to mapping
        Method or ranker -> parameters to set instead of their defaults.
    grids : mapping of str to mapping
        Method or ranker -> parameter -> values to choose from, instead of the usual grid.
    """

    selectors: Sequence[str] = ("greedy-rankrls", "gas-e", "fs-scpr", "fs-ed")
    rankers: Sequence[str] = ("ranksvm", "lambdamart")
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

    def __post_init__(self) -> None:
        for name, value in check_settings(vars(self)).items():
            self._set(name, value)
        wanted = [*self.selectors, *((BASE, RANDOM) if self.baselines else ())]
        self._set("selectors", tuple(dict.fromkeys(wanted)))
        self._set("rankers", tuple(dict.fromkeys(self.rankers)))
        self._set("ks", tuple(sorted(set(self.ks), key=lambda k: (isinstance(k, str), k))))
        self._set("measures", tuple(dict.fromkeys(_measure(name) for name in self.measures)))
        self._set("tune", _measure(self.tune))
        get_convention(self.convention)
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

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_methods(self) -> None:
        for names, registry in ((self.selectors, SELECTORS), (self.rankers, RANKERS)):
            for name in names:
                own, grid = self.parameters.get(name, {}), self.grids.get(name, {})
                registry.check_parameters(name, own)
                registry.check_parameters(name, grid)
                for parameter, value in own.items():
                    _check_value(registry, name, parameter, value)
                for parameter, values in grid.items():
                    for value in values:
                        _check_value(registry, name, parameter, value)
        for name in (*self.parameters, *self.grids):
            if name not in (*self.selectors, *self.rankers):
                raise ValueError(f"there are parameters for {name!r}, which is not in the study")

    def sizes(self, n_features: int) -> list[int]:
        """Numbers of features to try on data with ``n_features``, ascending."""
        sizes = {n_features if k == "all" else int(k) for k in self.ks}
        kept = sorted(k for k in sizes if k <= n_features)
        if not kept:
            raise DataError(
                f"there is only {quantity(n_features, 'feature')}; set ks to smaller numbers or all"
            )
        return kept

    def seeds_of(self, selector: str, ranker: str) -> list[int | None]:
        """Seeds of a selector with a ranker: several if one of them draws random numbers."""
        if SELECTORS[selector].is_seeded or RANKERS[ranker].is_seeded:
            return list(range(self.seed, self.seed + self.seeds))
        return [None]

    def candidates(self, selector: str, seed: int | None) -> Iterator[Candidate]:
        """The selector with all parameters of its grid, for one seed."""
        own = seed if SELECTORS[selector].is_seeded else None
        for point in self.grid(selector, SELECTORS):
            yield Candidate(selector, point, own)

    def settings(self, name: str, registry: Registry) -> Parameters:
        """Fixed parameters of a method or ranker."""
        return dict(registry[name].preset) | dict(self.parameters.get(name, {}))

    def grid(self, name: str, registry: Registry) -> list[Parameters]:
        """Grid of a method or ranker, point by point; one empty point if there is no grid."""
        fixed = self.parameters.get(name, {})
        usual = {key: values for key, values in registry[name].grid.items() if key not in fixed}
        grid = self.grids.get(name, usual)
        return list(ParameterGrid({key: list(values) for key, values in grid.items()}))

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as values that TOML and JSON can store."""
        listed = {name: list(v) for name, v in vars(self).items() if isinstance(v, tuple)}
        return vars(self) | listed


def _check_value(registry: Registry, name: str, parameter: str, value: Any) -> None:
    """Raise a ValueError for values that estimators would misread; they check all others."""
    if parameter == "ranker" and not isinstance(value, str):
        raise ValueError(f"{name}: ranker must be the name of a ranker, got {value!r:.60}")
    if isinstance(value, bool) and "." not in parameter:  # parts of values check themselves
        allowed = registry[name].kind._parameter_constraints[parameter]
        if not any(kind in allowed for kind in ("boolean", "verbose", "no_validation")):
            raise ValueError(f"{name}: {parameter} must not be true or false")


def _measure(name: str) -> str:
    """Name of a measure as it is printed; a ValueError if it is unknown or an error."""
    measure = parse_measure(name)
    if not measure.greater_is_better:
        raise ValueError(f"{measure} is an error; studies need measures where larger is better")
    return str(measure)
