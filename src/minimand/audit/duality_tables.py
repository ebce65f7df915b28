"""The result of `duality`: multipliers and the slacks of their constraints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .._base.typing import Array, BoolArray
from ..certificate import Certificate

_NEAR = 1e-9  # share of a multiplier's range; safeguard: within it, the multiplier is at an end


class Constraint(NamedTuple):
    """A constraint on the coefficients, its multiplier and its slack."""

    words: str
    multiplier: float
    slack: float

    @property
    def product(self) -> float:
        """multiplier·slack, 0 at an optimum."""
        return self.multiplier * self.slack


@dataclass(frozen=True, eq=False)
class SampleTable:
    """Complementary slackness, sample by sample.

    Attributes
    ----------
    value : ndarray of shape (n_samples,)
        The margin y·z if the loss is zero beyond a margin, otherwise the score z.
    slack : ndarray of shape (n_samples,)
        ξ = max(0, 1 − y·z) for losses with a margin, otherwise the loss; y·z − 1 for HardMargin.
    multiplier : ndarray of shape (n_samples,)
        By how much the optimum grows when the constraint of the sample is tightened by one unit:
        y·z ≥ 1 − ξ for losses with a margin (between 0 and `largest`), otherwise of the score.
    largest : ndarray of shape (n_samples,)
        The largest multiplier that is possible, the weight of the sample (1/n) for the hinge; inf
        where there is no bound. Divided by alpha: the α ≤ C = 1/(alpha·n) of other texts.
    product : ndarray of shape (n_samples,)
        The sample's share of the gap, never negative and 0 at an optimum: for the hinge
        multiplier·(y·z − 1 + ξ) + (largest − multiplier)·ξ.
    """

    value: Array
    slack: Array
    multiplier: Array
    largest: Array
    product: Array
    heading: str = "score z"
    name: str = ""  # of the class, where there are several tables

    @property
    def zero(self) -> BoolArray:
        """Samples with the multiplier 0: y·z ≥ 1, beyond the margin or on it."""
        return np.abs(self.multiplier) <= _NEAR * self._unit

    @property
    def free(self) -> BoolArray:
        """Samples whose multiplier lies between its ends: y·z = 1, on the margin."""
        return ~self.zero & ~self.bound

    @property
    def bound(self) -> BoolArray:
        """Samples with the largest multiplier: y·z ≤ 1, inside the margin or on it."""
        return np.abs(self.multiplier) >= (1 - _NEAR) * self.largest

    @property
    def _unit(self) -> Array:
        most = float(np.abs(self.multiplier).max(initial=0.0))
        return np.where(np.isfinite(self.largest), self.largest, most)

    def lines(self, most: int) -> Iterator[str]:
        """The table as text: free multipliers first, then the others by size."""
        if self.name:
            yield self.name
        yield f"{'sample':>8} {self.heading:>12} {'slack':>12} {'multiplier':>12} {'product':>10}"
        order = np.lexsort((-np.abs(self.multiplier), ~self.free))
        for i in order[:most]:
            yield (
                f"{i:>8} {self.value[i]:>12.6g} {self.slack[i]:>12.6g} "
                f"{self.multiplier[i]:>12.6g} {self.product[i]:>10.1e}"
            )
        if order.size > most:
            yield f"     and {order.size - most} more"


@dataclass(frozen=True, eq=False, repr=False)
class Duality:
    """What `duality` found.

    Attributes
    ----------
    primal, dual, gap : float
        dual ≤ optimum ≤ primal; gap is their distance, the sum of all products and of the terms
        of the features (`certificate.by_feature`).
    certificate : Certificate
    samples : SampleTable, or a list of them
        One for each class where several are fitted one versus rest.
    constraints : list of Constraint
        Bounds and balls of the penalty, with their multipliers.
    intercept_interval : tuple of two floats, or a list of them
        All b that are optimal beside the model's own coefficients: one number, up to the accuracy
        of the fit (a smaller ``tol`` narrows it), unless no support vector is free. Infinite ends
        are open.
    """

    certificate: Certificate
    samples: SampleTable | list[SampleTable]
    intercept_interval: tuple[float, float] | list[tuple[float, float]]
    constraints: list[Constraint] = field(default_factory=list)

    @property
    def primal(self) -> float:
        """The objective at the model."""
        return self.certificate.primal

    @property
    def dual(self) -> float:
        """A lower bound of the optimum."""
        return self.certificate.dual

    @property
    def gap(self) -> float:
        """Primal − dual, without cancellation."""
        return self.certificate.gap

    @property
    def multipliers(self) -> Array:
        """Of the samples: (n_samples,), or (n_samples, n_classes)."""
        if isinstance(self.samples, SampleTable):
            return self.samples.multiplier
        return np.stack([table.multiplier for table in self.samples], axis=1)

    def table(self, most: int = 10) -> str:
        """Everything as text, with at most ``most`` samples."""
        found = self.certificate
        lines = [
            f"minimise {found.objective}",
            f"primal {found.primal:.10g}, dual {found.dual:.10g}, gap {found.gap:.3g}",
        ]
        for table in [self.samples] if isinstance(self.samples, SampleTable) else self.samples:
            lines += table.lines(most)
        for row in self.constraints:
            lines.append(
                f"{row.words}: multiplier {row.multiplier:.6g}, slack {row.slack:.6g}, "
                f"product {row.product:.1e}"
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"Duality(primal={self.primal:.10g}, dual={self.dual:.10g}, gap={self.gap:.3g})"
