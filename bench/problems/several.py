"""Problems whose model is a matrix, or whose loss is over pairs of items, and their judges.

    multi_task_path      ½·mean ‖y − W x − b‖² + alpha·Σ ‖W_j‖      at every alpha of a path
    multinomial_l1_*     mean log Σ e^z − z_y + alpha·Σ |W|
    trace_norm           ½·mean ‖y − W x − b‖² + alpha·‖W‖_tr
    rank_svm             mean over queries of the mean over pairs of max(0, 1 − (zᵢ − zⱼ))², + L2

Models are (k, d), one for every alpha of a path. A bound comes from a dual point of the reference,
scaled until its slope is in the unit ball of the dual norm; with L2 it is P − ‖∇P‖²/(2·alpha).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp, xlogy
from sklearn.datasets import load_digits

from ..measures.judge import Model
from . import real, synthetic
from .base import Array, Problem
from .single import SEED

_ROUNDS = 300  # of balancing a law of the classes; safeguard


@dataclass(frozen=True)
class Special(ABC):
    """The formulas of a problem that the judge of scores does not know."""

    words: str

    @abstractmethod
    def primal(self, problem: Problem, model: Model) -> Array:
        """P at every alpha."""

    @abstractmethod
    def dual(self, problem: Problem, model: Model, theta: Array) -> Array:
        """Lower bounds of min P at every alpha, from the reference and its dual points (n, k)."""

    @abstractmethod
    def scale(self, problem: Problem) -> float:
        """P(0, best b)."""

    @abstractmethod
    def estimator(self, problem: Problem, tol: float) -> Any:
        """minimand's estimator."""

    def describe(self, problem: Problem) -> str:
        """Shape and objective in a line."""
        n, d = problem.X.shape
        alphas = problem.strengths
        ends = f"alpha {alphas[-1]:.4g}" if len(alphas) == 1 else f"{len(alphas)} alphas"
        return f"{n}×{d}; {self.words}; {ends}"


class Squares(Special):
    """½·mean ‖y − W x − b‖² with a norm of W that shrinks the columns of slopes or their values."""

    def primal(self, problem: Problem, model: Model) -> Array:
        found = []
        for alpha, w, b in zip(problem.strengths, *_each(problem, model)):
            rest = problem.y - problem.X @ w.T - b
            loss = 0.5 * float(np.square(rest).sum()) / problem.n_samples
            found.append(loss + alpha * self.norm(w))
        return np.array(found)

    def dual(self, problem: Problem, model: Model, theta: Array) -> Array:
        centred = problem.y - problem.y.mean(axis=0)
        found = []
        for alpha, slopes in zip(problem.strengths, theta):
            rest = slopes.mean(axis=0) - slopes  # multipliers are slopes of the loss, −residuals
            slope = problem.X.T @ rest / problem.n_samples
            rest *= min(1.0, alpha / self.dual_norm(slope))
            gain = float(np.vdot(rest, centred)) - 0.5 * float(np.square(rest).sum())
            found.append(gain / problem.n_samples)
        return np.array(found)

    def scale(self, problem: Problem) -> float:
        return 0.5 * float(np.square(problem.y - problem.y.mean(axis=0)).sum()) / problem.n_samples

    @abstractmethod
    def norm(self, w: Array) -> float:
        """The norm of W, (k, d)."""

    @abstractmethod
    def dual_norm(self, v: Array) -> float:
        """Its dual norm at slopes (d, k), not too small."""


class Rows(Squares):
    """Σ ‖W_j‖ over the features."""

    def norm(self, w: Array) -> float:
        return float(np.linalg.norm(w, axis=0).sum())

    def dual_norm(self, v: Array) -> float:
        return float(np.linalg.norm(v, axis=1).max())

    def estimator(self, problem: Problem, tol: float) -> Any:
        import minimand as mm

        return mm.Regressor("squared", mm.L21(), problem.alpha, tol=tol)


