"""Results made by hand, for reports of them: a study, a recommendation and an inspection."""

from dataclasses import replace

import numpy as np

from ranksieve import RankingData
from ranksieve.recommendation.answer import (
    CurvePoint,
    DroppedFeature,
    DroppedGroup,
    KeptFeature,
    KeptGroup,
    Recommendation,
    Substitute,
)
from ranksieve.recommendation.claim import Claim
from ranksieve.recommendation.evidence import Alone, Evidence, Judges, Likeness, Spent
from ranksieve.study.first_fold import FeatureDensities, FirstFold
from ranksieve.study.results import FoldSummary, Outcome, Outcomes, Run, StudyResult
from tests.report.browser import HOSTILE

NAMES = [f"feature {number}" for number in range(1, 13)]


def made(names=NAMES, n_kept=4, n_queries=30, **change):
    """An answer by hand: ``n_kept`` features, judged by three parts of the queries.

    If these are all, no smaller set is shown to be enough.
    """
    rng = np.random.default_rng(0)
    n = len(names)
    kept, gone = list(range(n_kept)), list(range(n_kept, n))
    base = rng.uniform(0.3, 0.8, 3 * n_queries)
    shift = change.pop("shift", 0.0 if gone else -0.03)
    values = base + rng.normal(0, 0.02, base.shape) + shift
    claim = claim_of(values, base, "set" if gone else "none")
    similarity = np.abs(np.corrcoef(rng.normal(size=(min(n, 150), 8)))).round(4)
    curve = change.pop("curve", None)
    if curve is None:
        curve = curve_of([*range(min(n_kept, 4)), *([n_kept] if gone else [])], claim)
    evidence = Evidence(
        judges=Judges(
            [f"{q // n_queries + 1}:{q} {HOSTILE[q % len(HOSTILE)]}" for q in range(len(base))],
            base.tolist(),
            values.tolist(),
            None,
        ),
        # One more feature is in every second path.
        shares=[
            dict.fromkeys(one.features, 1.0) | ({one.size: 0.5} if one.size < n else {})
            for one in curve
        ],
        repeats=3,
        noise=0.125,
        alone=Alone(rng.uniform(0.2, 0.6, n).tolist(), rng.choice([-1, 1], n).tolist(), 0.25),
        likeness=Likeness(
            list(range(len(similarity))),
            [similarity[row, :row].tolist() for row in range(len(similarity))],
        ),
        spent=[Spent("lambdamart", 90, 12.5), Spent("greedy-rankrls", 3, 0.25)],
        elapsed=8.0,
        n_resumed=0,
        versions={"python": "3.11", "numpy": "2.0"},
        command=["ranksieve", "recommend", "my data.txt"],
    )
    settings = {
        "measure": "NDCG@10", "convention": "standard", "ranker": "lambdamart",
        "ranker_parameters": {}, "path": "greedy-rankrls", "margin": 0.02,
        "budget": change.pop("budget", None), "level": 0.95, "seed": 7, "include": [],
        "exclude": [], "missing": "none", "ranksieve": "1.0", "fingerprint": "f1f2f3f4f5f6f7f8",
        "scale": "none", "treated": None, "columns": None, "division": "3 parts",
        "costs": {
            "features": dict.fromkeys(names, 1.0),
            "groups": {name: name for name in names[:3]},
            "group_costs": dict.fromkeys(names[:3], 2.0),
        },
        "cost_unit": "",
    }  # fmt: skip
    near = Substitute(gone[0], names[gone[0]], 0.95, 1.0) if gone else None
    parts = dict(
        title="My data",
        feature_names=list(names),
        features=kept,
        claim=claim,
        cost=float(n_kept),
        cost_of_all=float(n),
        has_costs=True,
        curve=curve,
        kept=[
            KeptFeature(f, names[f], 1.0, 0.03, 0.01, 0.05, 0.9, 1.0, (near,))
            if gone
            else KeptFeature(f, names[f], 1.0)
            for f in kept
        ],
        dropped=[DroppedFeature(f, names[f], 1.0, f"near-copy of {names[0]}") for f in gone],
        kept_groups=[KeptGroup(names[0], 2.0, kept[:1], 3.0, 0.03, 0.01, 0.05)] if kept else [],
        dropped_groups=[DroppedGroup(names[-1], 1.5, gone[-1:], 2.5)] if gone else [],
        settings=settings,
        evidence=evidence,
    )
    return Recommendation(**parts | change)


def claim_of(values, base, about):
    """A claim about the values of the queries; if it is about no set, it is not shown."""
    claim = Claim.test(values, base, None, about, "NDCG@10", 0.02, 0.95)
    return replace(claim, is_shown=claim.is_shown and about != "none")


def curve_of(sizes, claim):
    """The first features, for each size; only the last set loses as little as the claim says."""
    last = sizes[-1] if sizes else 0
    return [
        CurvePoint(
            list(range(size)),
            float(size),
            claim.change - 0.06 * (last - size),
            0.01,
            claim.bound - 0.06 * (last - size),
        )
        for size in sizes
    ]


