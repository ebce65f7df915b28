"""The largest eigenvalues of a symmetric operator: Ritz values from below, a bound from above.

Let V hold k orthonormal columns, Θ = VᵀAV its Ritz values, R = AV − VΘ, and c a number that no
eigenvalue of A exceeds on the complement of V. For every τ > 0 the matrix [[RᵀR/τ, −Rᵀ], [−R, τI]]
is positive semidefinite, hence

    A ⪯ diag(Θ + RᵀR/τ, (c + τ)·I)   in a basis that begins with V,

and, as eigenvalues are monotone, the k largest eigenvalues of A sum to at most
Σᵢ max(dᵢ, c + τ), with d the eigenvalues of Θ + RᵀR/τ. Where c + τ ≤ θₖ that is ΣΘ + ‖R‖²_F/τ: the
error is of second order in the residual. This needs no gap and never under-estimates, whatever V
is; a poor V makes it loose only. `largest_on_complement` finds c.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..._base.linear_system import EPS
from ..._base.typing import Array
from ..._base.watch import reason

Product = Callable[[Array], Array]

_TESTS = 2  # random vectors of the test; safeguard
_UNLIKELY = 1e8  # each misses the largest eigenvector with probability below 1/this; safeguard
_DEGREE = 24  # of the first test polynomial at most, in products; safeguard
_LOWEST, _GROWTH = (
    4,
    1.2,
)  # the least degree, and from one to the next that is tried; safeguards
_AGAIN = 1.5  # from one test to the next; safeguard: a guess that was a little too low
_RESOLVED = 0.05  # of a Ritz value, which a residual is at most; safeguard
_SPLITS = 12  # numbers of Ritz vectors off which a test is thought of; safeguard
_USUAL = 1e-100, 1e100  # numbers whose squares, and squares of small shares of them, are numbers;
# safeguard
_CLEAR = 1e-3  # of the length of a column, outside those before it; safeguard: half of all digits
_SHARES = np.geomspace(1e-6, 1e3, 28)  # of τ to be tried, times its natural size; safeguard


@dataclass(frozen=True, eq=False)
class Operator:
    """A symmetric matrix that is known by its products, and what is known of its eigenvalues."""

    product: Product  # A times columns (size, b)
    size: int
    trace: float  # or an upper bound of it
    squares: float = math.inf  # ‖A‖²_F, or an upper bound of it
    least: float = 0.0  # no eigenvalue is below it
    most: float = math.inf  # none is above it
    rounding: float = 0.0  # of the trace and of sums of eigenvalues, where numbers have cancelled


def is_usual(size: float) -> bool:
    """Whether the squares of numbers of this size neither overflow nor vanish."""
    return _USUAL[0] <= size <= _USUAL[1]


def of_usual_size(operator: Operator) -> tuple[Operator, float]:
    """The operator in a unit, a power of two, in which squares of its eigenvalues are numbers.

    Itself and 1 where they are. Squares of residuals would vanish, and with them what they prove.
    """
    size = operator.trace  # which tells the size of eigenvalues if none is negative
    if operator.least < 0 or size == 0 or not math.isfinite(size) or is_usual(size):
        return operator, 1.0
    unit = 2.0 ** min(math.frexp(size)[1], 1000)
    return Operator(
        lambda v: operator.product(v) / unit,
        operator.size,
        operator.trace / unit,
        least=operator.least / unit,
        most=operator.most / unit,
        rounding=operator.rounding / unit,
    ), unit


class Ritz(NamedTuple):
    """Ritz values, the largest first, their vectors, and A times these."""

    values: Array  # (m,)
    vectors: Array  # (size, m)
    images: Array  # (size, m)

    def residual(self, k: int) -> Array:
        """A V − V Θ of the first k."""
        return self.images[:, :k] - self.vectors[:, :k] * self.values[:k]


def orthonormal(columns: Array, beside: Array | None = None) -> Array:
    """An orthonormal basis of what the columns have outside the span of ``beside``.

    Columns that are nothing but rounding are left out.
    """
    sizes = np.linalg.norm(columns, axis=0)
    left = columns[:, sizes > 0] / sizes[sizes > 0]
    if not left.size:
        return left
    found = _independent(left, beside)
    if found is not None:
        return found
    if beside is not None:
        for _ in range(2):  # twice is enough
            left = left - beside @ (beside.T @ left)
    basis, triangle, _ = linalg.qr(left, mode="economic", pivoting=True, check_finite=False)
    kept = np.abs(np.diag(triangle)) > 64 * EPS * math.sqrt(len(left))
    basis = basis[:, : int(kept.sum())]
    if beside is not None and basis.size:
        basis = basis - beside @ (beside.T @ basis)
        basis = linalg.qr(basis, mode="economic", check_finite=False)[0]
    return basis


def _independent(columns: Array, beside: Array | None) -> Array | None:
    """`orthonormal` of columns that are clearly independent, by products of matrices; else None.

    A triangle of their inner products loses as many digits as the squared condition; done a second
    time, it loses none.
    """
    for again in (False, True):
        if beside is not None:
            columns = columns - beside @ (beside.T @ columns)
        products = columns.T @ columns
        if again and not np.abs(products - np.eye(len(products))).max() <= _CLEAR:
            return None
        try:
            upper = linalg.cholesky(products, check_finite=False)
        except linalg.LinAlgError:
            return None
        if not np.diag(upper).min() > _CLEAR:
            return None
        columns = linalg.solve_triangular(upper, columns.T, trans="T", check_finite=False).T
    return columns


def rayleigh_ritz(basis: Array, images: Array, most: int, square: Array | None = None) -> Ritz:
    """The best pairs of an orthonormal basis V, of which A V is known, and VᵀA V perhaps."""
    square = basis.T @ images if square is None else square
    values, turns = linalg.eigh(0.5 * (square + square.T), check_finite=False)
    order = np.argsort(-values, kind="stable")[:most]
    return Ritz(values[order], basis @ turns[:, order], images @ turns[:, order])


def largest_on_complement(operator: Operator, ritz: Ritz, k: int) -> float:
    """c from norms alone: an upper bound of the eigenvalues of A off the first k Ritz vectors.

    A compressed to the complement of all m Ritz vectors has trace tr A − Σθ and squared Frobenius
    norm ‖A‖² − Σθ² − 2‖R‖², neither of which its largest eigenvalue exceeds (the trace counts above
    ``least``). The vectors k + 1 … m are joined to it by their own residual. Both are differences,
    so the rounding of what is subtracted is added: 8 ulp for each of its terms (safeguard).
    """
    bounds = [operator.most]
    for m in {k, ritz.values.size}:
        theta, size = ritz.values[:m], operator.size - m
        if size <= 0:
            return float(ritz.values[k]) if m > k else -math.inf
        crossing = float(np.linalg.norm(ritz.residual(m)) ** 2)
        noise = 8.0 * EPS * (m + 1)
        squares = max(operator.squares - float(theta @ theta) - 2.0 * crossing, 0.0)
        squares += noise * operator.squares
        trace = operator.trace - float(theta.sum()) - (size - 1) * operator.least
        trace += noise * (abs(operator.trace) + float(np.abs(theta).sum()))
        bounds.append(_with_others(ritz, k, m, min(math.sqrt(squares), trace, operator.most)))
    return min(bounds)


def _joined(a: float, b: float, c: float) -> float:
    """The larger eigenvalue of [[a, b], [b, c]], which bounds a matrix of blocks of these norms."""
    if not math.isfinite(c):
        return c
    return 0.5 * (a + c) + math.hypot(0.5 * (a - c), b)


def probable_largest(
    operator: Operator,
    vectors: Array,
    guess: float,
    degree: int,
    rng: np.random.RandomState,
    *,
    patient: bool = False,
) -> float:
    """c from random vectors: an upper bound of the eigenvalues of A off some orthonormal vectors.

    Let C be A on that complement, v its top eigenvector and λ its eigenvalue, p the Chebyshev
    polynomial of the interval [least, guess]. For a random normal ω that has not been used before,
    ‖p(C)ω‖ ≥ p(λ)·|v·ω|, and |v·ω| ≥ 1/`_UNLIKELY` but for a probability below that; p grows
    beyond the guess, so that λ is bounded. Two vectors leave one chance in 10¹⁶, which is below
    that of an error of the machine. The higher the degree, the closer the bound is to the guess.
    A test that is not ``patient`` gives up, with infinity, if there is a reason to stop.
    """
    middle, half = 0.5 * (guess + operator.least), 0.5 * (guess - operator.least)
    if half <= 0 or not math.isfinite(half):
        return math.inf

    def project(x: Array) -> Array:
        return x - vectors @ (vectors.T @ x)

    def mapped(x: Array) -> Array:
        return (project(operator.product(x)) - middle * x) / half

    before = project(rng.standard_normal((operator.size, _TESTS)))
    with np.errstate(over="ignore", invalid="ignore"):  # far above the guess the polynomial is huge
        now = project(mapped(before))
        for _ in range(degree - 1):
            if not patient and reason():
                return math.inf
            before, now = now, 2.0 * mapped(now) - before
        size = _UNLIKELY * float(np.linalg.norm(now, axis=0).max())
    if not math.isfinite(size):
        return math.inf
    return middle + half * math.cosh(math.acosh(max(size, 1.0)) / degree)


def sum_above(theta: Array, residual: Array, c: float) -> float:
    """The bound of the sum of the k largest eigenvalues that stands at the top of this file.

    For the sums of d, S_j(Θ + RᵀR/τ) ≤ S_j(Θ) + S_j(RᵀR)/τ is used.
    """
    if c == -math.inf:  # there is no complement, and the residual is rounding
        return float(theta.sum()) + float(np.abs(residual).sum())
    return _sum_above(theta, _squares(residual), c)


def _squares(residual: Array) -> Array:
    """The squared singular values of k columns, the largest first."""
    k = residual.shape[1]
    squares = np.linalg.svd(residual, compute_uv=False) ** 2 if residual.size else np.zeros(k)
    return np.concatenate([squares, np.zeros(max(k - squares.size, 0))])[:k]


def _sum_above(theta: Array, squares: Array, c: float) -> float:
    k = theta.size
    ritz = np.concatenate([[0.0], np.cumsum(theta)])
    crossing = np.concatenate([[0.0], np.cumsum(squares)])
    if not math.isfinite(c):
        return math.inf
    beyond = k - np.arange(k + 1.0)
    ahead = max(float(theta[-1]) - c, 0.0)
    natural = ahead + math.sqrt(crossing[-1]) + EPS * abs(float(theta[0]))
    if not natural > 0:  # nothing but zeros
        return float((ritz + beyond * c).max())
    taus = np.append(natural * _SHARES, ahead or natural)[:, None]
    with np.errstate(over="ignore"):
        sums = ritz + crossing / taus + beyond * (c + taus)
    return float(sums.max(axis=1).min())


class Above(NamedTuple):
    """An upper bound of the sum of the k largest eigenvalues."""

    bound: float
    products: int  # block products that it took
    certain: bool  # whether it rests on no random vector


def bounded_above(
    operator: Operator,
    ritz: Ritz,
    k: int,
    target: float,
    rng: np.random.RandomState,
    most: int = 100,
) -> Above:
    """The bound by norms; if that is above the target, random tests too.

    The first test is made whatever the time limit is, for without it next to nothing is known of
    the complement; it is short, as its products have two columns only. The degree of the next one
    is the least that should reach the target, or ``most``; all of them take less than 3·most.
    """
    theta, residual = ritz.values[:k], ritz.residual(k)
    if k >= operator.size:
        return Above(float(theta.sum()) + float(np.abs(residual).sum()), 0, True)
    best = sum_above(theta, residual, largest_on_complement(operator, ritz, k))
    certain, products, degree = True, 0, 0
    tests = _Tests(operator, ritz, k)
    while best > target and not (products and reason()):
        last = degree
        m, degree = (0, 0) if products else tests.next(best, target, 0, min(most, _DEGREE))
        if not degree:
            m, degree = tests.next(best, target, last, most)
        if not degree or products + degree > 3 * most:
            break
        c = probable_largest(
            operator, ritz.vectors[:, :m], tests.guess(m), degree, rng, patient=degree <= _DEGREE
        )
        if not math.isfinite(c):
            break
        products += degree
        bound = sum_above(theta, residual, _with_others(ritz, k, m, c))
        if bound < best:
            best, certain = bound, False
        if degree == most and m == k:
            break
        tests.drop(m)
    return Above(best, products, certain)


class _Tests:
    """What tests off some of the Ritz vectors should give, if Ritz values are eigenvalues."""

    def __init__(self, operator: Operator, ritz: Ritz, k: int) -> None:
        self._ritz, self._k, self._least = ritz, k, operator.least
        self._theta, self._squares = ritz.values[:k], _squares(ritz.residual(k))
        self._size = math.acosh(_UNLIKELY * math.sqrt(operator.size))
        others = ritz.images[:, k:] - ritz.vectors[:, k:] * ritz.values[k:]
        crossing = others.T @ others
        # Off m of them, the next Ritz value is about the largest eigenvalue if its residual is
        # small, and all before it are no further from being eigenvalues than theirs.
        self._sizes = np.sqrt(np.diag(crossing))
        above = ritz.values - operator.least
        small = self._sizes <= _RESOLVED * np.maximum(above[k:], _RESOLVED * above[k - 1])
        most = k - 1 + int(np.argmin(np.append(small, False)))
        splits = np.unique(np.geomspace(k, max(most, k), _SPLITS).astype(int))
        self._norms = {m: _norm(crossing[: m - k, : m - k]) for m in splits.tolist()}

    def next(self, best: float, target: float, last: int, most: int) -> tuple[int, int]:
        """After how many Ritz vectors to test, and the degree; 0 if no test is worth it.

        Degrees are well above the ``last`` one, but ``most`` at most.
        """
        attained = float(self._theta.sum())
        aim = 0.5 * (attained + max(target, attained))  # half: Ritz values are a little too low
        degree, found = min(max(int(_AGAIN * last), _LOWEST), most), (self._k, 0)
        while degree:
            c, m = min((self._expected(m, degree), m) for m in self._norms)
            bound = _sum_above(self._theta, self._squares, c)
            if bound <= aim or degree == most:
                return (m, degree) if bound < best else found
            degree = min(max(degree + 1, int(_GROWTH * degree)), most)
        return found

    def guess(self, m: int) -> float:
        """The largest eigenvalue off m Ritz vectors, as far as it is known.

        An eigenvalue is no further from a Ritz value than the length of its residual.
        """
        values, k = self._ritz.values, self._k
        if m < values.size:
            return float(values[m] + (self._sizes[m - k] if m > k else 0.0))
        return max(float(values[-1]), self._least + EPS * abs(float(values[0])))

    def drop(self, m: int) -> None:
        """Think no more of tests off m Ritz vectors, or more, whose guess was too low."""
        self._norms = {
            other: norm for other, norm in self._norms.items() if other < max(m, self._k + 1)
        }

    def _expected(self, m: int, degree: int) -> float:
        """The bound off the first k Ritz vectors that a test off the first m would give."""
        half = 0.5 * (self.guess(m) - self._least)
        c = self._least + half * (1.0 + math.cosh(self._size / degree))
        return c if m == self._k else _joined(float(self._ritz.values[self._k]), self._norms[m], c)


def _norm(crossing: Array) -> float:
    """The 2-norm of columns with these inner products, about."""
    if not crossing.size:
        return 0.0
    return math.sqrt(max(float(np.linalg.eigvalsh(crossing)[-1]), 0.0))


def _with_others(ritz: Ritz, k: int, m: int, c: float) -> float:
    """A bound off the first k Ritz vectors, from one off the first m."""
    if m == k:
        return c
    others = ritz.images[:, k:m] - ritz.vectors[:, k:m] * ritz.values[k:m]
    return _joined(float(ritz.values[k]), float(np.linalg.norm(others, 2)), c)
