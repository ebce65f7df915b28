"""The top eigenvectors of a normalised kernel Λ^-½KΛ^-½, off the constant one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..._base.linear_system import EPS
from ..._base.typing import Array
from ...certificate.eigenvalues.krylov import Krylov
from ...certificate.eigenvalues.ritz import (
    Operator,
    Ritz,
    bounded_above,
    largest_on_complement,
    sum_above,
)
from .exact import top_eigen
from .spectrum import signs_of

EXACT = 2000  # rows, up to which all eigenvalues are computed; safeguard: a second or two
_STEPS = 200  # block products; safeguard
_TESTS = 384  # degree of the final tests; safeguard
_MARGIN = 0.1  # share of the target that the estimated error may have at the end; safeguard


@dataclass(frozen=True, eq=False)
class Normalized:
    """K between rows of weights s, with its degrees Ks: K̃ = S^½Λ^-½KΛ^-½S^½, Λ = Δ(Ks)."""

    values: Any  # K, dense or sparse; or L with K = LLᵀ, if ``factor``
    weights: Array
    degrees: Array
    factor: bool = False

    @classmethod
    def of(cls, values: Any, weights: Array, *, factor: bool = False) -> Normalized:
        """Refuse negative affinities, and rows without any."""
        if factor:
            degrees = values @ (values.T @ weights)
        else:
            _check_affinities(values)
            degrees = np.asarray(values @ weights, dtype=float).ravel()
        empty = np.flatnonzero(~(degrees > 0))
        if empty.size:
            raise ValueError(
                f"row {empty[0]} has no affinity to any row (Λ = Δ(K1) would be divided by zero): "
                "leave such rows out, or take a wider kernel or more neighbours."
            )
        return cls(values, weights, degrees, factor)

    @property
    def scale(self) -> Array:
        """√(s/Λ)."""
        return np.sqrt(self.weights / self.degrees)

    @property
    def constant(self) -> Array:
        """The eigenvector S^½Λ^½1 of K̃ with the eigenvalue 1, of length one."""
        found = np.sqrt(self.weights * self.degrees)
        return np.asarray(found / np.linalg.norm(found))

    def times(self, v: Array) -> Array:
        """K̃ v, less its constant part: the eigenvalue 1 of the constant vector becomes 0."""
        scale, q = self.scale[:, None], self.constant
        u = scale * v
        inner = self.values @ (self.values.T @ u) if self.factor else self.values @ u
        return scale * np.asarray(inner, dtype=float) - np.outer(q, q @ v)

    @property
    def diagonal(self) -> Array:
        """The diagonal of K."""
        if self.factor:
            return np.einsum("ij,ij->i", self.values, self.values)
        return np.asarray(self.values.diagonal(), dtype=float)

    def operator(self) -> Operator:
        """K̃ without its constant part; its eigenvalues lie in [−1, 1], as those of K̃."""
        trace = float(self.scale**2 @ self.diagonal) - 1.0
        if self.factor:  # its values may be negative, so that an eigenvalue may exceed 1
            return Operator(self.times, self.weights.size, trace)
        return Operator(self.times, self.weights.size, trace, least=-1.0, most=1.0)


@dataclass(frozen=True, eq=False)
class Spectral:
    """Eigenvalues μ of K̃ off the constant vector, the largest first, and their vectors Ỹ."""

    values: Array
    vectors: Array
    bound: float  # no k other orthonormal vectors have a larger sum
    rounding: float
    passes: float = 1.0
    certain: bool = True  # whether the bound rests on no random vector

    def outputs(self, problem: Normalized) -> Array:
        """Y = S^-½Λ^-½Ỹ, with signs such that the entry of largest size of a column is positive."""
        found = self.vectors / np.sqrt(problem.weights * problem.degrees)[:, None]
        return np.asarray(found * signs_of(found))


def by_eigenvalues(problem: Normalized, k: int) -> Spectral:
    """All eigenvalues of the matrix."""
    n, q = problem.weights.size, problem.constant
    if problem.factor:
        matrix = problem.values @ problem.values.T
    else:
        matrix = problem.values.toarray() if sparse.issparse(problem.values) else problem.values
    matrix = matrix * np.outer(problem.scale, problem.scale)
    # The constant vector gets the eigenvalue −2, below all others: it is not found again.
    matrix -= 3.0 * np.outer(q, q)
    values, vectors = top_eigen(0.5 * (matrix + matrix.T), k)
    return Spectral(values[:k], vectors[:, :k], float(values[:k].sum()), EPS * n * (k + 1.0))


def ritz_points(
    problem: Normalized, k: int, rng: np.random.RandomState, tol: float
) -> Iterator[tuple[Ritz, float, float]]:
    """Ritz pairs of a Krylov space, with k + 1 − Σ(1, μ) and a lower bound of it."""
    operator, q = problem.operator(), problem.constant
    start = rng.standard_normal((operator.size, min(operator.size - 1, k + 8)))
    start -= np.outer(q, q @ start)
    for step, ritz in enumerate(Krylov(operator, k, rng, start), 1):
        theta, residual = ritz.values[:k], ritz.residual(k)
        attained = float(theta.sum())
        c = largest_on_complement(operator, ritz, k)
        bound = min(sum_above(theta, residual, c), k * operator.most)
        yield ritz, k - attained, k - max(bound, attained)
        expected = float(ritz.values[k]) if ritz.values.size > k else 0.0
        estimate = sum_above(theta, residual, expected) - attained
        if min(bound - attained, estimate / _MARGIN) <= tol * k or step == _STEPS:
            return


def concluded(
    problem: Normalized,
    ritz: Ritz,
    k: int,
    rng: np.random.RandomState,
    tol: float,
    passes: float,
    *,
    stopped: bool = False,
) -> Spectral:
    """The eigenvectors of the last point, with the best bound that some more products give.

    A fit that was stopped has no time for these, and gets the bound by norms.
    """
    theta = ritz.values[:k]
    attained = float(theta.sum())
    operator = problem.operator()
    above = bounded_above(operator, ritz, k, attained + tol * k, rng, 0 if stopped else _TESTS)
    rounding = 16 * EPS * k * float(np.sqrt(problem.weights.size))
    bound = max(min(above.bound, k * operator.most), attained)
    return Spectral(
        theta, ritz.vectors[:, :k], bound, rounding, passes + above.products, above.certain
    )


def _check_affinities(values: Any) -> None:
    entries = values.data if sparse.issparse(values) else values
    if not np.isfinite(entries).all():
        raise ValueError(
            "the affinities contain NaN or infinity: impute or drop such entries first."
        )
    least = float(entries.min(initial=0.0))
    if least < -EPS * float(np.abs(entries).max(initial=0.0)):
        raise ValueError(
            f"affinities must not be negative, but the smallest is {least:.3g}: take a kernel of "
            "values ≥ 0, such as RBF or Laplace."
        )
    uneven = abs(values - values.T).max() if values.shape[0] == values.shape[1] else 0.0
    if uneven > 1e-8 * float(np.abs(entries).max(initial=0.0)):  # share; safeguard
        raise ValueError(
            "the matrix of affinities is not symmetric: pass 0.5 * (K + K.T), for example."
        )
