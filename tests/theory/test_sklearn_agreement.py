"""Same problem, same coefficients as scikit-learn at tight tolerances."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)

import minimand as mm

RNG = np.random.default_rng(7)
N, D = 60, 8
X = RNG.standard_normal((N, D)) * np.geomspace(0.3, 3, D) + 0.5
Y = X @ RNG.standard_normal(D) + RNG.standard_normal(N)
LABELS = np.where(Y + 2 * RNG.standard_normal(N) > np.median(Y), "yes", "no")
COUNTS = RNG.poisson(np.exp(np.clip(0.2 * (Y - Y.mean()), -2, 2))).astype(float)
S = RNG.uniform(0.2, 3.0, N)


def close(model, peer, atol=2e-5):
    np.testing.assert_allclose(np.ravel(model.coef_), np.ravel(peer.coef_), atol=atol)
    np.testing.assert_allclose(np.ravel(model.intercept_), np.ravel(peer.intercept_), atol=atol)


@pytest.mark.parametrize("weight", [None, S], ids=["equal", "weighted"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
class TestSquared:
    def test_linear_regression(self, weight, intercept, make):
        peer = LinearRegression(fit_intercept=intercept).fit(X, Y, weight)
        close(
            mm.Regressor("squared", "no_penalty", intercept=intercept).fit(make(X), Y, weight), peer
        )

    def test_ridge(self, weight, intercept, make):
        """Σ s·r² + α‖w‖² is mean ½r² + (α/S)·½‖w‖²."""
        total = N if weight is None else weight.sum()
        peer = Ridge(alpha=5.0, fit_intercept=intercept, solver="cholesky").fit(X, Y, weight)
        model = mm.Regressor("squared", "l2", alpha=5.0 / total, intercept=intercept, tol=1e-12)
        close(model.fit(make(X), Y, weight), peer)

    def test_lasso(self, weight, intercept, make):
        peer = Lasso(alpha=0.2, fit_intercept=intercept, tol=1e-12, max_iter=100_000)
        peer.fit(X, Y, weight)
        model = mm.Regressor("squared", "l1", alpha=0.2, intercept=intercept, tol=1e-12)
        close(model.fit(make(X), Y, weight), peer)
        assert ((model.coef_ == 0) == (np.abs(peer.coef_) < 1e-9)).all()

    def test_elastic_net(self, weight, intercept, make):
        peer = ElasticNet(
            alpha=0.3, l1_ratio=0.4, fit_intercept=intercept, tol=1e-12, max_iter=100_000
        ).fit(X, Y, weight)
        penalty = 0.4 * mm.L1() + 0.6 * mm.L2()
        model = mm.Regressor("squared", penalty, alpha=0.3, intercept=intercept, tol=1e-12)
        close(model.fit(make(X), Y, weight), peer)


@pytest.mark.parametrize("C", [0.05, 1.0, 50.0])
@pytest.mark.parametrize("weight", [None, S], ids=["equal", "weighted"])
@pytest.mark.parametrize(
    ("ratio", "penalty"),
    [(0.0, mm.L2()), (1.0, mm.L1()), (0.3, 0.3 * mm.L1() + 0.7 * mm.L2())],
    ids=["l2", "l1", "elastic"],
)
def test_logistic_regression(ratio, penalty, weight, C):
    total = N if weight is None else weight.sum()
    Z = (X - X.mean(0)) / X.std(0)
    peer = LogisticRegression(
        C=C,
        l1_ratio=ratio,
        solver="lbfgs" if ratio == 0 else "saga",
        tol=1e-10 if ratio == 0 else 1e-8,
        max_iter=20_000,
    ).fit(Z, LABELS, weight)
    model = mm.Classifier("logistic", penalty, alpha=1 / (C * total), tol=1e-12)
    model.fit(Z, LABELS, weight)
    if peer.coef_.any():  # saga stops at once, with a wrong intercept, when all coefficients are 0
        close(model, peer, atol=2e-3)
        np.testing.assert_allclose(model.predict_proba(Z), peer.predict_proba(Z), atol=1e-3)
    else:
        assert not model.coef_.any()
    assert (model.classes_ == peer.classes_).all()
    # the better optimum is ours, or equal
    audit = mm.certify(peer, Z, LABELS, weight, against=model)
    assert audit.primal >= model.certificate_.dual - 1e-15


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("weight", [None, S], ids=["equal", "weighted"])
def test_poisson_regression(alpha, weight):
    peer = PoissonRegressor(alpha=alpha, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    peer.fit(X, COUNTS, weight)
    model = mm.Regressor("poisson", "l2", alpha=alpha, tol=1e-12).fit(X, COUNTS, weight)
    close(model, peer)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-4)


def test_class_weight():
    peer = LogisticRegression(class_weight="balanced", tol=1e-10, max_iter=10_000)
    peer.fit(X, LABELS)
    weights = N / (2 * np.array([(c == LABELS).sum() for c in peer.classes_]))
    by_class = weights[(LABELS == "yes").astype(int)]
    alpha = 1 / by_class.sum()
    one = mm.Classifier("logistic", "l2", alpha=alpha, class_weight="balanced", tol=1e-12)
    two = mm.Classifier("logistic", "l2", alpha=alpha, tol=1e-12)
    close(one.fit(X, LABELS), peer, atol=1e-4)
    close(two.fit(X, LABELS, by_class), peer, atol=1e-4)
