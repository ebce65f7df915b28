"""Unpenalised columns that depend on others: rank, certificates, and the rounding they state."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logit, xlogy
from sklearn import linear_model as theirs

import minimand as mm
import minimand.sklearn as ours
from minimand._base.compensated import remainder
from minimand.design import as_design
from minimand.problem.dependence import find_basis

KINDS = [np.asarray, sp.csr_matrix, sp.csc_matrix]


def dummies(rng, n, levels):
    """One-hot columns of a category, every level at least three times."""
    codes = np.concatenate([np.repeat(np.arange(levels), 3), rng.integers(levels, size=n)])[:n]
    return np.eye(levels)[rng.permutation(codes)]


def basis_of(X, intercept=True, mass=None):
    mass = np.full(len(X), 1 / len(X)) if mass is None else mass
    sizes = np.sqrt(mass @ (X * X))
    return find_basis(as_design(X), mass, np.arange(X.shape[1]), intercept, sizes)


def fitted(model, X, y, **extra):
    """A fit that must not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(X, y, **extra)


def exact_least_squares(columns, y):
    """½ mean r² of the best combination, in rational numbers."""
    columns = [[Fraction(float(v)) for v in column] for column in columns]
    r = [Fraction(float(v)) for v in y]
    done = []
    for column in [*columns, r]:
        for other in done:
            length = sum(v * v for v in other)
            share = sum(a * b for a, b in zip(column, other)) / length if length else 0
            column = [a - share * b for a, b in zip(column, other)]
        done.append(column)
    return float(sum(v * v for v in done[-1]) / (2 * len(r)))


# Rank ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_of_a_difference_has_all_its_digits(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 5)) * 2.0 ** rng.integers(-8, 8, 5)
    factor = rng.standard_normal((5, 2)), 1e-17 * rng.standard_normal((5, 2))
    target = X @ factor[0], 1e-18 * rng.standard_normal((9, 2))
    found = sum(remainder(kind(X), factor, target))
    for i, k in np.ndindex(9, 2):
        exact = sum(Fraction(part[i, k]) for part in target) - sum(
            Fraction(X[i, j]) * Fraction(part[j, k]) for j in range(5) for part in factor
        )
        assert found[i, k] == pytest.approx(float(exact), rel=1e-6, abs=1e-28)


@pytest.mark.parametrize("scaled", [False, True])
def test_dummies_beside_an_intercept_depend_on_each_other_exactly(scaled):
    rng = np.random.default_rng(1)
    X = np.hstack([dummies(rng, 200, 12), dummies(rng, 200, 5), rng.standard_normal((200, 2))])
    if scaled:
        X = (X - X.mean(axis=0)) / X.std(axis=0) * 10.0 ** rng.uniform(-8, 8, X.shape[1])
    basis = basis_of(X)
    assert (basis.rank, basis.residues.shape[1], basis.faint.shape[1]) == (17, 0, 0)
    assert basis_of(X, intercept=False).rank == (17 if scaled else 18)


def test_three_kinds_of_dependence_are_told_apart():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((100, 3))
    twice, sums = A[:, :1], A @ rng.standard_normal((3, 1))
    near = A[:, 1:2] + 1e-11 * rng.standard_normal((100, 1))
    basis = basis_of(np.hstack([A, twice, sums, near]))
    assert (basis.rank, basis.residues.shape[1], basis.faint.shape[1]) == (4, 1, 1)
    far = 1e6 + A[:, :2]
    up, either = np.nextafter(far[:, :1], 2e6), np.nextafter(far[:, :1], 2e6 * (A[:, 2:] > 0))
    constant, noise = basis_of(np.hstack([far, up])), basis_of(np.hstack([far, either]))
    assert (constant.rank, constant.faint.shape[1]) == (2, 0)  # all of them differ by 2⁻³³
    assert (noise.rank, noise.faint.shape[1]) == (2, 1)


def test_residues_of_residues():
    rng = np.random.default_rng(3)
    A, N = rng.standard_normal((80, 2)), rng.standard_normal((80, 2))
    first = A[:, 0] + 1e-6 * N[:, 0]
    second = A[:, 0] + 2e-6 * N[:, 0] + 1e-13 * N[:, 1]
    assert basis_of(np.column_stack([A, first, second])).rank == 4


