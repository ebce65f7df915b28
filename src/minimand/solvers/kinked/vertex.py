"""The corner that an interior point approaches.

Near the end every riser shows where it will stop: at an end of its range or, if both slacks vanish,
in between with t on its knot. A coefficient whose riser stays in between is zero (or at its bound).
The rest is linear: the samples B on a knot stay there, samples on a curved piece follow it, and the
other coefficients A have slope zero,

    X_B δw = −(t − knot),   X_Bᵀ(mass∘δv) + H δw = −slope_A,   H = X_Aᵀdiag(mass∘ψ'')X_A + diag(l2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..._base.threads import one_blas_thread
from ..._base.typing import Array, IntArray
from ...problem.objective import EPS
from .interior import InteriorPoint

_LARGEST = 1000  # unknowns of the system of a corner; safeguard


class Offer(NamedTuple):
    """Models (w, b), the best first, and multipliers for their certificates."""

    models: list[tuple[Array, float]]
    thetas: list[Array]


def offered(inner: InteriorPoint, near: bool) -> Offer:
    """The interior point; if it is near the end, preceded by the corner next to it."""
    # A copy: steps move w in place.
    offer = Offer([(inner.form.project(inner.w.copy()), inner.b)], [inner.theta])
    if not near:
        return offer
    w, settled = inner.w, np.zeros(inner.w.size, dtype=bool)
    found = inner.corner()
    if found is None:
        w, settled = inner.snapped()
        found = corner_next_to(inner, w, np.flatnonzero(~settled))
    if found is not None:
        w, b, theta = found
        return Offer([(w, b), *offer.models], [theta, *offer.thetas])
    if settled.any():
        offer.models.insert(0, (w, inner.b))
    return offer


def corner_next_to(
    inner: InteriorPoint, w: Array, moving: IntArray
) -> tuple[Array, float, Array] | None:
    """The corner and its multipliers; None if it cannot be told which one."""
    rows, plq, form = inner.rows, inner.plq, inner.form
    slope, curvature, on, miss = inner.settled_samples()
    basis = np.flatnonzero(on)
    size = moving.size + rows.intercept
    # More samples on knots than 3 per unknown: no corner; safeguard.
    if not size or basis.size > 3 * size + 20 or basis.size + size > _LARGEST:
        return None
    block = rows.design.rows(basis)
    whole = moving.size == rows.n_features
    matrix = (block if whole else block.columns(moving)).matvec(np.eye(moving.size))
    bend = _bend(inner, rows.mass * curvature, moving)
    gradient, balance = inner.gradient(slope)
    left = gradient + form.l2 * w + form.l1 * np.sign(w)
    if rows.intercept:
        matrix = np.column_stack([matrix, np.ones(basis.size)])
    left = np.append(left[moving], balance)[:size]
    # The slopes of samples on a curved piece were taken at the old coefficients.
    jump, miss = w - inner.w, plq.sign[basis] * miss[basis]
    if jump.any():
        miss += block.matvec(jump)
        if curvature.any():
            away = rows.mass * curvature * rows.forward(jump)
            left += np.append(rows.backward(away)[moving], away.sum())[:size]
    move, change = _equations(matrix, rows.mass[basis], bend, miss, left)
    w = w.copy()
    w[moving] += move[: moving.size]
    slope[basis] += plq.sign[basis] * change
    b = inner.b + (float(move[-1]) if rows.intercept else 0.0)
    return form.project(w), b, plq.sign * plq.pieces.clip(slope)


def _bend(inner: InteriorPoint, h: Array, moving: IntArray) -> Array:
    """The second derivative in the moving coefficients and, if there is one, the intercept."""
    size = moving.size + inner.rows.intercept
    bend = np.zeros((size, size))
    if h.any():
        bend[: moving.size, : moving.size] = inner.rows.gram(h, moving)
        if inner.rows.intercept:
            bend[-1, :-1] = bend[:-1, -1] = inner.rows.backward(h)[moving]
            bend[-1, -1] = h.sum()
    bend.flat[: moving.size * (size + 1) : size + 1] += inner.form.l2[moving]
    return bend


def _equations(
    matrix: Array, mass: Array, bend: Array, miss: Array, left: Array
) -> tuple[Array, Array]:
    """δw and δv of the equations above, with columns scaled to length 1."""
    size = np.sqrt((matrix * matrix).sum(axis=0) + bend.diagonal())
    size[size == 0] = 1.0
    matrix = matrix / size
    if not bend.any():
        move = _least(matrix, -miss)
        change = _least(matrix.T, -left / size)
    else:
        bend = bend / size / size[:, None]
        system = np.zeros((size.size + miss.size,) * 2, order="F")
        system[: size.size, : size.size] = bend
        system[: size.size, size.size :], system[size.size :, : size.size] = matrix.T, matrix
        both = _least(system, -np.concatenate([left / size, miss]))
        move, change = both[: size.size], both[size.size :]
    return move / size, change / mass


def _least(matrix: Array, right: Array) -> Array:
    """The least-norm least-squares solution.

    LAPACK is called directly, since scipy.linalg's wrapper costs more than a small system.
    """
    m, n = matrix.shape
    if not (m and n):
        return np.zeros(n)
    side = np.zeros((max(m, n), 1))
    side[:m, 0] = right
    order = np.zeros(n, dtype=np.int32)
    work = int(lapack.dgelsy_lwork(m, n, 1, EPS)[0])
    with one_blas_thread():
        _, found, _, _, _ = lapack.dgelsy(matrix, side, order, EPS, work)
    return np.asarray(found[:n, 0])
