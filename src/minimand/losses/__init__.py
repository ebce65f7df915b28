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
from .pieces import PLQ, Pieces
from .piecewise import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    PerceptronLoss,
    Quantile,
    SquaredEpsilonInsensitive,
)

REGISTRY: Registry[Loss] = Registry(
    "loss",
    Loss,
    [
        Squared,
        Huber,
        Absolute,
        Quantile,
        EpsilonInsensitive,
        SquaredEpsilonInsensitive,
        Logistic,
        Hinge,
        SquaredHinge,
        PerceptronLoss,
        Poisson,
        CrossEntropy,
        Gamma,
        Tweedie,
    ],
)

__all__ = [
    "PLQ",
    "REGISTRY",
    "Absolute",
    "CrossEntropy",
    "Distance",
    "EpsilonInsensitive",
    "Gamma",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Margin",
    "PerceptronLoss",
    "Pieces",
    "Poisson",
    "Quantile",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Terms",
    "Tweedie",
    "Unary",
]
