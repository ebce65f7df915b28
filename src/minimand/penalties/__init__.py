"""Penalties: what is added to the mean loss, times alpha.

Short names are the snake-case class names: ``"l1"``, ``"l2"``, ``"no_penalty"``, ``"mcp"``,
``"scad"``, ``"lq"``, ``"non_negative"``, ``"l1_ball"``.
"""

from __future__ import annotations

from ..registry import Registry
from .algebra import Scaled, Sum
from .base import BoundPenalty, Majorised, Majoriser, Penalty
from .concave import Concave
from .constraint import Ball, Box, L1Ball, L2Ball, NonNegative
from .nonconvex import MCP, SCAD, ConcavePenalty, Lq
from .separable import L1, L2, NoPenalty, Separable

REGISTRY: Registry[Penalty] = Registry(
    "penalty",
    Penalty,
    [L1, L2, NoPenalty, NonNegative, Box, L1Ball, L2Ball, MCP, SCAD, Lq],
)

__all__ = [
    "L1",
    "L2",
    "MCP",
    "REGISTRY",
    "SCAD",
    "Ball",
    "BoundPenalty",
    "Box",
    "Concave",
    "ConcavePenalty",
    "L1Ball",
    "L2Ball",
    "Lq",
    "Majorised",
    "Majoriser",
    "NoPenalty",
    "NonNegative",
    "Penalty",
    "Scaled",
    "Separable",
    "Sum",
]
