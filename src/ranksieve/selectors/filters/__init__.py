"""Selectors that use only the data and train no ranker."""
