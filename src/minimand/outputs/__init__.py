"""Outputs: encode y for the loss, and decode scores to predictions."""

from __future__ import annotations

from .base import Output, columns_of
from .classes import ClassOutput
from .indicator import IndicatorOutput
from .numbers import ScalarOutput, VectorOutput
from .pairs import PairsOutput
from .queries import QueriesOutput

__all__ = [
    "ClassOutput",
    "IndicatorOutput",
    "Output",
    "PairsOutput",
    "QueriesOutput",
    "ScalarOutput",
    "VectorOutput",
    "columns_of",
]
