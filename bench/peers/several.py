"""Peers of problems of several outputs: multi-task paths, softmax with L1, trace norm, pairs."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, MultiTaskLasso
from sklearn.svm import LinearSVC

from ..low_rank import Fista
from ..measures.judge import Model
from ..problems.base import Array, Problem
from .base import PATH_TOLS, Peer, affordable_epochs, decades

_ITERATIONS = 100000
_SAGA_TRIAL = 4  # epochs that are timed


def _path(kind: Any, **options: Any) -> Any:
    """Warm starts along the alphas, on centred columns."""

    def fit(problem: Problem, tol: float) -> Model:
        X, Y, means = problem.form("centred", lambda: _centred(problem))
        model = kind(fit_intercept=False, warm_start=True, tol=tol, **options)
        coefs = []
        for alpha in problem.strengths:
            coefs.append(np.array(model.set_params(alpha=float(alpha)).fit(X, Y).coef_))
        return _stacked(coefs, means)

    return fit


def _sklearn_path(problem: Problem, tol: float) -> Model:
    X, Y, means = problem.form("centred", lambda: _centred(problem))
    _, coefs, _ = MultiTaskLasso.path(
        X, Y, l1_ratio=1.0, alphas=problem.strengths, tol=tol, max_iter=_ITERATIONS
    )
    return _stacked(list(np.moveaxis(coefs, 2, 0)), means)


def _celer(mtl_path: Any, problem: Problem, tol: float) -> Model:
    """Its estimator does not work with new versions of scikit-learn; its path function does."""
    X, Y, means = problem.form("centred", lambda: _centred(problem))
    _, coefs, _ = mtl_path(
        X, Y, alphas=problem.strengths, tol=tol, max_iter=100, max_epochs=50000, prune=True
    )
    return _stacked(list(np.moveaxis(coefs, 2, 0)), means)


def _centred(problem: Problem) -> tuple[Array, Array, tuple[Array, Array]]:
    means = problem.X.mean(axis=0), problem.y.mean(axis=0)
    return np.asfortranarray(problem.X - means[0]), np.asfortranarray(problem.y - means[1]), means


def _stacked(coefs: list[Array], means: tuple[Array, Array]) -> Model:
    b = [means[1] - w @ means[0] for w in coefs]
    return Model(np.concatenate(coefs), np.concatenate(b))


def _saga(problem: Problem, tol: float) -> Model:
    """The softmax of scikit-learn with L1: saga is the only solver that takes it."""

    def run(epochs: int, to: float = 0.0) -> Model:
        model = LogisticRegression(
            C=problem.C, l1_ratio=1.0, solver="saga", tol=to, max_iter=epochs, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(problem.rows(), problem.y)
        return Model(model.coef_, model.intercept_)

    epochs = problem.form(
        "saga epochs", lambda: affordable_epochs(run, _SAGA_TRIAL, 0.5 * problem.seconds)
    )
    return run(epochs, tol)


def _fista(problem: Problem, tol: float) -> Model:
    """As many steps as the inverse of tol."""
    peer = Fista(problem.X, problem.y, problem.alpha)
    w = peer.model(round(1 / tol)).T
    return Model(w, peer.shift[1] - w @ peer.shift[0])


def _differences(problem: Problem, tol: float) -> Model:
    """C·Σ weight·max(0, 1 − m)² + ½‖w‖² on differences, half of them with a minus for its class."""
    D, weight = problem.special.differences(problem)  # type: ignore[union-attr]

    def signed() -> tuple[Array, Array]:
        signs = np.where(np.arange(len(D)) % 2, 1.0, -1.0)
        return np.ascontiguousarray(signs[:, None] * D), signs

    rows, signs = problem.form("signed", signed)
    model = LinearSVC(
        C=1.0 / problem.alpha, dual=False, fit_intercept=False, tol=tol, max_iter=_ITERATIONS
    )
    model.fit(rows, signs, sample_weight=weight)
    return Model(model.coef_, np.zeros(1))


def _paths() -> list[Peer]:
    """Those of libraries that are installed."""
    found = [Peer("sklearn multi-task", "scikit-learn", _sklearn_path, PATH_TOLS)]
    try:
        from celer.homotopy import mtl_path

        found.append(Peer("celer multi-task", "celer", partial(_celer, mtl_path), PATH_TOLS))
    except ImportError:
        pass
    try:
        from skglm import MultiTaskLasso as Skglm

        found.append(
            Peer("skglm multi-task", "skglm", _path(Skglm, max_iter=100), PATH_TOLS, compiles=True)
        )
    except ImportError:
        pass
    return found


PEERS = [
    *_paths(),
    Peer("sklearn saga multinomial", "scikit-learn", _saga, decades(-1, -8), limit="half its time"),
    Peer("FISTA in NumPy", "numpy", _fista, tuple(1 / s for s in (10, 20, 40, 80, 160, 320, 640))),
    Peer("liblinear on differences", "scikit-learn", _differences, decades(-1, -10)),
]
