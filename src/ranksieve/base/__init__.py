"""Base classes: the interface of scikit-learn, with query ids."""

from ranksieve.base.choices import Choices
from ranksieve.base.estimator import RankEstimator
from ranksieve.base.fit_inputs import as_source
from ranksieve.base.per_feature import PerFeature
from ranksieve.base.predictor import Predictor
from ranksieve.base.selector import RankSelector

__all__ = ["Choices", "PerFeature", "Predictor", "RankEstimator", "RankSelector", "as_source"]
