"""Which unpenalised columns depend on others, decided once for solvers and the referee.

Columns X_c (and the intercept) are expressed through others that are far from collinear,

    X_c = T A + 1·shiftᵀ,   T = [X_kept, E],

where E is what is left of a column after its best combination of the kept ones is subtracted.
The subtraction cancels almost all digits; it is computed to twice the working precision, so that a
column that differs from others in its ninth digit leaves a direction with all its digits. What is
left belongs to one of three cases, measured in units in the last place (ulp) of what cancelled:

- nothing: the column depends on the others exactly (dummies of a category beside an intercept);
- a few ulp: the column would depend on the others but for its rounding. No model in working
  precision can use such a direction, so T has no column for it; what the exact optimum could gain
  from it counts as rounding of the certificate;
- more: a direction like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import lapack

from .._base.compensated import remainder, two_sum
from .._base.linear_system import EPS, Solve, least_pivot, solver_for
from .._base.threads import one_blas_thread
from .._base.typing import Array, BoolArray, IntArray
from ..design import Covariance, Design, as_design
from ..design.base import dense_block
from .basis import Basis

MOST_COLUMNS = 4000  # columns whose Gram is factorised; safeguard
_LARGEST = 20_000_000  # numbers in what is left of dropped columns; safeguard of memory
_FAR = 1e-10  # least squared distance of a unit column from the span of those before; safeguard
_TINY = 1e-140  # size of a column, or 1/size, below which no Gram is formed; safeguard
_ROUNDS = 12  # rounds of refinement, each of which gains three digits or more; safeguard
_LAST_PLACES = 8.0  # ulp that count as rounding of the data; safeguard
_NOTHING = 2.0**-20  # ulp below which a difference is zero; safeguard


class Digits(NamedTuple):
    """The ulp of columns, and the parts of columns beyond working precision."""

    last_place: Array
    beyond: Array | None = None


def find_basis(
    design: Design,
    mass: Array,
    columns: IntArray,
    intercept: bool,
    sizes: Array,
    gram: Covariance | None = None,
) -> Basis | None:
    """The basis of some columns; None if there are too many.

    ``sizes`` are the root mean squares of all columns of the design under the masses, and ``gram``
    is that of the columns, centred if there is an intercept, where it is known.
    """
    if columns.size > MOST_COLUMNS:
        return None
    own = _true_sizes(design, mass, columns, sizes)[columns]
    return _found(design, mass, columns, intercept, own, Digits(EPS * own), gram)


def _found(
    design: Design,
    mass: Array,
    columns: IntArray,
    intercept: bool,
    own: Array,
    digits: Digits,
    known: Covariance | None = None,
) -> Basis | None:
    units = _power(np.where(own > 0, own, 1.0))
    room = np.count_nonzero(mass) - intercept  # dimensions of the samples with positive weight
    if columns.size > room and mass.size * columns.size <= _LARGEST:
        kept, gram = _chosen_by_rows(design, mass, columns, intercept, own / units, units)
    else:
        whole = known or _gram(design, mass, columns, intercept)
        whole = _trusted(whole, _squarable(own))
        deviation = np.sqrt(np.maximum(np.diag(whole.matrix), 0.0))
        varies = _varies(deviation, own)
        if columns.size <= room and varies.all() and least_pivot(whole.matrix) > _FAR:
            return Basis.of_all(design, columns)
        kept = _far_apart(whole.matrix, deviation, varies)
        gram = Covariance(whole.matrix[kept] / units[kept, None] / units, whole.mean / units)
    dropped = np.setdiff1d(np.arange(columns.size), kept)
    if not dropped.size:
        return Basis.of_all(design, columns)
    rest = _Rest(design, mass, columns, intercept, digits, units, gram, kept, dropped)
    if kept.size >= room:  # no room for another direction: all other columns depend on these
        nothing = np.zeros((mass.size, dropped.size))
        return rest.basis(nothing, nothing)
    return rest.basis(*rest.refined()) if mass.size * dropped.size <= _LARGEST else None


def _varies(deviation: Array, own: Array) -> BoolArray:
    """Whether a column varies about its mean, or is nearly collinear with the intercept."""
    return (deviation > np.sqrt(_FAR) * own) & (deviation > 0)


def _chosen_by_rows(
    design: Design, mass: Array, columns: IntArray, intercept: bool, own: Array, units: Array
) -> tuple[IntArray, Covariance]:
    """What `_gram` and `_far_apart` would find, for more columns than rows: no d×d matrix.

    The same columns are selected by a QR factorisation with pivoting. Of the Gram, in units of
    the columns, the rows of the selected columns are returned; ``own`` are sizes in these units.
    """
    x = design.columns(columns).map_rows(dense_block) / units
    x[mass == 0] = 0.0
    mean = mass @ x / mass.sum() if intercept else np.zeros(columns.size)
    x = np.sqrt(mass)[:, None] * (x - mean)
    deviation = np.sqrt((x * x).sum(axis=0))
    places = np.flatnonzero(_varies(deviation, own))
    if not places.size:
        return places, Covariance(np.zeros((0, columns.size)), mean)
    with one_blas_thread():
        unit = x[:, places] / deviation[places]
        r, order = linalg.qr(unit, mode="r", pivoting=True, check_finite=False)
    rank = int(np.count_nonzero(np.diag(r) ** 2 > _FAR))
    kept = np.sort(places[order[:rank]])
    return kept, Covariance(x[:, kept].T @ x, mean)


def _squarable(sizes: Array) -> BoolArray:
    """Whether squares and products of such numbers neither overflow nor underflow."""
    return (sizes > _TINY) & (sizes < 1.0 / _TINY)


def _true_sizes(design: Design, mass: Array, columns: IntArray, sizes: Array) -> Array:
    """The sizes, recomputed where squares overflow or underflow."""
    lost = columns[~_squarable(sizes[columns])]
    if not lost.size:
        return sizes
    x = design.columns(lost).matvec(np.eye(lost.size))
    x[mass == 0] = 0.0
    largest = np.abs(x).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    true = sizes.copy()
    true[lost] = largest * np.sqrt(mass @ (x / unit) ** 2)
    return true


def _gram(design: Design, mass: Array, columns: IntArray, intercept: bool) -> Covariance:
    """The Gram of the (centred) columns."""
    if intercept:
        return design.covariance(mass, columns)
    return Covariance(design.gram(mass, columns), np.zeros(columns.size))


def _trusted(gram: Covariance, trusted: BoolArray) -> Covariance:
    """The Gram with zeros for columns that cannot be squared."""
    if trusted.all():
        return gram
    matrix = np.where(np.outer(trusted, trusted), gram.matrix, 0.0)
    return Covariance(matrix, np.where(np.isfinite(gram.mean), gram.mean, 0.0))


def _far_apart(matrix: Array, deviation: Array, varies: BoolArray) -> IntArray:
    """Columns selected one by one, each the farthest from the span of those before it."""
    places = np.flatnonzero(varies)
    if not places.size:
        return places
    scaled = matrix[np.ix_(places, places)] / np.outer(deviation[places], deviation[places])
    _, order, rank, _ = lapack.dpstrf(scaled, tol=_FAR, lower=1)
    return np.sort(places[order[:rank] - 1])


@dataclass
class _Rest:
    """Dropped columns minus their best combination of kept ones, scaled by powers of two.

    ``high`` + ``low`` are the coefficients of that combination, the last row for the constant.
    ``kept`` and ``dropped`` are positions in ``columns``, and ``gram``, in powers of two as
    ``units`` of the columns, has the rows of the kept ones.
    """

    design: Design
    mass: Array
    columns: IntArray
    intercept: bool
    digits: Digits
    units: Array
    gram: Covariance
    kept: IntArray
    dropped: IntArray

    def __post_init__(self) -> None:
        cross = self.gram.matrix[:, self.dropped]
        self.high = self._coefficients(cross, self.gram.mean[self.dropped])
        self.low = np.zeros_like(self.high)

    @cached_property
    def _solve(self) -> Solve:
        return solver_for(self.gram.matrix[:, self.kept])

    def _coefficients(self, cross: Array, mean: Array) -> Array:
        """The best combination of kept columns and a constant, for columns with these moments."""
        found = self._solve(cross) if cross.size else cross
        constant = mean - self.gram.mean[self.kept] @ found if self.intercept else 0.0 * mean
        return np.concatenate([found, constant[None]])

    def _gathered(self, places: IntArray) -> Any:
        """Some scaled columns, in memory; sparse ones stay sparse."""
        blocks = self.design.columns(self.columns[places]).gathered_blocks()
        scale = 1.0 / self.units[places]
        if blocks and sparse.issparse(blocks[0]):
            return sparse.csr_array(sparse.vstack(blocks)) @ sparse.diags_array(scale)
        return np.concatenate(blocks, dtype=float) * scale

    def refined(self) -> tuple[Array, Array]:
        """What is left of the dropped columns, to twice the precision: a sum of two arrays."""
        matrix, target = self._gathered(self.kept), self._gathered(self.dropped)
        if sparse.issparse(target):
            target = target.toarray()
        active = np.arange(self.dropped.size)
        left, beyond = self._left(matrix, target, active)
        for _ in range(_ROUNDS):
            before = self._length(left)
            active = active[before[active] > _NOTHING * self._last_place()[active]]
            if not active.size:
                break
            self._correct(matrix, left, active)
            left[:, active], beyond[:, active] = self._left(matrix, target, active)
            # A round must gain a digit; safeguard.
            active = active[self._length(left)[active] < 0.1 * before[active]]
        return left, beyond

    def _left(self, matrix: Any, target: Array, active: IntArray) -> tuple[Array, Array]:
        high, low = self.high[:, active], self.low[:, active]
        first, error = two_sum(target[:, active], -high[-1])
        error -= low[-1]
        if self.digits.beyond is not None:
            scaled = self.digits.beyond / self.units
            error += scaled[:, self.dropped[active]] - scaled[:, self.kept] @ high[:-1]
        return remainder(matrix, (high[:-1], low[:-1]), (first, error))

    def _correct(self, matrix: Any, left: Array, active: IntArray) -> None:
        """Subtract what kept columns still explain of what is left."""
        part = left[:, active]
        mean = self.mass @ part / self.mass.sum() if self.intercept else np.zeros(active.size)
        weighted = self.mass[:, None] * (part - mean)
        cross = matrix.T @ weighted - np.outer(self.gram.mean[self.kept], weighted.sum(axis=0))
        high, error = two_sum(self.high[:, active], self._coefficients(cross, mean))
        self.high[:, active], self.low[:, active] = two_sum(high, self.low[:, active] + error)

    def _last_place(self) -> Array:
        """The size of one ulp of the numbers that cancel."""
        unit = self.digits.last_place / self.units
        carried = np.abs(self.high[:-1].T) @ unit[self.kept] + unit[self.dropped]
        return np.asarray(carried + EPS * np.abs(self.high[-1]))

    def _length(self, left: Array) -> Array:
        return np.sqrt(self.mass @ (left * left))

    def basis(self, left: Array, beyond: Array) -> Basis | None:
        """The basis that follows from what is left; None if that needs too much memory."""
        length = self._length(left)
        place = self._last_place()
        something = length > _NOTHING * place
        real = np.flatnonzero(something & (length > _LAST_PLACES * place))
        faint = np.flatnonzero(something & (length <= _LAST_PLACES * place))
        power = _power(length[real])
        digits = Digits(place[real] / power, beyond[:, real] / power)
        inner = self._among(left[:, real] / power, digits)
        if inner is None:
            return None
        kept, dropped = self.columns[self.kept], self.columns[self.dropped]
        units = self.units[self.dropped]
        onto = np.zeros((kept.size + inner.rank, dropped.size))
        onto[: kept.size] = self.high[:-1] * units / self.units[self.kept, None]
        onto[kept.size :, real] = inner.all_onto * (power * units[real])
        back = np.zeros((dropped.size, inner.rank))
        back[real] = inner.all_back / (power * units[real])[:, None]
        return Basis(
            self.design,
            kept,
            dropped,
            residues=inner.whole,
            onto=onto,
            shift=self.high[-1] * units,
            back=back,
            faint=np.column_stack([left[:, faint] / length[faint], inner.faint]),
        )

    def _among(self, left: Array, digits: Digits) -> Basis | None:
        """A basis of what is left, scaled to length about 1: it may be collinear once more."""
        unit, sizes = as_design(np.asfortranarray(left)), self._length(left)
        return _found(unit, self.mass, np.arange(sizes.size), False, sizes, digits)


def _power(length: Array) -> Array:
    """The nearest powers of two; division by them is exact."""
    return np.asarray(np.exp2(np.rint(np.log2(length))))
