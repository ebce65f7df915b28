"""The public names, for type checkers and editors; __init__.py loads the same ones on demand."""

from .._base.registry import Registry
from .analysis.calibration import Calibration as Calibration
from .analysis.calibration import is_calibrated as is_calibrated
from .analysis.comparison import Table as Table
from .analysis.comparison import table as table
from .base import Loss as Loss
from .base import Terms as Terms
from .chebyshev import Chebyshev as Chebyshev
from .composed import Composed as Composed
from .concave import RobustLoss as RobustLoss
from .deviance import Gamma as Gamma
from .deviance import Tweedie as Tweedie
from .distance import Huber as Huber
from .distance import Squared as Squared
from .joint.multiclass import Multinomial as Multinomial
from .joint.multiclass_margin import CrammerSinger as CrammerSinger
from .joint.multiclass_margin import Ranking as Ranking
from .joint.multiclass_margin import TopK as TopK
from .joint.multiclass_margin import WeightedRanking as WeightedRanking
from .joint.one_vs_one import OneVsOne as OneVsOne
from .joint.over_scores import OneVsRest as OneVsRest
from .joint.over_scores import OverScores as OverScores
from .joint.pairs import PairwiseHinge as PairwiseHinge
from .joint.pairs import PairwiseSquaredHinge as PairwiseSquaredHinge
from .joint.pairwise_logistic import PairwiseLogistic as PairwiseLogistic
from .joint.quantiles import Quantiles as Quantiles
from .margin import Logistic as Logistic
from .margin import SquaredHinge as SquaredHinge
from .matching import CrossEntropy as CrossEntropy
from .matching import Poisson as Poisson
from .matching_loss import MatchingLoss as MatchingLoss
from .pieces import PLQ as PLQ
from .pieces import Exponentials as Exponentials
from .pieces import Pieces as Pieces
from .pieces import Rowwise as Rowwise
from .pieces import Softplus as Softplus
from .piecewise import Absolute as Absolute
from .piecewise import EpsilonInsensitive as EpsilonInsensitive
from .piecewise import Hinge as Hinge
from .piecewise import PerceptronLoss as PerceptronLoss
from .piecewise import Quantile as Quantile
from .piecewise import SquaredEpsilonInsensitive as SquaredEpsilonInsensitive
from .powers import Lp as Lp
from .robust import GemanMcClure as GemanMcClure
from .robust import TanhMargin as TanhMargin
from .robust import TruncatedSquared as TruncatedSquared
from .surrogates import Exponential as Exponential
from .surrogates import SquaredMargin as SquaredMargin
from .surrogates import ZeroOne as ZeroOne
from .unary import Distance as Distance
from .unary import Margin as Margin
from .unary import Unary as Unary

REGISTRY: Registry[Loss]
