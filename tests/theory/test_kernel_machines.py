"""Any loss with any kernel: the representer theorem, oracles, weights, and what is left out."""

import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR
from tests.theory.svm_oracle import soft_margin

import minimand as mm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
NOISY = np.sin(2 * X[:, 0]) + 0.2 * RNG.normal(size=60)
SIGNS = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
CLASSES = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.0])

REGRESSION = ["squared", "absolute", "huber", "quantile", "epsilon_insensitive", "chebyshev"]
REGRESSION += ["squared_epsilon_insensitive", "poisson"]
MARGINS = ["hinge", "squared_hinge", "logistic", "exponential", "squared_margin"]
JOINT = ["multinomial", "crammer_singer"]


def task_of(loss):
    """An estimator class and a target for a loss."""
    if loss in MARGINS:
        return mm.Classifier, SIGNS
    if loss in JOINT:
        return mm.Classifier, CLASSES
    return mm.Regressor, np.exp(NOISY) if loss == "poisson" else NOISY


@pytest.mark.parametrize("loss", REGRESSION + MARGINS + JOINT)
def test_linear_kernel_is_the_linear_model(loss):
    """Primal ≡ adjoint: both are within their gaps of one optimum, and predict the same."""
    make, y = task_of(loss)
    plain = make(loss, alpha=0.05, tol=1e-10).fit(X, y)
    kernel = make(loss, alpha=0.05, tol=1e-10, features=mm.Linear()).fit(X, y)
    one, two = plain.certificate_, kernel.certificate_
    assert two.relative <= 1e-9
    assert abs(one.primal - two.primal) <= one.gap + two.gap + 1e-12 * abs(one.primal)
    np.testing.assert_allclose(kernel.decision_function(X), plain.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("loss", REGRESSION + MARGINS + JOINT)
def test_a_model_is_the_sum_over_its_support(loss):
    make, y = task_of(loss)
    kernel = mm.RBF(1.5) + 0.1
    model = make(loss, features=kernel).fit(X, y)
    assert model.certificate_.relative <= 1e-6
    new = RNG.normal(size=(7, 3))
    z = kernel(new, X[model.support_]) @ model.dual_coef_.T + model.intercept_
    expected = z if z.shape[1] > 1 else z[:, 0]
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-9)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    again = mm.certify(model, X, y)
    assert again.relative <= 1e-6
    assert abs(again.primal - model.certificate_.primal) <= 1e-9


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
def test_explicit_features_are_the_kernel(loss):
    kernel = mm.Polynomial(2)
    phi = kernel.features(X)
    plain = mm.Classifier(loss, alpha=0.02, tol=1e-10).fit(phi, SIGNS)
    found = mm.Classifier(loss, alpha=0.02, tol=1e-10, features=kernel).fit(X, SIGNS)
    one, two = plain.certificate_, found.certificate_
    assert abs(one.primal - two.primal) <= one.gap + two.gap + 1e-12


@pytest.mark.parametrize("intercept", [True, False])
def test_hinge_is_the_quadratic_program(intercept):
    kernel, C = mm.RBF(1.0), 2.0
    phi = np.linalg.cholesky(kernel(X) + 1e-13 * np.eye(60))
    w, b, _, value = soft_margin(phi, SIGNS, C, intercept=intercept)
    model = mm.Classifier("hinge", alpha=1 / (60 * C), features=kernel, intercept=intercept)
    model.set_params(tol=1e-10).fit(X, SIGNS)
    assert abs(60 * C * model.certificate_.primal - value) <= 1e-7 * value
    np.testing.assert_allclose(model.decision_function(X), phi @ w + b, atol=1e-4)


def test_support_vectors_are_those_of_libsvm():
    peer = SVC(C=1.0, gamma=0.5, tol=1e-9).fit(X, SIGNS)
    model = mm.Classifier("hinge", features="rbf", tol=1e-11).fit(X, SIGNS)
    np.testing.assert_array_equal(model.support_, np.sort(peer.support_))
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-5)
    tube = SVR(C=1.0, gamma=0.5, epsilon=0.1, tol=1e-9).fit(X, NOISY)
    other = mm.Regressor("epsilon_insensitive", features=mm.RBF(), tol=1e-11).fit(X, NOISY)
    np.testing.assert_allclose(other.predict(X), tube.predict(X), atol=1e-5)


