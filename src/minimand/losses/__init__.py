"""Losses: what a score z costs when the target is y.

A loss is a value object without data. Short names are the snake-case class names.
"""

from __future__ import annotations

from ..registry import Registry
from .base import Distance, Loss, Margin, Terms, Unary
from .chebyshev import Chebyshev
from .deviance import Gamma, Tweedie
from .distance import Huber, Squared
from .margin import Logistic, SquaredHinge
from .matching import CrossEntropy, Poisson

REGISTRY: Registry[Loss] = Registry(
    "loss", Loss, [Squared, Huber, Logistic, SquaredHinge, Poisson, CrossEntropy, Gamma, Tweedie]
    + [Chebyshev],
)

__all__ = [
    "REGISTRY",
    "Chebyshev",
    "CrossEntropy",
    "Distance",
    "Gamma",
    "Huber",
    "Logistic",
    "Loss",
    "Margin",
    "Poisson",
    "Squared",
    "SquaredHinge",
    "Terms",
    "Tweedie",
    "Unary",
]
