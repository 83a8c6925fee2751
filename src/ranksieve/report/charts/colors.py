"""What colors mean on a page: each has one meaning, in all charts, tables and texts.

A meaning is a class of the style sheet of charts, which has its color on light and on dark paper.
What must be told apart without color differs in more: in dashes, a ring, a star, or in lightness.
The lines and cells of selectors in a study have the colors of :func:`color_class` instead.
"""

KEPT = "kept"  # features to keep, and the set of them
OTHER = "other"  # other features and other sets
WHOLE = "whole"  # all features
CHANGE = "change"  # what sets lose: on average (solid), and at most (dashed)
MARGIN = "margin"  # what they may lose
COST = "cost"
GAIN, LOSS = "good", "bad"  # better or worse than all features; also what is shown, and what is not
PLAIN = "plain"  # a number that says nothing of this

MEANINGS = KEPT, OTHER, WHOLE, CHANGE, MARGIN, COST, GAIN, LOSS, PLAIN

_N_COLORS, _N_DASHES = 8, 5  # in the style sheet, without a common divisor


def color_class(index: int) -> str:
    """CSS classes of the color and dashes of the line with this number, from 0.

    Lines next to each other differ in both, so that they can be told apart without color.
    """
    return f"s{index % _N_COLORS} d{index % _N_DASHES}"
