"""Targets of exports, one file each; :mod:`ranksieve.export.targets.registry` knows them all."""
