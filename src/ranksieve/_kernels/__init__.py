"""Compiled kernels: plain arrays in, plain arrays out; the only room for numba."""
