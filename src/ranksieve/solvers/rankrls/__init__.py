"""Pairwise least squares: rows, leave-query-out residuals, and models that grow."""
