"""Constraints: against SciPy and Clarabel, by their optimality conditions, and by duality."""

import warnings

import numpy as np
import oracle
import pytest
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, Ridge

import minimand as mm
import problems
from problems import KINDS, PAIRS

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 9)) + 0.5 * RNG.standard_normal((40, 1))
Y = X @ RNG.standard_normal(9) + RNG.standard_normal(40) + 2.0
LAYOUTS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "csr": sparse.csr_array}


def fitted(penalty, alpha=1.0, loss="squared", data=(X, Y), **kwargs):
    make = mm.Classifier if loss in ("logistic", "squared_hinge") else mm.Regressor
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return make(loss, penalty, alpha=alpha, **kwargs).fit(*data)


@pytest.mark.parametrize("shape", [(30, 8), (12, 40), (60, 60)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_non_negative_is_nnls(shape, layout):
    rng = np.random.default_rng(shape[1])
    x, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    model = fitted("non_negative", data=(LAYOUTS[layout](x), y), intercept=False)
    w, norm = optimize.nnls(x, y)
    assert (model.coef_ >= 0).all()
    assert model.certificate_.primal == pytest.approx(0.5 * norm**2 / len(y), abs=1e-6)
    if shape[1] < shape[0]:
        np.testing.assert_allclose(model.coef_, w, atol=1e-4)
        np.testing.assert_array_equal(model.coef_ == 0, w == 0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_box_is_lsq_linear(layout):
    lo = np.array([-np.inf, -1, 0, 0.5, -0.1, -0.2, 0, -3, 0.0])
    hi = np.array([np.inf, 1, np.inf, 0.5, 0.1, 0.7, 2, -1, 1e-3])
    model = fitted(mm.Box(lo, hi), data=(LAYOUTS[layout](X), Y), tol=1e-10)
    fixed = lo == hi
    centred, left = X - X.mean(axis=0), Y - Y.mean()
    found = optimize.lsq_linear(
        centred[:, ~fixed],
        left - centred[:, fixed] @ lo[fixed],
        (lo[~fixed], hi[~fixed]),
        tol=1e-14,
    )
    np.testing.assert_allclose(model.coef_[~fixed], found.x, atol=1e-5)
    assert (lo <= model.coef_).all()
    assert (model.coef_ <= hi).all()


CONSTRAINED = {
    "non_negative": (mm.NonNegative(), {"lo": 0.0}),
    "l1 + non_negative": (mm.L1() + mm.NonNegative(), {"lo": 0.0}),
    "l2 + box": (mm.L2() + mm.Box(-0.1, 0.2), {"lo": -0.1, "hi": 0.2}),
    "box": (mm.Box(0.05, 0.3), {"lo": 0.05, "hi": 0.3}),
    "l1_ball": (mm.L1Ball(0.4), {"ball": (1, 0.4)}),
    "l2_ball": (mm.L2Ball(0.3), {"ball": (2, 0.3)}),
    "l1_ball + l2": (mm.L1Ball(0.4) + mm.L2(), {"ball": (1, 0.4)}),
}


def reference(task, loss, name, kind):
    """The problem as the oracle takes it."""
    penalty, bounds = CONSTRAINED[name]
    p = problems.problem(task, loss, "none", kind)
    l1 = 0.03 * ("l1 +" in name) * np.ones(p.X.shape[1])
    l2 = 0.03 * ("l2 +" in name or "+ l2" in name) * np.ones(p.X.shape[1])
    parts = (p.intercept, p.weight, p.offset)
    return penalty, oracle.Problem(loss, p.X, p.y, l1, l2, *parts, **bounds)


CASES = [
    (*pair, name, KINDS[(i + 2 * j) % len(KINDS)])
    for i, pair in enumerate(PAIRS)
    for j, name in enumerate(CONSTRAINED)
]
CASES.remove(("R", "poisson", "box", "scales"))  # e^z overflows wherever the box lets w go


@pytest.mark.parametrize(("task", "loss", "name", "kind"), CASES)
def test_certificates_are_true(task, loss, name, kind):
    penalty, p = reference(task, loss, name, kind)
    for x, limits in (
        (p.X, {}),
        (problems.sparse_of(p.X, kind), {}),
        (p.X, {"max_iter": 1}),
        (p.X, {"max_seconds": 1e-9}),
    ):
        model = problems.estimator(
            task, loss, penalty, p.X.shape[1], alpha=0.03, intercept=p.intercept, **limits
        )
        model, warned = problems.fit(model, x, p.y, p.weight, p.offset)
        c, w = model.certificate_, model.coef_.ravel()
        assert np.isfinite(penalty.value(w))
        oracle.check_certificate(p, w, model.intercept_, c, accuracy=1e-8)
        no_minimiser = name == "non_negative" and kind == "wide" and np.isinf(c.gap)
        assert limits or no_minimiser or c.relative <= 1e-6 or c.gap <= c.rounding
        assert warned or c.relative <= 1e-6 or c.gap <= c.rounding


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "huber"])
@pytest.mark.parametrize(("penalty", "ball", "norm"), [("l1", mm.L1Ball, 1), ("l2", mm.L2Ball, 2)])
def test_penalised_is_constrained(loss, penalty, ball, norm):
    y = {"logistic": np.sign(Y), "poisson": np.round(np.abs(Y))}.get(loss, Y)
    one = fitted(penalty, 0.1, loss, (X, y), tol=1e-12)
    r = float(np.linalg.norm(one.coef_.ravel(), norm))
    two = fitted(ball(r), 17.0, loss, (X, y), tol=1e-12)
    assert np.linalg.norm(two.coef_.ravel(), norm) <= r
    np.testing.assert_allclose(two.coef_, one.coef_, atol=1e-5 * r)
    # and back: the multiplier is alpha, read off the slope of the loss at the solution
    u = np.ravel(two.certificate_.dual_point) / len(y)
    slope = X.T @ u
    multiplier = np.abs(slope).max() if norm == 1 else np.linalg.norm(slope) / r
    assert multiplier == pytest.approx(0.1, rel=1e-4)


@pytest.mark.parametrize("ball", [mm.L1Ball, mm.L2Ball])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_any_radius(ball, loss):
    y = np.where(RNG.uniform(size=40) < 0.2, -1, 1) * np.sign(Y - 2) if loss == "logistic" else Y
    free = fitted("no_penalty", 0.0, loss, (X, y))
    for r in (0, 1e-300, 1e-8, 1e-3, 1e6, 1e12):
        model = fitted(ball(r), loss=loss, data=(X, y))
        assert np.isfinite(ball(r).value(model.coef_.ravel()))
        if r == 0:
            assert not model.coef_.any()
        if r > 1e3:
            assert model.certificate_.primal == pytest.approx(free.certificate_.primal, rel=1e-5)


def test_constraints_ignore_alpha():
    for penalty in (mm.NonNegative(), mm.Box(-0.1, 0.1), mm.L1Ball(0.5)):
        coefs = [fitted(a * penalty, alpha).coef_ for a, alpha in ((1, 1.0), (0.3, 0.0), (0, 5.0))]
        np.testing.assert_array_equal(coefs[0], coefs[1])
        np.testing.assert_array_equal(coefs[0], coefs[2])
    assert "I(w ≥ 0)" in fitted("non_negative", 0.0).certificate_.objective


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_optimality_conditions_of_bounds(loss, alpha):
    """wⱼ = lo: slope ≥ 0; wⱼ = hi: slope ≤ 0; between: slope = 0."""
    y = np.sign(Y - 2) if loss == "logistic" else Y
    lo, hi = -0.2, 0.3
    model = fitted(mm.L1() + mm.Box(lo, hi), alpha, loss, (X, y), tol=1e-10)
    w = model.coef_.ravel()
    label = np.where(y > 0, 1.0, -1.0)
    z = X @ w + float(np.ravel(model.intercept_)[0])
    theta = {
        "squared": z - y,
        "huber": np.clip(z - y, -1, 1),
        "logistic": -label / (1 + np.exp(label * z)),
    }[loss]
    slope = X.T @ theta / len(y) + alpha * np.sign(w)
    assert (slope[w == lo] >= -1e-6).all()
    assert (slope[w == hi] <= 1e-6).all()
    assert (np.abs(slope[w == 0]) <= alpha + 1e-6).all()
    assert (np.abs(slope[(w > lo) & (w < hi) & (w != 0)]) <= 1e-5).all()
    assert ((w == lo) | (w == hi)).any()


@pytest.mark.parametrize("penalty", [mm.NonNegative(), mm.Box(0, 0.2), mm.L1Ball(1.0)])
def test_weights_are_copies_and_float32_is_enough(penalty):
    weight = np.arange(40) % 3
    one = fitted(penalty, tol=1e-9).__class__("squared", penalty, tol=1e-9)
    one.fit(X, Y, sample_weight=weight)
    two = fitted(penalty, data=(np.repeat(X, weight, axis=0), np.repeat(Y, weight)), tol=1e-9)
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-4)
    single = fitted(penalty, data=(X.astype(np.float32), Y))
    assert single.certificate_.relative <= 1e-6
    np.testing.assert_allclose(single.coef_, fitted(penalty).coef_, atol=1e-3)


