"""Losses over the documents of a query, and models that follow their gradients."""
