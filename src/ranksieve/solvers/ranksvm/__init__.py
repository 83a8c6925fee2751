"""Margins between the documents of a query: losses per block, and minimizers."""
