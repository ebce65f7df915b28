"""What a peer is: a name, a fit to a tolerance, and the tolerances worth trying."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from ..measures.judge import Model
from ..problems.base import Problem

Fit = Callable[[Problem, float], Any]  # a Model; for cross-validation, a Tuning


def decades(first: int, last: int) -> tuple[float, ...]:
    """10^first, 10^(first−1), …, 10^last."""
    return tuple(10.0**power for power in range(first, last - 1, -1))


PATH_TOLS = decades(-3, -10)  # a loose tol makes whole paths useless, and climbing takes time


@dataclass(frozen=True)
class Peer:
    """A solver of another library.

    `fit` takes our scale of alpha; forms of the data it makes through `problem.form` are kept, so
    the warm-up call pays for them.
    """

    name: str
    library: str  # the distribution whose version is reported
    fit: Fit
    ladder: tuple[float, ...] = decades(0, -12)
    compiles: bool = False  # just in time, at the first call
    limit: str = ""  # what ends a fit early, for the remark
    pooled: bool = False  # uses BLAS or OpenMP threads, which may cost more than they give


def single_threaded(fit: Fit) -> Fit:
    """The same on one thread."""

    pools = ThreadpoolController()  # made once: looking for the pools takes longer than a small fit

    def fit_alone(problem: Problem, tol: float) -> Any:
        with pools.limit(limits=1):
            return fit(problem, tol)

    return fit_alone


def as_model(coef: object, intercept: object, problem: Problem) -> Model:
    """Coefficients as (n_scores, d), intercepts as (n_scores,)."""
    k = problem.n_scores
    w = np.asarray(coef, dtype=float).reshape(k, problem.n_features)
    b = np.broadcast_to(np.asarray(intercept, dtype=float).ravel(), (k,))
    return Model(w, b)


def as_path(coefs: object, intercepts: object, problem: Problem) -> Model:
    """The same for a path: a row for every alpha."""
    k = len(problem.strengths)
    w = np.asarray(coefs, dtype=float).reshape(k, problem.n_features)
    return Model(w, np.broadcast_to(np.asarray(intercepts, dtype=float).ravel(), (k,)))


def each_alpha(peer: Peer) -> Peer:
    """A peer that knows no paths, fitted at one alpha after the other."""

    def fit_all(problem: Problem, tol: float) -> Model:
        models = [peer.fit(problem.at(alpha), tol) for alpha in problem.strengths]
        return Model(np.vstack([m.w for m in models]), np.concatenate([m.b for m in models]))

    return replace(peer, name=f"{peer.name}, each alpha", fit=fit_all)


def affordable_epochs(run: Callable[[int], object], trial: int, seconds: float) -> int:
    """How many epochs fit into so many seconds: for solvers that nothing else would stop."""
    start = perf_counter()
    run(trial)
    return max(int(seconds / (perf_counter() - start) * trial), trial)


def one_versus_rest(fit: Fit) -> Fit:
    """A binary solver, once per class; a joint loss takes all classes at once."""

    def fit_all(problem: Problem, tol: float) -> Model:
        if problem.n_scores == 1 or problem.formulas.joint:
            return fit(problem, tol)
        models = [fit(part, tol) for part in _parts(problem)]
        return Model(np.vstack([m.w for m in models]), np.concatenate([m.b for m in models]))

    return fit_all


def _parts(problem: Problem) -> list[Problem]:
    """One binary problem per class; they share X and its forms."""
    return problem.form("classes", lambda: [replace(problem, y=y) for y in problem.signs()])
