"""Outputs: encode y for the loss, and decode scores to predictions."""

from __future__ import annotations

from .base import Output, columns_of, of_one_score
from .classes import ClassOutput
from .indicator import IndicatorOutput
from .pairs import PairsOutput
from .queries import QueriesOutput
from .scalar import ScalarOutput
from .vector import VectorOutput

__all__ = [
    "ClassOutput",
    "IndicatorOutput",
    "Output",
    "PairsOutput",
    "QueriesOutput",
    "ScalarOutput",
    "VectorOutput",
    "columns_of",
    "of_one_score",
]
