"""The version, in a separate module so that a build can read it without imports."""

__version__ = "0.1.0.dev0"
