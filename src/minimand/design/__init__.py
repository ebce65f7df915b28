"""Designs: where the numbers of X live, and the products that everything else is made of."""

from __future__ import annotations

from .base import Ascent, Block, Covariance, Descent, Design, Moments
from .dense import DenseDesign
from .sparse import SparseDesign
from .wrap import Standardized, as_design

__all__ = [
    "Ascent",
    "Block",
    "Covariance",
    "DenseDesign",
    "Descent",
    "Design",
    "Moments",
    "SparseDesign",
    "Standardized",
    "as_design",
]
