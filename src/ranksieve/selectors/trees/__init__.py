"""Selectors by what boosted trees make of the features."""
