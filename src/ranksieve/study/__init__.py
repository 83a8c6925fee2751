"""Studies: compare many selectors with many rankers over folds of the queries.

Examples
--------
>>> from ranksieve import make_ranking
>>> from ranksieve.study import Study, compare_with
>>> data, _ = make_ranking(60, n_informative=3, noise=0.1, random_state=0)
>>> result = Study(data, selectors=["greedy-rankrls"], rankers=["rankrls"], ks=[3], seeds=2).run()
>>> for versus in compare_with(result, measures=["MAP"]):
...     print(f"{versus.selector}: {versus.difference:+.2f}")
greedy-rankrls: -0.01
random: -0.19
"""

from ranksieve.datasets.split_rules import SplitByColumn, SplitByTime
from ranksieve.study.comparison import (
    Stability,
    Versus,
    compare_with,
    enough_features,
    share_of_random_below,
    stability_of,
    unified_ranks,
)
from ranksieve.study.plan import Plan
from ranksieve.study.protocols import Protocol
from ranksieve.study.results import FoldSummary, Outcome, Outcomes, Run, StudyResult
from ranksieve.study.study import Study, load_study

__all__ = [
    "Study",
    "Plan",
    "Protocol",
    "SplitByColumn",
    "SplitByTime",
    "load_study",
    "StudyResult",
    "Run",
    "Outcomes",
    "FoldSummary",
    "Outcome",
    "compare_with",
    "Versus",
    "enough_features",
    "stability_of",
    "Stability",
    "unified_ranks",
    "share_of_random_below",
]
