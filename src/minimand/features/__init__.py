"""Feature maps φ of z = φ(x)·w + b, for ``features=`` and as scikit-learn transformers."""

from __future__ import annotations

from .base import Features, Joined
from .centers import Centers
from .fourier import RandomFourier
from .hidden_layer import HiddenLayer
from .low_rank import PivotedCholesky
from .monomials import Monomials
from .neighbors import Neighbors
from .nystrom import Nystrom

__all__ = [
    "Centers",
    "Features",
    "HiddenLayer",
    "Joined",
    "Monomials",
    "Neighbors",
    "Nystrom",
    "PivotedCholesky",
    "RandomFourier",
]
