"""Losses: what a score z costs when the target is y.

A loss is a value object without data. Short names are the snake-case class names.
"""

from __future__ import annotations

from ..on_demand import on_demand
from ..registry import Registry
from .base import Loss

# Loaded when they are first used; type checkers read the same list in __init__.pyi.
_NAMES = {
    "base": ("Loss", "Terms"),
    "calibration": ("Calibration", "is_calibrated"),
    "chebyshev": ("Chebyshev",),
    "comparison": ("Table", "table"),
    "composed": ("Composed",),
    "concave": ("RobustLoss",),
    "deviance": ("Gamma", "Tweedie"),
    "distance": ("Huber", "Squared"),
    "margin": ("Logistic", "SquaredHinge"),
    "matching": ("CrossEntropy", "Poisson"),
    "matching_loss": ("MatchingLoss",),
    "pieces": ("PLQ", "Pieces"),
    "piecewise": (
        "Absolute",
        "EpsilonInsensitive",
        "Hinge",
        "PerceptronLoss",
        "Quantile",
        "SquaredEpsilonInsensitive",
    ),
    "powers": ("Lp",),
    "robust": ("GemanMcClure", "TanhMargin", "TruncatedSquared"),
    "rowwise": ("Rowwise", "Softplus"),
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
        "EpsilonInsensitive",
        "SquaredEpsilonInsensitive",
        "Logistic",
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
    ],
    __getattr__,
)

__all__ = ["REGISTRY", *(name for names in _NAMES.values() for name in names)]
