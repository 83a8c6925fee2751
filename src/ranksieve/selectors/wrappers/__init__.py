"""Selectors that train a ranker on subsets of the features."""
