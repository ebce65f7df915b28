"""Losses: what a score z costs when the target is y.

A loss is a value object without data. Short names are the snake-case class names.
"""

from __future__ import annotations

from .._base.on_demand import on_demand
from .._base.registry import Registry
from .base import Loss

# Other libraries' names of our losses.
_ELSEWHERE = {
    None: "loss='squared' for numbers or loss='logistic' for classes, or leave loss out",
    **dict.fromkeys(("bce", "binary_cross_entropy", "binary_crossentropy"), "loss='logistic'"),
    **dict.fromkeys(("log", "log_loss", "logloss", "logit", "deviance"), "loss='logistic'"),
    **dict.fromkeys(
        ("l1", "lad", "mae", "absolute_error", "mean_absolute_error"), "loss='absolute'"
    ),
    **dict.fromkeys(
        ("l2", "mse", "ols", "rmse", "least_squares", "squared_loss"), "loss='squared'"
    ),
    **dict.fromkeys(("squared_error", "mean_squared_error", "gaussian"), "loss='squared'"),
    **dict.fromkeys(("pinball", "pinball_loss"), "loss='quantile'"),
    "svm": "loss='hinge'",
    "svr": "loss='epsilon_insensitive'",
    "perceptron": "loss='perceptron_loss'",
    "max_error": "loss='chebyshev'",
    "poisson_nll": "loss='poisson'",
    **dict.fromkeys(("softmax", "categorical_crossentropy"), "loss='multinomial'"),
    "lp": "loss=minimand.Lp(p) with a power p of your own",
}

# Loaded when they are first used; type checkers read the same list in __init__.pyi.
_NAMES = {
    "base": ("Loss", "Terms"),
    "analysis.calibration": ("Calibration", "is_calibrated"),
    "chebyshev": ("Chebyshev",),
    "analysis.comparison": ("Table", "table"),
    "composed": ("Composed",),
    "concave": ("RobustLoss",),
    "deviance": ("Gamma", "Tweedie"),
    "distance": ("Huber", "Squared"),
    "margin": ("Logistic", "SquaredHinge"),
    "matching": ("CrossEntropy", "Poisson"),
    "matching_loss": ("MatchingLoss",),
    "joint.multiclass": ("Multinomial",),
    "joint.one_vs_one": ("OneVsOne",),
    "joint.over_scores": ("OneVsRest", "OverScores"),
    "joint.multiclass_margin": ("CrammerSinger", "Ranking", "TopK", "WeightedRanking"),
    "joint.pairs": ("PairwiseHinge", "PairwiseSquaredHinge"),
    "joint.pairwise_logistic": ("PairwiseLogistic",),
    "pieces": ("PLQ", "Exponentials", "Pieces", "Rowwise", "Softplus"),
    "piecewise": (
        "Absolute",
        "EpsilonInsensitive",
        "Hinge",
        "PerceptronLoss",
        "Quantile",
        "SquaredEpsilonInsensitive",
    ),
    "powers": ("Lp",),
    "joint.quantiles": ("Quantiles",),
    "robust": ("GemanMcClure", "TanhMargin", "TruncatedSquared"),
    "surrogates": ("Exponential", "SquaredMargin", "ZeroOne"),
    "unary": ("Distance", "Margin", "Unary"),
}

__getattr__, __dir__ = on_demand(__name__, _NAMES)

REGISTRY: Registry[Loss] = Registry(
    "loss",
    Loss,
    [
        "Squared",
        "Huber",
        "Absolute",
        "Chebyshev",
        "Quantile",
        "Quantiles",
        "EpsilonInsensitive",
        "SquaredEpsilonInsensitive",
        "Logistic",
        "Multinomial",
        "Hinge",
        "SquaredHinge",
        "PerceptronLoss",
        "Poisson",
        "CrossEntropy",
        "Gamma",
        "Tweedie",
        "Exponential",
        "SquaredMargin",
        "ZeroOne",
        "GemanMcClure",
        "TruncatedSquared",
        "TanhMargin",
        "CrammerSinger",
        "Ranking",
        "TopK",
        "WeightedRanking",
    ],
    __getattr__,
    elsewhere=_ELSEWHERE,
)

__all__ = ["REGISTRY", *(name for names in _NAMES.values() for name in names)]
