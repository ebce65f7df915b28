"""Penalties: what is added to the mean loss, times alpha.

Short names are the snake-case class names: ``"l1"``, ``"l2"``, ``"no_penalty"``, ``"mcp"``,
``"scad"``, ``"lq"``.
"""

from __future__ import annotations

from ..registry import Registry
from .algebra import Scaled, Sum
from .base import BoundPenalty, Majorised, Majoriser, Penalty
from .concave import Concave
from .nonconvex import MCP, SCAD, ConcavePenalty, Lq
from .separable import L1, L2, NoPenalty, Separable

REGISTRY: Registry[Penalty] = Registry("penalty", Penalty, [L1, L2, NoPenalty, MCP, SCAD, Lq])

__all__ = [
    "L1",
    "L2",
    "MCP",
    "REGISTRY",
    "SCAD",
    "BoundPenalty",
    "Concave",
    "ConcavePenalty",
    "Lq",
    "Majorised",
    "Majoriser",
    "NoPenalty",
    "Penalty",
    "Scaled",
    "Separable",
    "Sum",
]
