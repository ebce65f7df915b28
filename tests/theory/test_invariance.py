"""Two ways to say the same problem give the same model, to the certificate."""

import numpy as np
import pytest
from scipy import sparse

import minimand as mm
import problems
from problems import PAIRS

TOL = 1e-10
STRICT = [("R", "squared"), ("R", "poisson"), ("C", "logistic"), ("C", "squared_hinge")]


def data(task, loss, n=30, d=5):
    rng = problems.rng_of("invariance", task, loss)
    X = rng.standard_normal((n, d))
    y = problems.target(task, loss, problems.score(X, rng), rng)
    return rng, X, y


def fit(task, loss, penalty, X, y, weight=None, offset=None, **kwargs):
    kwargs = {"alpha": 0.05, "tol": TOL, **kwargs}
    model = problems.estimator(task, loss, penalty, X.shape[1], **kwargs)
    model, warned = problems.fit(model, X, y, weight, offset)
    assert not warned, model.certificate_
    return model


def same(one, two, coef=None, rtol=1e-4):
    """Same objective to the gaps; same coefficients, since the l2 part makes them unique."""
    a, b = one.certificate_, two.certificate_
    assert a.primal == pytest.approx(b.primal, rel=1e-8)
    assert max(a.dual, b.dual) <= min(a.primal, b.primal) * (1 + 1e-12) + 1e-14
    if rtol:
        want = one.coef_ if coef is None else coef
        np.testing.assert_allclose(want, two.coef_, rtol=rtol, atol=rtol * np.abs(two.coef_).max())


@pytest.mark.parametrize("penalty", ["l1", "l2", "mixed", "none"])
@pytest.mark.parametrize(("task", "loss"), STRICT)
def test_weight_k_is_k_copies(task, loss, penalty):
    rng, X, y = data(task, loss)
    k = rng.integers(0, 4, len(y))
    k[:2] = 1, 2
    one = fit(task, loss, penalty, X, y, weight=k.astype(float))
    two = fit(task, loss, penalty, np.repeat(X, k, axis=0), np.repeat(y, k))
    same(one, two)
    np.testing.assert_allclose(one.intercept_, two.intercept_, atol=1e-4)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize(("task", "loss"), PAIRS)
def test_weight_zero_is_absence(task, loss, penalty, make):
    rng, X, y = data(task, loss)
    weight = rng.uniform(0.5, 2.0, len(y))
    weight[::3] = 0.0
    kept = weight > 0
    wild = X.copy()
    wild[~kept] *= 1e6  # what is absent cannot matter
    one = fit(task, loss, penalty, make(wild), y, weight=weight)
    two = fit(task, loss, penalty, make(X[kept]), y[kept], weight=weight[kept])
    same(one, two)
    theta, wanted = one.certificate_.dual_point, two.certificate_.dual_point
    np.testing.assert_allclose(theta, wanted, atol=1e-3 * (1 + np.abs(wanted).max()))


@pytest.mark.parametrize("penalty", ["l1", "l2", "mixed"])
@pytest.mark.parametrize(("task", "loss"), PAIRS)
def test_scaling_the_weights_changes_nothing(task, loss, penalty):
    rng, X, y = data(task, loss)
    weight = rng.uniform(0.5, 2.0, len(y))
    one = fit(task, loss, penalty, X, y, weight=weight)
    for factor in (1e-9, 3.0, 1e9):
        same(one, fit(task, loss, penalty, X, y, weight=factor * weight))
    same(fit(task, loss, penalty, X, y), fit(task, loss, penalty, X, y, weight=np.full(30, 7.0)))


@pytest.mark.parametrize("penalty", ["l1", "l2", "mixed"])
@pytest.mark.parametrize(("task", "loss"), PAIRS)
def test_permutations(task, loss, penalty):
    rng, X, y = data(task, loss)
    weight, offset = rng.uniform(0.5, 2.0, 30), 0.2 * rng.standard_normal(30)
    one = fit(task, loss, penalty, X, y, weight, offset)
    rows, columns = rng.permutation(30), rng.permutation(5)
    same(one, fit(task, loss, penalty, X[rows], y[rows], weight[rows], offset[rows]))
    two = fit(task, loss, penalty, X[:, columns], y, weight, offset)
    same(one, two, coef=one.coef_[..., columns])


