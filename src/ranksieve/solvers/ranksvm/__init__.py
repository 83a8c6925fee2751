"""Margins between the documents of a query: losses beside each block, and sparse minimizers."""
