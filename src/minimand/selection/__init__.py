"""Choosing alpha: grids, paths, cross-validation."""

from __future__ import annotations

from .grid import alpha_max
from .path import Path, path

__all__ = ["Path", "alpha_max", "path"]
