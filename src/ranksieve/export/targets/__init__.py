"""Targets of exports, one module each; :mod:`ranksieve.export.targets.registry` lists them."""
