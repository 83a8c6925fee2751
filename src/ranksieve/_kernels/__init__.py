"""Compiled kernels: plain arrays in, plain arrays out; the only package that uses numba."""
