"""Errors raised for input that cannot be used."""

HOW_TO_FILL = (
    "fill in missing values with --missing query-median, query-min or zero (in Python, "
    "missing='query-median' of RankingData, Study or recommend, or QueryImputer)"
)
"""Remedy for methods that take no missing values."""


class DataError(ValueError):
    """Input that cannot be used; the message says what is wrong and where."""


class NonFiniteError(DataError):
    """NaN or infinity where a method needs finite numbers."""


class MissingValueError(NonFiniteError):
    """A feature has a missing value (NaN), which the method does not take."""
