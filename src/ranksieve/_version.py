"""The version, in a module of its own so that a build can read it without imports."""

__version__ = "0.1.0.dev0"
