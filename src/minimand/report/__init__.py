"""Figures of what was fitted; matplotlib is the extra ``[plot]``."""

from __future__ import annotations

from .histories import plot_history

__all__ = ["plot_history"]
