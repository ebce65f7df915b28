"""A model with its scores on the training data, and a counter of passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._base.typing import Array

EPS = float(np.finfo(float).eps)


def dot(a: Array, b: Array) -> float:
    """Σ aᵢbᵢ without BLAS, whose threads cost more than such a short sum."""
    return _core.dot(a, b) if a.ndim == 1 else float(np.vdot(a, b))


class Point(NamedTuple):
    """A model on the training data: coefficients, intercept, and their scores z."""

    w: Array
    b: Any  # a float, or an array of k numbers
    z: Array


@dataclass
class Meter:
    """Counts passes over the data."""

    passes: float = 0.0
