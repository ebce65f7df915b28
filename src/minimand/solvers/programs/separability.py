"""Whether two classes are separable, with the plane or the samples that prove it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..._base.typing import AnyArray, Array, IntArray
from ...design import Design
from .separation import Form, separate


@dataclass(frozen=True, eq=False)
class Separability:
    """The answer of `separable`; true if the classes are separable.

    Attributes
    ----------
    separable : bool
    coef, intercept : ndarray of shape (n_features,) and float, or None
        A plane with y·(x·coef + intercept) ≥ 1 for every sample, y = −1 for the first class and
        +1 for the second. If the classes are not separable: None, or with ``form="slack"`` the
        plane of least total slack.
    witness : ndarray of shape (n_samples,) or None
        Weights a ≥ 0, Σa = 1, with Σ aᵢyᵢxᵢ = 0 and, with an intercept, Σ aᵢyᵢ = 0: a mean of some
        samples of one class that is also a mean of some of the other, so that no plane has it on
        both sides. None if the classes are separable. ``print`` names the samples.
    margin : float
        Distance of the nearest sample to the plane; at most that of the widest margin. 0 if the
        classes are not separable.
    slack : ndarray of shape (n_samples,) or None
        max(0, 1 − y·z) at the plane; None where there is no plane.
    """

    separable: bool
    coef: Array | None
    intercept: float | None
    witness: Array | None
    margin: float
    slack: Array | None = field(repr=False)
    classes: AnyArray = field(repr=False)
    signs: Array = field(repr=False)
    through_means: bool = field(default=True, repr=False)  # whether the plane has an intercept

    def __bool__(self) -> bool:
        return self.separable

    def samples(self, side: int) -> IntArray:
        """The samples of the first (side 0) or second (side 1) class that have witness weights."""
        if self.witness is None:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero((self.witness > 0) & (self.signs == (1.0 if side else -1.0)))

    def __str__(self) -> str:
        n = self.signs.size
        if self.separable:
            return (
                f"separable: y·(x·coef + intercept) ≥ 1 for all {n} samples, the nearest of which "
                f"lies {self.margin:.4g} from the plane"
            )
        sides = [
            f"{_samples(self.samples(side))} of class {self.classes[side]}"
            for side in (0, 1)
            if self.samples(side).size
        ]
        if len(sides) == 1:
            return (
                f"not separable: a mean of {sides[0]} is the origin, through which every plane "
                "without an intercept passes"
            )
        sums = "mean" if self.through_means else "positive combination"
        return (
            f"not separable: a {sums} of {sides[0]} equals a {sums} of {sides[1]}, and no plane "
            f"has that point on both sides"
        )


def separability(
    design: Design, signs: Array, classes: AnyArray, *, intercept: bool, form: Form = "margin"
) -> Separability:
    """Decide whether a plane separates the samples of sign −1 from those of sign +1."""
    plane, witness = separate(design, signs, intercept=intercept, form=form)
    distance = 0.0
    if witness is None and plane is not None:
        distance = float(plane.margins.min() / np.linalg.norm(plane.w))
    return Separability(
        separable=witness is None,
        coef=None if plane is None else plane.w,
        intercept=None if plane is None else plane.b,
        witness=witness,
        margin=distance,
        slack=None if plane is None else np.maximum(1.0 - plane.margins, 0.0),
        classes=classes,
        signs=signs,
        through_means=intercept,
    )


def _samples(samples: IntArray, most: int = 6) -> str:
    """Sample numbers in words: "samples 0 and 3", "samples 1, 4, 7 and 12 more"."""
    names = [str(i) for i in samples[:most]]
    if samples.size > most:
        return f"samples {', '.join(names)} and {samples.size - most} more"
    if samples.size == 1:
        return f"sample {names[0]}"
    return f"samples {', '.join(names[:-1])} and {names[-1]}"
