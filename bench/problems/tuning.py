"""Cross-validated alphas: the problems, what a tuning returns, and its judge.

A tuning is as good as its fits. The judge knows the path on every training part and on all rows,
each with bounds; it looks at every model that a peer computed (they are taken down as its own path
function returns them, fold by fold) and at the model that was refitted. minimand keeps the
path on all rows, which is judged at every alpha, but not the models of its folds: these are held to
their held-out errors, which must be the reference's to a thousandth at every alpha. (Gaps of 1e-6
allow more than that, so the rule is not for the peers, whose gaps are known.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from ..measures.judge import Judge, Model, judge_of, primal
from . import synthetic
from .base import Array, Problem
from .single import SEED, alpha_max

PEERS = ("sklearn LassoCV", "celer LassoCV")
_HELD_OUT = 1e-3  # relative error allowed in a held-out error


@dataclass(frozen=True)
class Tuning:
    """What is known after a tuning."""

    errors: Array  # held-out mean squared errors, (n_alphas, n_folds)
    chosen: int  # index of alpha
    model: Model  # refitted on all rows
    calls: list[tuple[Array, Array]] = field(default_factory=list)  # centred y, (d, n_alphas)
    path: Model | None = None  # on all rows

    def nonzeros(self, problem: Problem) -> int:
        return int(np.count_nonzero(self.model.w))


@dataclass(frozen=True)
class TuningJudge:
    """The judges of all parts, and the held-out errors of their reference fits."""

    whole: Judge
    parts: list[Judge]
    errors: Array

    def relative(self, tuning: Tuning) -> float:
        """The largest gap of all models; infinite if some are unknown and their errors are off."""
        models = self._fold_models(tuning)
        known = {id(part) for part, _ in models}
        if len(known) < len(self.parts) and not self.off(tuning) <= _HELD_OUT:
            return float("inf")
        gaps = [self._refitted(tuning) - float(self.whole.dual[tuning.chosen]) / self.whole.scale]
        gaps += [part.relative(model) for part, model in models]
        if tuning.path is not None:
            gaps.append(self.whole.relative(tuning.path))
        return max(gaps)

    def above(self, tuning: Tuning) -> float:
        best = float(self.whole.reference[tuning.chosen]) / self.whole.scale
        least = [self._refitted(tuning) - best]
        least += [part.above(model) for part, model in self._fold_models(tuning)]
        return min(least)

    def off(self, tuning: Tuning) -> float:
        """The largest relative error of a held-out error."""
        return float((np.abs(tuning.errors - self.errors) / self.errors).max())

    def remark(self, tuning: Tuning) -> str:
        return f"; held-out errors within {self.off(tuning):.1e} of the reference's"

    def words(self) -> str:
        best = int(self.errors.mean(axis=1).argmin())
        return (
            f"alpha number {best + 1} of {len(self.errors)} is best; bounds of all rows and of "
            f"{len(self.parts)} folds within {max(self.slack, 0.0):.1e} (relative) at every alpha"
        )

    @property
    def slack(self) -> float:
        return max(judge.slack for judge in (self.whole, *self.parts))

    def _refitted(self, tuning: Tuning) -> float:
        problem = self.whole.problem
        at = problem.at(problem.strengths[tuning.chosen])
        return float(primal(at, tuning.model)[0]) / self.whole.scale

    def _fold_models(self, tuning: Tuning) -> list[tuple[Judge, Model]]:
        """The paths that were taken down, each with the judge of its part."""
        return [_matched(self.parts, *call) for call in tuning.calls]


def _matched(parts: list[Judge], y: Array, coefs: Array) -> tuple[Judge, Model]:
    """The part whose centred target y is, and the models on it, with their intercepts."""
    for part in parts:
        problem = part.problem
        if len(y) == len(problem.y) and np.allclose(y, problem.y - problem.y.mean()):
            w = np.ascontiguousarray(coefs.T)
            return part, Model(w, problem.y.mean() - w @ problem.X.mean(axis=0))
    raise ValueError("a path was computed on rows that are no training part")


def tuning_judge_of(problem: Problem) -> TuningJudge:
    """References for all rows and for every fold."""
    assert problem.folds is not None
    judges, errors = [], []
    for train, test in problem.folds:
        rows = np.asfortranarray(problem.X[train])
        part = replace(problem, X=rows, y=problem.y[train], folds=None, forms={})
        judge = judge_of(part)
        z = problem.X[test] @ judge.model.w.T + judge.model.b
        errors.append(np.square(z - problem.y[test][:, None]).mean(axis=0))
        judges.append(judge)
    return TuningJudge(judge_of(replace(problem, folds=None)), judges, np.array(errors).T)


def cv_lasso(name: str, quick: bool, *, wide: bool) -> Problem:
    if wide:
        n, d, k = (200, 500, 20) if quick else (1000, 5000, 50)
    else:
        n, d, k = (2000, 50, 10) if quick else (20000, 200, 50)
    rng = np.random.default_rng(SEED + 20)
    X = synthetic.autoregressive(n, d, 0.5, rng)
    signal = X @ synthetic.sparse_truth(d, k, rng)
    y = signal / signal.std() + rng.standard_normal(n)
    top = alpha_max("squared", X, y, intercept=True)
    alphas = np.geomspace(top, top * (1e-2 if wide else 1e-3), 30 if quick else 100)
    folds = list(KFold(5).split(X))
    remark = "Five folds, the same for all, then a refit; folds in parallel for everybody."
    return Problem(
        name, X, y, "squared", "l1", alphas[-1], True, PEERS, 0.4, remark,
        alphas=alphas, folds=folds,
    )  # fmt: skip


SYNTHETIC: dict[str, Callable[[bool], Problem]] = {
    "cv_lasso_wide": partial(cv_lasso, "cv_lasso_wide", wide=True),
    "cv_lasso_tall": partial(cv_lasso, "cv_lasso_tall", wide=False),
}


def missing() -> str:
    """Why this section cannot run; nothing if it can."""
    import minimand

    return "" if hasattr(minimand, "Tuned") else "this build of minimand has no Tuned"


def best_index(problem: Problem, alpha: float) -> int:
    """Which alpha of the grid was chosen."""
    return int(np.abs(np.log(problem.strengths / alpha)).argmin())


def watched(model: Any) -> tuple[Any, list[tuple[Array, Array]]]:
    """A LassoCV that takes down what its path function returns, and the list it writes to."""
    calls: list[tuple[Array, Array]] = []
    inner = model.path

    def path(X: Any, y: Array, **options: Any) -> Any:
        found = inner(X, y, **options)
        calls.append((y, found[1]))
        return found

    model.path = path
    return model, calls
