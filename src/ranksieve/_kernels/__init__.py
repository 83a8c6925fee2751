"""Compiled kernels, which take and return plain arrays; the only package that uses numba."""
