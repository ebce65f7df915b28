"""Problems whose losses are linear or quadratic between kinks: SVMs, quantiles, tubes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import synthetic
from .base import TARGET, Array, Problem
from .single import SEED, labelled_documents

NO_INTERCEPT = "No intercept for anyone: the peers penalise theirs."
HIGHS = ("sklearn highs", "sklearn highs-ipm", "quantreg lasso")
LOOSE = 1e-5  # relative gap, where the peers are slow to get nearer


def sparse_hinge(quick: bool) -> Problem:
    X, y = labelled_documents(quick, zipf=True)
    peers = ("liblinear -s 3", "rehline", "sklearn LinearSVC")
    return Problem(
        "sparse_hinge", X, y, "hinge", "l2", 1 / len(y), False, peers, 0.6,
        f"C = 1. {NO_INTERCEPT}", gap=LOOSE,
    )  # fmt: skip


def sparse_squared_hinge(quick: bool) -> Problem:
    X, y = labelled_documents(quick, zipf=True)
    peers = ("liblinear -s 1", "liblinear -s 2", "rehline", "sklearn LinearSVC")
    return Problem(
        "sparse_squared_hinge", X, y, "squared_hinge", "l2", 1 / len(y), False, peers, 0.6,
        f"C = 1. {NO_INTERCEPT}",
    )  # fmt: skip


def dense_hinge(quick: bool, weak: bool = False) -> Problem:
    n, d = (5000, 50) if quick else (100000, 100)
    rng = np.random.default_rng(SEED + 40)
    X = synthetic.correlated(n, d, rng)
    y = synthetic.noisy_labels(X @ rng.standard_normal(d) / np.sqrt(d) * 2, rng)
    name = "dense_hinge_weak" if weak else "dense_hinge"
    alpha = 1e-4 if weak else 1e-3
    remark = f"C = 1/(alpha·n) = {1 / (alpha * n):g}. {NO_INTERCEPT}"
    peers = ("liblinear -s 3", "rehline", "sklearn LinearSVC")
    return Problem(
        name, X, y, "hinge", "l2", alpha, False, peers, 0.6, remark, gap=LOOSE
    )  # fmt: skip


def _heavy_tailed(n: int, d: int, seed: int) -> tuple[Array, Array]:
    """Dense data, a sparse truth, noise of Student's law with three degrees of freedom."""
    rng = np.random.default_rng(SEED + seed)
    X = synthetic.correlated(n, d, rng)
    signal = X @ synthetic.sparse_truth(d, max(d // 4, 2), rng)
    return X, signal / signal.std() + rng.standard_t(3, n)


def quantile_l1(quick: bool) -> Problem:
    X, y = _heavy_tailed(*((1000, 20) if quick else (10000, 50)), 41)
    q = 0.75
    slope = np.where(y > np.quantile(y, q), -q, 1 - q)
    alpha = float(np.abs(X.T @ slope).max()) / len(y) / 20
    remark = "alpha is a twentieth of the least that makes w = 0. HiGHS is given one minute."
    return Problem(
        "quantile_l1", X, y, "quantile", "l1", alpha, True, HIGHS, 0.02, remark,
        parameter=q, head=500,
    )  # fmt: skip


def quantile_l2(quick: bool) -> Problem:
    X, y = _heavy_tailed(*((2000, 10) if quick else (20000, 20)), 42)
    remark = f"C = 1. {NO_INTERCEPT}"
    return Problem(
        "quantile_l2", X, y, "quantile", "l2", 1 / len(y), False, ("rehline",), 0.5, remark,
        parameter=0.75, gap=LOOSE,
    )  # fmt: skip


def svr_l2(quick: bool, squared: bool = False) -> Problem:
    X: Any
    X, _ = labelled_documents(quick, zipf=True)
    n, d = X.shape
    rng = np.random.default_rng(SEED + 43)
    signal = X @ synthetic.sparse_truth(d, d // 5, rng)
    y = signal / signal.std() + 0.5 * rng.standard_normal(n)
    kind, numbers = ("squared_", (11, 12)) if squared else ("", (13,))
    peers = (*(f"liblinear -s {k}" for k in numbers), "rehline", "sklearn LinearSVR")
    return Problem(
        f"svr_{kind}l2", X, y, f"{kind}epsilon_insensitive", "l2", 1 / n, False, peers, 0.6,
        f"C = 1. {NO_INTERCEPT}", parameter=0.1, gap=TARGET if squared else LOOSE,
    )  # fmt: skip


def absolute_tall(quick: bool) -> Problem:
    X, y = _heavy_tailed(*((5000, 10) if quick else (100000, 20)), 44)
    alpha = float(np.abs(X.T @ np.sign(y - np.median(y))).max()) / len(y) / 1000
    remark = "alpha is a thousandth of the least that makes w = 0. HiGHS is given one minute."
    return Problem(
        "absolute_tall", X, y, "absolute", "l1", alpha, True, HIGHS, None, remark, head=500
    )  # fmt: skip


SYNTHETIC: dict[str, Callable[[bool], Problem]] = {
    "sparse_hinge": sparse_hinge,
    "dense_hinge": dense_hinge,
    "dense_hinge_weak": lambda quick: dense_hinge(quick, weak=True),
    "sparse_squared_hinge": sparse_squared_hinge,
    "quantile_l1": quantile_l1,
    "quantile_l2": quantile_l2,
    "svr_l2": svr_l2,
    "svr_squared_l2": lambda quick: svr_l2(quick, squared=True),
    "absolute_tall": absolute_tall,
}
