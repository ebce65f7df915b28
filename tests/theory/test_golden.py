"""Numbers and identities known on paper."""

import numpy as np
import pytest

import minimand as mm
import problems

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 4))
Y = X @ [1.0, -2.0, 0.0, 0.5] + 0.3 * rng.standard_normal(40)
_STATE = rng.bit_generator.state


@pytest.fixture(autouse=True)
def _same_numbers_in_any_order():
    """Tests may run alone, in any order or in parallel: each sees the same random numbers."""
    rng.bit_generator.state = _STATE


def test_three_forms_of_the_logistic_loss():
    """ln(1+e^−m) for ±1; cross entropy for {0, 1}; −y·βᵀx + ln(1 + e^{βᵀx})."""
    labels = (Y + rng.standard_normal(40) > 0).astype(float)
    z = X @ rng.standard_normal(4)
    one = mm.Logistic().value(z, 2 * labels - 1)
    two = mm.CrossEntropy().value(z, labels)
    three = -labels * z + np.log1p(np.exp(z))
    np.testing.assert_allclose(one, two, atol=1e-14)
    np.testing.assert_allclose(one, three, atol=1e-14)
    models = [
        mm.Classifier("logistic", "l2", alpha=0.1, tol=1e-10).fit(X, 2 * labels - 1),
        mm.Classifier("logistic", "l2", alpha=0.1, tol=1e-10).fit(X, labels),
        mm.Classifier("cross_entropy", "l2", alpha=0.1, tol=1e-10).fit(X, labels),
        mm.Regressor("cross_entropy", "l2", alpha=0.1, tol=1e-10).fit(X, labels),
    ]
    for model in models[1:]:
        np.testing.assert_allclose(np.ravel(model.coef_), models[0].coef_[0], atol=1e-6)
        assert model.certificate_.primal == pytest.approx(models[0].certificate_.primal, rel=1e-9)
    p = models[3].predict(X)
    np.testing.assert_allclose(models[0].predict_proba(X)[:, 1], p, atol=1e-6)


def test_the_risk_is_a_parabola_around_its_minimiser():
    """R(β) = R(β̂) + (β − β̂)ᵀXᵀX(β − β̂)/(2n), and Xᵀ(y − ŷ) = 0."""
    model = mm.Regressor("squared", "no_penalty", intercept=False).fit(X, Y)
    np.testing.assert_allclose(X.T @ (Y - model.predict(X)), 0, atol=1e-11)
    least = model.certificate_.primal
    assert least == pytest.approx(0.5 * np.mean((Y - X @ model.coef_) ** 2), rel=1e-12)
    for _ in range(5):
        beta = model.coef_ + rng.standard_normal(4)
        step = beta - model.coef_
        risk = 0.5 * np.mean((Y - X @ beta) ** 2)
        assert risk == pytest.approx(least + step @ X.T @ X @ step / (2 * 40), rel=1e-12)
    with_b = mm.Regressor("squared", "no_penalty").fit(X, Y)
    residual = Y - with_b.predict(X)
    np.testing.assert_allclose(X.T @ residual, 0, atol=1e-11)
    assert residual.sum() == pytest.approx(0, abs=1e-11)


@pytest.mark.parametrize("eps", [1.0, 1e-2, 1e-4, 1e-6, 1e-8])
def test_ill_conditioning(eps):
    """X = [[0, ε], [1, 1]], y = [1, −1]: w = X⁻¹y = [−1 − 1/ε, 1/ε], tamed by ridge."""
    A, b = np.array([[0.0, eps], [1.0, 1.0]]), np.array([1.0, -1.0])
    model = mm.Regressor("squared", "no_penalty", intercept=False, tol=1e-12).fit(A, b)
    np.testing.assert_allclose(model.coef_, [-1 - 1 / eps, 1 / eps], rtol=1e-6)
    assert model.certificate_.primal <= 1e-12
    ridge = mm.Regressor("squared", "l2", alpha=0.1, intercept=False).fit(A, b)
    want = np.linalg.solve(A.T @ A / 2 + 0.1 * np.eye(2), A.T @ b / 2)
    np.testing.assert_allclose(ridge.coef_, want, rtol=1e-9)
    assert np.abs(ridge.coef_).max() < 3


@pytest.mark.parametrize("alpha", [1e-6, 0.1, 10.0])
@pytest.mark.parametrize("shape", [(40, 4), (4, 9)])
def test_ridge_is_data_augmentation(alpha, shape):
    """min ‖Xw − y‖²/(2n) + ½α‖w‖²  ≡  least squares on [X; √(nα) I], [y; 0]."""
    n, d = shape
    A, b = rng.standard_normal(shape), rng.standard_normal(n)
    ridge = mm.Regressor("squared", "l2", alpha=alpha, intercept=False, tol=1e-12).fit(A, b)
    stacked = np.vstack([A, np.sqrt(n * alpha) * np.eye(d)])
    plain = mm.Regressor("squared", "no_penalty", intercept=False, tol=1e-12)
    plain.fit(stacked, np.append(b, np.zeros(d)))
    np.testing.assert_allclose(ridge.coef_, plain.coef_, rtol=1e-5, atol=1e-8)
    assert ridge.certificate_.primal == pytest.approx(
        plain.certificate_.primal * (n + d) / n, rel=1e-8
    )