def planted(
    n_selectors=3,
    n_features=12,
    rankers=("ranksvm",),
    n_queries=40,
    names=None,
    selectors=None,
    n_densities=0,
):
    """A study whose selectors are as good as all features from two features on, but for noise.

    Random orders have two seeds, which differ.
    """
    rng = np.random.default_rng(0)
    names = names or [f"feature {number}" for number in range(1, n_features + 1)]
    selectors = list(selectors or (f"selector-{number}" for number in range(n_selectors)))
    ids = [f"{f}:{q} {HOSTILE[q % len(HOSTILE)]}" for f in range(5) for q in range(n_queries)]
    folds = [
        FoldSummary(
            f"Fold{f + 1}", 9, 4, ids[f * n_queries : (f + 1) * n_queries], fingerprint="f0"
        )
        for f in range(5)
    ]
    base = rng.uniform(0.3, 0.7, (5, n_queries))
    sizes = [k for k in (1, 2, 5, 10, 20) if k < len(names)]

    def outcome(fold, k, shift, noise):
        values = {"MAP": base[fold] + shift + rng.normal(0, noise, n_queries)}
        taken = tuple(rng.permutation(len(names))[:k].tolist())
        return Outcome(k, taken, {}, {}, 0.5, 0.01, values, 1.5, 0.2)

    def outcomes_of(k, shift, n_seeds):
        seeds = [[outcome(f, k, shift - s / 50, 0.005) for f in range(5)] for s in range(n_seeds)]
        return Outcomes(seeds, folds)

    def run(selector, ranker):
        if selector == "all":
            tested = Outcomes([[outcome(f, len(names), 0, 0) for f in range(5)]], folds)
            return Run(selector, ranker, tested, {len(names): tested})
        shifts = {k: -0.2 if selector == "random" else -0.1 if k == 1 else 0.001 for k in sizes}
        n_seeds = 2 if selector == "random" else 1
        by_k = {k: outcomes_of(k, shift, n_seeds) for k, shift in shifts.items()}
        return Run(selector, ranker, by_k[sizes[-1]], by_k)

    runs = {(s, r): run(s, r) for r in rankers for s in (*selectors, "all", "random")}
    settings = {"ranksieve": "1.0", "seed": 7, "seeds": 1, "scale": "none", "choose": "best"}
    return StudyResult(
        "A study",
        "five folds",
        "standard",
        "MAP",
        ["MAP"],
        folds,
        names,
        runs,
        settings=settings,
        seen=seen_of(len(names), n_densities),
    )


def seen_of(n_features, n_densities=0):
    """Facts about the data of a study, as they are stored."""
    rng = np.random.default_rng(1)
    compared = list(range(min(150, n_features)))
    similarity = np.abs(np.corrcoef(rng.normal(size=(len(compared), 8)))).round(3)
    points = np.linspace(-1, 4, 40)
    curves = [np.exp(-((points - grade) ** 2)).tolist() for grade in range(3)]
    return FirstFold(
        fold="Fold1",
        measure="MAP",
        importance=rng.uniform(0.2, 0.5, n_features).round(6).tolist(),
        chance=0.25,
        compared=compared,
        likeness=[similarity[row, : row + 1].tolist() for row in compared],
        grades=[0.0, 1.0, 2.0],
        densities=[FeatureDensities(f, points.tolist(), curves) for f in range(n_densities)],
        versions={"numpy": "2.0"},
    )


def with_unequal_folds(result):
    """The study with fewer queries in each further fold, and better values there."""
    folds = [
        replace(fold, query_ids=fold.query_ids[: 40 - 8 * f]) for f, fold in enumerate(result.folds)
    ]

    def cut(tested):
        outcomes = [
            replace(outcome, per_query={"MAP": outcome.per_query["MAP"][: 40 - 8 * f] + f / 20})
            for f, outcome in enumerate(tested.outcomes[0])
        ]
        return Outcomes([outcomes], folds)

    runs = {
        key: replace(run, chosen=cut(run.chosen), by_k={k: cut(o) for k, o in run.by_k.items()})
        for key, run in result.runs.items()
    }
    return replace(result, folds=folds, runs=runs)


def with_one_fold(result, name="test"):
    """The study with its first fold as the only split, such as an earlier and a later part."""
    folds = [replace(result.folds[0], name=name)]

    def cut(tested):
        return Outcomes([seed[:1] for seed in tested.outcomes], folds)

    runs = {
        key: replace(run, chosen=cut(run.chosen), by_k={k: cut(o) for k, o in run.by_k.items()})
        for key, run in result.runs.items()
    }
    return replace(result, folds=folds, runs=runs, protocol="one split")


def planted_data(names=None, n_queries=40):
    rng = np.random.default_rng(3)
    n = 6 * n_queries
    X = rng.normal(size=(n, 9))
    X[:, 6] = X[:, 0]
    X[:, 7] = 1.0
    X[::4, 8] = np.nan
    y = np.clip(np.round(X[:, 0] - X[:, 1] + rng.normal(size=n)), 0, 3)
    qid = np.repeat(np.arange(n_queries), 6)
    order = np.lexsort((-y, qid))  # relevant documents first: the file order leaks
    return RankingData(X[order], y[order], qid, feature_names=names, missing="keep")
