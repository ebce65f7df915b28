"""The rows of a wide X: the shortest coefficients for given scores, and singular values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import linalg

from .._base.linear_system import EPS, Solve, factorise
from .._base.typing import Array
from ..design import Design

_CLEAR = 1e-10  # share of the largest eigenvalue that the others have, or are zero; safeguard


class Spectrum(NamedTuple):
    """Singular values, in decreasing order, and how many are not zero."""

    values: Array
    rank: int


@dataclass(frozen=True, eq=False)
class RowSpace:
    """K = X_c X_cᵀ and a solver with it, X_c = X minus its mean row if there is an intercept.

    The masses M are orthogonal to the columns of X_c, so that K is singular along them. If nothing
    else is, the solver is a factor of K plus a matrix of rank one in this direction, and right
    sides must have none of it. If rows depend on others, it is √M (√M K √M)⁺ √M.
    """

    design: Design
    mass: Array
    centre: Array | None
    gram: Array
    solve: Solve
    rank: int

    @classmethod
    def of(cls, design: Design, mass: Array, centre: Array | None) -> RowSpace | None:
        """None if some row all but depends on others, so that the rank is not clear."""
        gram = design.row_gram(None, centre)
        filled = gram.copy()
        if centre is not None:
            unit = mass / np.linalg.norm(mass)
            filled += np.trace(gram) / mass.size * np.outer(unit, unit)
        solve, rank = factorise(filled), mass.size - (centre is not None)
        if solve is not None:
            return cls(design, mass, centre, gram, solve, rank)
        found = _pseudo_inverse(gram, np.sqrt(mass))
        return None if found is None else cls(design, mass, centre, gram, *found)

    def shortest(self, target: Array) -> Array:
        """The shortest w with the least Σ mass·(X_c w − target)², where Σ mass·target = 0."""
        a = self.solve(target)
        w = self.design.rmatvec(a)
        return w if self.centre is None else w - self.centre * a.sum()

    def projected(self, w: Array) -> Array:
        """The shortest coefficients with the same X_c w."""
        image = self.design.matvec(w)
        return self.shortest(image if self.centre is None else image - self.centre @ w)

    @cached_property
    def spectrum(self) -> Spectrum | None:
        """Singular values of √(n·mass)·X_c; None where squares would lose too many digits."""
        root = np.sqrt(self.mass.size * self.mass)
        squares = np.linalg.eigvalsh(self.gram * np.outer(root, root))[::-1]
        if not squares[self.rank - 1] > 1e-6 * squares[0]:  # share; safeguard, as for columns
            return None
        values = np.zeros(self.mass.size)
        values[: self.rank] = np.sqrt(squares[: self.rank])
        return Spectrum(values, self.rank)


def _pseudo_inverse(gram: Array, root: Array) -> tuple[Solve, int] | None:
    """√M (√M K √M)⁺ √M and the rank of K; None if the rank is not clear."""
    weighted = gram * np.outer(root, root)
    if not np.isfinite(weighted).all():
        return None
    values, vectors = linalg.eigh(weighted, check_finite=False)
    zero = values <= root.size * EPS * values[-1]
    if (values[~zero] <= _CLEAR * values[-1]).any():
        return None
    inverse = 1.0 / values[~zero]
    basis = root[:, None] * vectors[:, ~zero]
    return lambda right: basis @ (inverse * (basis.T @ right)), inverse.size
