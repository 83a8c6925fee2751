"""Methods by their published names, as the command line and studies use them.

A method is added by one line in ``METHODS``. Its module is imported when it is first used.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranksieve.base import RankSelector

_C = {"c": (0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1)}
_TRADE_OFF = {"trade_off": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)}
_MAP, _LOSS = {"importance": "map"}, {"importance": "loss"}


@dataclass(frozen=True)
class Method:
    """A selector under its published name.

    Attributes
    ----------
    path : str
        Module within ``ranksieve.selectors``, and class.
    description : str
        One line.
    preset : mapping
        Parameters that make the class this method.
    grid : mapping
        Parameter -> values to tune it over on validation data; the number of features is not one
        of them.
    """

    path: str
    description: str
    preset: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def selector_class(self) -> type[RankSelector]:
        """The class, imported now."""
        module, name = self.path.split(".")
        return getattr(import_module(f"ranksieve.selectors.{module}"), name)

    @property
    def defaults(self) -> dict[str, Any]:
        """Parameter -> what it is unless somebody says otherwise."""
        parameters = inspect.signature(self.selector_class).parameters
        return {name: p.default for name, p in parameters.items()} | dict(self.preset)

    @property
    def uses_held_out_data(self) -> bool:
        """Whether ``fit`` takes ``eval_set``."""
        return "eval_set" in inspect.signature(self.selector_class.fit).parameters


METHODS: dict[str, Method] = {
    "gas-e": Method("gas.GAS", "importance by a measure (MAP), less similarity", _MAP, _C),
    "gas-l": Method("gas.GAS", "importance by pairwise loss, less similarity", _LOSS, _C),
    "ig": Method("dependence.InformationGain", "information gain about the label"),
    "chi": Method("dependence.ChiSquare", "chi-square statistic with the label"),
    "fs-ed": Method("divergence.FSED", "NDCG@10 plus divergence between the grades' densities"),
    "fs-scpr": Method("spectral.FSSCPR", "spectral clusters, their best by biased PageRank"),
    "greedy-rankrls": Method(
        "greedy_rankrls.GreedyRankRLS",
        "exact leave-query-out error of pairwise least squares",
        grid={"lam": tuple(2.0**power for power in range(-10, 11))},
    ),
    "greedy-rankrls-cv": Method(
        "greedy_rankrls_cv.GreedyRankRLSCV",
        "the same, lambda and number of features by validation",
    ),
    "mmr": Method("diversity.MMR", "maximal marginal relevance", grid=_TRADE_OFF),
    "msd": Method(
        "diversity.MSD", "maximum sum dispersion: pairs unlike each other", grid=_TRADE_OFF
    ),
    "mpt": Method(
        "diversity.MPT", "modern portfolio theory: importance less risk", grid=_TRADE_OFF
    ),
    "mrmr": Method("diversity.MRMR", "minimal redundancy, maximal relevance", grid=_TRADE_OFF),
    "ngas": Method("navigation.NGAS", "naive greedy walk from feature to feature, by contrast"),
    "xgas": Method("navigation.XGAS", "extended greedy walk: the best of those least alike"),
    "hcas": Method("hierarchy.HCAS", "Ward's clusters, the most important feature of each"),
    "hierarchical": Method("hierarchy.Hierarchical", "hierarchical clusters, a delegate of each"),
    "top": Method("baselines.TopImportance", "the best single features"),
    "random": Method("baselines.RandomSelector", "a seeded random order: the one to beat"),
    "all": Method("baselines.AllFeatures", "all features, in the order of the data"),
}


def get_method(name: str) -> Method:
    """Method with this name; a ValueError lists the known ones."""
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; known are {', '.join(METHODS)}")
    return METHODS[name]


def check_parameters(name: str, parameters: Iterable[str]) -> None:
    """Raise a ValueError that lists the parameters of a method if it lacks one of these."""
    known = [p for p in get_method(name).defaults if p != "n_features_to_select"]
    for parameter in parameters:
        if parameter not in known:
            raise ValueError(
                f"method {name!r} has no parameter {parameter!r}; it has {', '.join(known)}"
            )


def make_selector(name: str, k: float | str | None = None, **parameters: Any) -> RankSelector:
    """Make a selector by the published name of its method.

    Parameters
    ----------
    name : str
        One of ``METHODS``.
    k : int, float or str, optional
        ``n_features_to_select``: a number, a share below 1, or a word of a method that can choose
        the number itself. By default that of the class. Methods that keep all features take none.
    **parameters
        Further parameters of the class.

    Examples
    --------
    >>> from ranksieve.selectors.registry import make_selector
    >>> make_selector("gas-l", 5, c=0.1)
    GAS(c=0.1, importance='loss', n_features_to_select=5)
    """
    check_parameters(name, parameters)
    method = get_method(name)
    settings = dict(method.preset) | parameters
    if k is not None:
        if "n_features_to_select" not in method.defaults:
            raise ValueError(f"method {name!r} keeps all features: it takes no number of them")
        settings["n_features_to_select"] = k
    return method.selector_class(**settings)
