"""Reproduce published results and compare them with the numbers in the papers."""

from ranksieve.reproduction.outcomes import MethodOutcome
from ranksieve.reproduction.papers import PAPERS
from ranksieve.reproduction.results import Reproduction
from ranksieve.reproduction.running import reproduce

__all__ = ["reproduce", "PAPERS", "Reproduction", "MethodOutcome"]
