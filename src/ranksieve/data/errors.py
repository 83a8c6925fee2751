"""Errors raised for input that cannot be used."""


class DataError(ValueError):
    """Input that cannot be used; the message says what is wrong and where."""


class NonFiniteError(DataError):
    """NaN or infinity where a method needs finite numbers."""


class MissingValueError(NonFiniteError):
    """A feature has a missing value (NaN), which the method does not take."""