class Spectral(Squares):
    """The sum of the singular values."""

    def norm(self, w: Array) -> float:
        return float(np.linalg.svd(w, compute_uv=False).sum())

    def dual_norm(self, v: Array) -> float:
        return float(np.linalg.norm(v, 2)) * (1 + 1e-12)

    def estimator(self, problem: Problem, tol: float) -> Any:
        import minimand as mm

        return mm.Regressor("squared", mm.TraceNorm(), problem.alpha, tol=tol)


class Softmax(Special):
    """The multinomial loss with L1."""

    def primal(self, problem: Problem, model: Model) -> Array:
        z = np.asarray(problem.X @ model.w.T) + model.b
        own = z[np.arange(len(z)), problem.y.astype(int)]
        loss = float(np.mean(logsumexp(z, axis=1) - own))
        return np.array([loss + problem.alpha * float(np.abs(model.w).sum())])

    def dual(self, problem: Problem, model: Model, theta: Array) -> Array:
        """−mean Σ q log q for a law q = s·p + (1 − s)·true, with p that of the model.

        Sums of p over samples are made the counts of classes, as the intercept wants, and s makes
        the slope s·Xᵀ(p − true)/n small enough.
        """
        true = (problem.y[:, None] == np.arange(model.w.shape[0])).astype(float)
        p = np.maximum(theta[0] + true, 0.0)
        p /= p.sum(axis=1, keepdims=True)
        for _ in range(_ROUNDS):
            p *= true.sum(axis=0) / p.sum(axis=0)
            p /= p.sum(axis=1, keepdims=True)
        slope = np.asarray(problem.X.T @ (p - true)) / problem.n_samples
        s = min(1.0, problem.alpha / float(np.abs(slope).max()))
        q = s * p + (1 - s) * true
        return np.array([-float(xlogy(q, q).sum()) / problem.n_samples])

    def scale(self, problem: Problem) -> float:
        share = np.bincount(problem.y.astype(int)) / problem.n_samples
        return -float(xlogy(share, share).sum())

    def estimator(self, problem: Problem, tol: float) -> Any:
        import minimand as mm

        return mm.Classifier(mm.Multinomial(), "l1", problem.alpha, tol=tol)


@dataclass(frozen=True)
class Pairs(Special):
    """RankSVM with the squared hinge; y is the relevance, and queries have equally many items."""

    queries: Array

    def differences(self, problem: Problem) -> tuple[Array, Array]:
        """Rows xᵢ − xⱼ of all pairs, and their weights, which add up to 1."""
        return problem.form("differences", lambda: self._differences(problem))

    def _differences(self, problem: Problem) -> tuple[Array, Array]:
        rows, weights = [], []
        for query in np.unique(self.queries):
            at = np.flatnonzero(self.queries == query)
            i, j = np.nonzero(problem.y[at][:, None] > problem.y[at])
            if i.size:
                rows.append(problem.X[at[i]] - problem.X[at[j]])
                weights.append(np.full(i.size, 1.0 / i.size))
        weight = np.concatenate(weights)
        return np.concatenate(rows), weight / weight.sum()

    def primal(self, problem: Problem, model: Model) -> Array:
        return np.array([self._value_and_slope(problem, model.w[0])[0]])

    def dual(self, problem: Problem, model: Model, theta: Array) -> Array:
        value, slope = self._value_and_slope(problem, model.w[0])
        return np.array([value - float(slope @ slope) / (2 * problem.alpha)])

    def _value_and_slope(self, problem: Problem, w: Array) -> tuple[float, Array]:
        D, weight = self.differences(problem)
        short = np.maximum(1.0 - D @ w, 0.0)
        value = float(weight @ short**2) + 0.5 * problem.alpha * float(w @ w)
        return value, problem.alpha * w - 2.0 * (D.T @ (weight * short))

    def scale(self, problem: Problem) -> float:
        return 1.0

    def estimator(self, problem: Problem, tol: float) -> Any:
        import minimand as mm

        return mm.Ranker("squared_hinge", alpha=problem.alpha, tol=tol)


def _each(problem: Problem, model: Model) -> tuple[Array, Array]:
    """W and b of every alpha."""
    k = problem.y.shape[1]
    return model.w.reshape(-1, k, problem.n_features), model.b.reshape(-1, k)


