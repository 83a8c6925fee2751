"""Errors raised for input that cannot be used."""


class DataError(ValueError):
    """Input that cannot be used, with the place where it went wrong."""


class NonFiniteError(DataError):
    """NaN or infinity where a method needs numbers."""