@pytest.mark.parametrize("intercept", [True, False])
def test_more_columns_than_rows(intercept):
    X = np.random.default_rng(4).standard_normal((15, 60))
    assert basis_of(X, intercept).rank == 15 - intercept


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("intercept", [True, False])
def test_many_more_columns_than_rows_have_the_rank_of_the_rows(kind, intercept):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12, 300)) * 10.0 ** rng.uniform(-3, 3, 300) + 1.0
    X[:, 50:100] = X[:, :50]  # copies, constants, zeros, and squares that overflow
    X[:, 100:150], X[:, 150:200], X[:, 200] = 7.0, 0.0, 1e170 * rng.standard_normal(12)
    mass = np.where(np.arange(12) % 4, 1.0, 0.0) / 9  # 9 rows have a say
    sizes = np.sqrt(mass @ (X / 1e150) ** 2) * 1e150
    basis = find_basis(as_design(kind(X)), mass, np.arange(300), intercept, sizes)
    assert basis.rank == 9 - intercept
    shown = np.sqrt(mass)[:, None] * (basis.whole @ basis.onto + basis.shift)
    expected = np.sqrt(mass)[:, None] * X[:, basis.dropped]
    scale = np.abs(expected).max(axis=0) + 1e-300
    assert shown / scale == pytest.approx(expected / scale, abs=1e-7)


@pytest.mark.parametrize("rank", [20, 12])
def test_the_shortest_interpolation_is_that_of_singular_values(rank):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((20, rank)) @ rng.standard_normal((rank, 400))
    y = rng.standard_normal(20)
    w, *_ = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(), rcond=1e-10)
    model = fitted(ours.LinearRegression(), X, y)
    assert model.coef_ == pytest.approx(w, abs=1e-10)
    assert model.certificate_.relative <= 1e-12


def test_rows_without_weight_have_no_say():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 3))
    X[:30, 2] = X[:30, 0] - X[:30, 1]
    assert basis_of(X).rank == 3
    assert basis_of(X, mass=np.repeat([1 / 30, 0.0], [30, 10])).faint.shape[1] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_on_the_basis_is_the_same_model(kind):
    rng = np.random.default_rng(6)
    X = np.hstack([dummies(rng, 60, 4), dummies(rng, 60, 3), 50 + rng.standard_normal((60, 2))])
    X = np.column_stack([X, X[:, 7] - X[:, 8], X[:, 7] + 1e-7 * rng.standard_normal(60)])
    mass, w = np.full(60, 1 / 60), rng.standard_normal(X.shape[1])
    sizes = np.sqrt(mass @ (X * X))
    basis = find_basis(as_design(kind(X)), mass, np.arange(w.size), True, sizes)
    a = basis.inside(w)
    np.testing.assert_allclose(basis.independent.matvec(a) + basis.constant(w), X @ w, atol=1e-12)
    back = basis.outside(a)
    moved = basis.constant(w) - basis.constant(back)
    np.testing.assert_allclose(X @ back + moved, X @ w, atol=1e-8)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(
        back, np.linalg.pinv(centred, rcond=1e-12) @ (centred @ w), atol=1e-5
    )
    u = rng.standard_normal(60)
    u -= u.mean()
    slopes = basis.slopes(basis.independent.rmatvec(u))
    np.testing.assert_allclose(slopes, X.T @ u, atol=1e-10)


# Certificates --------------------------------------------------------------------------------


def optimum_by_level(loss, X, y, s):
    """The least objective with one category: every level on its own."""
    total = 0.0
    for column in X.T:
        at, mass = y[column > 0], s[column > 0]
        if not mass.any():
            continue
        if loss == "squared":
            best = 0.5 * (at - np.average(at, weights=mass)) ** 2
        elif loss == "poisson":
            m = np.average(at, weights=mass)
            best = m - at * np.log(m) + xlogy(at, at) - at
        elif loss == "logistic":
            p = np.average(at > 0, weights=mass)
            best = np.logaddexp(0, -at * logit(p))
        else:  # a quantile: some sample is the best constant
            best = min(
                (np.maximum(-0.8 * (c - at), 0.2 * (c - at)) for c in at), key=mass.__matmul__
            )
        total += mass @ best
    return total / s.sum()


