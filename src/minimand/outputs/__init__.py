"""Outputs: from y to numbers a loss understands, and from scores back to y."""

from __future__ import annotations

from .base import Output, columns_of
from .classes import ClassOutput
from .scalar import ScalarOutput

__all__ = ["ClassOutput", "Output", "ScalarOutput", "columns_of"]
