"""The rows of a wide X, where none depends on others: then its columns reach every target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._base.linear_system import Solve, factorise
from .._base.typing import Array
from ..design import Design


class Spectrum(NamedTuple):
    """Singular values, in decreasing order, and how many are not zero."""

    values: Array
    rank: int


@dataclass(frozen=True, eq=False)
class IndependentRows:
    """K = X_c X_cᵀ and its factor, X_c = X minus its mean row if there is an intercept.

    The masses are orthogonal to the columns of X_c, so that K is singular along them; the factor
    is that of K plus a matrix of rank one in this direction, and right sides must have none of it.
    """

    design: Design
    mass: Array
    centre: Array | None
    gram: Array
    solve: Solve

    @classmethod
    def of(cls, design: Design, mass: Array, centre: Array | None) -> IndependentRows | None:
        """None if some row depends on others, or all but does so."""
        gram = design.row_gram(None, centre)
        filled = gram.copy()
        if centre is not None:
            unit = mass / np.linalg.norm(mass)
            filled += np.trace(gram) / mass.size * np.outer(unit, unit)
        solve = factorise(filled)
        return None if solve is None else cls(design, mass, centre, gram, solve)

    def shortest(self, target: Array) -> Array:
        """The w of least norm with X_c w = target, where Σ mass·target = 0: X_cᵀK⁻¹ target."""
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
        rank = self.mass.size - (self.centre is not None)
        if not squares[rank - 1] > 1e-6 * squares[0]:  # share; safeguard, as for columns
            return None
        values = np.zeros(self.mass.size)
        values[:rank] = np.sqrt(squares[:rank])
        return Spectrum(values, rank)