def test_deviance_at_zero_is_ln_2():
    assert mm.Logistic().value(np.zeros(1), np.ones(1))[0] == pytest.approx(np.log(2), rel=1e-15)
    y = np.where(np.arange(40) % 2, 1, -1)
    model = mm.Classifier("logistic", "l1", alpha=1e3).fit(X, y)
    assert model.certificate_.primal == pytest.approx(np.log(2), rel=1e-12)
    assert not model.coef_.any()


def test_intercepts_of_null_models():
    """The best constant: mean, log-odds, log-mean, the middle of Huber."""
    s = rng.uniform(0.5, 2.0, 40)
    mean = s @ Y / s.sum()
    huge = {"penalty": "l1", "alpha": 1e6, "tol": 1e-12}
    assert mm.Regressor("squared", **huge).fit(X, Y, s).intercept_ == pytest.approx(mean)
    y = (Y > 1).astype(float)
    p = s @ y / s.sum()
    logit = np.log(p / (1 - p))
    for model in (
        mm.Classifier("logistic", **huge).fit(X, y, s),
        mm.Classifier("cross_entropy", **huge).fit(X, y, s),
        mm.Regressor("cross_entropy", **huge).fit(X, y, s),
    ):
        assert np.ravel(model.intercept_)[0] == pytest.approx(logit, rel=1e-6)
    counts = rng.poisson(3.0, 40).astype(float)
    model = mm.Regressor("poisson", **huge).fit(X, counts, s)
    assert model.intercept_ == pytest.approx(np.log(s @ counts / s.sum()), rel=1e-8)
    assert model.predict(X)[0] == pytest.approx(s @ counts / s.sum(), rel=1e-8)
    hinge = mm.Classifier("squared_hinge", **huge).fit(X, y, s)
    assert hinge.intercept_[0] == pytest.approx(2 * p - 1, rel=1e-6)
    wide = mm.Regressor(mm.Huber(1e6), **huge).fit(X, Y, s)
    assert wide.intercept_ == pytest.approx(mean, rel=1e-6)


def test_exposure_is_an_offset():
    """Counts with exposure e: offset ln e, the rate is what is modelled."""
    exposure = rng.uniform(0.5, 5.0, 40)
    rate = 2.0
    counts = rate * exposure
    model = mm.Regressor("poisson", "l1", alpha=10.0, tol=1e-12).fit(
        X, counts, offset=np.log(exposure)
    )
    assert np.exp(model.intercept_) == pytest.approx(rate, rel=1e-6)
    np.testing.assert_allclose(model.predict(X, offset=np.log(exposure)), counts, rtol=1e-6)


def test_lasso_of_orthonormal_columns_is_soft_thresholding():
    Q = np.linalg.qr(rng.standard_normal((40, 4)))[0] * np.sqrt(40)
    ols = Q.T @ Y / 40
    for alpha in (0.0, 0.1, 0.7):
        model = mm.Regressor("squared", "l1", alpha=alpha, intercept=False, tol=1e-13).fit(Q, Y)
        want = np.sign(ols) * np.maximum(np.abs(ols) - alpha, 0)
        np.testing.assert_allclose(model.coef_, want, atol=1e-7)
        assert ((model.coef_ == 0) == (want == 0)).all()


def test_one_versus_rest_is_a_sum():
    labels = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
    model = mm.Classifier("logistic", "l2", alpha=0.1, tol=1e-9).fit(X, labels)
    total = 0.0
    for k in range(3):
        one = mm.Classifier("logistic", "l2", alpha=0.1, tol=1e-9).fit(X, labels == k)
        np.testing.assert_allclose(model.coef_[k], one.coef_[0], atol=1e-5)
        total += one.certificate_.primal
    assert model.certificate_.primal == pytest.approx(total, rel=1e-8)
    assert model.certificate_.dual <= total * (1 + 1e-12)


@pytest.mark.parametrize("task_loss", [("R", "huber"), ("R", "poisson"), ("R", "squared"),
                                       ("C", "cross_entropy"), ("C", "logistic"),
                                       ("C", "squared_hinge")])  # fmt: skip
def test_constant_columns_without_penalty_are_harmless(task_loss):
    """A constant column beside an intercept leaves the problem as it was: no huge numbers."""
    task, loss = task_loss
    gen = problems.rng_of("constant", task, loss)
    A = gen.standard_normal((30, 3))
    y = problems.target(task, loss, A[:, 0], gen)
    plain, warned = problems.fit(problems.estimator(task, loss, mm.NoPenalty(), 3), A, y)
    assert not warned
    more = np.column_stack([A, np.full(30, 3.0), np.zeros(30), A[:, 0]])
    model, warned = problems.fit(problems.estimator(task, loss, mm.NoPenalty(), 6), more, y)
    assert not warned
    assert np.abs(model.coef_).max() < 1e3
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-5)
