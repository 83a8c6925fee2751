"""Rankers by their published names, as the command line and studies use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ranksieve.registry import Registry

if TYPE_CHECKING:
    from ranksieve.rankers.base import Ranker

RANKERS = Registry("ranker", "ranksieve.rankers", adapter="ranksieve.rankers.adapter:RankerAdapter")


def make_ranker(name: str, **parameters: Any) -> Ranker:
    """Make a ranker by its published name, or by ``module:object`` for a class of your own.

    Examples
    --------
    >>> from ranksieve.rankers import make_ranker
    >>> make_ranker("ranksvm", C=0.1)
    RankSVM(C=0.1)
    """
    return RANKERS.make(name, **parameters)
