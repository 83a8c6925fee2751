"""Selectors that look at the data alone, before any ranker is trained."""
