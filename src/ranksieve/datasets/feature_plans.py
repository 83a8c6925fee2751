"""Plans of planted features: their kinds, families and shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

# Values of a tied feature: counts 0, 1, 2, ..., of which about 63 % are 0.
_STEPS = 1.5
_AT_LEAST = ndtr(-(np.arange(1, 16) - 0.5) / _STEPS)  # P(count >= 1), P(count >= 2), ...
_COUNT_MEAN = _AT_LEAST.sum()
_COUNT_DEVIATION = np.sqrt((_AT_LEAST * (2 * np.arange(1, 16) - 1)).sum() - _COUNT_MEAN**2)


@dataclass(frozen=True, eq=False)
class RankingTruth:
    """Properties of planted features; arrays have one entry per feature unless noted.

    ``kind`` is "informative", "redundant" (noisy copy), "duplicate" (exact copy), "noise", "query"
    (the same for all documents of a query) or "constant".
    """

    informative: np.ndarray  # increasing 0-based indices of the informative features
    weights: np.ndarray  # of the latent value in the utility; 0 unless informative
    kind: np.ndarray
    source: np.ndarray  # feature that this one copies, or -1
    families: np.ndarray  # number that an informative feature and its copies share, or -1
    direction: np.ndarray  # 1 if large values are good, -1 if small ones are, 0 if neither
    costs: np.ndarray | None = None
    # (rows,) relevance before noise and before the shift of the query: scores of a perfect ranker
    utility: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class FeaturePlan:
    """How each feature is made; arrays have one entry per feature.

    ``kind``, ``source``, ``weights`` and ``costs`` are those of :class:`RankingTruth`. A feature is
    location + scale * shape(v) of its latent value v, or shape(location + scale * v) for a share.
    """

    kind: np.ndarray
    source: np.ndarray
    weights: np.ndarray
    copy_noise: np.ndarray  # standard deviation of what a redundant feature adds to its source
    # "plain" (v), "skewed" (exp(v)), "share" (Phi(v), between 0 and 1) or "tied" (a count, most
    # often 0; no query shifts it)
    shape: np.ndarray
    location: np.ndarray
    scale: np.ndarray
    costs: np.ndarray | None = None

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.kind)

    def truth(self, utility: np.ndarray | None = None) -> RankingTruth:
        """Describe the plan, and the rows' utility if it is given."""
        roots = np.where(self.source >= 0, self.source, np.arange(self.n_features))
        roots = roots[roots]  # a duplicate of a redundant feature is two steps from its root
        informative = np.flatnonzero(self.kind == "informative")
        families = np.full(self.n_features, -1)
        families[informative] = np.arange(len(informative))
        return RankingTruth(
            informative=informative,
            weights=self.weights,
            kind=self.kind,
            source=self.source,
            families=families[roots],
            direction=np.sign(self.weights[roots]).astype(int),
            costs=self.costs,
            utility=utility,
        )

    def latent(self, normal: np.ndarray) -> np.ndarray:
        """Latent values of one query's documents, from independent normal ones, in place.

        A tied feature is already coarse here, so that labels depend only on the observed values of
        an informative feature.
        """
        tied, copies = self.shape == "tied", self.kind == "redundant"
        normal[:, tied & ~copies] = _coarse(normal[:, tied & ~copies])
        noise = self.copy_noise[copies]
        mixed = normal[:, self.source[copies]] + noise * normal[:, copies]
        normal[:, copies] = mixed / np.hypot(1.0, noise)
        normal[:, tied & copies] = _coarse(normal[:, tied & copies])
        normal[:, np.isin(self.kind, ["query", "constant"])] = 0.0
        return normal

    def seen(self, latent: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """Observed feature values of one query's documents, given the shift of each feature."""
        values = latent + np.where(self.kind == "constant", 0.0, shift)
        skewed, share, tied = (self.shape == name for name in ("skewed", "share", "tied"))
        values[:, skewed] = np.exp(values[:, skewed])
        values[:, tied] = np.rint(latent[:, tied] * _COUNT_DEVIATION + _COUNT_MEAN)
        values = self.location + self.scale * values
        values[:, share] = ndtr(values[:, share])
        duplicates = np.flatnonzero(self.kind == "duplicate")
        values[:, duplicates] = values[:, self.source[duplicates]]
        return values


def draw_plan(
    *,
    n_informative: int = 5,
    n_redundant: int = 5,
    n_duplicate: int = 0,
    n_noise: int = 10,
    n_query_level: int = 0,
    n_constant: int = 0,
    small_is_good: float = 0.2,
    skewed: float = 0.25,
    tied: float = 0.25,
    copy_noise: float = 0.5,
    costs: bool = False,
    shuffle: bool = True,
    random_state: int | None = 0,
) -> FeaturePlan:
    """Draw a plan at random; parameters as in :func:`make_ranking`."""
    counts = {
        "informative": n_informative,
        "redundant": n_redundant,
        "duplicate": n_duplicate,
        "noise": n_noise,
        "query": n_query_level,
        "constant": n_constant,
    }
    for name, count in counts.items():
        least = int(name == "informative")
        if count < least:
            raise ValueError(f"there must be at least {least} {name} features, got {count}")
    check_shares(small_is_good=small_is_good, skewed=skewed, tied=tied)
    if skewed + tied > 1.0:
        raise ValueError(f"skewed and tied must not add up to more than 1: {skewed} + {tied}")
    if copy_noise < 0.0:
        raise ValueError(f"copy_noise must not be negative, got {copy_noise}")
    rng = np.random.default_rng(random_state)
    kind = np.repeat(list(counts), list(counts.values()))
    shape = _draw_shapes(kind, skewed, tied, rng)
    is_count = shape == "tied"
    plan = FeaturePlan(
        kind=kind,
        source=_draw_sources(kind, rng),
        weights=_draw_weights(kind, small_is_good, rng),
        copy_noise=np.where(kind == "redundant", copy_noise, 0.0),
        shape=shape,
        location=np.where(is_count | (shape == "skewed"), 0.0, rng.normal(0.0, 5.0, len(kind))),
        scale=np.where(is_count, 1.0, 10.0 ** rng.uniform(-1.0, 2.0, len(kind))),
        costs=np.round(rng.lognormal(size=len(kind)), 2) + 0.01 if costs else None,
    )
    return _permute(plan, rng.permutation(len(kind))) if shuffle else plan


def _coarse(normal: np.ndarray) -> np.ndarray:
    """Turn normal values into counts, scaled to mean 0 and variance 1."""
    counts = np.maximum(0.0, np.floor(_STEPS * normal + 0.5))
    return (counts - _COUNT_MEAN) / _COUNT_DEVIATION


def check_shares(**shares: float) -> None:
    """Raise a ValueError that names the first value that is not between 0 and 1."""
    for name, share in shares.items():
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"{name} must be between 0 and 1, got {share}")


