"""LIBLINEAR through its own Python interface; its feature nodes are made outside the timer."""

from __future__ import annotations

from typing import Any

import numpy as np
from liblinear import liblinear as binding

from ..measures.judge import Model
from ..problems.base import Problem
from .base import Fit, Peer, as_model, decades, each_alpha


def _nodes(problem: Problem) -> Any:
    return problem.form("liblinear", lambda: binding.problem(problem.y, problem.csr()))


def _solver(number: int) -> Fit:
    def fit(problem: Problem, tol: float) -> Model:
        given = f"-s {number} -c {problem.C!r} -e {tol!r} -q"
        if not problem.formulas.labels:
            given += f" -p {problem.parameter!r}"
        options = binding.parameter(given)
        model = binding.toPyModel(binding.liblinear.train(_nodes(problem), options))
        return _read(model, problem)

    return fit


def _read(model: Any, problem: Problem) -> Model:
    """LIBLINEAR orders classes by first appearance; the first has the positive score."""
    k = problem.n_scores
    flat = np.ctypeslib.as_array(model.w, shape=(problem.n_features, k))
    if not problem.formulas.labels:
        return as_model(flat[:, 0].copy(), 0.0, problem)  # the memory is the model's
    labels = model.get_labels()
    if k == 1:
        return as_model(flat[:, 0] * labels[0], 0.0, problem)
    w = np.empty((k, problem.n_features))
    w[labels] = flat.T
    return as_model(w, 0.0, problem)


L1_PRIMAL = Peer("liblinear -s 6", "liblinear-official", _solver(6), decades(0, -10))

PEERS = [
    L1_PRIMAL,
    each_alpha(L1_PRIMAL),
    Peer("liblinear -s 0", "liblinear-official", _solver(0), decades(0, -10)),
    *(
        Peer(f"liblinear -s {number}", "liblinear-official", _solver(number), decades(1, -10))
        for number in (1, 2, 3, 4, 11, 12, 13)  # losses with kinks, and their squares
    ),
    Peer("liblinear -s 7", "liblinear-official", _solver(7), decades(2, -10)),
]
