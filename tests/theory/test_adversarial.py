"""Inputs chosen to break certificates. A dual above the optimum is the worst bug there is."""

import warnings

import numpy as np
import oracle
import pytest
from scipy import sparse

import minimand as mm
import problems

RNG = np.random.default_rng(11)
_STATE = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def _same_numbers_in_any_order():
    """Tests may run alone, in any order or in parallel: each sees the same random numbers."""
    RNG.bit_generator.state = _STATE


def audit(loss, penalty, X, y, alpha=0.1, intercept=True, weight=None, offset=None, **kwargs):
    """Fit, check the certificate against the oracle, return (model, warned)."""
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, float)
    d = dense.shape[1]
    task = "C" if loss in ("logistic", "squared_hinge") else "R"
    l1, l2 = oracle.form_of(penalty, alpha, d)
    p = oracle.Problem(loss, dense, np.asarray(y, float), l1, l2, intercept, weight, offset)
    model = problems.estimator(task, loss, penalty, d, alpha=alpha, intercept=intercept, **kwargs)
    model, warned = problems.fit(model, X, y, weight, offset)
    oracle.check_certificate(p, model.coef_, model.intercept_, model.certificate_)
    null = p.primal(np.zeros(d), p.null_intercept)
    worst = float(null) * (1 + 1e-9) + 4 * model.certificate_.rounding + 1e-12
    assert model.certificate_.primal <= worst, "the model handed over is worse than the null model"
    return model, warned


PEN = ["l1", "l2", "mixed", "none"]


@pytest.mark.parametrize("penalty", PEN)
@pytest.mark.parametrize("loss", sorted(oracle.FORMULAS))
def test_one_sample_one_feature_no_features_that_matter(loss, penalty):
    y2 = {"logistic": [1.0, -1.0], "squared_hinge": [1.0, -1.0], "cross_entropy": [0.2, 1.0]}
    y2 = y2.get(loss, [3.0, 1.0])
    audit(loss, penalty, np.array([[2.0], [-1.0]]), y2)
    audit(loss, penalty, np.zeros((2, 3)), y2)
    if loss not in ("logistic", "squared_hinge"):
        for y in ([y2[1]], [y2[0]]):
            audit(loss, penalty, np.array([[2.0, -1.0]]), y)
            audit(loss, penalty, np.array([[2.0, -1.0]]), y, intercept=False)


@pytest.mark.parametrize("penalty", ["weighted_l1", "weighted_l2"])
def test_one_sample_at_the_edge_of_its_domain(penalty):
    for y in (0.0, 1.0):
        audit("cross_entropy", penalty, np.array([[1.0, 3.0]]), [y], alpha=0.01)
        audit("poisson", penalty, np.array([[1.0, 3.0]]), [y], alpha=0.01)


@pytest.mark.parametrize("penalty", PEN)
@pytest.mark.parametrize("value", [0.0, 0.1, 1e-8, 1e8, -3e5])
def test_constant_y(penalty, value):
    X = RNG.standard_normal((20, 3))
    model, warned = audit("squared", penalty, X, np.full(20, value))
    assert not warned
    assert np.abs(model.coef_).max() <= 1e-6 * max(1.0, abs(value))
    model, warned = audit("huber", penalty, X, np.full(20, value))
    assert not warned


@pytest.mark.parametrize("penalty", PEN)
@pytest.mark.parametrize("intercept", [True, False])
def test_all_zero_counts(penalty, intercept):
    X = RNG.standard_normal((20, 3))
    model, _ = audit("poisson", penalty, X, np.zeros(20), intercept=intercept)
    assert model.certificate_.dual <= 1e-12 or not intercept


@pytest.mark.parametrize("penalty", PEN)
@pytest.mark.parametrize("size", [1e4, 1e6, 1e8])
def test_large_counts(penalty, size):
    X = RNG.standard_normal((25, 3))
    y = RNG.poisson(size * np.exp(0.1 * X[:, 0])).astype(float)
    _, warned = audit("poisson", penalty, X, y)
    assert not warned
    model, _ = audit("poisson", penalty, X, np.full(25, size))
    assert model.certificate_.primal <= 1e-9 * size


@pytest.mark.parametrize("penalty", [*PEN, "weighted_l1", "weighted_l2"])
@pytest.mark.parametrize("loss", sorted(oracle.FORMULAS))
def test_weights_over_24_orders_of_magnitude(loss, penalty):
    rng = problems.rng_of("weights", loss, penalty)
    X = rng.standard_normal((15, 4))
    task = "C" if loss in ("logistic", "squared_hinge") else "R"
    y = problems.target(task, loss, X[:, 0], rng)
    audit(loss, penalty, X, y, weight=10.0 ** rng.uniform(-12, 12, 15))


