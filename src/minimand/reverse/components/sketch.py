"""The largest singular vectors of X about, by few products: a Krylov space that is not refined."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..._base.linear_system import EPS
from ..._base.typing import Array
from ...certificate.eigenvalues.krylov import Krylov
from ...certificate.eigenvalues.random_start import largest_by_start, sum_by_start
from ...certificate.eigenvalues.ritz import (
    Operator,
    Ritz,
    largest_on_complement,
    of_usual_size,
    orthonormal,
    sum_above,
)
from ...design import Design
from .spectrum import Found, completed

_MORE = 2  # columns of a block beyond those wanted; safeguard: what comes next is bounded, too
# Blocks for the root of the power: p(λ) = λ^q is undercut by Chebyshev polynomials of this degree.
_DEGREE = 2.5  # measured: spectra of 11 kinds, 2 to 50 components
_SHARE = 0.4  # of the columns that a power iteration multiplies; measured: the same spectra
_FEWEST = 4  # blocks; measured: the same spectra, 50 components
_SIDE = 400  # shorter side, from which few products are worth it; safeguard: 10 ms
_CHEAPER = 4  # operations of a product and its basis in those of a Gram matrix; safeguard


class Plan(NamedTuple):
    """A Krylov space: so many blocks of so many columns."""

    width: int
    blocks: int

    @classmethod
    def of(cls, k: int, power: int, oversampled: int) -> Plan:
        """A space with approximations at least as good as those of a randomised power iteration.

        That multiplies k + ``oversampled`` columns ``power`` times by XᵀX. Here no more columns are
        multiplied, but combined by the best polynomials instead of λ^power.
        """
        width = k + _MORE
        columns = _SHARE * power * (k + oversampled) / width
        return cls(width, max(_FEWEST, 1 + math.ceil(min(_DEGREE * math.sqrt(power), columns))))

    def suits(self, design: Design) -> bool:
        """Whether it costs less than all eigenvalues."""
        side = min(design.shape)
        return side >= _SIDE and _CHEAPER * self.width * self.blocks <= side


class Sketch(NamedTuple):
    """Components of X as it is, and the outputs of its rows."""

    found: Found
    outputs: Array


def sketched(
    design: Design, k: int, plan: Plan, total: float, rng: np.random.RandomState
) -> Sketch:
    """k directions V that keep nearly as much of ‖X‖² as any, and a bound of what any could keep.

    The space is that of XXᵀ or XᵀX, of the shorter side. Its best vectors are multiplied once
    more, which brings them to the other side, or closer to the eigenvectors; the best directions
    in their span are returned with ‖XV‖² itself, not with an estimate of it. ``total`` is ‖X‖².
    All but the result is in a unit in which products with the matrix, and their squares, are usual
    numbers.
    """
    n, d = design.shape
    tall = d <= n
    there, back = (design.matvec, design.rmatvec) if tall else (design.rmatvec, design.matvec)
    operator, unit = of_usual_size(
        Operator(lambda v: back(there(np.ascontiguousarray(v))), min(n, d), total)
    )
    start = rng.standard_normal((operator.size, plan.width))
    pairs, degree = Krylov(operator, k, rng, start, width=plan.width).grown(plan.blocks)
    upper = np.minimum(
        largest_by_start(pairs.values, start, degree, k + 1),
        operator.trace / np.arange(1, min(k + 1, plan.width, pairs.values.size) + 1),
    )
    images = np.ascontiguousarray(pairs.images[:, :k])
    near = completed(orthonormal(images if tall else design.rmatvec(images)), k)
    outputs = design.matvec(near)
    # By a triangle and not by products: small values keep their digits.
    triangle = linalg.qr(outputs, mode="r", check_finite=False)[0][:k]
    _, sizes, turns = linalg.svd(triangle, full_matrices=False, check_finite=False)
    values, vectors, outputs = sizes**2, near @ turns.T, outputs @ turns.T
    images = design.rmatvec(np.ascontiguousarray(outputs)) / unit
    by_start = sum_by_start(Ritz(values / unit, vectors, images), k, upper)
    # Of nearly low rank, the trace leaves next to nothing for what the space has not found.
    left = largest_on_complement(operator, pairs, k)
    by_norms = sum_above(pairs.values[:k], pairs.residual(k), left)
    bound = min(max(unit * min(by_start, by_norms), float(values.sum())), total)
    rounding = EPS * 16 * (k * math.sqrt(max(n, d)) * float(values[0]) + math.sqrt(n) * total)
    certain, mean = by_norms <= by_start, np.zeros(d)
    found = Found(vectors, values, total, bound, rounding, mean, certain=certain)
    return Sketch(found, outputs)
