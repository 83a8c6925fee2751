"""Generate planted rankings, all at once or a run of queries at a time."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from ranksieve.data import RankingData
from ranksieve.datasets.planting import FeaturePlan, RankingTruth, check_shares, draw_plan

# Each further grade is that much rarer, as in the large public collections.
_GRADE_RATIO = 0.35


class PlantedRanking:
    """Any number of queries that follow one plan, a run of them at a time.

    Parameters
    ----------
    plan : FeaturePlan
        From :func:`draw_plan`, or written by hand.
    docs_per_query, n_grades, relevant, noise, query_effect, dtype, random_state
        As in :func:`make_ranking`.

    Notes
    -----
    Query ``q`` (from 0; its query id is ``q + 1``) depends on the plan, the parameters and
    ``random_state`` only. Time and memory are linear in the rows of the run.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve.datasets import PlantedRanking, draw_plan
    >>> ranking = PlantedRanking(draw_plan(n_noise=3), docs_per_query=4)
    >>> whole, tail = ranking.queries(0, 100), ranking.queries(90, 100)
    >>> np.array_equal(whole.X[-40:], tail.X), tail.query_ids.tolist()[:2]
    (True, [91, 92])
    """

    def __init__(
        self,
        plan: FeaturePlan,
        *,
        docs_per_query: int | tuple[int, int] = (1, 40),
        n_grades: int = 5,
        relevant: float = 0.3,
        noise: float = 0.5,
        query_effect: float = 0.7,
        dtype: str = "float64",
        random_state: int | None = 0,
    ) -> None:
        self.plan = plan
        self.noise = noise
        self.query_effect = query_effect
        self.dtype = np.dtype(dtype)
        self._lengths = _length_range(docs_per_query)
        self._thresholds = _thresholds(n_grades, relevant, noise, query_effect)
        # Holds fresh entropy if the seed is None, so that runs agree with each other even then.
        self._entropy = np.random.SeedSequence(random_state).entropy

    def queries(self, first: int, last: int) -> RankingData:
        """Rows of queries ``first`` to ``last - 1``, counted from 0."""
        return self.queries_with_utility(first, last)[0]

    def queries_with_utility(self, first: int, last: int) -> tuple[RankingData, np.ndarray]:
        """Rows of queries ``first`` to ``last - 1``, and the utility of each row."""
        if not 0 <= first < last:
            raise ValueError(f"there are no queries {first} to {last} - 1")
        blocks, labels, utilities = zip(*map(self._query, range(first, last)), strict=True)
        counts = [len(block) for block in blocks]
        qid = np.repeat(np.arange(first, last) + 1, counts)
        data = RankingData(np.concatenate(blocks), np.concatenate(labels), qid)
        return data, np.concatenate(utilities)

    def _query(self, query: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features, labels and utility of one query's documents."""
        rng = np.random.default_rng(np.random.SeedSequence(self._entropy, spawn_key=(query,)))
        n_docs = self._draw_length(rng)
        *shift, label_shift = self.query_effect * rng.standard_normal(self.plan.n_features + 1)
        latent = self.plan.latent(rng.standard_normal((n_docs, self.plan.n_features)))
        utility = latent @ self.plan.weights
        score = utility + label_shift + self.noise * rng.standard_normal(n_docs)
        labels = np.searchsorted(self._thresholds, score).astype(np.float64)
        return self.plan.seen(latent, np.array(shift)).astype(self.dtype), labels, utility

    def _draw_length(self, rng: np.random.Generator) -> int:
        """Documents of a query: uniform on a logarithmic scale, as short lists are frequent."""
        low, high = self._lengths
        length = int(np.exp(rng.uniform(np.log(low), np.log(high + 1))))
        return min(max(length, low), high)  # exp(log(x)) may be off by a rounding


