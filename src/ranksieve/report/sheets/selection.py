"""Sheet of selected features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ranksieve.report.sheets.sheet import Column, Entry, Fields, Sheet, name_column, text_column
from ranksieve.text import describe, quantity

if TYPE_CHECKING:
    from ranksieve.costs import FeatureCosts
    from ranksieve.io.selection import SelectedFeature, Selection


class Counted(NamedTuple):
    """Groups in which features were selected."""

    n_groups: int | None = None  # number of selected groups; None without groups
    are_counted: bool = False  # whether a number of groups, not of features, was requested

    def describe(self, features: str) -> str:
        """Describe the numbers of selected features and groups, the requested one first."""
        if self.n_groups is None:
            return features
        groups = quantity(self.n_groups, "group")
        return f"{groups}, {features}" if self.are_counted else f"{features} in {groups}"


def selection_sheet(
    title: str,
    selection: Selection,
    changed: Mapping[str, Any],
    counted: Counted | None = None,
    costs: FeatureCosts | None = None,
) -> Sheet:
    """The selected features, best first.

    Parameters
    ----------
    title : str
        Title of the data.
    selection : Selection
    changed : mapping
        Parameters that differ from the defaults.
    counted : Counted, optional
        Numbers of groups, if features are grouped.
    costs : FeatureCosts, optional
        Costs of features; the table shows the cost that each adds to those before it.
    """
    features = selection.features
    number = f"{len(features):,} of {selection.n_features_in:,} features"
    number = (counted or Counted()).describe(number)
    scores = [abs(feature.score) for feature in features if feature.score is not None]
    # Four decimals align well, but would hide small scores and clutter large ones.
    form = ".4f" if 0.1 <= max(scores, default=0) < 1e4 else ".4g"
    rank_of = {feature.index: rank for rank, feature in enumerate(features, start=1)}
    fields: Fields[SelectedFeature] = {
        Column("rank", is_name=True): lambda feature: Entry(rank_of[feature.index]),
        name_column("feature"): lambda feature: Entry(feature.name),
    }
    if scores:
        fields[Column("score")] = lambda feature: Entry(feature.score, form)
    notes = []
    if costs is not None:
        names = [feature.name for feature in features]
        added = {
            feature.index: costs.marginal(feature.name, names[:position])
            for position, feature in enumerate(features)
        }
        fields[Column("cost", "added cost")] = lambda feature: Entry(added[feature.index], ".4g")
        all_cost = costs.total(costs.features)
        notes = [f"Together they cost {costs.total(names):.4g} of {all_cost:.4g} for all features."]
    if any(feature.reason for feature in features):
        fields[text_column("reason")] = lambda feature: Entry(feature.reason)
    title = f"{describe(selection.method, changed)}: {number} of {title}"
    return Sheet.of_items("selection", title, "", fields, [features], notes)
