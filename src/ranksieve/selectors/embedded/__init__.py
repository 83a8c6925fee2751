"""Selectors that are linear rankers: training chooses the features."""