def make_ranking(
    n_queries: int = 100,
    *,
    docs_per_query: int | tuple[int, int] = (1, 40),
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
    n_grades: int = 5,
    relevant: float = 0.3,
    noise: float = 0.5,
    query_effect: float = 0.7,
    costs: bool = False,
    shuffle: bool = True,
    dtype: str = "float64",
    random_state: int | None = 0,
) -> tuple[RankingData, RankingTruth]:
    r"""Generate a ranking problem whose informative features are known.

    Document i of query Q has the label

    .. math:: y_i = \#\{g \ge 1 : u_i + b_Q + \varepsilon_i > t_g\}, \quad
        u_i = \sum_f w_f z_{if}

    with latent feature values z of variance 1, weights w of norm 1 that are zero unless f is
    informative, a shift b of the query and noise.

    Parameters
    ----------
    n_queries : int
        Number of queries.
    docs_per_query : int or (int, int)
        Documents of each query, or the smallest and the largest number; short lists are more
        frequent than long ones.
    n_informative, n_redundant, n_duplicate, n_noise, n_query_level, n_constant : int
        Features that make up the utility; noisy and exact copies of some of them; features of
        no use: random, the same for all documents of a query, constant everywhere.
    small_is_good : float
        Share of the informative features (and with them their copies) whose small values are
        good.
    skewed, tied : float
        Shares of the features with a heavy tail, and of those that are counts, mostly zero.
    copy_noise : float
        Standard deviation of what a redundant feature adds to the one that it copies.
    n_grades : int
        Labels are 0 .. n_grades - 1.
    relevant : float
        Share of documents with a label above 0; each further grade is rarer.
    noise : float
        Standard deviation of the noise in the labels; that of the utility is 1.
    query_effect : float
        Standard deviation of the shift that all documents of a query share, in each feature
        and in relevance. It makes queries without relevant documents.
    costs : bool
        Whether features have costs.
    shuffle : bool
        Whether kinds of features are mixed; if not, they come in the order listed above.
    dtype : {"float64", "float32"}
        How feature values are stored.
    random_state : int or None
        Seed. The same seed gives the same queries; more of them only add to the end.

    Returns
    -------
    data : RankingData
    truth : RankingTruth

    See Also
    --------
    PlantedRanking : The same in pieces, for data larger than memory.

    Examples
    --------
    >>> from ranksieve.datasets import make_ranking
    >>> data, truth = make_ranking(50, n_informative=2, n_redundant=1, n_noise=3, shuffle=False)
    >>> data.n_queries, truth.kind.tolist()
    (50, ['informative', 'informative', 'redundant', 'noise', 'noise', 'noise'])
    """
    plan = draw_plan(
        n_informative=n_informative,
        n_redundant=n_redundant,
        n_duplicate=n_duplicate,
        n_noise=n_noise,
        n_query_level=n_query_level,
        n_constant=n_constant,
        small_is_good=small_is_good,
        skewed=skewed,
        tied=tied,
        copy_noise=copy_noise,
        costs=costs,
        shuffle=shuffle,
        random_state=random_state,
    )
    ranking = PlantedRanking(
        plan,
        docs_per_query=docs_per_query,
        n_grades=n_grades,
        relevant=relevant,
        noise=noise,
        query_effect=query_effect,
        dtype=dtype,
        random_state=random_state,
    )
    data, utility = ranking.queries_with_utility(0, n_queries)
    return data, plan.truth(utility)


def _thresholds(n_grades: int, relevant: float, noise: float, query_effect: float) -> np.ndarray:
    """Scores above which labels are 1, 2, ...: fixed, so that every query uses the same."""
    if n_grades < 2:
        raise ValueError(f"there must be at least 2 grades, got {n_grades}")
    check_shares(relevant=relevant)
    if noise < 0 or query_effect < 0:
        raise ValueError("noise and query_effect must not be negative")
    shares = relevant * _GRADE_RATIO ** np.arange(n_grades - 1)
    return -ndtri(shares) * np.sqrt(1.0 + noise**2 + query_effect**2)


def _length_range(docs_per_query: int | tuple[int, int]) -> tuple[int, int]:
    """Smallest and largest number of documents."""
    low, high = np.broadcast_to(docs_per_query, 2).tolist()
    if not 1 <= low <= high:
        raise ValueError(f"docs_per_query must be positive and in order, got {docs_per_query}")
    return low, high
