"""Shared by the families of selectors: steps, held-out queries, searches, checkpoints."""
