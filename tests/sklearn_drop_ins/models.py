"""Data for the drop-ins, and pairs of models: scikit-learn's and ours."""

import numpy as np
from sklearn import cluster, decomposition, kernel_ridge, manifold, neighbors, svm
from sklearn import linear_model as theirs

from minimand import sklearn as ours

RNG = np.random.default_rng(7)
N, D = 60, 6
X = RNG.standard_normal((N, D)) * np.geomspace(0.3, 3, D) + 0.5
Y = X @ RNG.standard_normal((D, 3)) + RNG.standard_normal((N, 3))
LABELS = np.where(Y[:, 0] + 2 * RNG.standard_normal(N) > Y[:, 0].mean(), "yes", "no")
THREE = np.digitize(Y[:, 0], np.quantile(Y[:, 0], [0.3, 0.6]))
COUNTS = RNG.poisson(np.exp(0.2 * (Y[:, 0] - Y[:, 0].mean()))).astype(float)
S = RNG.uniform(0.2, 3.0, N)
TIGHT = {"tol": 1e-10, "max_iter": 100_000}
NEWTON = {**TIGHT, "solver": "newton-cholesky"}


def their(name):
    """scikit-learn's class of that name."""
    homes = (theirs, svm, kernel_ridge, cluster, decomposition, manifold, neighbors)
    return next(getattr(m, name) for m in homes if hasattr(m, name))


def pair(name, parameters, **how):
    """scikit-learn's model, made to converge, and ours as a user would write it."""
    peer = their(name)(**parameters).set_params(**how)
    return peer, getattr(ours, name)(**parameters)


def shapes_agree(ours_, theirs_, names):
    for name in names:
        mine, wanted = getattr(ours_, name), getattr(theirs_, name)
        assert type(mine) is type(wanted), name
        assert np.shape(mine) == np.shape(wanted), name
