"""Methods of PCA that improve step by step: block Krylov, power iteration, stochastic steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ..._base.linear_system import EPS
from ..._base.typing import Array
from ..._base.watch import look
from ...certificate.eigenvalues.centred import mean_of, rows_operator
from ...certificate.eigenvalues.krylov import NARROW, Krylov
from ...certificate.eigenvalues.ritz import (
    Operator,
    Ritz,
    bounded_above,
    largest_on_complement,
    of_usual_size,
    orthonormal,
    rayleigh_ritz,
    sum_above,
)
from ...design import Design
from .exact import by_svd
from .scatter import scatter
from .spectrum import Found, completed
from .stream import RowStream

_EXPLICIT = 2000  # columns, up to which power iteration multiplies by C itself; safeguard
_MARGIN = 0.1  # share of the target that the estimated error may have at the end; safeguard
# Degree of the final tests: by passes over dense data, and over sparse ones or by C. Safeguards.
_TESTS, _CHEAP_TESTS = 24, 384
_OTHERS = 8  # random directions beside those found by too narrow a search; safeguard
_AGAIN = 8  # steps of the next search, after which a direction that was missed shows; safeguard
_SAMPLE = 1000  # rows of a model that is needed before there is any; safeguard
_WORK = 1e9  # squared rows times columns of that sample; safeguard: some tenths of a second
_BATCH = 256  # rows of a stochastic step; safeguard: products of matrices

DEFAULT_STEPS = {"krylov": 100, "power": 1000, "stochastic": 30}  # max_iter=None; safeguards


class Problem(NamedTuple):
    """C as an operator, the mean, and how many components are wanted."""

    design: Design
    weights: Array
    operator: Operator
    mean: Array
    k: int
    explicit: float = 0.0  # rounding of C where that was computed
    unit: float = 1.0  # of the operator; see `of_usual_size`

    @classmethod
    def of(cls, design: Design, weights: Array, k: int, centred: bool, method: str) -> Problem:
        """C itself for power iteration if it is small, else products by passes over the data."""
        if method == "power" and design.shape[1] <= _EXPLICIT:
            matrix, mean, rounding = scatter(design, weights, centred)
            squares = float(np.vdot(matrix, matrix))
            found = Operator(lambda v: matrix @ v, len(matrix), float(np.trace(matrix)), squares)
        else:
            mean, rounding = mean_of(design, weights, centred), 0.0
            found = rows_operator(design, weights, mean)
        operator, unit = of_usual_size(found)
        return cls(design, weights, operator, mean, k, rounding, unit)

    @property
    def narrow(self) -> bool:
        """Whether blocks of a Krylov space are narrow: a product takes as long as its columns."""
        return self.design.sparse

    @property
    def cheap(self) -> bool:
        """Whether a product takes little time next to the search."""
        return bool(self.explicit) or self.design.sparse

    @property
    def scale(self) -> float:
        """From sums over the data to the objective, mean ½‖x − x̂‖²."""
        return 0.5 * self.unit / float(self.weights.sum())

    def objective(self, attained: float) -> float:
        """The objective of components with this sum of vᵀCv, or the bound of such sums."""
        return self.scale * max(self.operator.trace - attained, 0.0)


def ritz_points(
    problem: Problem,
    method: str,
    rng: np.random.RandomState,
    tol: float,
    most: int,
    near: Array | None = None,
) -> Iterator[tuple[Ritz, float, float]]:
    """Ritz pairs, their objective and its lower bound by norms, until they are good enough.

    They are when the bound is within tol, or when it would be if the next Ritz value were the
    largest eigenvalue that is left: then only its proof is missing, which `concluded` looks for.
    ``near`` are directions that a search has found, which was too narrow for a proof.
    """
    operator, k = problem.operator, problem.k
    target = tol * operator.trace
    steps, more = _steps(problem, method, rng, near)
    for step, ritz in enumerate(steps, 1):
        theta, residual = ritz.values[:k], ritz.residual(k)
        attained = float(theta.sum())
        bound = sum_above(theta, residual, largest_on_complement(operator, ritz, k))
        proved = bound - attained <= target
        enough = near is None or step >= _AGAIN
        done = proved or step == most or (enough and _seems_done(ritz, k, target))
        found = more() if done and not proved and more else ritz
        yield found, problem.objective(attained), problem.objective(max(bound, attained))
        if done:
            return


def _seems_done(ritz: Ritz, k: int, target: float) -> bool:
    """Whether the sum of the k largest eigenvalues is within the target, as far as it is known."""
    theta, residual = ritz.values[:k], ritz.residual(k)
    expected = float(ritz.values[k]) if ritz.values.size > k else float(theta[-1])
    estimate = sum_above(theta, residual, expected) - float(theta.sum())
    if ritz.values.size > k and estimate <= _MARGIN * target:
        return True
    # Without a next Ritz value, eigenvalues are taken to differ by a thousandth at least.
    least = max(64 * EPS * abs(float(theta[0])), 0.0) ** 2
    if ritz.values.size == k:
        least = max(least, 1e-3 * _MARGIN * target * abs(float(theta[-1])))
    return float(np.sum(np.square(residual))) <= least


def _steps(
    problem: Problem, method: str, rng: np.random.RandomState, near: Array | None
) -> tuple[Iterable[Ritz], Callable[[], Ritz] | None]:
    """The points of a method; and what gives more pairs of the last one, if there are any."""
    if method == "krylov":
        operator, k = problem.operator, problem.k
        if near is None:
            space = Krylov(operator, k, rng, width=NARROW if problem.narrow else None)
        else:
            others = rng.standard_normal((operator.size, min(_OTHERS, operator.size)))
            space = Krylov(operator, k, rng, np.column_stack([near, others]))
        return space, space.for_a_proof
    return _power(problem, rng) if method == "power" else _stochastic(problem, rng), None


def _power(problem: Problem, rng: np.random.RandomState) -> Iterator[Ritz]:
    """V ← C V, made orthonormal again: power iterations, each deflated by those before it.

    One direction more than asked for tells what is next to them, which the bound has to know.
    """
    d = problem.operator.size
    k = min(problem.k + 1, d)
    block = completed(orthonormal(rng.standard_normal((d, k))), k)
    while True:
        look()
        image = problem.operator.product(block)
        ritz = rayleigh_ritz(block, image, k)
        yield ritz
        block = completed(orthonormal(ritz.images), k)


def _stochastic(problem: Problem, rng: np.random.RandomState) -> Iterator[Ritz]:
    """Passes over the rows in random order, a small step for each batch; see `RowStream`."""
    design, k = problem.design, problem.k
    n, d = design.shape
    stream = RowStream(d, k, mean=problem.mean)
    size = max(_BATCH, 4 * k)
    while True:
        order = rng.permutation(n)
        for start in range(0, n, size):
            look()
            some = np.sort(order[start : start + size])
            stream.update(design.rows(some), problem.weights[some])
        block = completed(orthonormal(stream.vectors), k)
        yield rayleigh_ritz(block, problem.operator.product(block), k)


def concluded(
    problem: Problem,
    ritz: Ritz,
    rng: np.random.RandomState,
    tol: float,
    passes: float,
    *,
    stopped: bool = False,
) -> Found:
    """The components of the last point, with the best bound that some more passes give.

    A fit that was stopped has no time for these, and gets the bound by norms.
    """
    k, operator = problem.k, problem.operator
    theta = np.maximum(ritz.values[:k], 0.0)
    attained = float(theta.sum())
    target = attained + tol * operator.trace
    tests = 0 if stopped else (_CHEAP_TESTS if problem.cheap else _TESTS)
    above = bounded_above(operator, ritz, k, target, rng, tests)
    size = operator.size
    rounding = EPS * 16 * k * math.sqrt(size) * float(theta[0]) + operator.rounding
    return Found(
        np.ascontiguousarray(ritz.vectors[:, :k]),
        problem.unit * theta,
        problem.unit * operator.trace,
        problem.unit * max(above.bound, attained),
        problem.unit * rounding + problem.explicit,
        problem.mean,
        certain=above.certain,
        passes=passes + above.products,
    )


def of_a_sample(problem: Problem) -> Ritz:
    """Components of some rows, for a fit that was stopped before it had any.

    One pass over all rows gives what they keep of all, so that their certificate is true.
    """
    (n, d), k = problem.design.shape, problem.k
    rows = min(_SAMPLE, max(k + 1, int(math.sqrt(_WORK / d))))
    every = max(1, n // rows)
    part, weights = problem.design.thinned(every), problem.weights[::every].copy()
    few = by_svd(part, weights, min(k, *part.shape), bool(problem.mean.any()))
    block = completed(few.vectors, k)
    return rayleigh_ritz(block, problem.operator.product(block), k)