@pytest.mark.parametrize(("task", "loss"), PAIRS)
def test_units_of_a_column_follow_its_weight(task, loss):
    """x → c·x with l1 weight c and l2 weight c² gives w → w/c: units do not matter."""
    _, X, y = data(task, loss)
    c = np.geomspace(1e-4, 1e4, 5)
    for penalty, scaled in (
        (mm.L1(), mm.L1(c)),
        (mm.L2(), mm.L2(c**2)),
        (mm.L1() + 0.5 * mm.L2(), mm.L1(c) + 0.5 * mm.L2(c**2)),
    ):
        one = fit(task, loss, penalty, X, y)
        two = fit(task, loss, scaled, X * c, y)
        assert one.certificate_.primal == pytest.approx(two.certificate_.primal, rel=1e-8)
        np.testing.assert_allclose(one.coef_, two.coef_ * c, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize(("task", "loss"), STRICT)
def test_duplicated_columns_share_the_coefficient(task, loss, penalty):
    """[X, X] with l1: any split of w is optimal. With l2: halves, and α/2 the price."""
    _, X, y = data(task, loss)
    one = fit(task, loss, penalty, X, y, alpha=0.05)
    alpha = 0.05 if penalty == "l1" else 0.1
    two = fit(task, loss, penalty, np.hstack([X, X]), y, alpha=alpha)
    assert one.certificate_.primal == pytest.approx(two.certificate_.primal, rel=1e-8)
    both = two.coef_[..., :5] + two.coef_[..., 5:]
    np.testing.assert_allclose(both, one.coef_, rtol=1e-3, atol=1e-4)
    if penalty == "l2":
        np.testing.assert_allclose(two.coef_[..., :5], two.coef_[..., 5:], atol=1e-6)


@pytest.mark.parametrize("penalty", ["l1", "l2", "mixed", "none"])
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_offset_is_a_shift_of_y_for_distances(loss, penalty):
    rng, X, y = data("R", loss)
    for size in (1.0, 100.0):
        offset = size * rng.standard_normal(30)
        one = fit("R", loss, penalty, X, y, offset=offset)
        two = fit("R", loss, penalty, X, y - offset)
        same(one, two)
        np.testing.assert_allclose(
            one.predict(X, offset=offset) - offset, two.predict(X), atol=1e-3
        )


def test_a_constant_offset_moves_the_intercept_only():
    for task, loss in PAIRS:
        _, X, y = data(task, loss)
        one = fit(task, loss, "mixed", X, y)
        two = fit(task, loss, "mixed", X, y, offset=np.full(30, 2.5))
        same(one, two)
        np.testing.assert_allclose(one.intercept_, np.asarray(two.intercept_) + 2.5, atol=1e-4)


@pytest.mark.parametrize("penalty", ["l1", "l2", "mixed"])
@pytest.mark.parametrize(("task", "loss"), PAIRS)
def test_float32_and_sparse_are_the_same_problem(task, loss, penalty):
    rng, X, y = data(task, loss)
    X = (X * (rng.uniform(size=X.shape) < 0.6)).astype(np.float32)
    one = fit(task, loss, penalty, X.astype(float), y)
    for other in (
        X,
        np.asfortranarray(X),
        sparse.csr_array(X),
        sparse.csc_matrix(X.astype(float)),
        np.repeat(X, 2, axis=1)[:, ::2],
    ):
        same(one, fit(task, loss, penalty, other, y))


@pytest.mark.parametrize(("task", "loss"), PAIRS)
def test_shifting_a_column_moves_the_intercept_only(task, loss):
    _, X, y = data(task, loss)
    one = fit(task, loss, "mixed", X, y)
    shift = np.array([0.0, 1.0, -10.0, 100.0, 1000.0])
    two = fit(task, loss, "mixed", X + shift, y, tol=1e-8)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-2, atol=1e-3)
    assert one.certificate_.primal == pytest.approx(two.certificate_.primal, rel=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared"])
def test_swapping_the_classes_flips_the_signs(loss):
    _, X, y = data("C", loss)
    one, two = fit("C", loss, "mixed", X, y), fit("C", loss, "mixed", X, -y)
    np.testing.assert_allclose(one.coef_, -two.coef_, atol=1e-5)
    np.testing.assert_allclose(one.intercept_, -two.intercept_, atol=1e-5)


def test_units_of_y_for_the_squared_loss():
    """y → c·y with α → c·α gives w → c·w under l1, and P → c²·P."""
    _, X, y = data("R", "squared")
    one = fit("R", "squared", "l1", X, y, alpha=0.1)
    for c in (1e-6, 1e6):
        two = fit("R", "squared", "l1", X, c * y, alpha=0.1 * c)
        np.testing.assert_allclose(two.coef_, c * one.coef_, rtol=1e-4, atol=1e-6 * c)
        assert two.certificate_.primal == pytest.approx(c * c * one.certificate_.primal, rel=1e-8)
        assert two.certificate_.relative <= TOL


@pytest.mark.parametrize(("task", "loss"), PAIRS)
def test_solvers_agree(task, loss):
    _, X, y = data(task, loss)
    models = [fit(task, loss, "l2", X, y, solver=s) for s in ("newton", "working_set")]
    if loss == "squared":
        models.append(fit(task, loss, "l2", X, y, solver="closed_form"))
    for other in models[1:]:
        same(models[0], other)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_warm_start_changes_nothing_but_the_way(penalty):
    _, X, y = data("C", "logistic")
    cold = fit("C", "logistic", penalty, X, y, alpha=0.01)
    warm = problems.estimator("C", "logistic", penalty, 5, alpha=0.1, tol=TOL, warm_start=True)
    warm.fit(X, y).set_params(alpha=0.01).fit(X, y)
    same(cold, warm)


def test_balanced_class_weights_count_weighted_samples():
    """class_weight="balanced" beside sample_weight: still k copies, still absence."""
    rng, X, _ = data("C", "logistic")
    y = np.where(np.arange(30) < 9, 1, -1)
    k = rng.integers(0, 4, 30)
    one = fit("C", "logistic", "l2", X, y, weight=k, class_weight="balanced")
    two = fit("C", "logistic", "l2", np.repeat(X, k, 0), np.repeat(y, k), class_weight="balanced")
    same(one, two)
