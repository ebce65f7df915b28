"""Losses: what a score z costs when the target is y.

A loss is a value object without data. Short names are the snake-case class names.
"""

from __future__ import annotations

from ..registry import Registry
from .base import Distance, Loss, Margin, Terms, Unary
from .deviance import Gamma, Tweedie
from .distance import Huber, Squared
from .margin import Logistic, SquaredHinge
from .matching import CrossEntropy, Poisson
from .robust import GemanMcClure, RobustLoss, TanhMargin, TruncatedSquared

REGISTRY: Registry[Loss] = Registry(
    "loss",
    Loss,
    [
        *(Squared, Huber, Logistic, SquaredHinge, Poisson, CrossEntropy, Gamma, Tweedie),
        *(GemanMcClure, TruncatedSquared, TanhMargin),
    ],
)

__all__ = [
    "REGISTRY",
    "CrossEntropy",
    "Distance",
    "Gamma",
    "GemanMcClure",
    "Huber",
    "Logistic",
    "Loss",
    "Margin",
    "Poisson",
    "RobustLoss",
    "Squared",
    "SquaredHinge",
    "TanhMargin",
    "Terms",
    "TruncatedSquared",
    "Tweedie",
    "Unary",
]
