"""Selectors by their published names, as the command line and studies use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ranksieve.registry import Method, Registry

if TYPE_CHECKING:
    from ranksieve.base import RankSelector

SELECTORS = Registry(
    "method",
    "ranksieve.selectors",
    rooms=("filters", "embedded", "wrappers", "trees", "baselines", "related"),
    adapter="ranksieve.selectors.adapter:SelectorAdapter",
)


def make_selector(name: str, k: float | str | None = None, **parameters: Any) -> RankSelector:
    """Make a selector by the published name of its method.

    Parameters
    ----------
    name : str
        One of ``SELECTORS``, or ``module:object`` for a class or an estimator of your own.
    k : int, float or str, optional
        ``n_features_to_select``: a number, a fraction below 1, or a rule such as ``"silhouette"``
        for methods that can choose the number. The default is that of the class. Methods that keep
        all features take no number.
    **parameters
        Further parameters of the class, and fields of those that are values, such as
        ``importance.ties``.

    Examples
    --------
    >>> from ranksieve.selectors.registry import make_selector
    >>> make_selector("gas-l", 5, c=0.1)
    GAS(c=0.1, importance=Importance('loss'), n_features_to_select=5)
    >>> make_selector("gas-l", 5, **{"importance.ties": "stable"})
    GAS(importance=Importance('loss', ties='stable'), n_features_to_select=5)
    """
    return make_method(SELECTORS.find(name), k, **parameters)


def make_method(method: Method, k: float | str | None = None, **parameters: Any) -> RankSelector:
    """Make the selector of a method, as :func:`make_selector` does."""
    if k is not None:
        if "n_features_to_select" not in method.defaults:
            reason = "keeps all features, so it takes no number of them"
            if method.has_record:
                reason = "has no parameter n_features_to_select, k or max_features to set"
            raise ValueError(f"method {method.name!r} {reason}")
        parameters["n_features_to_select"] = k
    SELECTORS.check_parameters(method, parameters)
    return method.make(**parameters)
