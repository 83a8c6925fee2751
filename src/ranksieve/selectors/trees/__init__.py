"""Selectors based on boosted trees."""
