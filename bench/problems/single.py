"""The problems by name; every entry builds its data when asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from . import real, synthetic
from .base import Array, Problem

LASSO = ("skglm", "celer", "sklearn cd")
DENSE_L2 = (
    "sklearn lbfgs",
    "sklearn newton-cholesky",
    "snapml dual",
    "snapml primal",
    "glum irls",
    "cyanure",
    "intelex lbfgs",
)
SPARSE_L2 = (
    "liblinear -s 0",
    "liblinear -s 7",
    "snapml dual",
    "snapml primal",
    "cyanure",
    "sklearn lbfgs",
    "sklearn newton-cg",
)
SPARSE_L1 = ("liblinear -s 6", "skglm", "celer", "snapml primal", "cyanure", "sklearn saga")
OVR = {
    "logistic": (
        "liblinear -s 0",
        "liblinear -s 7",
        "snapml dual",
        "sklearn lbfgs",
        "sklearn newton-cg",
    ),
    "hinge": ("liblinear -s 3",),
    "squared_hinge": ("liblinear -s 1", "liblinear -s 2"),
}

SEED = 20260


def alpha_max(problem_loss: str, X: object, y: Array, intercept: bool) -> float:
    """The smallest alpha of the L1 penalty at which w = 0 is optimal."""
    centred = y - y.mean() if intercept else y
    slope = np.abs(np.asarray(X.T @ centred)).max() / len(y)  # type: ignore[attr-defined]
    if problem_loss == "squared":
        return float(slope)
    return float(slope / 2)  # Σ y·σ(−z) at z = log-odds of ȳ is Σ (y − ȳ)/2


def sparse_lasso(quick: bool) -> Problem:
    n, d = (2000, 10000) if quick else (20000, 100000)
    rng = np.random.default_rng(SEED)
    X = synthetic.sparse_normal(n, d, 80, rng)
    signal = X @ synthetic.sparse_truth(d, d // 200, rng)
    y = signal + 0.5 * signal.std() * rng.standard_normal(n)
    alpha = alpha_max("squared", X, y, True) / 50
    return Problem("sparse_lasso", X, y, "squared", "l1", alpha, True, LASSO, 0.7)


def dense_logistic_l2(quick: bool) -> Problem:
    n, d = (20000, 60) if quick else (300000, 60)
    rng = np.random.default_rng(SEED + 1)
    X = synthetic.correlated(n, d, rng)
    y = synthetic.noisy_labels(X @ rng.standard_normal(d) / np.sqrt(d) * 2, rng)
    remark = "No intercept for anyone: snapml penalises its own."
    return Problem("dense_logistic_l2", X, y, "logistic", "l2", 1e-4, False, DENSE_L2, 0.5, remark)


def labelled_documents(quick: bool, zipf: bool) -> tuple[object, Array]:
    n, d = (5000, 5000) if quick else (50000, 50000)
    rng = np.random.default_rng(SEED + 2)
    X = synthetic.documents(n, d, 80, rng, zipf)
    w = synthetic.sparse_truth(d, d // 5, rng)
    z = X @ w
    return X, synthetic.noisy_labels(4 * z / z.std(), rng)


def sparse_logistic_l2(quick: bool, zipf: bool = True) -> Problem:
    X, y = labelled_documents(quick, zipf)
    name = "sparse_logistic_l2" if zipf else "sparse_logistic_l2_uniform"
    remark = "No intercept for anyone: liblinear -s 7 and snapml penalise theirs. " + (
        "Word frequencies follow Zipf." if zipf else "All words equally frequent."
    )
    return Problem(name, X, y, "logistic", "l2", 1 / len(y), False, SPARSE_L2, 0.6, remark)


def sparse_logistic_l1(quick: bool, zipf: bool = True) -> Problem:
    X, y = labelled_documents(quick, zipf)
    name = "sparse_logistic_l1" if zipf else "sparse_logistic_l1_uniform"
    alpha = alpha_max("logistic", X, y, False) / 100
    remark = "No intercept for anyone: celer has none and snapml penalises its own."
    return Problem(name, X, y, "logistic", "l1", alpha, False, SPARSE_L1, 0.5, remark)


def a9a(folder: Path, penalty: str) -> Problem:
    X, y, X_test, y_test = real.a9a(folder)
    test = (X_test, y_test)
    remark = "No intercept for anyone: liblinear and snapml penalise theirs."
    if penalty == "l2":
        return Problem(
            "a9a_l2", X, y, "logistic", "l2", 1 / len(y), False, SPARSE_L2, None, remark, test
        )
    alpha = alpha_max("logistic", X, y, False) / 100
    return Problem("a9a_l1", X, y, "logistic", "l1", alpha, False, SPARSE_L1, None, remark, test)


def leukemia_lasso(folder: Path) -> Problem:
    X, y = real.leukemia(folder)
    alpha = alpha_max("squared", X, y, True) / 20
    return Problem("leukemia_lasso", X, y, "squared", "l1", alpha, True, LASSO)


def leukemia_logistic(folder: Path) -> Problem:
    X, y = real.leukemia(folder)
    alpha = alpha_max("logistic", X, y, False) / 20
    remark = "No intercept for anyone: celer has none."
    peers = ("skglm", "celer", "liblinear -s 6", "cyanure", "sklearn saga")
    return Problem(
        "leukemia_logistic_l1", X, y, "logistic", "l1", alpha, False, peers, None, remark
    )


def newsgroups(folder: Path, loss: str = "logistic") -> Problem:
    X, y, X_test, y_test = real.newsgroups(folder)
    remark = "C = 1. No intercept for anyone: liblinear and snapml penalise theirs."
    return Problem(
        "newsgroups_ovr_l2" if loss == "logistic" else f"newsgroups_ovr_{loss}",
        X,
        y,
        loss,
        "l2",
        1 / len(y),
        False,
        OVR[loss],
        0.35,
        remark,
        (X_test, y_test),
    )


SYNTHETIC: dict[str, Callable[[bool], Problem]] = {
    "sparse_lasso": sparse_lasso,
    "dense_logistic_l2": dense_logistic_l2,
    "sparse_logistic_l2": sparse_logistic_l2,
    "sparse_logistic_l1": sparse_logistic_l1,
    "sparse_logistic_l2_uniform": lambda quick: sparse_logistic_l2(quick, zipf=False),
    "sparse_logistic_l1_uniform": lambda quick: sparse_logistic_l1(quick, zipf=False),
}
REAL: dict[str, Callable[[Path], Problem]] = {
    "a9a_l2": lambda folder: a9a(folder, "l2"),
    "a9a_l1": lambda folder: a9a(folder, "l1"),
    "leukemia_lasso": leukemia_lasso,
    "leukemia_logistic_l1": leukemia_logistic,
    "newsgroups_ovr_l2": newsgroups,
    "newsgroups_ovr_hinge": lambda folder: newsgroups(folder, "hinge"),
    "newsgroups_ovr_squared_hinge": lambda folder: newsgroups(folder, "squared_hinge"),
}
