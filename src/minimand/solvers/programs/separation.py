"""Linear separability of two classes: a plane that separates them, or a proof that none does.

Two linear programs decide it, with labels yᵢ = ±1 and zᵢ = xᵢ·w + b:

    "margin"   max δ    with  yᵢzᵢ ≥ δ for all i,  δ ≤ 1           δ = 1 iff separable, else 0
    "slack"    min Σξᵢ  with  yᵢzᵢ ≥ 1 − ξᵢ,  ξᵢ ≥ 0               ξ = 0 iff separable

The multipliers of either are weights a ≥ 0 with Σ aᵢyᵢxᵢ = 0 and, if b is free, Σ aᵢyᵢ = 0. With a
separating plane, 0 = Σ aᵢyᵢzᵢ > 0 would follow, so such weights prove that there is none. Neither
answer depends on the tolerances of HiGHS: the plane's margins, or the sums, are recomputed.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from ..._base.typing import Array, IntArray
from ...design import Design
from ...problem.objective import EPS
from .column_scaling import ColumnScaling, beside, matrix_of, scaled_rows
from .highs import Failure, minimise

Form = Literal["margin", "slack"]
_FIRST = 200  # least number of rows in the first program; safeguard
_LARGEST = 20_000_000  # numbers in the system that recomputes weights; safeguard of memory


class Plane(NamedTuple):
    """A hyperplane, with yᵢ(xᵢ·w + b) for every sample."""

    w: Array
    b: float
    margins: Array


class Separation(NamedTuple):
    """A plane that separates, or weights that prove that none does; never both.

    With the form "slack" there is a plane of least total slack in both cases.
    """

    plane: Plane | None
    witness: Array | None


class _Classes(NamedTuple):
    """Samples with labels ±1, and the scaling of columns for the programs."""

    design: Design
    signs: Array
    scaling: ColumnScaling

    @classmethod
    def of(cls, design: Design, signs: Array, intercept: bool) -> _Classes:
        scaling = ColumnScaling.of(design, np.ones(signs.size), intercept=intercept)
        return cls(design, signs, scaling)

    def signed(self, rows: IntArray) -> Any:
        """Rows yᵢ·(xᵢ, 1), without the 1 if there is no intercept."""
        return scaled_rows(self.scaling.rows(self.design, rows), self.signs[rows])

    def plane(self, v: Array) -> Plane:
        """The plane with coefficients v of scaled columns, in original units, with its margins."""
        w, b = self.scaling.model(v)
        return Plane(w, b, self.signs * (self.design.matvec(w) + b))

    def separates(self, plane: Plane) -> bool:
        """Whether every margin is positive by more than the rounding of a score."""
        if not np.isfinite(plane.margins).all():
            return False
        noise = EPS * (self.scaling.scale.size**0.5 + 4.0)
        size = np.abs(plane.w)
        parts = self.design.map_rows(lambda x: np.asarray(abs(x) @ size)) + abs(plane.b)
        return bool((plane.margins > noise * parts).all())

    def witness(self, rows: IntArray, weights: Array) -> Array | None:
        """Weights of all samples that prove that no plane separates; None if they prove nothing.

        The given weights are exact up to the program's tolerance. If that shows in sums, they are
        recomputed on the samples with positive weight.
        """
        weights = np.maximum(weights, 0.0)
        total = weights.sum()
        if not total > 0:
            return None
        weights = weights / total
        if self._balanced(rows, weights):
            return _widened(rows, weights, self.signs.size)
        kept = weights > 1e-9 * weights.max()  # share of the largest weight; safeguard
        rows = rows[kept]
        if rows.size * (self.scaling.scale.size + 2) > _LARGEST:
            return None
        weights = _fresh_weights(self.signed(rows))
        return _widened(rows, weights, self.signs.size) if self._balanced(rows, weights) else None

    def _balanced(self, rows: IntArray, weights: Array) -> bool:
        """Whether Σ aᵢyᵢxᵢ and Σ aᵢyᵢ vanish, up to the rounding of sums of that size."""
        x, signs = matrix_of(self.design, rows), self.signs[rows]
        if self.scaling.intercept and not self.design.sparse:
            x = x - x[np.argmax(weights)]  # a common shift does not change the sums
        sums, sizes = np.asarray((signs * weights) @ x), np.asarray(weights @ abs(x))
        if self.scaling.intercept:
            sums, sizes = np.append(sums, (signs * weights).sum()), np.append(sizes, 1.0)
        limit = 8 * EPS * np.sqrt(rows.size + 16.0) * sizes
        return bool(np.isfinite(weights).all() and (np.abs(sums) <= limit).all())


def confirmed(design: Design, signs: Array, weights: Array, *, intercept: bool) -> Array | None:
    """Weights of samples with labels ±1, summing to 1, if they prove that no plane separates."""
    rows = np.flatnonzero(weights)
    return _Classes.of(design, signs, intercept).witness(rows, weights[rows])


def separate(design: Design, signs: Array, *, intercept: bool, form: Form = "margin") -> Separation:
    """Separate samples with labels ±1, or prove that no plane does.

    Raises
    ------
    ValueError
        If double precision is not enough to decide.
    """
    classes = _Classes.of(design, signs, intercept)
    found = _by_margin(classes) if form == "margin" else None
    found = found or _by_slack(classes)  # a second program for a close call
    if found is None:
        raise ValueError(
            "X separates the classes, or fails to, by less than the rounding of double precision: "
            "centre and scale its columns, or drop those that are nearly equal to others."
        )
    return found


def _by_margin(classes: _Classes) -> Separation | None:
    """Form "margin", on some rows first: a witness for some rows is one for all.

    A plane that separates some rows is tried on all of them; rows with the least margins are added.
    """
    n, d = classes.design.shape
    rows = _evenly(n, max(_FIRST, 4 * (d + 2)))
    while True:
        signed = classes.signed(rows)
        size = signed.shape[1]
        ceiling = np.full((size + 1, 2), [-np.inf, np.inf])
        ceiling[size, 1] = 1.0
        cost = np.append(np.zeros(size), -1.0)
        limits = (beside(-signed, np.ones(rows.size)), np.zeros(rows.size))
        found = minimise(cost, upper=limits, bounds=ceiling)
        if isinstance(found, Failure):
            return None
        if found.x[size] < 0.5:
            witness = classes.witness(rows, found.upper)
            return None if witness is None else Separation(None, witness)
        plane = classes.plane(found.x[:size])
        if classes.separates(plane):
            return Separation(_unit(classes, plane), None)
        more = _with_worst(rows, plane.margins, limit=0.5)
        if more.size == rows.size:
            return None
        rows = more


def _by_slack(classes: _Classes) -> Separation | None:
    """Form "slack", through its dual: max Σa with 0 ≤ a ≤ 1 and Σ aᵢyᵢ(xᵢ, 1) = 0."""
    n = classes.signs.size
    rows = np.arange(n)
    signed = classes.signed(rows)
    found = minimise(
        np.full(n, -1.0), equal=(signed.T, np.zeros(signed.shape[1])), bounds=(0.0, 1.0)
    )
    if isinstance(found, Failure):
        return None
    plane = classes.plane(found.equal)
    if classes.separates(plane):
        return Separation(_unit(classes, plane), None)
    witness = classes.witness(rows, found.x)
    return None if witness is None else Separation(plane, witness)


def _evenly(n: int, size: int) -> IntArray:
    """About ``size`` of n rows, evenly spaced, since data are often sorted by class."""
    return np.unique(np.linspace(0, n - 1, min(n, size)).astype(int))


def _with_worst(rows: IntArray, margins: Array, limit: float) -> IntArray:
    """The rows, and as many others with the least margins, if there are so many."""
    outside = np.ones(margins.size, dtype=bool)
    outside[rows] = False
    new = np.flatnonzero(outside & (margins < limit))
    new = new[np.argsort(margins[new], kind="stable")[: rows.size]]
    return np.union1d(rows, new)


def _unit(classes: _Classes, plane: Plane) -> Plane:
    """The same plane scaled so that the least margin is 1, or hardly more."""
    factor, more = 1.0 / float(plane.margins.min()), EPS
    while True:
        w, b = plane.w * factor, plane.b * factor
        margins = classes.signs * (classes.design.matvec(w) + b)
        if margins.min() >= 1.0:
            return Plane(w, b, margins)
        factor, more = factor * (1.0 + more), 2 * more


def _fresh_weights(signed: Any) -> Array:
    """Weights a ≥ 0 with Σa = 1 whose sum of signed rows is nearest to zero."""
    from scipy.optimize import nnls

    dense = np.asarray(signed.todense()) if hasattr(signed, "todense") else signed
    system = np.vstack([dense.T, np.ones(dense.shape[0])])
    weights, _ = nnls(system, np.append(np.zeros(dense.shape[1]), 1.0))
    total = weights.sum()
    return weights / total if total > 0 else np.full(weights.size, np.nan)


def _widened(rows: IntArray, weights: Array, n: int) -> Array:
    """Weights of some rows as weights of all rows."""
    whole = np.zeros(n)
    whole[rows] = weights
    return whole
