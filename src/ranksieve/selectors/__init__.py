"""Feature selectors, one file per method or close family."""

from ranksieve.selectors.baselines import RandomSelector, TopImportance
from ranksieve.selectors.diversity import MMR, MPT, MRMR, MSD
from ranksieve.selectors.gas import GAS
from ranksieve.selectors.navigation import NGAS, XGAS

__all__ = ["GAS", "MMR", "MSD", "MPT", "MRMR", "NGAS", "XGAS", "TopImportance", "RandomSelector"]
