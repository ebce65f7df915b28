"""Choosing alpha: grids, paths, cross-validation."""

from __future__ import annotations

from .grid import alpha_max
from .path import Path, path
from .tuned import Tuned

__all__ = ["Path", "Tuned", "alpha_max", "path"]