def multi_task(quick: bool) -> Problem:
    n, d, k = (100, 500, 10) if quick else (300, 3000, 30)
    rng = np.random.default_rng(SEED + 60)
    X = np.asfortranarray(synthetic.autoregressive(n, d, 0.5, rng))
    W = np.zeros((d, k))
    W[rng.choice(d, d // 50, replace=False)] = rng.standard_normal((d // 50, k))
    signal = X @ W
    Y = signal / signal.std() + rng.standard_normal((n, k))
    centred = Y - Y.mean(axis=0)
    top = float(np.linalg.norm(X.T @ centred, axis=1).max()) / n
    alphas = np.geomspace(top, 0.05 * top, 10 if quick else 50)
    words = f"½·mean ‖y − W x − b‖² + alpha·Σ ‖W_j‖, {k} outputs"
    return Problem(
        "multi_task_path", X, Y, "squared", "l1", alphas[-1], True,
        ("celer multi-task", "skglm multi-task", "sklearn multi-task"), 0.6,
        alphas=alphas, special=Rows(words),
    )  # fmt: skip


def trace_norm(quick: bool) -> Problem:
    from ..low_rank import data

    X, Y = data(*((500, 40, 20) if quick else (5000, 200, 100)))
    centred = Y - Y.mean(axis=0)
    top = float(np.linalg.norm((X - X.mean(axis=0)).T @ centred / len(X), 2))
    words = f"½·mean ‖y − W x − b‖² + alpha·‖W‖_tr, {Y.shape[1]} outputs"
    return Problem(
        "trace_norm", X, Y, "squared", "l1", 0.1 * top, True, ("FISTA in NumPy",), 0.3,
        "The peer is the textbook method, as no library here has a trace norm.", gap=1e-5,
        special=Spectral(words),
    )  # fmt: skip


def multinomial_l1(name: str, X: Any, y: Array, target: float | None) -> Problem:
    true = (y[:, None] == np.arange(int(y.max()) + 1)).astype(float)
    slope = np.asarray(X.T @ (true - true.mean(axis=0))) / len(y)
    words = f"mean log Σ e^z − z_y + alpha·Σ |W|, {true.shape[1]} classes"
    return Problem(
        name, X, y, "multinomial", "l1", 0.02 * float(np.abs(slope).max()), True,
        ("sklearn saga multinomial",), target, special=Softmax(words), gap=1e-5,
    )  # fmt: skip


def digits_l1(quick: bool) -> Problem:
    X, y = load_digits(return_X_y=True)
    rows = slice(0, 600 if quick else None)
    return multinomial_l1("multinomial_l1_digits", X[rows] / 16.0, y[rows].astype(float), None)


def newsgroups_l1(folder: Path) -> Problem:
    X, y, *_ = real.newsgroups(folder)
    return multinomial_l1("multinomial_l1_newsgroups", X, y, 0.2)


def rank_svm(quick: bool) -> Problem:
    n, size, d = (1000, 20, 10) if quick else (20000, 20, 50)
    rng = np.random.default_rng(SEED + 61)
    X = synthetic.correlated(n, d, rng)
    score = X @ rng.standard_normal(d) / np.sqrt(d) + rng.standard_normal(n)
    y = np.digitize(score, np.quantile(score, [0.5, 0.8, 0.95])).astype(float)
    queries = np.repeat(np.arange(n // size), size)
    words = f"squared hinge of pairs + L2, {n // size} queries of {size} items"
    remark = "The peer is given the differences of all pairs, which are made outside the timer."
    return Problem(
        "rank_svm", X, y, "squared_hinge", "l2", 1e-3, False, ("liblinear on differences",), None,
        remark, special=Pairs(words, queries),
    )  # fmt: skip


SYNTHETIC: dict[str, Callable[[bool], Problem]] = {
    "multi_task_path": multi_task,
    "multinomial_l1_digits": digits_l1,
    "trace_norm": trace_norm,
    "rank_svm": rank_svm,
}
REAL: dict[str, Callable[[Path], Problem]] = {"multinomial_l1_newsgroups": newsgroups_l1}