@pytest.mark.parametrize("kind", KINDS[:2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["squared", "quantile", "logistic", "poisson"])
def test_every_level_gets_its_own_optimum(loss, intercept, weighted, kind):
    rng = np.random.default_rng(7)
    X = dummies(rng, 250, 12)
    mean = X @ rng.standard_normal(12)
    y = mean + rng.standard_normal(250)
    if loss == "logistic":
        y = np.where(rng.random(250) < 0.5, 1, -1)
        for column in X.T.astype(bool):  # both classes at every level, or there is no minimum
            y[np.flatnonzero(column)[:2]] = 1, -1
    elif loss == "poisson":
        y = 1.0 + rng.poisson(np.exp(mean))
    s = np.ones(250)
    if weighted:
        s = rng.integers(0, 3, 250).astype(float)
        for column in X.T.astype(bool):
            s[np.flatnonzero(column)[:2]] = 1.0
    form = {"quantile": mm.Quantile(0.8)}.get(loss, loss)
    estimator = mm.Classifier if loss == "logistic" else mm.Regressor
    model = estimator(form, mm.NoPenalty(), intercept=intercept)
    found = fitted(model, kind(X), y, sample_weight=s).certificate_
    optimum = optimum_by_level(loss, X, y, s)
    assert found.relative <= 1e-6 or found.gap <= found.rounding
    assert found.dual - found.rounding - 1e-12 <= optimum <= found.primal + 1e-12


@pytest.mark.parametrize("loss", ["huber", "absolute", "hinge", "logistic", "squared"])
@pytest.mark.parametrize("weights", [None, "some"])
def test_two_categories_cost_what_they_cost_in_reference_coding(loss, weights):
    rng = np.random.default_rng(8)
    one, two = dummies(rng, 300, 6), dummies(rng, 300, 4)
    numbers = rng.standard_normal((300, 2))
    X = np.hstack([one, two, numbers, numbers[:, :1]])
    y = X @ rng.standard_normal(X.shape[1]) + 2 * rng.standard_t(3, 300)
    estimator, penalty, other = mm.Regressor, mm.NoPenalty(), mm.NoPenalty()
    if loss in ("hinge", "logistic"):
        estimator, y = mm.Classifier, np.where(y > np.median(y), 1, -1)
    if weights:  # the numbers are penalised, the dummies are not
        penalty = mm.L1(np.repeat([0.0, 1.0], [10, 3])) + mm.L2(np.repeat([0.0, 1.0], [10, 3]))
        other = mm.L1(np.repeat([0.0, 1.0], [8, 3])) + mm.L2(np.repeat([0.0, 1.0], [8, 3]))
    found = fitted(estimator(loss, penalty, alpha=0.01), X, y).certificate_
    kept = np.hstack([X[:, 1:6], X[:, 7:]])
    same = fitted(estimator(loss, other, alpha=0.01), kept, y).certificate_
    assert found.relative <= 1e-6
    assert same.relative <= 1e-6
    assert found.primal == pytest.approx(same.primal, rel=2e-6)


def test_drop_ins_close_on_dummies():
    rng = np.random.default_rng(9)
    X = np.hstack([dummies(rng, 400, 12), dummies(rng, 400, 5)])
    score = X @ rng.standard_normal(17)
    y = score + rng.standard_normal(400)
    labels = np.where(rng.random(400) < 1 / (1 + np.exp(-0.3 * score)), 1, -1)
    models = [
        (ours.LinearRegression(), y),
        (ours.HuberRegressor(alpha=0.0), y),
        (ours.QuantileRegressor(alpha=0.0, quantile=0.3), y),
        (ours.LogisticRegression(C=np.inf), labels),
        (ours.PoissonRegressor(alpha=0.0), np.exp(0.3 * y)),
    ]
    for model, target in models:
        for kind in KINDS[:2]:
            assert fitted(model, kind(X), target).certificate_.relative <= 1e-6
    linear = ours.LinearRegression().fit(sp.csr_matrix(X), y)
    expected = theirs.LinearRegression().fit(X, y)
    assert ours.LinearRegression().fit(X, y).rank_ == expected.rank_ == 15
    np.testing.assert_allclose(linear.coef_, expected.coef_, atol=1e-10)  # the least norm


@pytest.mark.parametrize("size", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("loss", ["squared", "huber", "absolute", "logistic", "poisson"])
def test_nearly_collinear_columns_close(loss, size):
    rng = np.random.default_rng(10)
    A = rng.standard_normal((120, 3))
    extra = rng.standard_normal(120)
    X, plain = np.column_stack([A, A[:, 0] + size * extra]), np.column_stack([A, extra])
    y = plain @ [1.0, -1.0, 0.5, 0.7] + rng.standard_t(4, 120)
    estimator = mm.Regressor
    if loss == "logistic":
        estimator, y = mm.Classifier, np.where(y + 2 * rng.standard_normal(120) > 0, 1, -1)
    elif loss == "poisson":
        y = rng.poisson(np.exp(0.3 * y))
    found = fitted(estimator(loss, "no_penalty"), X, y).certificate_
    same = fitted(estimator(loss, "no_penalty"), plain, y).certificate_  # the same span
    assert found.relative <= 1e-6 or found.gap <= found.rounding
    # The data hold the direction to eps/size of itself only.
    blur = 1e-15 / size * same.primal
    assert found.dual <= same.primal + found.rounding + blur
    assert found.primal == pytest.approx(same.primal, rel=2e-6, abs=found.rounding + blur)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS[:2])
def test_rounding_tells_what_the_last_places_hide(seed, kind):
    rng = np.random.default_rng(seed)
    x = 1e6 + rng.standard_normal(60)
    other = np.nextafter(x, np.where(rng.random(60) < 0.5, 0.0, np.inf))
    y = x - 1e6 + rng.standard_normal(60)
    found = fitted(mm.Regressor("squared", alpha=0.0), kind(np.column_stack([x, other])), y)
    optimum = exact_least_squares([np.ones(60), x, other], y)
    certificate = found.certificate_
    assert certificate.relative <= 1e-6
    assert certificate.dual > optimum  # no model in working precision can use the difference
    assert certificate.dual - certificate.rounding <= optimum + 1e-12
    # One direction of sixty: the statement is not an excuse for everything.
    assert certificate.rounding <= 1.1 * (certificate.dual - optimum) + 1e-9
    for loss in ("huber", "absolute"):
        robust = fitted(mm.Regressor(loss, alpha=0.0), kind(np.column_stack([x, other])), y)
        plain = np.column_stack([x - 1e6, (other - x) * 2.0**33])
        bound = fitted(mm.Regressor(loss, alpha=0.0), plain, y).certificate_.primal
        assert robust.certificate_.dual - robust.certificate_.rounding <= bound


def test_dummies_state_no_rounding_to_speak_of():
    rng = np.random.default_rng(11)
    X = np.hstack([dummies(rng, 200, 7), dummies(rng, 200, 3)])
    found = fitted(mm.Regressor("huber", alpha=0.0), X, rng.standard_normal(200)).certificate_
    assert found.rounding <= 1e-13 * found.primal + 1e-14


def test_losses_that_reach_their_minimum_are_never_said_to_separate():
    rng = np.random.default_rng(12)
    A = rng.standard_normal((50, 3))
    X, y = np.column_stack([A, A[:, 0] + 1e-10 * rng.standard_normal(50)]), rng.standard_normal(50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stopped = mm.Regressor("huber", alpha=0.0, max_iter=1).fit(X, y)
    assert "separate" not in stopped.certificate_.infeasibility


def test_zero_counts_at_one_level_leave_no_minimum_to_be_reached():
    rng = np.random.default_rng(14)
    X = dummies(rng, 90, 4)
    y = np.where(X[:, 0] > 0, 0.0, 1.0 + rng.poisson(1.0, 90))
    found = fitted(mm.Regressor("poisson", alpha=0.0), X, y).certificate_
    assert found.relative <= 1e-6
    assert "no minimiser exists" in found.infeasibility
    y[np.flatnonzero(X[:, 0])[0]] = 1.0
    assert not fitted(mm.Regressor("poisson", alpha=0.0), X, y).certificate_.infeasibility


def test_a_level_with_one_class_leaves_no_minimum_to_be_reached():
    rng = np.random.default_rng(13)
    X = dummies(rng, 90, 4)
    labels = np.where(X[:, 0] > 0, 1, np.where(rng.random(90) < 0.5, 1, -1))
    separable = dummies(rng, 90, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        some = mm.Classifier("logistic", alpha=0.0).fit(X, labels).certificate_
        all_of_them = mm.Classifier("logistic", alpha=0.0).fit(
            separable, np.where(separable[:, 0] > 0, 1, -1)
        )
    # One level falls for ever; what the others cost is a bound that can be certified.
    others = optimum_by_level("logistic", X[:, 1:], labels.astype(float), np.ones(90))
    assert some.dual <= others * (1 + 1e-12)
    assert some.relative <= 1e-6
    assert f"separate {int(X[:, 0].sum())} of the samples" in some.infeasibility
    assert all_of_them.certificate_.gap == np.inf
    assert "separable" in all_of_them.certificate_.infeasibility
