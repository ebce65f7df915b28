"""The methods of `PCA`: which of them is taken, and the components that it finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..._base.threads import one_blas_thread
from ..._base.typing import Array
from ..._base.watch import StoppedError, interrupt, undisturbed
from ...design import Design
from ..base import Course
from .exact import by_covariance, by_gram, by_svd, is_accurate
from .iterative import DEFAULT_STEPS, Problem, concluded, of_a_sample, ritz_points
from .spectrum import Found, is_count

_EXACT = {"covariance": by_covariance, "gram": by_gram, "svd": by_svd}
METHODS = ("auto", *_EXACT, *DEFAULT_STEPS)
SIDE = 2000  # shorter side, from which "auto" takes the block Krylov method; safeguard
_SMALL = 1e7  # n·d·min(n, d), up to which the data themselves are decomposed; safeguard: 10 ms
_TALL = 2  # rows for a column, from which products come first; safeguard: QR takes twice as long
_TOO_CLOSE = "variances that are too close to each other for a proof to tol"
_LARGE = 2e10  # the same, up to which it is done for the sake of small variances; safeguard: 10 s


@dataclass(frozen=True, eq=False)
class Search:
    """What a PCA was asked for, as checked parameters."""

    n_components: Any
    method: str  # may be "auto"
    centred: bool
    tol: float
    max_iter: int | None
    random_state: Any

    def chosen(self, design: Design) -> str:
        """The method that "auto" stands for."""
        n, d = design.shape
        if self.method != "auto":
            if self.method == "svd" and design.sparse:
                raise ValueError(
                    "method='svd' copies the data into a dense array, but X is sparse: take "
                    "method='auto', or pass X.toarray()."
                )
            return self.method
        tall = is_count(self.n_components) and n >= _TALL * d
        if not design.sparse and n * d * min(n, d) <= _SMALL and not tall:
            return "svd"
        if is_count(self.n_components) and min(n, d) > SIDE and self.n_components < min(n, d) // 4:
            return "krylov"
        return "covariance" if d <= n else "gram"

    def found(
        self, design: Design, weights: Array, method: str, course: Course
    ) -> tuple[Found, str]:
        """The components, and the method that found them; those of a sample if it was stopped."""
        most = self.max_iter or DEFAULT_STEPS.get(method, 1)
        if method in DEFAULT_STEPS and design.sparse:  # BLAS would be in the way of the products
            with one_blas_thread():
                return self._searched(design, weights, method, course, most)
        return self._searched(design, weights, method, course, most)

    def _searched(
        self, design: Design, weights: Array, method: str, course: Course, most: int
    ) -> tuple[Found, str]:
        try:
            if method in _EXACT:
                return course.follow(self._exactly(design, weights, method))
            problem = self._problem(design, weights, method)
            points = ritz_points(problem, method, self._rng(), self.tol, most)
            ritz = course.follow(points)
        except (StoppedError, KeyboardInterrupt) as stop:
            if isinstance(stop, KeyboardInterrupt):
                interrupt()
            with undisturbed():
                problem = self._problem(design, weights, "krylov")
                ritz = of_a_sample(problem)
            course.record(problem.objective(float(ritz.values.sum())))
        with undisturbed():
            passes, stopped = float(len(course.history)), course.stops()
            rng = self._rng(1)
            found = concluded(problem, ritz, rng, self.tol, passes, stopped=stopped)
        target = max(self.tol * found.total, found.rounding)
        if found.bound - float(found.values.sum()) > target:
            if len(course.history) >= most:
                course.ends_at(f"max_iter={most}")
            else:
                course.ends_at(_TOO_CLOSE, "certificate_ says how far it can be from the best")
        return found, method

    def _exactly(
        self, design: Design, weights: Array, method: str
    ) -> Iterator[tuple[tuple[Found, str], float, float]]:
        """The one point of an exact method, with its objective and bound."""
        found = _EXACT[method](design, weights, self.n_components, self.centred)
        work = float(np.prod(design.shape)) * min(design.shape)
        if (
            self.method == "auto"
            and not is_accurate(found)
            and not design.sparse
            and work <= _LARGE
        ):
            method = "svd"
            found = by_svd(design, weights, self.n_components, self.centred)
        scale = 0.5 / float(weights.sum())
        yield (found, method), scale * found.error, scale * found.least_error

    def _problem(self, design: Design, weights: Array, method: str) -> Problem:
        k = int(self.n_components) if is_count(self.n_components) else 1
        return Problem.of(design, weights, k, self.centred, method)

    def _rng(self, number: int = 0) -> np.random.RandomState:
        """The generator of the start; with number 1, one for tests that are independent of it."""
        rng = check_random_state(self.random_state)
        return np.random.RandomState(rng.randint(2**31 - 1, size=number + 1)[number])
