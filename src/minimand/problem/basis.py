"""`Basis`: columns expressed through others that are far from collinear."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from .._base.typing import Array, BoolArray, IntArray
from ..design import Design, as_design


def free_columns(free: BoolArray) -> IntArray:
    """The columns of which every coefficient is free: of several scores, that of each."""
    return np.flatnonzero(free if free.ndim == 1 else free.all(axis=1))


@dataclass(frozen=True, eq=False)
class Basis:
    """Columns expressed through others that are far from collinear.

    ``kept`` and ``dropped`` are columns of the ``design``. ``residues`` is E, of unit length
    under the masses; a dropped column is [X_kept, E]·onto + shift, and E is
    (X_dropped − X_kept·onto_kept − shift)·back. ``faint`` are directions, also of unit length,
    that are only rounding of the data.
    """

    design: Design
    kept: IntArray
    dropped: IntArray
    residues: Array
    onto: Array
    shift: Array
    back: Array
    faint: Array

    @classmethod
    def of_all(cls, design: Design, columns: IntArray) -> Basis:
        """Columns that are far from collinear, as their own basis."""
        nothing = np.zeros((design.shape[0], 0))
        nowhere, none = np.zeros((columns.size, 0)), np.zeros(0)
        dropped = np.zeros(0, dtype=columns.dtype)
        return cls(design, columns, dropped, nothing, nowhere, none, nowhere[:0], nothing)

    @property
    def regular(self) -> bool:
        """Whether all columns are far from collinear."""
        return not self.dropped.size

    @property
    def onto_kept(self) -> Array:
        """The part of ``onto`` that belongs to kept columns."""
        return self.onto[: self.kept.size]

    @property
    def rank(self) -> int:
        """Columns of T, without the intercept."""
        return self.kept.size + self.residues.shape[1]

    @property
    def whole(self) -> Array:
        """T, in memory."""
        kept = self.design.columns(self.kept).matvec(np.eye(self.kept.size))
        return np.column_stack([kept, self.residues])

    @property
    def all_onto(self) -> Array:
        """A for all columns of a design, each of which was kept or dropped."""
        found = np.zeros((self.rank, self.design.shape[1]))
        found[np.arange(self.kept.size), self.kept] = 1.0
        found[:, self.dropped] = self.onto
        return found

    @property
    def all_back(self) -> Array:
        """V with T = X V + constants, for all columns."""
        found = np.zeros((self.design.shape[1], self.rank))
        found[self.kept, np.arange(self.kept.size)] = 1.0
        found[self.dropped, self.kept.size :] = self.back
        found[self.kept, self.kept.size :] -= self.onto_kept @ self.back
        return found

    @cached_property
    def stays(self) -> IntArray:
        """All columns of the design except the dropped ones."""
        return np.setdiff1d(np.arange(self.design.shape[1]), self.dropped)

    @cached_property
    def independent(self) -> Design:
        """The columns that stay, and the residues."""
        rest = self.design.columns(self.stays)
        if not self.residues.size:
            return rest
        blocks = rest.gathered_blocks()
        if rest.sparse:
            return as_design(sparse.hstack([sparse.vstack(blocks), self.residues], format="csr"))
        whole = [np.concatenate(blocks, dtype=float), self.residues]
        return as_design(np.asfortranarray(np.column_stack(whole)))

    @cached_property
    def _places(self) -> IntArray:
        """The positions of the kept columns among those that stay."""
        return np.searchsorted(self.stays, self.kept)

    def constant(self, w: Array) -> Any:
        """What the dropped columns add to the intercept of T; an array for several scores."""
        found = self.shift @ w[self.dropped]
        return found if w.ndim > 1 else float(found)

    def inside(self, w: Array) -> Array:
        """Coefficients of the columns that stay and of the residues, from those of all columns."""
        moved = self.onto @ w[self.dropped]
        stay = w[self.stays]
        stay[self._places] += moved[: self.kept.size]
        return np.concatenate([stay, moved[self.kept.size :]])

    def outside(self, a: Array) -> Array:
        """Coefficients of all columns; of several solutions the shortest."""
        w = self._shortened(self._placed(a))
        # Columns of very different sizes lose digits of the scores above; these are put back.
        return w + self._placed(a - self.inside(w))

    def _placed(self, a: Array) -> Array:
        """Some coefficients of all columns for those of the columns that stay and the residues."""
        w = np.zeros((self.design.shape[1], *a.shape[1:]))
        w[self.stays] = a[: self.stays.size]
        w[self.dropped] = self.back @ a[self.stays.size :]
        w[self.kept] -= self.onto_kept @ w[self.dropped]
        return w

    def slopes(self, slope: Array) -> Array:
        """Slopes of all columns of the design, from those of the columns of T."""
        full = np.empty((self.design.shape[1], *slope.shape[1:]))
        full[self.stays] = slope[: self.stays.size]
        seen = np.concatenate([full[self.kept], slope[self.stays.size :]])
        full[self.dropped] = self.onto.T @ seen
        return full

    @cached_property
    def _span(self) -> tuple[Array, bool]:
        """An orthonormal basis of the coefficients that change X w, or of those that do not.

        The one with fewer dimensions; the second result says whether it is the first kind.
        """
        places, seen = self.kept.size, self.onto[self.kept.size :]
        if 2 * self.rank < self.kept.size + self.dropped.size:
            rows = np.zeros((self.rank, self.kept.size + self.dropped.size))
            rows[:places, :places] = np.eye(places)
            rows[:, places:] = self.onto
            return _orthonormal(rows.T), True
        without = np.flatnonzero(~self.back.any(axis=1))
        still = (np.eye(self.dropped.size) - self.back @ seen)[:, without]
        return _orthonormal(np.concatenate([-self.onto_kept @ still, still])), False

    def _shortened(self, w: Array) -> Array:
        """The same model with the least ‖w‖, up to rounding."""
        chosen = np.append(self.kept, self.dropped)
        span, seen = self._span
        image = span @ (span.T @ w[chosen])
        new = w.copy()
        new[chosen] = image if seen else w[chosen] - image
        return new


def _orthonormal(columns: Array) -> Array:
    """An orthonormal basis of some columns; these are scaled twice, as squares may overflow."""
    columns = columns / np.abs(columns).max(axis=0, initial=0.0)
    columns /= np.linalg.norm(columns, axis=0)
    return np.asarray(linalg.qr(columns, mode="economic", check_finite=False)[0])
