"""Base classes: the interface of scikit-learn, with query ids."""

from ranksieve.base.choices import Choices
from ranksieve.base.estimator import Predictor, RankEstimator, as_source
from ranksieve.base.selector import PerFeature, RankSelector

__all__ = ["Choices", "PerFeature", "Predictor", "RankEstimator", "RankSelector", "as_source"]
