"""Designs: where the numbers of X live, and the products that everything else is made of."""

from __future__ import annotations

from .base import (
    Ascent,
    AscentProblem,
    AscentState,
    Block,
    Covariance,
    Descent,
    DescentProblem,
    Design,
    Moments,
    RowSteps,
)
from .dense import DenseDesign
from .sparse import SparseDesign
from .wrap import Standardized, as_design

__all__ = [
    "Ascent",
    "AscentProblem",
    "AscentState",
    "Block",
    "Covariance",
    "DenseDesign",
    "Descent",
    "DescentProblem",
    "Design",
    "Moments",
    "RowSteps",
    "SparseDesign",
    "Standardized",
    "as_design",
]
