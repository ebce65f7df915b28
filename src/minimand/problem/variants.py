"""The same problem on other rows or columns, or for another target, loss or penalty."""

from __future__ import annotations

from dataclasses import Field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from .._base.typing import AnyArray, Array, IntArray
from ..design import Design
from ..losses import Loss
from ..penalties import BoundPenalty
from . import units as units_of
from .point import Meter, Point
from .products import Products

if TYPE_CHECKING:
    from .path_facts import PathFacts


class Variants(Products):
    """The problems that an objective can be turned into; they share what they have in common."""

    loss: Loss
    y: Array
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def null(self) -> Point:
        """w = 0, or the feasible point nearest to it, with the best intercept."""
        raise NotImplementedError

    @property
    def constant_target(self) -> bool:
        """Whether y − offset is constant."""
        raise NotImplementedError

    def with_target(self, y: Array) -> Self:
        """The same problem for another y; the data are shared, passes are counted anew."""
        return self.altered({}, y=y, meter=Meter(), known=self.facts)

    def with_penalty(
        self,
        penalty: BoundPenalty,
        *,
        columns: IntArray | None = None,
        words: str | None = None,
        meter: Meter | None = None,
    ) -> Self:
        """The same data under another penalty, on all or some columns.

        What does not depend on the penalty is shared; passes are counted by the same meter unless
        a new one is given.
        """
        fields: dict[str, Any] = {"penalty": penalty, "known": self.facts}
        cached: dict[str, Any] = {"constant_target": self.constant_target}
        if words is not None:
            fields["words"] = words
        if meter is not None:
            fields["meter"] = meter
        if columns is not None:
            design = self.design.columns(columns)
            facts = self.facts.on_columns(columns, design)
            fields.update(design=design, path_facts=None, known=facts)
        chosen = slice(None) if columns is None else columns
        known = ["infimum", "units", "row_mass", "_equal_mass", "has_columns", "n_samples"]
        unbounded = _is_sum(penalty) and not penalty.has_constraints  # so that w = 0 is feasible
        if columns is None and self._null_is_zero and unbounded:
            cached["null"] = self.null
            known += ["null_loss", "_null_is_zero"]
            if _is_sum(self.penalty):
                known += ["null_primal", "scale"]  # w = 0 has Ω = 0 under both penalties
        else:
            old = self.null.w[chosen]
            null = penalty.project(np.zeros(old.shape))
            if np.array_equal(null, old):  # constraints may have moved the null model
                cached["null"] = self.null._replace(w=null)
                known.append("null_loss")
                if not null.any() and _is_sum(penalty) and _is_sum(self.penalty):
                    known += ["null_primal", "scale"]
        cached.update((name, self.__dict__[name]) for name in known if name in self.__dict__)
        return self.altered(cached, **fields)

    @cached_property
    def _null_is_zero(self) -> bool:
        """Whether the null model is w = 0, not moved by constraints."""
        return not self.null.w.any()

    def with_path_facts(self, path_facts: PathFacts | None) -> Self:
        """The same problem with the facts of a path, or with none; cached values are kept."""
        return self.altered(self.__dict__, path_facts=path_facts)

    def altered(self, cached: dict[str, Any], **fields: Any) -> Self:
        """The problem with other fields and with these cached values, which hold for it too.

        It is faster than `dataclasses.replace`, since a path makes many.
        """
        new = object.__new__(type(self))
        same = {name: self.__dict__[name] for name in self.__dataclass_fields__}
        new.__dict__.update({**same, **cached, **fields})
        return new

    def weighted(self, loss: Loss, weights: Array) -> tuple[Self, float]:
        """The same data under another loss with sample weights, and the sum T of the new masses.

        Masses sum to one, so everything is divided by T: the new objective is 1/T times
        Σ massᵢ·weightsᵢ·loss(zᵢ, yᵢ) + Ω(w).
        """
        mass = self.mass * weights
        total = float(mass.sum())
        if not total > 0:
            total, mass = 1.0, np.zeros_like(mass)  # only the penalty is left
        penalty = self.penalty.times(1.0 / total)
        cached = {"constant_target": self.constant_target}
        fields = {"loss": loss, "mass": mass / total, "penalty": penalty, "path_facts": None}
        return self.altered(cached, **fields), total

    def thinned(self, every: int) -> Self:
        """The same problem on every k-th unit, to find a start cheaply."""
        rows = units_of.thinned(self.loss, self.units, every)
        if not isinstance(rows, slice):
            return self.on_rows(rows)
        return self._on(self.design.thinned(every), rows)

    def on_rows(self, rows: AnyArray) -> Self:
        """The same problem on some rows (increasing)."""
        return self._on(self.design.rows(rows), rows)

    def _on(self, design: Design, rows: Any) -> Self:
        """The same problem on a design of some rows; passes are counted anew."""
        loss, units = units_of.on_rows(self.loss, self.units, rows)
        return self.altered(
            {},
            loss=loss,
            design=design,
            y=np.ascontiguousarray(self.y[rows]),
            mass=loss.masses(self.mass[units]),
            offset=None if self.offset is None else np.ascontiguousarray(self.offset[rows]),
            meter=Meter(),
        )


def _is_sum(penalty: BoundPenalty) -> bool:
    """Whether the penalty is a sum over features or groups, so that Ω(0) = 0 if 0 is feasible."""
    return penalty.sum_over_features is not None or penalty.sum_over_groups is not None