@pytest.mark.parametrize("penalty", [*PEN, "weighted_l1", "weighted_l2"])
@pytest.mark.parametrize("loss", sorted(oracle.FORMULAS))
@pytest.mark.parametrize("size", [30.0, 1000.0])
def test_huge_offsets(loss, penalty, size):
    rng = problems.rng_of("offsets", loss, penalty)
    X = rng.standard_normal((20, 3))
    task = "C" if loss in ("logistic", "squared_hinge") else "R"
    y = problems.target(task, loss, X[:, 0], rng)
    size = min(size, 30.0) if loss == "poisson" else size
    model, warned = audit(loss, penalty, X, y, offset=size * rng.standard_normal(20))
    if penalty in ("l1", "l2", "mixed"):
        assert not warned, model.certificate_


@pytest.mark.parametrize("alpha", [1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("penalty", ["l1", "l2", "mixed"])
@pytest.mark.parametrize("loss", sorted(oracle.FORMULAS))
def test_tiny_alphas(loss, penalty, alpha):
    rng = problems.rng_of("tiny", loss, penalty)
    X = rng.standard_normal((30, 4))
    task = "C" if loss in ("logistic", "squared_hinge") else "R"
    y = problems.target(task, loss, X[:, 0], rng)
    model, warned = audit(loss, penalty, X, y, alpha=alpha)
    # A slope of 1e-17 (rounding) beside an l1 box of 1e-12 costs a share of 1e-5: Huber's dual
    # point lies on the edge of its domain, where that share is of first order in the gap.
    assert not warned or (loss, penalty, alpha) == ("huber", "l1", 1e-12), model.certificate_


@pytest.mark.parametrize("mean", [1e3, 1e6])
@pytest.mark.parametrize("penalty", PEN)
@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "poisson"])
def test_huge_means_with_unit_variance(loss, penalty, mean):
    rng = problems.rng_of("means", loss, penalty)
    Z = rng.standard_normal((30, 3))
    task = "C" if loss == "logistic" else "R"
    y = problems.target(task, loss, Z[:, 0], rng)
    model, warned = audit(loss, penalty, Z + mean, y, alpha=0.02)
    assert not warned, model.certificate_
    plain, _ = audit(loss, penalty, Z, y, alpha=0.02)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-4)


@pytest.mark.parametrize("mean", [1.0, 1e4, 1e6])
@pytest.mark.parametrize("intercept", [True, False])
def test_ridge_with_fewer_rows_than_columns_and_means(mean, intercept):
    X = np.random.default_rng(0).standard_normal((15, 20))
    X[:, -1] = 3.0
    X[:, 5] = X[:, 0]
    X = X + mean * (1 + np.arange(20) / 20)
    y = RNG.standard_normal(15)
    for data in (X, sparse.csr_array(X)):
        model, warned = audit("squared", "l2", data, y, alpha=4e-3, intercept=intercept)
        # Means of 1e6 that nothing centres (a sparse format, or no intercept) cost the scores ten
        # digits, which the slopes magnify again: such a fit must say so rather than converge.
        uncentred = sparse.issparse(data) or not intercept
        assert not warned or (uncentred and mean > 1e5), model.certificate_


