"""Facts about the data of a problem that do not depend on its loss, target and penalty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base.typing import Array, IntArray
from ..design import Covariance, Design
from .basis import Basis
from .row_space import RowSpace


@dataclass(eq=False)
class Facts:
    """Facts about (design, mass, intercept), each computed when an objective first needs it.

    Objectives of the same data share one object, so that no fact is computed twice; an objective
    with other data gets a new one. A fact that has not been needed yet is None.
    """

    design: Design
    mass: Array
    intercept: bool
    units: IntArray | None = None  # units of the loss, over whose rows the masses are spread
    means: Array | None = None  # of the columns, by the masses
    spread: Array | None = None  # mean squares of the columns
    root_spread: Array | None = None
    sizes: Array | None = None  # root mean squares of columns that models have used, NaN for others
    column_norms: Array | None = None
    free_basis: tuple[IntArray, Basis | None] | None = None  # the columns, and their basis
    row_gram: Array | None = None  # XXᵀ
    centred_row_gram: Array | None = None  # the same; X centred by the masses with an intercept
    hessian: Covariance | None = None  # of all columns, under the masses themselves
    row_space: tuple[RowSpace | None] | None = None
    multipliers: tuple[Array, Array] | None = None  # a target, and mass·θ of its last model

    def describe(
        self, design: Design, mass: Array, intercept: bool, units: IntArray | None
    ) -> bool:
        """Whether these are the facts about the given data."""
        same = self.design is design and self.mass is mass and self.intercept == intercept
        if not same or self.units is units:
            return same
        return self.units is not None and units is not None and np.array_equal(self.units, units)

    def on_columns(self, columns: IntArray, design: Design) -> Facts:
        """The facts about some of the columns, as a design of their own."""

        def on_them(numbers: Array | None) -> Array | None:
            return None if numbers is None else numbers[columns]

        return Facts(
            design,
            self.mass,
            self.intercept,
            self.units,
            means=on_them(self.means),
            spread=on_them(self.spread),
            root_spread=on_them(self.root_spread),
            sizes=on_them(self.sizes),
            column_norms=on_them(self.column_norms),
        )

    def basis_of(self, columns: IntArray) -> tuple[Basis | None] | None:
        """The basis of these columns in a tuple, if it is known; the basis itself may be None."""
        if self.free_basis is None or not np.array_equal(self.free_basis[0], columns):
            return None
        return (self.free_basis[1],)
