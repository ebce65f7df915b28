"""Passes of models that learn row by row, until they no longer improve the model."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .. import _core
from .._base.typing import AnyArray, Array
from .._base.watch import interrupt, reason
from ..design import Design, as_design
from ..solvers.stochastic.online import Learner

_SPARSE_SHARE = 0.01  # share of a step for the intercept if X is sparse; convention: scikit-learn's


def intercept_share(model: Any, X: Any) -> float:
    """The share of a step that the intercept takes."""
    if not model.fit_intercept:
        return 0.0
    return _SPARSE_SHARE if sparse.issparse(X) else 1.0


def penalties(model: Any) -> tuple[float, float]:
    """The factors of ½‖w‖² and of ‖w‖₁."""
    if model.penalty is None:
        return 0.0, 0.0
    ratio = {"l2": 0.0, "l1": 1.0}.get(model.penalty)
    if ratio is None:
        ratio = float(model.l1_ratio or 0.0)
    return float(model.alpha) * (1.0 - ratio), float(model.alpha) * ratio


class Epochs:
    """Passes of a model with scikit-learn's parameters over its data.

    Parameters
    ----------
    model : estimator
        ``shuffle``, ``tol``, ``n_iter_no_change``, ``early_stopping`` and ``verbose`` are read.
    X, held_out : matrix and boolean mask
        The rows that are not held out are learnt from.
    max_iter : int
        Most passes.
    """

    def __init__(self, model: Any, X: Any, held_out: AnyArray, max_iter: int) -> None:
        self.model, self.max_iter = model, max_iter
        self.design: Design = as_design(X)
        self.held_out = held_out
        self._begun = 0  # passes

    def run(self, learner: Learner, y: Array, weight: Array, seed: int, score: Any) -> int:
        """Passes until the mean loss, or the held-out score, no longer improves.

        Ctrl-C ends them and keeps the current model.
        """
        try:
            return self._run(learner, y, weight, seed, score)
        except KeyboardInterrupt:
            interrupt()
            return self._begun

    def _run(self, learner: Learner, y: Array, weight: Array, seed: int, score: Any) -> int:
        model, order = self.model, np.arange(y.size, dtype=np.uint32)
        tol = -np.inf if model.tol is None else model.tol
        best, stale = -np.inf, 0
        learner.forget_penalty()
        self._begun = 0
        while self._begun < self.max_iter and not reason():
            epoch = self._begun = self._begun + 1
            if model.shuffle:
                _core.shuffle_rows(order, seed)  # the last order, shuffled again
            rows = order[~self.held_out[order]]
            report = learner.run(self.design, y, weight, rows)
            self._check_finite(learner, epoch)
            value = -report.objective / max(rows.size, 1)
            if model.early_stopping:
                value = float(score(learner.w, learner.b))
            if model.verbose > 0:
                what = "validation score" if model.early_stopping else "minus the objective"
                print(f"Epoch {epoch}: norm {np.linalg.norm(learner.w):.4g}, {what} {value:.6g}")
            stale = stale + 1 if tol > -np.inf and value < best + tol else 0
            best = max(best, value)
            if stale >= model.n_iter_no_change:
                break
        return self._begun

    def _check_finite(self, learner: Learner, epoch: int) -> None:
        if not (np.isfinite(learner.w).all() and np.isfinite(learner.b)):
            raise ValueError(
                f"Floating-point under-/overflow occurred at epoch #{epoch}. Scaling input data "
                "with StandardScaler or MinMaxScaler might help."
            )