@pytest.mark.parametrize("alpha", [1e-6, 1e-10, 1e-14])
def test_ridge_with_duplicated_rows_and_tiny_alpha(alpha):
    X = RNG.standard_normal((4, 10))
    X = np.vstack([X, X])
    model, _ = audit("squared", "l2", X, RNG.standard_normal(8), alpha=alpha)
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("delta", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("penalty", [mm.L1(), mm.L2(), mm.L1() + 0.5 * mm.L2(), mm.NoPenalty()])
def test_huber_far_from_its_quadratic_part(delta, penalty):
    """Every residual beyond delta: no curvature at the start, but an optimum all the same."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 8))
    y = 3 * X[:, 0] + rng.standard_normal(60)
    model, warned = problems.fit(
        mm.Regressor(mm.Huber(delta), penalty, alpha=0.01 * delta, max_seconds=10), X, y
    )
    # Without a penalty and with delta = 1e-6 this is least absolute deviations in all but name:
    # the dual point of a smooth method does not reach its vertex, and the model says so.
    assert not warned or (delta < 1e-5 and isinstance(penalty, mm.NoPenalty)), model.certificate_
    form = penalty.bind(8, 0.01 * delta)
    p = oracle.Problem(oracle.huber(delta), X, y, form.l1, form.l2)
    oracle.check_certificate(p, model.coef_, model.intercept_, model.certificate_)


@pytest.mark.parametrize("eps", [1e-6, 1e-10, 1e-12, 1e-13, 1e-14, 1e-15])
@pytest.mark.parametrize("solver", ["closed_form", "newton", "working_set"])
def test_nearly_collinear_columns_without_penalty(solver, eps):
    """The optimum lies at |w| ~ 1/eps; a tiny slope there is no proof of anything."""
    rng = np.random.default_rng(0)
    x, s = rng.standard_normal((2, 1000))
    X = np.column_stack([1 + x, (1 + x) * (1 + eps * s)])
    y = s * (1 + x)
    p = oracle.Problem("squared", X, y, np.zeros(2), np.zeros(2), False)
    q, r = np.linalg.qr(X)
    found = [np.linalg.lstsq(X, y, rcond=1e-18)[0]]
    if abs(r[1, 1]) > 0:
        found.append(np.linalg.solve(r, q.T @ y))
    best = min(p.primal(w) for w in found)
    model = mm.Regressor("squared", "no_penalty", intercept=False, solver=solver, max_seconds=1)
    model, _ = problems.fit(model, X, y)
    oracle.check_certificate(p, model.coef_, 0.0, model.certificate_, value=best)
    if solver == "closed_form" and eps >= 1e-10:
        assert model.certificate_.primal <= 1e-6


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_overflowing_scales(dtype):
    X = RNG.standard_normal((20, 3)).astype(dtype) * np.array([1e-15, 1.0, 1e15], dtype)
    y = RNG.standard_normal(20)
    for loss in ("squared", "huber"):
        for penalty in PEN:
            audit(loss, penalty, X, y)


@pytest.mark.parametrize("size", [1e-100, 1e-20, 1e20, 1e100])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_y_of_any_size(penalty, size):
    X = RNG.standard_normal((20, 3))
    y = size * (X[:, 0] + 0.1 * RNG.standard_normal(20))
    alpha = 0.1 * size if penalty == "l1" else 0.1
    model, warned = audit("squared", penalty, X, y, alpha=alpha)
    assert not warned
    assert model.certificate_.relative <= 1e-6


SEEDS = range(60)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_mixtures_of_all_of_it(seed):
    """Only truth is asked for here, not convergence; the time is bounded."""
    rng = np.random.default_rng(1000 + seed)
    n, d = int(rng.choice([1, 2, 5, 15, 30])), int(rng.choice([1, 2, 6, 20]))
    loss = str(rng.choice(sorted(oracle.FORMULAS)))
    penalty = str(rng.choice([*PEN, "weighted_l1", "weighted_l2"]))
    task = "C" if loss in ("logistic", "squared_hinge") else "R"
    n = max(n, 2) if task == "C" else n
    X = rng.standard_normal((n, d))
    if rng.uniform() < 0.3:
        X = X * 10.0 ** rng.uniform(-4, 4, d)
    if rng.uniform() < 0.3:
        X[:, -1] = X[:, 0] * (1 + 10.0 ** rng.uniform(-12, 0) * rng.standard_normal(n))
    if rng.uniform() < 0.2:
        X[:, 0] = 3.0
    if rng.uniform() < 0.2:
        X = X + 10.0 ** rng.uniform(0, 6, d)
    y = problems.target(task, loss, problems.score(X, rng), rng)
    if task == "C" and abs(y.sum()) == n:
        y[0] = -y[0]
    if loss in ("squared", "huber") and rng.uniform() < 0.3:
        y = y * 10.0 ** rng.uniform(-6, 6)
    weight = 10.0 ** rng.uniform(-6, 6, n) if rng.uniform() < 0.3 else None
    size = 1.0 if loss == "poisson" else 3.0
    offset = 10.0 ** rng.uniform(-1, size) * rng.standard_normal(n) if rng.uniform() < 0.3 else None
    limits = {"max_iter": int(rng.choice([1, 2, 5]))} if rng.uniform() < 0.3 else {}
    data = sparse.csr_array(X) if rng.uniform() < 0.3 else X
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        audit(
            loss, penalty, data, y, 10.0 ** rng.uniform(-8, 1), bool(rng.uniform() < 0.6), weight,
            offset, max_seconds=0.5, **limits,
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_the_best_intercept_is_found_at_any_distance(seed):
    """Ridge is one linear system: the only way to fail is a wrong intercept."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((30, 3))
    y = 2 * Z[:, 0] + rng.standard_normal(30)
    for mean in (1e2, 1e3, 1e4, 1e5):
        model, warned = problems.fit(mm.Regressor("squared", "l2", alpha=0.02), Z + mean, y)
        assert not warned, (mean, model.certificate_)
        assert np.mean(model.predict(Z + mean) - y) == pytest.approx(0, abs=1e-9 * mean)


@pytest.mark.parametrize(
    ("n", "d", "seed", "alpha", "delta", "mean"),
    [(200, 5, 1, 1.0, 1e-3, 0.0), (60, 40, 0, 1e-9, 1.0, 5.0), (60, 40, 1, 1e-9, 1e-3, 5.0)],
)
def test_huber_losses_all_but_without_curvature(n, d, seed, alpha, delta, mean):
    """Columns from 1e-8 to 1e8 and residuals that are nearly all beyond delta."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d))
    Z += mean + (3 * rng.normal(size=(n, 1)) if mean else 0.0)
    X = Z * rng.permutation(np.logspace(-8, 8, d))
    y = 1e4 * (Z @ rng.normal(size=d) + rng.standard_t(2, size=n))
    for solver in ("auto", "newton"):
        model = mm.Regressor(mm.Huber(delta), "l2", alpha=alpha, solver=solver).fit(X, y)
        assert model.certificate_.relative <= 1e-6
