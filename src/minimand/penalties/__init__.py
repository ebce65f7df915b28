"""Penalties: what is added to the mean loss, times alpha.

Short names are the snake-case class names: ``"l1"``, ``"l2"``, ``"non_negative"``, ``"l1_ball"``.
"""

from __future__ import annotations

from ..registry import Registry
from .algebra import Scaled, Sum
from .base import BoundPenalty, Penalty
from .constraint import Ball, Box, L1Ball, L2Ball, NonNegative
from .separable import L1, L2, NoPenalty, Separable

REGISTRY: Registry[Penalty] = Registry(
    "penalty", Penalty, [L1, L2, NoPenalty, NonNegative, Box, L1Ball, L2Ball]
)

__all__ = [
    "L1",
    "L2",
    "REGISTRY",
    "Ball",
    "BoundPenalty",
    "Box",
    "L1Ball",
    "L2Ball",
    "NoPenalty",
    "NonNegative",
    "Penalty",
    "Scaled",
    "Separable",
    "Sum",
]
