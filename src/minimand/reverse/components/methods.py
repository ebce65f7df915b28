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
from ...certificate.eigenvalues.ritz import Ritz
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
_SPARSE_SIDE = 1000  # of sparse data, from which few components are searched for; safeguard: 50 ms
# Operations on all eigenvalues that take as long as a search does for each entry of a component;
# measured: 2 to 30 components of 50 or 200 numbers per row, sides of 800 to 6000, flat spectra
_SEARCHED = 1e5
_EIGEN = 5e-11  # seconds of all eigenvalues, by the cubed side; measured: a third of those at 2500
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
        side, work = min(n, d), _SEARCHED * max(n, d)
        if is_count(self.n_components) and self.n_components < side // 4:
            thin = design.sparse and side > _SPARSE_SIDE and work * self.n_components <= side**3
            if thin or side > SIDE:
                return "krylov"
        return _of_products(design)

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
                course.leave_time_for(_EIGEN * float(min(design.shape)) ** 3)
                return course.follow(self._exactly(design, weights, method))
            problem = self._problem(design, weights, method)
            ritz = self._followed(problem, method, course, most)
        except (StoppedError, KeyboardInterrupt) as stop:
            if isinstance(stop, KeyboardInterrupt):
                interrupt()
            with undisturbed():
                problem = self._problem(design, weights, "krylov")
                ritz = of_a_sample(problem)
            course.record(problem.objective(float(ritz.values.sum())))
        found = self._concluded(problem, ritz, course)
        if problem.narrow and method == "krylov":
            found = self._widened(found, problem, course, most)
        short = self.method == "auto" and min(design.shape) <= SIDE
        if short and not self._is_proved(found) and not course.stops():
            try:
                return course.follow(self._exactly(design, weights, _of_products(design)))
            except StoppedError:
                pass
            except KeyboardInterrupt:
                interrupt()
        if not self._is_proved(found):
            if len(course.history) >= most:
                course.ends_at(f"max_iter={most}")
            else:
                course.ends_at(_TOO_CLOSE, "certificate_ says how far it can be from the best")
        return found, method

    def _widened(self, found: Found, problem: Problem, course: Course, most: int) -> Found:
        """What another search finds if a narrow one has no proof, and if there is time.

        A narrow space misses directions of an eigenvalue that has many of them.
        """
        left = most - len(course.history)
        if self._is_proved(found) or course.stops() or left < 1:
            return found
        try:
            ritz = self._followed(problem, "krylov", course, left, found.vectors)
        except StoppedError:
            return found
        except KeyboardInterrupt:
            interrupt()
            return found
        return self._concluded(problem, ritz, course)

    def _followed(
        self,
        problem: Problem,
        method: str,
        course: Course,
        most: int,
        near: Array | None = None,
    ) -> Ritz:
        """The last point of a search."""
        rng = self._rng(0 if near is None else 2)
        return course.follow(ritz_points(problem, method, rng, self.tol, most, near))

    def _concluded(self, problem: Problem, ritz: Ritz, course: Course) -> Found:
        """The components of a point, with a bound by some more products if there is time."""
        with undisturbed():
            passes, stopped = float(len(course.history)), course.stops()
            rng = self._rng(1)
            return course.within_limits(
                lambda: concluded(problem, ritz, rng, self.tol, passes, stopped=stopped)
            )

    def _is_proved(self, found: Found) -> bool:
        target = max(self.tol * found.total, found.rounding)
        return found.bound - float(found.values.sum()) <= target

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


def _of_products(design: Design) -> str:
    """The exact method that takes products of the shorter side."""
    n, d = design.shape
    return "covariance" if d <= n else "gram"
