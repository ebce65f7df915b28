"""From an interior point to the corner it is heading for.

Near the end every riser shows where it will stop: at an end of its range, or, where both slacks
vanish, in between with t on its knot. A coefficient whose riser stays in between is zero (or at
its bound). Where all pieces of the loss are lines, what is left is linear: the samples B on a knot
stay there, and the other coefficients A have no slope,

    X_B δw = −(t − knot),   X_Bᵀ(mass∘δv) + l2∘δw = −slope_A.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from .._typing import Array, IntArray
from .interior import InteriorPoint

_LARGEST = 1000  # unknowns of the system of a corner


class Offer(NamedTuple):
    """Models (w, b), the best first, and multipliers to prove them with."""

    models: list[tuple[Array, float]]
    thetas: list[Array]


def offered(inner: InteriorPoint, near: bool) -> Offer:
    """An interior point, after the corner next to it if it is near."""
    offer = Offer([(inner.form.project(inner.w), inner.b)], [inner.theta])
    if not near:
        return offer
    w, settled = inner.snapped()
    moving = np.flatnonzero(~settled)
    found = _corner(inner, w, moving) if inner.plq.pieces.linear else None
    if found is not None:
        w, b, theta = found
        return Offer([(w, b), *offer.models], [theta, *offer.thetas])
    if settled.any():
        offer.models.insert(0, (w, inner.b))
    return offer


def _corner(inner: InteriorPoint, w: Array, moving: IntArray) -> tuple[Array, float, Array] | None:
    """The corner and its multipliers; None where it is not settled which one."""
    rows, plq, form = inner.rows, inner.plq, inner.form
    slope, on, miss = inner.settled_samples()
    basis = np.flatnonzero(on)
    size = moving.size + rows.intercept
    if not size or not basis.size or basis.size > 3 * size + 20 or basis.size + size > _LARGEST:
        return None
    block = rows.design.rows(basis)
    matrix = block.columns(moving).matvec(np.eye(moving.size))
    curved = form.l2[moving]
    gradient, balance = inner.gradient(slope)
    left = gradient[moving] + curved * w[moving] + form.l1[moving] * np.sign(w[moving])
    if rows.intercept:
        matrix = np.column_stack([matrix, np.ones(basis.size)])
        curved, left = np.append(curved, 0.0), np.append(left, balance)
    miss = plq.sign[basis] * miss[basis] + block.matvec(w - inner.w)
    move, change = _equations(matrix, rows.mass[basis], curved, miss, left)
    w = w.copy()
    w[moving] += move[: moving.size]
    slope[basis] += plq.sign[basis] * change
    b = inner.b + (float(move[-1]) if rows.intercept else 0.0)
    return form.project(w), b, plq.sign * plq.pieces.clip(slope)


def _equations(
    matrix: Array, mass: Array, curved: Array, miss: Array, left: Array
) -> tuple[Array, Array]:
    """δw and δv of the equations above, in units in which columns have length 1."""
    size = np.sqrt((matrix * matrix).sum(axis=0))
    size[size == 0] = 1.0
    matrix = matrix / size
    if not curved.any():
        move = _least(matrix, -miss)
        change = _least(matrix.T, -left / size)
    else:
        bend = np.diag(curved / size**2)
        system = np.block([[bend, matrix.T], [matrix, np.zeros((miss.size,) * 2)]])
        both = _least(system, -np.concatenate([left / size, miss]))
        move, change = both[: size.size], both[size.size :]
    return move / size, change / mass


def _least(matrix: Array, right: Array) -> Array:
    """The shortest solution, or the nearest to one."""
    return np.asarray(linalg.lstsq(matrix, right, lapack_driver="gelsy", check_finite=False)[0])
