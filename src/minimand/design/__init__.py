"""Designs: the matrix X in memory or elsewhere, and the products with it that solvers use."""

from __future__ import annotations

from .access import Access, Reach
from .base import Block, Covariance, Design, Lines, Moments, kernel_for
from .computed import ComputedDesign, Whitened
from .dense import DenseDesign
from .gram import GramDesign
from .kernel import KernelDesign
from .part import PartDesign
from .rough import RoughProducts
from .sparse import SparseDesign
from .wrap import Standardized, as_design

__all__ = [
    "Access",
    "Block",
    "ComputedDesign",
    "Covariance",
    "DenseDesign",
    "Design",
    "GramDesign",
    "KernelDesign",
    "Lines",
    "Moments",
    "PartDesign",
    "Reach",
    "RoughProducts",
    "SparseDesign",
    "Standardized",
    "Whitened",
    "as_design",
    "kernel_for",
]