def _draw_shapes(kind: np.ndarray, skewed: float, tied: float, rng: Any) -> np.ndarray:
    shape = np.full(len(kind), "plain", dtype="<U6")
    able = rng.permutation(np.flatnonzero(np.isin(kind, ["informative", "redundant", "noise"])))
    n_skewed, n_both = round(skewed * len(able)), round((skewed + tied) * len(able))
    shape[able[:n_skewed]] = "skewed"
    shape[able[n_skewed:n_both]] = "tied"
    return shape


def _draw_sources(kind: np.ndarray, rng: Any) -> np.ndarray:
    source = np.full(len(kind), -1)
    for copy, originals in [
        ("redundant", ["informative"]),
        ("duplicate", ["informative", "redundant"]),
    ]:
        copies = kind == copy
        source[copies] = rng.choice(np.flatnonzero(np.isin(kind, originals)), copies.sum())
    return source


def _draw_weights(kind: np.ndarray, small_is_good: float, rng: Any) -> np.ndarray:
    """Weights of norm 1, in random order; the smallest is half of the largest."""
    informative = rng.permutation(np.flatnonzero(kind == "informative"))
    sizes = np.linspace(1.0, 0.5, len(informative))
    n_small = round(small_is_good * len(informative))
    signs = rng.permutation(np.where(np.arange(len(informative)) < n_small, -1.0, 1.0))
    weights = np.zeros(len(kind))
    weights[informative] = signs * sizes / np.linalg.norm(sizes)
    return weights


def _permute(plan: FeaturePlan, order: np.ndarray) -> FeaturePlan:
    """Plan with its features in another order: ``order[i]`` becomes feature i."""
    positions = np.argsort(order)
    source = np.where(plan.source >= 0, positions[plan.source], -1)
    moved: dict[str, Any] = {
        name: column if column is None else column[order]
        for name, column in (vars(plan) | {"source": source}).items()
    }
    return FeaturePlan(**moved)
