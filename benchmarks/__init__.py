"""Measurements beside the programs that a user would otherwise pick."""
