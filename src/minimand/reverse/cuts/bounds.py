"""Bounds by sums of the largest eigenvalues, for any number of clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._base.linear_system import EPS
from ..._base.typing import Array
from ..._base.watch import look
from ...certificate.eigenvalues.relaxation import TopSum, top_of_normalised
from .coarsening import LARGE

_SHARE = 0.05  # of the cut, to which its bound is accurate; safeguard: more digits take longer
# The same where a bound is asked for, however low it is; measured: 20000 points of a plane, whose
# bound is 0.02 to 0.04 of the cut, take 0.4 to 0.65 s instead of 0.1 to 0.2 s.
_CLOSER = 0.005
WORTH = 0.15  # of the cut, below which a bound is not looked for; safeguard: it costs some seconds
_STEPS = 12  # of the lazy walk; safeguard: these take some tenths of a second for 50000 nodes


def of_cut(
    matrix: Any,
    weights: Array,
    k: int,
    value: float,
    near: Array | None,
    *,
    worth: float = WORTH,
) -> TopSum | None:
    """The k largest eigenvalues of a normalised graph; None if they cannot say anything.

    ``near`` are columns close to the eigenvectors, of a large graph only about so. Their Rayleigh
    quotients are below the eigenvalues, so that no bound by eigenvalues is above k less their sum.
    Where that is below the share ``worth`` of the ``value`` of a cut, nothing is computed; with
    ``worth`` 0 the bound is accurate to small shares of the cut, too.
    """
    tol = (_SHARE if worth else _CLOSER) * value / k
    if near is not None and matrix.shape[0] > LARGE:
        near = _smoothed(matrix, weights, near)
        most = k - float(np.linalg.eigvalsh(_quotients(matrix, weights, near))[-k:].sum())
        if most < worth * value:
            return None
    return top_of_normalised(matrix, k, weights=weights, tol=tol, start=near)


def _smoothed(matrix: Any, weights: Array, columns: Array) -> Array:
    """Columns after some steps of the lazy walk, ½(I + A), which turn them to the eigenvectors."""
    product = _normalised(matrix, weights)
    for _ in range(_STEPS):
        look()
        columns = 0.5 * (columns + product(columns))
    return np.asarray(np.linalg.qr(columns)[0])


def _quotients(matrix: Any, weights: Array, columns: Array) -> Array:
    return np.asarray(columns.T @ _normalised(matrix, weights)(columns))


def _normalised(matrix: Any, weights: Array) -> Callable[[Array], Array]:
    """Products with S^½Λ^-½KΛ^-½S^½."""
    scale = np.sqrt(weights / np.asarray(matrix @ weights, dtype=float))[:, None]
    return lambda x: np.asarray(scale * (matrix @ (scale * x)))


def rounding_of(weights: Array, sizes: Array) -> float:
    """What the rounding of kernel values may change in the objective: Σ s·k(x, x) cancels.

    It is charged to the objective and to its bound. A linear kernel of rows far from the origin
    has large values whose differences are the distances.
    """
    return 8.0 * EPS * float(weights @ sizes)
