"""A path on every fold, scored on what was left out; folds share sums and run side by side."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from .._base.threads import get_num_threads, one_blas_thread, one_core_thread
from .._base.typing import Array
from .._base.watch import interrupt
from .._base.wording import counted
from ..estimators.prepare import prepare
from ..estimators.settings import Settings
from ..losses import Loss
from ..problem.objective import Objective
from ..solvers import Control, Solution
from ..solvers.in_parallel import in_threads
from .fold_sums import FoldSums
from .path import Path, first_along, gathered
from .samples import Fold, Samples
from .scores import Scorer, path_scores


class Outcome(NamedTuple):
    """What one fold tells, per alpha; NaN for alphas that it did not reach."""

    scores: Array
    n_nonzero: Array
    relative_gaps: Array
    reached: int  # alphas
    short: int  # fits that missed the tolerance


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """One estimator, one grid, many folds."""

    estimator: Any
    settings: Settings
    samples: Samples
    alphas: Array
    folds: list[Fold]
    scorer: Scorer | None
    measure: Loss | None  # what held-out scores cost, where it is not the model's own loss
    control: Control
    sums: FoldSums | None = None
    alone: bool = False  # every fold tests on one sample
    verbose: bool = False
    jobs: int = 1  # threads

    def run(self) -> list[Outcome]:
        """Every fold; in so many threads, the kernels of each on its share of the cores."""
        with _share_of_threads(self.jobs) if self.jobs > 1 else nullcontext():
            return in_threads(self.outcome, len(self.folds), self.jobs)

    def outcome(self, i: int) -> Outcome:
        """The path of a fold on what it trains on, scored on what it tests on.

        Nothing of a fold that has not begun when somebody, or the end of the time, says stop.
        """
        if not self.control.expired:
            try:
                return self._outcome(i)
            except KeyboardInterrupt:  # between two fits
                interrupt()
        nothing = np.full(len(self.alphas), np.nan)
        return Outcome(nothing, nothing, nothing, 0, 0)

    def _outcome(self, i: int) -> Outcome:
        started = time.perf_counter()
        path, model, short = self._path(i)
        room = np.full(len(self.alphas) - len(path), np.nan)
        if self.verbose:
            sys.stderr.write(  # in one piece: other threads write too
                f"Tuned: fold {i + 1} of {len(self.folds)}, {counted(len(path), 'alpha')}, "
                f"{time.perf_counter() - started:.2f} s\n"
            )
        return Outcome(
            np.append(self._scores(i, path, model), room),
            np.append(path.n_nonzero, room),
            np.append([c.relative for c in path.certificates], room),
            len(path),
            short,
        )

    def _scores(self, i: int, path: Path, model: Any) -> Array:
        """From the sums of what was left out where they say enough, else from the rows."""
        if self.sums is not None and self.scorer is None and self.measure is None:
            losses = self.sums.held_out_losses(i, path.coefs, path.intercepts)
            if losses is not None:
                return -losses
        test = self.samples.take(self.samples.weighted(self.folds[i].test))
        return path_scores(path, model, test, self.scorer, self.measure)

    def _path(self, i: int) -> tuple[Path, Any, int]:
        """From the sums that folds share where they serve, else from the rows."""
        model = clone(self.estimator)
        model._fitted = self.estimator._fitted
        if self.sums is not None:
            found = self.sums.solutions(i, self.alphas, self._control(i))
            if found is not None:
                small, solutions = found
                model.n_features_in_ = self.samples.X.shape[1]
                path, _, short = _gathered(model, [small.objective], self.alphas, [solutions])
                return replace(path, intercepts=small.intercepts(path.coefs)), model, short
        train = self.samples.take(self.folds[i].train)
        objectives = prepare(model, train.X, train.y, train.weight, train.offset)
        columns = [
            first_along(self.settings, o, self.alphas, limits, model.solver)
            for o, limits in self._limited(i, objectives)
        ]
        return _gathered(model, objectives, self.alphas, columns)

    def _limited(self, i: int, objectives: list[Objective]) -> Iterator[tuple[Objective, Control]]:
        """The problems of a fold, each with its part of the time."""
        for k, objective in enumerate(objectives):
            yield objective, self._control(i, len(objectives) - k)

    def _control(self, i: int, left: int = 1) -> Control:
        """Limits are common to all folds.

        The time that is left is for this fold, of which ``left`` problems are to be solved, and
        for those that come after it on the same thread.
        """
        rounds = -(-(len(self.folds) - i) // self.jobs)
        return self.control.share(rounds * left)


@contextmanager
def _share_of_threads(jobs: int) -> Iterator[None]:
    """Let kernels and BLAS have their share of the threads."""
    share = max(1, get_num_threads() // jobs)
    if share > 1:
        with threadpool_limits(share):
            yield
    else:  # which is said more quickly
        with one_blas_thread(), one_core_thread():
            yield


def _gathered(
    model: Any, objectives: list[Any], alphas: Array, columns: list[list[Solution]]
) -> tuple[Path, Any, int]:
    """A path as far as every score has come."""
    length = min(map(len, columns))
    columns = [column[:length] for column in columns]
    short = sum(not s.converged for column in columns for s in column)
    path = gathered(model, objectives, alphas[:length], columns, scored=False)
    return path, model, short
