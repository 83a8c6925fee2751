"""Methods by their published names, as the command line and studies use them.

A method is added by one line. Its module is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ranksieve.registry import Method, Registry

if TYPE_CHECKING:
    from ranksieve.base import RankSelector

_C = {"c": (0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1)}
_TRADE_OFF = {"trade_off": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)}
_FSM = {
    "lambda1": (1.0, 0.1, 0.01, 0.001, 0.0001),
    "lambda2": (0.1, 0.01, 0.001, 0.0001, 0.00001),
}
_PATH = {"lam": (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)}
_TREES = {"n_estimators": (50, 200), "num_leaves": (5, 10, 31)}
_MAP, _LOSS = {"importance": "map"}, {"importance": "loss"}


def _method(path: str, description: str, *settings: Any, **named: Any) -> Method:
    return Method(f"ranksieve.selectors.{path}", description, *settings, **named)


_METHODS = {
    "gas-e": _method("filters.gas.GAS", "importance by a measure (MAP), less similarity", _MAP, _C),
    "gas-l": _method("filters.gas.GAS", "importance by pairwise loss, less similarity", _LOSS, _C),
    "ig": _method("filters.ig_chi.InformationGain", "information gain about the label"),
    "chi": _method("filters.ig_chi.ChiSquare", "chi-square statistic with the label"),
    "fs-ed": _method(
        "filters.fs_ed.FSED", "NDCG@10 plus divergence between the grades' densities", draws=False
    ),
    "fs-scpr": _method(
        "filters.fs_scpr.FSSCPR", "spectral clusters, their best by biased PageRank"
    ),
    "fs-bfs": _method(
        "wrappers.fs_bfs.FSBFS",
        "best-first search for subsets, each one new feature",
        grid={"tol": (0.0003, 0.001, 0.003)},
    ),
    "greedy-rankrls": _method(
        "embedded.greedy_rankrls.GreedyRankRLS",
        "exact leave-query-out error of pairwise least squares",
        grid={"lam": tuple(2.0**power for power in range(-10, 11))},
        draws=False,
    ),
    "greedy-rankrls-cv": _method(
        "embedded.greedy_rankrls_cv.GreedyRankRLSCV",
        "the same, lambda and number of features by validation",
        draws=False,
    ),
    "mmr": _method("filters.mmr.MMR", "maximal marginal relevance", grid=_TRADE_OFF),
    "msd": _method(
        "filters.mmr.MSD", "maximum sum dispersion: pairs unlike each other", grid=_TRADE_OFF
    ),
    "mpt": _method(
        "filters.mmr.MPT", "modern portfolio theory: importance less risk", grid=_TRADE_OFF
    ),
    "mrmr": _method("filters.mmr.MRMR", "minimal redundancy, maximal relevance", grid=_TRADE_OFF),
    "ngas": _method("filters.ngas.NGAS", "naive greedy walk from feature to feature, by contrast"),
    "xgas": _method("filters.ngas.XGAS", "extended greedy walk: the best of those least alike"),
    "hcas": _method("filters.hcas.HCAS", "Ward's clusters, the most important feature of each"),
    "hierarchical": _method(
        "filters.hcas.Hierarchical", "hierarchical clusters, a delegate of each"
    ),
    "fsmrank": _method(
        "embedded.fsmrank.FSMRank",
        "pairwise hinge, similarity, importance: one convex problem",
        grid=_FSM,
    ),
    "fsmsvm": _method(
        "embedded.fsmrank.FSMSVM",
        "RankSVM on the features with large weights in FSMRank",
        grid=_FSM,  # C changes its weights, but not what it selects
    ),
    "ranksvm-l1": _method(
        "embedded.ranksvm_sparse.SparseRankSVM",
        "RankSVM whose absolute weights cost",
        {"penalty": "l1"},
        _PATH,
    ),
    "ranksvm-mcp": _method(
        "embedded.ranksvm_sparse.SparseRankSVM",
        "the same, large weights at no extra cost (MCP)",
        {"penalty": "mcp"},
        _PATH | {"gamma": (1.5, 3.0, 10.0)},
    ),
    "ranksvm-log": _method(
        "embedded.ranksvm_sparse.SparseRankSVM",
        "the same, weights at logarithmic cost",
        {"penalty": "log"},
        _PATH | {"epsilon": (0.1, 1.0, 10.0)},
    ),
    "fenchelrank": _method(
        "embedded.fenchelrank.FenchelRank",
        "RankSVM with weights in an L1 ball",
        grid={"radius": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)},
    ),
    "sequential": _method(
        "wrappers.sequential.SequentialSelector",
        "what helps a ranker most, or is missed least, in turn",
        draws=False,
    ),
    "elimination": _method(
        "wrappers.elimination.EliminationSelector",
        "train a ranker, take out what it makes least of, again",
    ),
    "bt-influence": _method(
        "trees.bt_influence.BoostedTrees",
        "largest influence in boosted trees",
        grid=_TREES,
        draws=False,
    ),
    "bt-discounted": _method(
        "trees.bt_influence.DiscountedBoostedTrees",
        "the same, less similarity",
        grid=_TREES | _C,
        draws=False,
    ),
    "bt-randomized": _method(
        "trees.bt_randomized.RandomizedBoostedTrees",
        "random subsets, thinned out by influence",
        grid=_TREES | {"subset_size": (0.3, 0.5, 0.8)},
    ),
    "rankfilter": _method(
        "filters.rankfilter.RankFilter", "Relief within queries, by relevance levels"
    ),
    "rankwrapper": _method(
        "filters.rankfilter.RankWrapper", "Relief within queries, by relative orderings"
    ),
    "annealing": _method(
        "wrappers.annealing.SimulatedAnnealing",
        "annealing over subsets, by held-out RankRLS",
        grid={"lam": (0.01, 0.1, 1.0, 10.0, 100.0)},
    ),
    "top": _method("baselines.TopImportance", "the best single features"),
    "random": _method("baselines.RandomSelector", "a seeded random order: the one to beat"),
    "all": _method("baselines.AllFeatures", "all features, in the order of the data"),
}

METHODS = Registry("method", _METHODS)


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
    METHODS.check_parameters(name, parameters)
    method = METHODS[name]
    settings = dict(method.preset) | parameters
    if k is not None:
        if "n_features_to_select" not in method.defaults:
            raise ValueError(f"method {name!r} keeps all features: it takes no number of them")
        settings["n_features_to_select"] = k
    return method.kind(**settings)
