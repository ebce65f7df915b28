"""Outputs: encode y for the loss, and decode scores to predictions."""

from __future__ import annotations

from .base import Output, columns_of
from .classes import ClassOutput
from .scalar import ScalarOutput

__all__ = ["ClassOutput", "Output", "ScalarOutput", "columns_of"]
