"""Compare rankings: tests, intervals and effect sizes over queries, and stability of selections.

The functions that compare two methods take one value per query for each of them, the same queries
in the same order, such as ``evaluate(...).per_query["ndcg@10"]`` with the test queries of all folds
joined. ``a`` is the method in question and ``b`` the one it is compared with: a positive difference
means that ``a`` is better. Only the pairing of the values matters, not the order of the queries.
``weights`` say how much each query counts in all means (:func:`paired_t_test` says more).
Differences of at most 1e-11 of the largest value are rounding errors and count as zero.
"""

from __future__ import annotations

from ranksieve.significance.band import Band, simultaneous_band
from ranksieve.significance.claims import (
    Claim,
    NonInferiority,
    claim_chains,
    claim_non_inferiority,
    claim_sequence,
    non_inferiority,
)
from ranksieve.significance.power import queries_needed, showable_margin
from ranksieve.significance.samples import Interval, bootstrap_interval, student_interval
from ranksieve.significance.stability import (
    false_selections_bound,
    jaccard,
    kuncheva,
    near_copies,
    nogueira,
    selection_probabilities,
)
from ranksieve.significance.summaries import (
    WinTieLoss,
    effect_size,
    geo_risk,
    relative_improvement,
    t_risk,
    u_risk,
    unified_rank,
    win_tie_loss,
)
from ranksieve.significance.tests import (
    Comparison,
    holm,
    paired_t_test,
    randomization_test,
    wilcoxon_test,
)

__all__ = [
    "Band",
    "simultaneous_band",
    "Comparison",
    "WinTieLoss",
    "paired_t_test",
    "randomization_test",
    "wilcoxon_test",
    "holm",
    "effect_size",
    "win_tie_loss",
    "Interval",
    "NonInferiority",
    "bootstrap_interval",
    "student_interval",
    "non_inferiority",
    "Claim",
    "claim_non_inferiority",
    "claim_sequence",
    "claim_chains",
    "queries_needed",
    "showable_margin",
    "u_risk",
    "t_risk",
    "geo_risk",
    "relative_improvement",
    "unified_rank",
    "nogueira",
    "jaccard",
    "kuncheva",
    "selection_probabilities",
    "near_copies",
    "false_selections_bound",
]
