"""A model with its scores on the training data, and a counter of passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._base.typing import Array

EPS = float(np.finfo(float).eps)


def dot(a: Array, b: Array) -> float:
    """Σ aᵢbᵢ without BLAS, whose threads cost more than such a short sum."""
    if a.ndim == 1:
        return _core.dot(a, b)
    if a.flags.c_contiguous and b.flags.c_contiguous:
        return _core.dot(a.reshape(-1), b.reshape(-1))
    return float(np.vdot(a, b))


class Point(NamedTuple):
    """A model on the training data: coefficients, intercept, and their scores z."""

    w: Array
    b: Any  # a float, or an array of k numbers
    z: Array

    @property
    def scored(self) -> Point:
        """The model itself, whose scores are known."""
        return self


class Later:
    """An array that is computed when it is first asked for, and kept from then on."""

    def __init__(self, compute: Callable[[], Array]) -> None:
        self._compute: Callable[[], Array] | None = compute
        self._found = np.empty(0)

    def __call__(self) -> Array:
        """The array."""
        if self._compute is not None:
            self._found = self._compute()
            self._compute = None  # lets go of the data
        return self._found


class LatePoint(Point):
    """A model whose scores nobody may ask for: its third entry is a `Later`, and ``z`` asks it."""

    __slots__ = ()

    @property
    def z(self) -> Array:
        """The scores."""
        scores: Any = self[2]
        found: Array = scores()
        return found

    @property
    def scored(self) -> Point:
        """The same model with its scores."""
        return Point(self.w, self.b, self.z)


@dataclass
class Meter:
    """Counts passes over the data."""

    passes: float = 0.0
