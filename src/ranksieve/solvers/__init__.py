"""Numerical optimization that selectors and rankers share."""
