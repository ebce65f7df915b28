"""Penalties: what is added to the mean loss, times alpha.

Short names are the snake-case class names: ``"l1"``, ``"l2"``, ``"no_penalty"``.
"""

from __future__ import annotations

from ..registry import Registry
from .algebra import Scaled, Sum
from .base import BoundPenalty, Penalty
from .separable import L1, L2, NoPenalty, Separable

REGISTRY: Registry[Penalty] = Registry("penalty", Penalty, [L1, L2, NoPenalty])

__all__ = [
    "L1",
    "L2",
    "REGISTRY",
    "BoundPenalty",
    "NoPenalty",
    "Penalty",
    "Scaled",
    "Separable",
    "Sum",
]