def test_ridge_is_the_mean_of_a_gaussian_process():
    noise = 0.3
    prior = gp.RBF(1.2, "fixed")
    process = GaussianProcessRegressor(prior, alpha=noise, optimizer=None).fit(X, NOISY)
    peer = KernelRidge(alpha=noise, kernel="rbf", gamma=0.5 / 1.2**2).fit(X, NOISY)
    model = mm.Regressor(features=mm.RBF(1.2), alpha=noise / 60, intercept=False).fit(X, NOISY)
    new = RNG.normal(size=(9, 3))
    np.testing.assert_allclose(model.predict(new), process.predict(new), atol=1e-9)
    np.testing.assert_allclose(model.dual_coef_[0], peer.dual_coef_, atol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "hinge", "logistic", "multinomial"])
def test_duplicates_are_weights(loss):
    make, y = task_of(loss)
    weights = RNG.integers(0, 3, size=60)
    copies = np.repeat(np.arange(60), weights)
    kernel = mm.RBF(1.5)
    weighted = make(loss, features=kernel, alpha=0.03, tol=1e-10).fit(X, y, sample_weight=weights)
    copied = make(loss, features=kernel, alpha=0.03, tol=1e-10).fit(X[copies], y[copies])
    one, two = weighted.certificate_, copied.certificate_
    assert abs(one.primal - two.primal) <= one.gap + two.gap + 1e-12
    np.testing.assert_allclose(
        weighted.decision_function(X), copied.decision_function(X), atol=1e-4
    )
    assert (weights[weighted.support_] > 0).all()


@pytest.mark.parametrize("loss", ["huber", "hinge", "chebyshev", *JOINT])
def test_other_functions_of_the_norm(loss):
    """A ball ‖f‖ ≤ r is the penalty at the multiplier of the constraint; so is ‖f‖ itself."""
    make, y = task_of(loss)
    free = make(loss, features=mm.RBF(1.5), alpha=0.01, tol=1e-10).fit(X, y)
    norm = float(np.linalg.norm(free.coef_))
    others = [(mm.L2Ball(norm), 1.0)]
    if loss not in JOINT:
        others.append((mm.L21(by="output"), 0.01 * norm))
    for penalty, alpha in others:
        model = make(loss, penalty, features=mm.RBF(1.5), alpha=alpha, tol=1e-8).fit(X, y)
        assert model.certificate_.relative <= 1e-8
        scores = model.decision_function(X)
        np.testing.assert_allclose(scores, free.decision_function(X), atol=2e-3)
        assert float(np.linalg.norm(model.coef_)) <= norm * (1 + 1e-4)
        assert mm.certify(model, X, y).relative <= 1e-8


@pytest.mark.parametrize("loss", ["crammer_singer", "chebyshev"])
def test_a_ball_that_holds_nothing_back(loss):
    """Without a solver for no penalty at all, multipliers fall until the ball's gap is closed."""
    make, y = task_of(loss)
    line = np.digitize(X[:, 0] + 0.5 * NOISY, [-0.5, 0.5]) if loss in JOINT else y
    small, large = (make(loss, mm.L2Ball(r), features=mm.Linear()).fit(X, line) for r in (30, 60))
    one, two = small.certificate_, large.certificate_
    assert max(one.relative, two.relative) <= 1e-6
    assert abs(one.primal - two.primal) <= one.gap + two.gap + 1e-12
    assert float(np.linalg.norm(small.coef_)) < 29


