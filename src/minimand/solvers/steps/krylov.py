"""Preconditioned conjugate gradients with a stopping rule given by the caller."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ... import _core
from ..._base.typing import Array
from ...problem.objective import dot


def add(to: Array, factor: float, more: Array) -> None:
    """To += factor·more, without a temporary if both are C-ordered.

    Not by BLAS: after a call its threads wait for the next one by spinning, for so long that they
    take a core from the products that follow.
    """
    if to.flags.c_contiguous and more.flags.c_contiguous:
        _core.add(to, factor, more)
    else:
        to += factor * more


def conjugate_gradients(
    product: Callable[[Array], tuple[Array, Array]],
    right: Array,
    precondition: Callable[[Array], Array],
    stop: Callable[[Array, float, float], bool],
    most: int = 500,  # steps; safeguard
) -> tuple[Array, Array]:
    """Approximate solution x of A x = right, A positive semi-definite, and its scores.

    ``product(v)`` gives A v and a vector that is linear in v (the scores X v); the second result
    is that vector for x, at no extra cost. ``precondition(r)`` is M⁻¹r, M near A; both results
    are new arrays.
    ``stop(residual, energy, first_energy)`` is called after every step; energy is rᵀM⁻¹r.
    """
    x = np.zeros_like(right)
    residual = right.copy()
    direction = precondition(residual)
    energy = first = dot(residual, direction)
    along: Array | None = None
    for _ in range(most):
        image, scores = product(direction)
        along = np.zeros_like(scores) if along is None else along
        curvature = dot(direction, image)
        if not (curvature > 0 and energy > 0):
            break
        step = energy / curvature
        add(x, step, direction)
        add(along, step, scores)
        add(residual, -step, image)
        scaled = precondition(residual)
        previous, energy = energy, dot(residual, scaled)
        if stop(residual, energy, first):
            break
        add(scaled, energy / previous, direction)
        direction = scaled
    assert along is not None
    return x, along
