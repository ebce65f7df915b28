"""A path on every fold, scored on what was left out; folds share sums and run in threads."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
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
from ..estimators.prepare import posed
from ..estimators.settings import Settings
from ..losses import Loss
from ..problem.objective import Objective
from ..solvers import Control, Solution
from ..solvers.in_parallel import in_threads
from .fold_sums import FoldSums
from .kernel_paths import SharedFactor, charged, solver_on_factor
from .path import Path, first_along, gathered
from .samples import Fold, Samples
from .scores import Scorer, path_scores


class Outcome(NamedTuple):
    """The results of one fold, per alpha; NaN for alphas that it did not reach."""

    scores: Array
    n_nonzero: Array
    relative_gaps: Array
    reached: int  # number of alphas
    short: int  # fits that missed the tolerance


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """The cross-validation of one estimator on one grid of alphas."""

    estimator: Any
    settings: Settings
    samples: Samples
    alphas: Array
    folds: list[Fold]
    scorer: Scorer | None
    measure: Loss | None  # the loss of held-out scores; None: the model's own
    control: Control
    sums: FoldSums | None = None
    shared: SharedFactor | None = None
    alone: bool = False  # every fold tests on one sample
    verbose: bool = False
    jobs: int = 1  # threads

    def run(self) -> list[Outcome]:
        """Run every fold, in ``jobs`` threads whose kernels share the cores."""
        with _share_of_threads(self.jobs) if self.jobs > 1 else nullcontext():
            return in_threads(self.outcome, len(self.folds), self.jobs)

    def outcome(self, i: int) -> Outcome:
        """The path of a fold on what it trains on, scored on what it tests on.

        A fold that has not begun when the cross-validation is stopped has an empty outcome.
        """
        if not self.control.expired:
            try:
                return self._outcome(i)
            except KeyboardInterrupt:  # pressed between two fits
                interrupt()
        nothing = np.full(len(self.alphas), np.nan)
        return Outcome(nothing, nothing, nothing, 0, 0)

    def _outcome(self, i: int) -> Outcome:
        started = time.perf_counter()
        outcome = self._from_sums(i) or self._along_path(i)
        if self.verbose:
            sys.stderr.write(  # one write: other threads write too
                f"Tuned: fold {i + 1} of {len(self.folds)}, {counted(outcome.reached, 'alpha')}, "
                f"{time.perf_counter() - started:.2f} s\n"
            )
        return outcome

    def _from_sums(self, i: int) -> Outcome | None:
        """All from sums that folds share, in arrays; None if that needs models or the rows."""
        if self.sums is None or self.scorer is not None or self.measure is not None:
            return None
        found = self.sums.models(i, self.alphas, self._control(i))
        if found is None:
            return None
        coefs = found.coefs if found.coefs.ndim == 2 else np.swapaxes(found.coefs, 1, 2)
        losses = self.sums.held_out_losses(i, coefs, found.shifts)
        if losses is None:
            return None
        used = (coefs != 0) if coefs.ndim == 2 else (coefs != 0).any(axis=1)
        return Outcome(-losses, used.sum(axis=1), found.relative, len(coefs), 0)

    def _along_path(self, i: int) -> Outcome:
        """The path as models with certificates, which a stop may end early."""
        path, model, short = self._path(i)
        room = np.full(len(self.alphas) - len(path), np.nan)
        return Outcome(
            np.append(self._scores(i, path, model), room),
            np.append(path.n_nonzero, room),
            np.append([c.relative for c in path.certificates], room),
            len(path),
            short,
        )

    @property
    def _features(self) -> Samples:
        """The samples as folds take them: their rows of a shared factor in the place of X."""
        if self.shared is None:
            return self.samples
        return replace(self.samples, X=self.shared.columns, pairwise=False)

    def _scores(self, i: int, path: Path, model: Any) -> Array:
        """Scores from the sums of what was left out if these are accurate, else from the rows."""
        if self.sums is not None and self.scorer is None and self.measure is None:
            losses = self.sums.held_out_losses(i, path.coefs, path.intercepts)
            if losses is not None:
                return -losses
        fold = self.folds[i]
        test = self._features.take(self.samples.weighted(fold.test), fold.train)
        return path_scores(path, model, test, self.scorer, self.measure)

    def _path(self, i: int) -> tuple[Path, Any, int]:
        """The path from the sums that folds share if these are accurate enough, else from rows."""
        model = clone(self.estimator)
        model._fitted = self.estimator._fitted
        if self.sums is not None:
            found = self.sums.solutions(i, self.alphas, self._control(i))
            if found is not None:
                small, solutions = found
                model.n_features_in_ = self.samples.X.shape[1]
                path, _, short = _gathered(model, [small.objective], self.alphas, [solutions])
                return replace(path, intercepts=small.intercepts(path.coefs)), model, short
        rows, shared = self.folds[i].train, self.shared
        if shared is not None:
            model.features = None
        train = self._features.take(rows)
        problem = posed(model, train.X, train.y, train.weight, train.offset)
        rest = model._remainder(problem)
        if shared is not None:
            rest = shared.remainder(rows, problem.coded.weights)
        solver = solver_on_factor(rest, problem, self.alphas, self.control, model.solver)
        columns = [
            first_along(self.settings, o, self.alphas, limits, solver)
            for o, limits in self._limited(i, problem.objectives)
        ]
        columns = charged(rest, problem, self.alphas, columns, self.control)
        return _gathered(model, problem.objectives, self.alphas, columns)

    def _limited(
        self, i: int, objectives: Sequence[Objective]
    ) -> Iterator[tuple[Objective, Control]]:
        """The problems of a fold, each with its share of the remaining time."""
        for k, objective in enumerate(objectives):
            yield objective, self._control(i, len(objectives) - k)

    def _control(self, i: int, left: int = 1) -> Control:
        """The limits of one problem; those of the estimator are for all folds.

        The remaining time is shared by the ``left`` problems of this fold and by the folds that
        follow on the same thread.
        """
        rounds = -(-(len(self.folds) - i) // self.jobs)
        return self.control.share(rounds * left)


@contextmanager
def _share_of_threads(jobs: int) -> Iterator[None]:
    """Limit kernels and BLAS to one job's share of the threads."""
    share = max(1, get_num_threads() // jobs)
    if share > 1:
        with threadpool_limits(share):
            yield
    else:  # cheaper than setting limits
        with one_blas_thread(), one_core_thread():
            yield


def _gathered(
    model: Any, objectives: Sequence[Objective], alphas: Array, columns: list[list[Solution]]
) -> tuple[Path, Any, int]:
    """A path of the alphas that every score has reached."""
    length = min(map(len, columns))
    columns = [column[:length] for column in columns]
    short = sum(not s.converged for column in columns for s in column)
    path = gathered(model, objectives, alphas[:length], columns, scored=False)
    return path, model, short