@pytest.mark.parametrize(
    "peer",
    [
        Lasso(alpha=0.1, positive=True, tol=1e-10),
        ElasticNet(alpha=0.1, positive=True, tol=1e-10),
        LinearRegression(positive=True),
        Ridge(alpha=1.0, positive=True, tol=1e-8),
    ],
    ids=lambda m: type(m).__name__,
)
def test_positive_models_of_scikit_learn(peer):
    peer.fit(X, Y)
    audit = mm.certify(peer, X, Y)
    assert audit.relative <= 1e-5
    assert "I(w ≥ 0)" in audit.objective
    alpha = getattr(peer, "alpha", 0.0) / (40 if isinstance(peer, Ridge) else 1)
    norm = {"Lasso": mm.L1(), "Ridge": mm.L2(), "ElasticNet": 0.5 * mm.L1() + 0.5 * mm.L2()}
    penalty = norm.get(type(peer).__name__, mm.NoPenalty()) + mm.NonNegative()
    ours = fitted(penalty, alpha)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-3)
    peer.coef_ = peer.coef_ - 1.0  # no longer a point of the problem
    assert mm.certify(peer, X, Y).gap == np.inf


def test_a_warm_start_outside_is_projected():
    for tight in (mm.Box(-0.1, 0.1), mm.L1Ball(0.3), mm.NonNegative()):
        model = mm.Regressor("squared", mm.NoPenalty(), warm_start=True).fit(X, Y)
        model.set_params(penalty=tight).fit(X, Y)
        np.testing.assert_allclose(model.coef_, fitted(tight).coef_, atol=1e-3)
        assert np.isfinite(tight.value(model.coef_))


def test_separable_classes_in_a_cone_have_no_false_certificate():
    x = np.abs(RNG.standard_normal((20, 3)))
    y = np.where(x[:, 0] > 0.5, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mm.Classifier("logistic", "non_negative").fit(x, y)
    c = model.certificate_
    assert (c.gap == np.inf and c.infeasibility) or c.dual <= 1e-12


@pytest.mark.parametrize("solver", ["closed_form", "newton", "multiplier"])
def test_who_cannot_keep_bounds_says_so(solver):
    with pytest.raises(ValueError, match=r"bound|ball"):
        mm.Regressor("squared", "non_negative", solver=solver).fit(X, Y)
    verdict = mm.explain(mm.Regressor("squared", mm.L1Ball(2.0)), X, Y)
    assert verdict.chosen == "multiplier"


def test_a_far_bound_is_no_bound():
    free = fitted("no_penalty")
    for penalty in (mm.Box(-1e12, 1e12), mm.Box(-1e12, np.inf), mm.L2Ball(1e14)):
        model = fitted(penalty)
        np.testing.assert_allclose(model.coef_, free.coef_, atol=1e-3)
