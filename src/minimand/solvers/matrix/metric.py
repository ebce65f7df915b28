"""Metrics for steps of a coefficient matrix: how far a step moves the scores, G = XᵀHX.

H is the curvature of the loss or a bound of it. A metric is formed from the data (one matrix for
all scores, one for each, or one for all coefficients) or is a multiple of the identity where
matrices would be too large. If H may vanish, steps add a small multiple of H = 1, the ``floor``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from ..._base.linear_system import Solve, pseudo_inverse, solver_for
from ..._base.typing import Array
from ...losses.curvature import Curvature
from ...problem.objective import Objective

_DAMPED = 1e-12  # share of its diagonal, added to G before it is inverted; safeguard
_LARGEST = 600  # side of G, up to which its eigenvalues take less than a second; safeguard
_POWER = 8  # products for a first estimate of the largest curvature; safeguard


class Metric:
    """A positive definite G over matrices W."""

    formed: bool  # whether it is that of the data
    top: float  # about its largest eigenvalue; steps find out if it is too small

    def times(self, w: Array) -> Array:
        """G w."""
        raise NotImplementedError

    def solve(self, right: Array) -> Array:
        """E with G·E = right, up to a damping that is far below the curvatures that matter."""
        raise NotImplementedError

    def resolvent(self) -> Callable[[Array, float], Array] | None:
        """(G + ρ)⁻¹ as a function of a right side and ρ > 0, if G is small enough."""
        return None

    def full(self, shape: tuple[int, ...]) -> Array | None:
        """G as a matrix over all coefficients of W in the order of its rows, if it is small."""
        return None

    @property
    def middle(self) -> float:
        """A curvature between the largest and the smallest of a column."""
        return self.top

    def lifted(self, objective: Objective, step: Array) -> Array:
        """H·(X − means)·E, multipliers whose slope is G·E and whose mean vanishes."""
        raise NotImplementedError


class Gram(Metric):
    """One matrix for all scores: H is the identity."""

    formed = True

    def __init__(self, objective: Objective) -> None:
        self.matrix, self.means = objective.hessian(objective.mass)
        self.top = _rough_top(self.matrix)

    def times(self, w: Array) -> Array:
        """G w."""
        return self.matrix @ w

    def solve(self, right: Array) -> Array:
        """G⁻¹·right, by a Cholesky factor."""
        return self._factor(right)

    def resolvent(self) -> Callable[[Array, float], Array] | None:
        """(G + ρ)⁻¹, by the eigenvalues of G."""
        return _resolvent(self.matrix)

    def full(self, shape: tuple[int, ...]) -> Array | None:
        """The matrix for every score."""
        k = int(np.prod(shape[1:]))
        return np.asarray(np.kron(self.matrix, np.eye(k)), float) if _is_small(shape) else None

    @property
    def middle(self) -> float:
        """The geometric mean of the diagonal."""
        return _middle(self.matrix)

    @cached_property
    def _factor(self) -> Solve:
        return _factorised(self.matrix)

    def lifted(self, objective: Objective, step: Array) -> Array:
        """(X − means)·E."""
        return objective.forward(step) - self.means @ step


class Blocks(Metric):
    """A matrix for every score, of a loss whose curvature is a number for every row and score."""

    formed = True

    def __init__(self, objective: Objective, h: Array, floor: Array) -> None:
        self._h = h
        columns = h.reshape(len(h), -1).T
        found = [objective.hessian(np.ascontiguousarray(objective.mass * c)) for c in columns]
        self._matrices = np.stack([each.matrix for each in found])
        self._steps = self._matrices + floor
        self._means = np.stack([each.mean for each in found])
        self.top = max(map(_rough_top, self._steps))

    def times(self, w: Array) -> Array:
        """G_c w_c for every score."""
        columns = w.reshape(len(w), -1).T[:, :, None]
        return np.ascontiguousarray((self._steps @ columns)[:, :, 0].T).reshape(w.shape)

    def solve(self, right: Array) -> Array:
        """G⁻¹·right, by a Cholesky factor for every score."""
        pairs = zip(self._factors, right.reshape(len(right), -1).T)
        return np.stack([factor(c) for factor, c in pairs], axis=1).reshape(right.shape)

    def full(self, shape: tuple[int, ...]) -> Array | None:
        """The matrices of the scores, interleaved."""
        if not _is_small(shape):
            return None
        k, d, _ = self._steps.shape
        found = np.zeros((d, k, d, k))
        for c, each in enumerate(self._steps):
            found[:, c, :, c] = each
        return found.reshape(d * k, d * k)

    @cached_property
    def _factors(self) -> list[Solve]:
        return [_factorised(matrix) for matrix in self._matrices]

    def lifted(self, objective: Objective, step: Array) -> Array:
        """h∘(X − means)·E."""
        shift = (self._means.T * step.reshape(len(step), -1)).sum(axis=0)
        return self._h * (objective.forward(step) - (shift if step.ndim > 1 else shift[0]))


class Coupled(Metric):
    """One matrix over all coefficients, of a loss that couples the scores of a row."""

    formed = True

    def __init__(self, objective: Objective, curvature: Curvature, floor: Array) -> None:
        self._curvature = curvature
        weighted, k = curvature.weighted(objective.row_mass), objective.n_scores
        self._matrix = weighted.gram(objective.design)
        self._shift = np.zeros((k, len(self._matrix)))
        if objective.intercept:
            pull = [objective.backward(weighted.times(each)).ravel() for each in _ones(curvature)]
            self._shift = pseudo_inverse(weighted.over_scores())(np.array(pull))
            self._matrix = self._matrix - np.array(pull).T @ self._shift
        self._steps = self._matrix + np.kron(floor, np.eye(k))
        self.top = _rough_top(self._steps)

    def times(self, w: Array) -> Array:
        """G w."""
        return (self._steps @ w.ravel()).reshape(w.shape)

    def solve(self, right: Array) -> Array:
        """G⁻¹·right, by a Cholesky factor; shifts of all scores change nothing, and are damped."""
        return self._factor(right.ravel()).reshape(right.shape)

    def resolvent(self) -> Callable[[Array, float], Array] | None:
        """(G + ρ)⁻¹, by the eigenvalues of G."""
        found = _resolvent(self._steps)
        if found is None:
            return None
        return lambda right, rho: found(right.reshape(-1, 1), rho).reshape(right.shape)

    def full(self, shape: tuple[int, ...]) -> Array | None:
        """The matrix itself."""
        return self._steps if _is_small(shape) else None

    @property
    def middle(self) -> float:
        """The geometric mean of the diagonal."""
        return _middle(self._steps)

    @cached_property
    def _factor(self) -> Solve:
        return _factorised(self._matrix)

    def lifted(self, objective: Objective, step: Array) -> Array:
        """H·(X·E − shift)."""
        return self._curvature.times(objective.forward(step) - self._shift @ step.ravel())


class Plain(Metric):
    """A multiple of the identity, an upper bound of the metric of the data."""

    formed = False

    def __init__(self, top: float) -> None:
        self.top = max(top, 1e-300)

    def times(self, w: Array) -> Array:
        """Top·w."""
        return self.top * w


def _ones(curvature: Curvature) -> Iterator[Array]:
    """For every score, 1 in its column and 0 elsewhere."""
    for c in range(curvature.shape[1]):
        each = np.zeros(curvature.shape)
        each[:, c] = 1.0
        yield each


def _is_small(shape: tuple[int, ...]) -> bool:
    return int(np.prod(shape)) <= _LARGEST


def _resolvent(matrix: Array) -> Callable[[Array, float], Array] | None:
    if len(matrix) > _LARGEST or not np.isfinite(matrix).all():
        return None
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, 0.0)[:, None]

    def solve(right: Array, rho: float) -> Array:
        columns = right.reshape(len(right), -1)
        return (vectors @ ((vectors.T @ columns) / (values + rho))).reshape(right.shape)

    return solve


def _middle(matrix: Array) -> float:
    sizes = np.diag(matrix)[np.diag(matrix) > 0]
    return float(np.exp(np.log(sizes).mean())) if sizes.size else 0.0


def _factorised(matrix: Array) -> Solve:
    return solver_for(matrix + _DAMPED * np.diag(np.diag(matrix)))


def _rough_top(matrix: Array) -> float:
    """About the largest eigenvalue, by the power method."""
    v = np.diag(matrix) + 1e-3 * float(np.trace(matrix)) / max(len(matrix), 1)
    for _ in range(_POWER):
        size = float(np.linalg.norm(v))
        if not 0 < size < np.inf:
            return 0.0
        v = matrix @ (v / size)
    return float(np.linalg.norm(v))
