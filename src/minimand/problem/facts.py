"""What is known about the data of a problem, whatever its loss, target and penalty are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base.typing import Array, IntArray
from ..design import Design
from .basis import Basis


@dataclass(eq=False)
class Facts:
    """Facts about (design, mass, intercept), computed by the first objective that asks.

    Objectives of the same data hold the same object, so that none of them computes a fact again;
    an objective whose data differ gets a new one. A fact that nobody asked for is None.
    """

    design: Design
    mass: Array
    intercept: bool
    units: IntArray | None = None  # of the loss, over whose rows the masses are spread
    spread: Array | None = None  # mean squares of the columns
    root_spread: Array | None = None
    column_norms: Array | None = None
    free_basis: tuple[IntArray, Basis | None] | None = None  # of which columns, and what it is

    def describe(
        self, design: Design, mass: Array, intercept: bool, units: IntArray | None
    ) -> bool:
        """Whether these are the facts about such data."""
        same = self.design is design and self.mass is mass and self.intercept == intercept
        if not same or self.units is units:
            return same
        return self.units is not None and units is not None and np.array_equal(self.units, units)

    def on_columns(self, columns: IntArray, design: Design) -> Facts:
        """What is known about some of the columns, which are a design of their own."""

        def on_them(numbers: Array | None) -> Array | None:
            return None if numbers is None else numbers[columns]

        return Facts(
            design,
            self.mass,
            self.intercept,
            self.units,
            spread=on_them(self.spread),
            root_spread=on_them(self.root_spread),
            column_norms=on_them(self.column_norms),
        )

    def basis_of(self, columns: IntArray) -> tuple[Basis | None] | None:
        """The basis of these columns in a tuple, if it is known; it may be None itself."""
        if self.free_basis is None or not np.array_equal(self.free_basis[0], columns):
            return None
        return (self.free_basis[1],)
