"""Selectors by their published names, as the command line and studies use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ranksieve.registry import Registry

if TYPE_CHECKING:
    from ranksieve.base import RankSelector

SELECTORS = Registry(
    "method", "ranksieve.selectors", rooms=("filters", "embedded", "wrappers", "trees")
)


def make_selector(name: str, k: float | str | None = None, **parameters: Any) -> RankSelector:
    """Make a selector by the published name of its method.

    Parameters
    ----------
    name : str
        One of ``SELECTORS``.
    k : int, float or str, optional
        ``n_features_to_select``: a number, a fraction below 1, or a rule such as ``"silhouette"``
        for methods that can choose the number. By default that of the class. Methods that keep all
        features take no number.
    **parameters
        Further parameters of the class, and parts of those that are values, such as
        ``importance.ties``.

    Examples
    --------
    >>> from ranksieve.selectors.registry import make_selector
    >>> make_selector("gas-l", 5, c=0.1)
    GAS(c=0.1, importance=Importance('loss'), n_features_to_select=5)
    >>> make_selector("gas-l", 5, **{"importance.ties": "stable"})
    GAS(importance=Importance('loss', ties='stable'), n_features_to_select=5)
    """
    if k is not None:
        if "n_features_to_select" not in SELECTORS[name].defaults:
            raise ValueError(f"method {name!r} keeps all features, so it takes no number of them")
        parameters["n_features_to_select"] = k
    return SELECTORS.make(name, **parameters)