@pytest.mark.parametrize("seed", [40, 49, 61, 97])
def test_a_model_on_the_sphere_up_to_rounding_has_a_gap(seed):
    """Its norm is a last place above the radius, if it is summed in another way."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(12, 3))
    y = rows[:, 0] + 0.1 * rng.normal(size=12)
    ball = mm.L2Ball(0.3)
    model = mm.Regressor("epsilon_insensitive", ball, features=mm.Linear()).fit(rows, y)
    assert model.certificate_.relative <= 1e-6
    assert float(np.linalg.norm(model.coef_)) == pytest.approx(0.3)


@pytest.mark.parametrize("rank", [1, 2, 5])
@pytest.mark.parametrize("penalty", [mm.L21(by="output"), mm.L21(by="output") + mm.L2()])
def test_a_cut_factor_is_charged_to_a_norm(rank, penalty):
    """The norm of one coefficient is its absolute value, and no less charged."""
    whole = mm.Regressor("huber", penalty, features=mm.RBF(), alpha=0.02).fit(X, NOISY)
    with warnings.catch_warnings(action="ignore"):
        cut = mm.Regressor("huber", penalty, features=mm.RBF(), alpha=0.02, memory=480 * rank)
        cut.fit(X, NOISY)
    assert cut.features_.rank_ == rank
    for found in (cut.certificate_, mm.certify(cut, X, NOISY)):
        assert found.dual <= whole.certificate_.primal + 1e-12
        assert found.gap >= found.primal - whole.certificate_.primal - 1e-12


def test_norms_of_single_scores_are_refused_with_joint_losses():
    with pytest.raises(ValueError, match="no function of the norm"):
        mm.Classifier("multinomial", mm.L21(by="output"), features=mm.RBF()).fit(X, CLASSES)


@pytest.mark.parametrize("penalty", ["l1", "non_negative", mm.L1() + mm.L2(), "mcp", "l21"])
def test_penalties_of_coefficients_are_refused(penalty):
    y = np.c_[NOISY, NOISY] if penalty == "l21" else NOISY
    with pytest.raises(ValueError, match="no function of the norm"):
        mm.Regressor(penalty=penalty, features=mm.RBF()).fit(X, y)


def test_several_outputs_are_separate_ridges():
    Y = np.c_[NOISY, X[:, 1] ** 2]
    both = mm.Regressor(features=mm.RBF(), alpha=0.01).fit(X, Y)
    for j in range(2):
        one = mm.Regressor(features=mm.RBF(), alpha=0.01).fit(X, Y[:, j])
        np.testing.assert_allclose(both.predict(X)[:, j], one.predict(X), atol=1e-9)
    assert both.dual_coef_.shape == (2, 60)


@pytest.mark.parametrize("loss", ["squared", "hinge", "logistic"])
def test_what_a_cut_factor_leaves_out_is_charged(loss):
    """The optimum of the whole kernel lies between dual and primal of every cut model."""
    make, y = task_of(loss)
    whole = make(loss, features=mm.RBF(1.0), alpha=0.02, tol=1e-10).fit(X, y)
    best = whole.certificate_.primal
    for rank in (1, 5, 20, 40):
        model = make(loss, features=mm.RBF(1.0), alpha=0.02, memory=8 * 60 * rank)
        with pytest.warns(ConvergenceWarning, match=f"cut at {rank} columns"):
            model.fit(X, y)
        found = model.certificate_
        assert found.dual <= best <= found.primal + 1e-9
        assert "of " in found.objective
        z = mm.RBF(1.0)(X, X[model.support_]) @ model.dual_coef_.T + model.intercept_
        np.testing.assert_allclose(model.decision_function(X), z[:, 0], atol=1e-9)


def test_a_time_limit_ends_the_factor_and_leaves_time_for_the_solver(monkeypatch):
    """The first columns take six tenths of the limit: no more are read, and the model is valid."""
    real, late = time.perf_counter, [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: real() + late[0])

    class Slow(mm.RBF):
        def block(self, x, z):
            late[0] += 300.0  # two blocks for the first columns
            return super().block(x, z)

    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(400, 3)), rng.normal(size=400)
    best = mm.Regressor("huber", features=mm.RBF(0.3), alpha=1e-3).fit(rows, y).certificate_
    model = mm.Regressor("huber", features=Slow(0.3), alpha=1e-3, max_seconds=1000.0)
    with pytest.warns(ConvergenceWarning, match="half of max_seconds=1000.0 had passed"):
        model.fit(rows, y)
    found = model.certificate_
    assert 0 < model.features_.rank_ < 400
    assert found.dual <= best.primal
    assert best.dual <= found.primal < model.history_.primal[0]  # better than a constant


@pytest.mark.parametrize("method", ["rpcholesky", "uniform", "kmeans"])
@pytest.mark.parametrize("loss", ["squared", "hinge", "logistic"])
def test_nystrom_against_the_exact_kernel(loss, method):
    make, y = task_of(loss)
    best = make(loss, features=mm.RBF(2.0), alpha=0.02, tol=1e-10).fit(X, y).certificate_.primal
    map = mm.Nystrom(mm.RBF(2.0), rank=25, method=method, random_state=0)
    model = make(loss, features=map, alpha=0.02).fit(X, y)
    own, exact = mm.certify(model, X, y), mm.certify(model, X, y, against="exact")
    assert own.relative <= 1e-6
    assert abs(exact.primal - own.primal) <= 1e-12
    assert exact.dual <= best + 1e-12
    assert best <= exact.primal + 1e-9
    total = exact.by_sample.sum() + exact.by_feature.sum()
    assert abs(total - exact.gap) <= 1e-9 * max(exact.gap, 1e-9)


def test_exact_is_refused_without_a_kernel():
    model = mm.Regressor(alpha=0.1).fit(X, NOISY)
    with pytest.raises(ValueError, match="against='exact' compares a model"):
        mm.certify(model, X, NOISY, against="exact")
    random = mm.Regressor(features=mm.RandomFourier(random_state=0), alpha=0.1).fit(X, NOISY)
    with pytest.raises(ValueError, match="RandomFourier"):
        mm.certify(random, X, NOISY, against="exact")


def test_bandwidth_of_the_figures():
    """τ = 0.1 interpolates wiggles, a large τ is nearly the linear model."""
    alpha = 1 / 60
    wiggly = mm.Classifier("logistic", features=mm.RBF(0.1), alpha=alpha).fit(X, SIGNS)
    assert wiggly.score(X, SIGNS) == 1.0
    tau = 1e3  # k ≈ 1 − ‖x − z‖²/(2τ²): linear in x·z/τ² after centring
    flat = mm.Classifier("logistic", features=mm.RBF(tau), alpha=alpha / tau**2).fit(X, SIGNS)
    line = mm.Classifier("logistic", alpha=alpha).fit(X, SIGNS)
    np.testing.assert_allclose(flat.decision_function(X), line.decision_function(X), atol=0.02)


@pytest.mark.parametrize(
    ("kernel", "unit"),
    [(mm.Polynomial(2), 1e3), (mm.Polynomial(2), 1e4), (mm.Linear().center(), 1e7)],
    ids=repr,
)
def test_a_gap_from_rounded_kernel_values_is_said(kernel, unit):
    """A gap that the last places of large values decide is no proof, however small it is."""
    with pytest.warns(ConvergenceWarning, match="numbers as large as .* tol=1e-06: scale X"):
        found = mm.Regressor(features=kernel, alpha=0.1).fit(X * unit, NOISY).certificate_
    assert found.rounding > 1e-3 * found.primal


@pytest.mark.parametrize("loss", ["squared", "huber", "epsilon_insensitive", "logistic"])
@pytest.mark.parametrize("degree", [2, 3])
def test_rounding_covers_the_values_of_an_ill_conditioned_kernel(loss, degree):
    """The objective of the model as stored, in extended precision, is the stated one ± rounding."""
    make, y = task_of(loss)
    wide = X * [1.0, 1.0, 30.0]
    with warnings.catch_warnings(action="ignore"):  # that rounding decides
        model = make(loss, features=mm.Polynomial(degree), alpha=0.003).fit(wide, y)
    long = wide.astype(np.longdouble)
    K = (1 + long @ long[model.support_].T) ** degree
    a = model.dual_coef_[0].astype(np.longdouble)
    z = (K @ a).astype(float) + model.intercept_
    value = np.mean(mm.losses.REGISTRY.get(loss).value(z, np.asarray(y, dtype=float)))
    value += 0.5 * 0.003 * float(a @ K[model.support_] @ a)
    for found in model.certificate_, mm.certify(model, wide, y):
        assert abs(found.primal - value) <= found.rounding + found.gap
        assert found.rounding <= 0.1  # of a loss of about 1 without a model: no empty statement


@pytest.mark.parametrize("kernel", [mm.RBF().center(), mm.Polynomial(2).center()], ids=repr)
def test_centred_kernels_of_close_rows(kernel):
    """Values that are the rounding of larger ones are no sign of an indefinite kernel."""
    constant = np.column_stack([np.full(60, 3.0), X[:, :1] * 1e-8])
    for rows in X * 1e-6, np.column_stack([constant, X]):
        model = mm.Regressor(features=kernel, alpha=0.1).fit(rows, NOISY)
        assert model.certificate_.relative <= 1e-6
    model = mm.Regressor(features=kernel, alpha=0.1).fit(constant, NOISY)
    assert model.certificate_.relative <= 1e-6
    np.testing.assert_allclose(model.predict(constant), NOISY.mean())  # nothing tells rows apart


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive", "absolute"])
def test_huge_values_of_a_kernel_are_no_task_for_steps_of_pairs(loss):
    """Bounds of coefficients help against a singular matrix only where they are near."""
    rng = np.random.default_rng(5)
    rows = 50.0 * rng.normal(size=(200, 4))
    scores = rows[:, 0] + rows[:, 1] * rows[:, 2] / 50.0 + 5.0 * rng.normal(size=200)
    kind, y = (mm.Classifier, scores > 0) if loss == "hinge" else (mm.Regressor, scores)
    model = kind(loss, alpha=1e-2, features=mm.Polynomial(3, 1.0)).fit(rows, y)
    assert model.certificate_.relative <= 1e-6


def test_rounding_of_huge_values_is_told_by_a_fit_on_rows():
    rng = np.random.default_rng(3)
    rows, y = 50.0 * rng.normal(size=(30, 2)), 10.0 * rng.normal(size=30)
    model = mm.Regressor("quantile", alpha=1e-2, features=mm.Polynomial(3), solver="smo", tol=1e-2)
    with pytest.warns(ConvergenceWarning, match="numbers as large as"):
        model.fit(rows, y)
