"""Data for the theory tests: small, seeded, of every awkward kind."""

from __future__ import annotations

import warnings
import zlib

import numpy as np
import oracle
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import minimand as mm

REGRESSION = ["squared", "huber", "poisson", "cross_entropy"]
CLASSIFICATION = ["logistic", "squared_hinge", "cross_entropy", "squared"]
PAIRS = [("R", loss) for loss in REGRESSION] + [("C", loss) for loss in CLASSIFICATION]
PENALTIES = ["l1", "l2", "mixed", "none", "weighted_l1", "weighted_l2"]
KINDS = ["tall", "wide", "scales", "correlated", "duplicated", "constant"]


def rng_of(*names):
    """A generator that depends on the names only, the same in every process."""
    return np.random.default_rng(zlib.crc32("|".join(map(str, names)).encode()))


def matrix(kind, rng):
    n, d = (8, 16) if kind == "wide" else (28, 6)
    X = rng.standard_normal((n, d))
    if kind == "scales":
        X = X * np.geomspace(1e-4, 1e4, d)
    elif kind == "correlated":
        X = rng.standard_normal((n, 1)) + 0.05 * X
    elif kind == "duplicated":
        X[:, -1] = X[:, 0]
        X[:, -2] = -2 * X[:, 1]
        X[-1] = X[0]
    elif kind == "constant":
        X[:, -1] = 3.0
        X[:, 0] = 0.0
        X[:, 1] = 1.0
    if kind in ("tall", "scales", "wide"):
        X = X * (rng.uniform(size=X.shape) < 0.7)
    return X


def score(X, rng):
    spread = X.std(axis=0)
    spread[spread == 0] = 1.0
    return (X - X.mean(axis=0)) / spread @ (rng.standard_normal(X.shape[1]) / np.sqrt(X.shape[1]))


def target(task, loss, z, rng):
    """y as the estimator takes it."""
    n = len(z)
    noisy = z + rng.standard_normal(n)
    if task == "C":
        y = np.where(noisy > np.median(noisy), 1.0, -1.0)
        return y if loss != "cross_entropy" else (y + 1) / 2
    if loss == "poisson":
        return rng.poisson(np.exp(np.clip(z, -2, 2)) + 0.5).astype(float)
    if loss == "cross_entropy":
        return 1 / (1 + np.exp(-noisy))
    return 2.0 * noisy + 1.0


def estimator(task, loss, penalty, d, **kwargs):
    make = mm.Regressor if task == "R" else mm.Classifier
    penalty = oracle.penalty_of(penalty, d) if isinstance(penalty, str) else penalty
    return make(loss, penalty, **kwargs)


def fit(model, X, y, weight=None, offset=None):
    """The fitted model and whether it warned that it stopped short."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight=weight, offset=offset)
    other = [w for w in seen if not issubclass(w.category, ConvergenceWarning)]
    assert not other, f"unexpected warning: {other[0].message}"
    return model, bool(seen)


def problem(task, loss, penalty, kind, alpha=0.03):
    """(reference problem, X, y, weight, offset, intercept)."""
    rng = rng_of(task, loss, penalty, kind)
    X = matrix(kind, rng)
    n, d = X.shape
    z = score(X, rng)
    y = target(task, loss, z, rng)
    intercept = bool(rng.uniform() < 0.7)
    weight = rng.uniform(0.2, 3.0, n) if rng.uniform() < 0.5 else None
    offset = 0.3 * rng.standard_normal(n) if rng.uniform() < 0.5 else None
    l1, l2 = oracle.form_of(penalty, alpha, d)
    return oracle.Problem(loss, X, y, l1, l2, intercept, weight, offset)


def sparse_of(X, kind):
    return sparse.csr_array(X) if len(kind) % 2 else sparse.csc_matrix(X)
