"""Groups of coefficients: which group each belongs to, and sums and norms over groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._base.typing import AnyArray, Array, BoolArray, IntArray

_HUGE, _TINY = 1e150, 1e-150  # sizes whose squares would overflow or vanish; safeguard


@dataclass(frozen=True, eq=False)
class Groups:
    """Which group each coefficient belongs to; ``label`` has the shape of w, 0 … count − 1."""

    label: IntArray
    count: int

    @classmethod
    def of_rows(cls, d: int, k: int) -> Groups:
        """The rows of a matrix with d rows and k columns."""
        groups = cls(np.broadcast_to(np.arange(d)[:, None], (d, k)), d)
        groups.__dict__["are_rows"] = True  # known without a look at the labels
        return groups

    def sums(self, values: Array) -> Array:
        """The sum over each group."""
        if self.are_rows:
            return np.asarray(np.einsum("ij->i", values), float)
        return np.asarray(np.bincount(self._flat, values.ravel(), minlength=self.count), float)

    def norms(self, w: Array) -> Array:
        """‖w_g‖₂ of each group."""
        most = float(np.abs(w).max(initial=0.0))
        if most == 0 or _TINY < most < _HUGE:
            return np.sqrt(self.sums(w * w))
        if not np.isfinite(most):
            return np.sqrt(self.sums(np.abs(w)))
        return most * np.sqrt(self.sums((w / most) ** 2))

    def to_members(self, by_group: AnyArray) -> Any:
        """The number of its group for every coefficient; not to be written to."""
        if self.are_rows:
            return np.broadcast_to(by_group[:, None], self.label.shape)
        return by_group[self.label]

    def any(self, mask: BoolArray) -> BoolArray:
        """Whether a group has a coefficient that is marked."""
        return np.bincount(self._flat[mask.ravel()], minlength=self.count) > 0

    def least(self, values: Array) -> Array:
        """The smallest value of each group."""
        found = np.full(self.count, np.inf)
        np.minimum.at(found, self._flat, values.ravel())
        return found

    def same_as(self, other: Groups) -> bool:
        """Whether both number the same groups in the same way."""
        same = self.count == other.count and self.label.shape == other.label.shape
        return same and bool(np.array_equal(self.label, other.label))

    @cached_property
    def are_rows(self) -> bool:
        """Whether the groups are the rows of a matrix, in their order."""
        label = self.label
        if label.ndim != 2 or len(label) != self.count:
            return False
        return bool((label == np.arange(self.count)[:, None]).all())

    @cached_property
    def _flat(self) -> IntArray:
        return self.label.ravel()

    @cached_property
    def sizes(self) -> IntArray:
        """How many coefficients each group has."""
        return np.bincount(self._flat, minlength=self.count)


class RowGroups(NamedTuple):
    """Groups of features: the number of its group for each of them, and the norm of each group."""

    label: IntArray
    norm: Array


def divided(values: Array, sizes: Array, otherwise: float = 0.0) -> Array:
    """values/sizes, another number where the size is 0."""
    return np.divide(values, sizes, out=np.full(sizes.shape, otherwise), where=sizes > 0)
