"""Preconditioned conjugate gradients with a stopping rule of the caller's own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._typing import Array
from ..objective import dot


def conjugate_gradients(
    product: Callable[[Array], Array],
    right: Array,
    diagonal: Array,
    stop: Callable[[Array, float, float], bool],
    most: int = 500,
) -> Array:
    """Approximate solution of A x = right, A positive semi-definite, preconditioned by a diagonal.

    ``stop(residual, energy, first_energy)`` is asked after every step; energy is rᵀM⁻¹r.
    """
    x = np.zeros_like(right)
    residual = right.copy()
    direction = residual / diagonal
    energy = first = dot(residual, direction)
    for _ in range(most):
        if energy <= 0:
            break
        image = product(direction)
        curvature = dot(direction, image)
        if not curvature > 0:
            break
        step = energy / curvature
        x += step * direction
        residual -= step * image
        scaled = residual / diagonal
        previous, energy = energy, dot(residual, scaled)
        if stop(residual, energy, first):
            break
        direction = scaled + (energy / previous) * direction
    return x
