"""Paths and ridges: problems with many alphas, or with a closed form."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from . import real, synthetic
from .base import Array, Problem
from .single import SEED, alpha_max

SQUARED = ("celer path", "skglm path", "sklearn path")
LASSO = (*SQUARED, "adelie path", "glmnet path")
DENSE_LOGISTIC = ("celer path", "skglm path", "glum path", "adelie path", "glmnet path")
SPARSE_LOGISTIC = (
    "celer path",
    "skglm path",
    "liblinear -s 6, each alpha",
    "snapml primal, each alpha",
)
REAL_LOGISTIC = ("celer path", "skglm path", "liblinear -s 6, each alpha")
GROUPS = ("celer group path", "skglm group path", "adelie path")
RIDGE = ("sklearn Ridge", "sklearn Ridge cholesky", "intelex Ridge")
RIDGE_PATH = (
    "sklearn Ridge, each alpha",
    "sklearn Ridge cholesky, alphas as targets",
    "sklearn Ridge svd, alphas as targets",
)
_NO_INTERCEPT = "No intercept for anyone: celer's logistic regression has none."
_CENTRED = "Centred data, so that nobody needs an intercept."
_UNCENTRED = "No intercept for anyone: scikit-learn's path function has none for sparse data."
_RIDGE_PATH = (
    "scikit-learn has no ridge path: one Ridge per alpha in a loop, or all alphas at once as so "
    "many targets with the same y. RidgeCV is no peer here, since it returns one model."
)


def _path(
    name: str,
    X: Any,
    y: Array,
    loss: Any,
    penalty: Any,
    peers: tuple[str, ...],
    target: float | None,
    remark: str,
    count: int = 100,
    eps: float = 1e-2,
) -> Problem:
    """Alphas evenly spaced on a log scale, from the smallest that empties the model down."""
    top = alpha_max(loss, X, y, intercept=False) * (2.0 if penalty == "elastic_net" else 1.0)
    alphas = np.geomspace(top, eps * top, count)
    return Problem(
        name, X, y, loss, penalty, alphas[-1], False, peers, target, remark, alphas=alphas
    )


# Made up ------------------------------------------------------------------------------------------


def _autoregressive_data(n: int, d: int, k: int, seed: int) -> tuple[Array, Array, Array]:
    """X, the scores of k coefficients ±1, and noise of unit variance."""
    rng = np.random.default_rng(seed)
    X = synthetic.autoregressive(n, d, 0.5, rng)
    w = np.zeros(d)
    w[rng.choice(d, size=k, replace=False)] = rng.choice([-1.0, 1.0], size=k)
    return X, X @ w, rng.standard_normal(n)


def squared_dense(
    name: str,
    quick: bool,
    *,
    penalty: str,
    shape: tuple[int, int],
    target: float,
    eps: float = 1e-2,
) -> Problem:
    n, d = (max(200, shape[0] // 10), shape[1] // 10) if quick else shape
    k, count = (min(20, d // 4), 30) if quick else (100 if d > 1000 else d // 4, 100)
    X, signal, noise = _autoregressive_data(n, d, k, SEED + 10)
    y = signal / signal.std() + noise / np.sqrt(5.0)  # five times as much signal as noise
    X -= X.mean(axis=0)
    y = (y - y.mean()) / y.std()
    peers = LASSO if penalty == "l1" else SQUARED
    return _path(name, X, y, "squared", penalty, peers, target, _CENTRED, count, eps)


def logistic_dense(name: str, quick: bool, *, target: float, eps: float) -> Problem:
    n, d, k, count = (200, 500, 20, 20) if quick else (1000, 5000, 50, 50)
    X, signal, _ = _autoregressive_data(n, d, k, SEED + 11)
    y = synthetic.noisy_labels(4 * signal / signal.std(), np.random.default_rng(SEED + 12))
    return _path(name, X, y, "logistic", "l1", DENSE_LOGISTIC, target, _NO_INTERCEPT, count, eps)


def groups(name: str, quick: bool, *, loss: str) -> Problem:
    """Groups of ten adjacent columns; a few of them matter."""
    n, d, k, count = (200, 500, 5, 10) if quick else (1000, 5000, 20, 50)
    rng, block = np.random.default_rng(SEED + 16), 10
    X = np.asfortranarray(synthetic.autoregressive(n, d, 0.5, rng))
    w = np.zeros((d // block, block))
    w[rng.choice(len(w), size=k, replace=False)] = rng.standard_normal((k, block))
    signal = X @ w.ravel()
    y = signal / signal.std() + rng.standard_normal(n) / np.sqrt(5.0)
    X -= X.mean(axis=0)
    y = y - y.mean() if loss == "squared" else np.where(y > 0, 1.0, -1.0)
    slope = X.T @ y / (n if loss == "squared" else 2 * n)
    top = float(np.linalg.norm(slope.reshape(-1, block), axis=1).max() / np.sqrt(block))
    alphas, remark = np.geomspace(top, 0.03 * top, count), f"Groups of {block}. {_NO_INTERCEPT}"
    peers = GROUPS if loss == "squared" else GROUPS[1:]
    return Problem(name, X, y, loss, "group_l2", alphas[-1], False, peers, 0.8, remark,
                   alphas=alphas, block=block)  # fmt: skip


def squared_sparse(name: str, quick: bool) -> Problem:
    n, d, count = (1000, 2000, 20) if quick else (20000, 20000, 50)
    rng = np.random.default_rng(SEED + 13)
    X = synthetic.sparse_normal(n, d, 50, rng)
    signal = X @ synthetic.sparse_truth(d, d // 100, rng)
    y = signal / signal.std() + 0.5 * rng.standard_normal(n)
    return _path(name, X, y, "squared", "l1", SQUARED, None, _UNCENTRED, count, 2e-2)


def logistic_sparse(name: str, quick: bool) -> Problem:
    n, d, count = (2000, 2000, 15) if quick else (20000, 20000, 50)
    rng = np.random.default_rng(SEED + 14)
    X = synthetic.documents(n, d, 60, rng)
    z = X @ synthetic.sparse_truth(d, d // 20, rng)
    y = synthetic.noisy_labels(4 * z / z.std(), rng)
    return _path(name, X, y, "logistic", "l1", SPARSE_LOGISTIC, 0.5, _NO_INTERCEPT, count, 3e-2)


def _ridge_data(n: int, d: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(SEED + 15)
    X = synthetic.correlated(n, d, rng)
    signal = X @ rng.standard_normal(d)
    return X, signal / signal.std() + rng.standard_normal(n)


def ridge(name: str, quick: bool, *, wide: bool) -> Problem:
    if wide:
        X, y = _ridge_data(*((100, 2000) if quick else (1000, 20000)))
    else:
        X, y = _ridge_data(*((5000, 50) if quick else (100000, 100)))
    alpha = 1.0 if wide else 1e-2
    return Problem(name, X, y, "squared", "l2", alpha, True, RIDGE, 1.0)


def ridge_path(name: str, quick: bool, *, wide: bool) -> Problem:
    if wide:
        X, y = _ridge_data(*((100, 500) if quick else (1000, 5000)))
        alphas = np.geomspace(1e3, 1e-2, 100)
    else:
        X, y = _ridge_data(*((5000, 50) if quick else (100000, 100)))
        alphas = np.geomspace(1e2, 1e-4, 100)
    return Problem(
        name, X, y, "squared", "l2", alphas[-1], True, RIDGE_PATH, 0.3, _RIDGE_PATH, alphas=alphas
    )


# Real ---------------------------------------------------------------------------------------------


def leukemia_lasso(name: str, quick: bool, folder: Path) -> Problem:
    X, y = real.leukemia(folder)
    X, y = np.asfortranarray(X - X.mean(axis=0)), y - y.mean()
    return _path(name, X, y, "squared", "l1", SQUARED, 0.4, _CENTRED, 10 if quick else 100)


def leukemia_logistic(name: str, quick: bool, folder: Path) -> Problem:
    X, y = real.leukemia(folder)
    count = 5 if quick else 50
    return _path(name, X, y, "logistic", "l1", REAL_LOGISTIC, 0.5, _NO_INTERCEPT, count)


def newsgroups(name: str, quick: bool, folder: Path) -> Problem:
    X, y = real.newsgroups(folder)[:2]
    first = np.where(y == 0, 1.0, -1.0)
    remark = f"The first class against the rest. {_NO_INTERCEPT}"
    count, eps = (5, 0.3) if quick else (50, 3e-2)
    return _path(name, X, first, "logistic", "l1", REAL_LOGISTIC, 0.5, remark, count, eps)


_SYNTHETIC: dict[str, Callable[..., Problem]] = {
    "path_lasso_dense": partial(squared_dense, penalty="l1", shape=(1000, 10000), target=0.8),
    "path_lasso_tall": partial(
        squared_dense, penalty="l1", shape=(20000, 200), target=0.8, eps=1e-3
    ),
    "path_enet_dense": partial(
        squared_dense, penalty="elastic_net", shape=(1000, 5000), target=0.5
    ),
    "path_logistic_l1_dense": partial(logistic_dense, target=0.5, eps=1e-2),
    "path_logistic_l1_short": partial(logistic_dense, target=0.8, eps=5e-2),
    "path_group_lasso": partial(groups, loss="squared"),
    "path_group_logistic": partial(groups, loss="logistic"),
    "path_lasso_sparse": squared_sparse,
    "path_logistic_l1_sparse": logistic_sparse,
    "ridge_tall": partial(ridge, wide=False),
    "ridge_wide": partial(ridge, wide=True),
    "ridge_path_tall": partial(ridge_path, wide=False),
    "ridge_path_wide": partial(ridge_path, wide=True),
}
_REAL: dict[str, Callable[..., Problem]] = {
    "path_leukemia_lasso": leukemia_lasso,
    "path_leukemia_logistic_l1": leukemia_logistic,
    "path_newsgroups_logistic_l1": newsgroups,
}
SYNTHETIC = {name: partial(make, name) for name, make in _SYNTHETIC.items()}
REAL = {name: partial(make, name) for name, make in _REAL.items()}
