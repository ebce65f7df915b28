"""Linear programs: independent formulations, published fits, and what vertices must look like."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import minimand as mm

ENGEL = np.loadtxt(
    Path(__file__).parents[2] / "data" / "engel.csv", delimiter=",", comments="#", skiprows=3
)


def data(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 3.0 ** np.arange(d) + rng.normal(size=d)
    return X, X @ rng.normal(size=d) + rng.laplace(size=n)


def fit(loss, penalty, X, y, alpha=1.0, estimator=mm.Regressor, **options):
    fit_options = {k: options.pop(k) for k in ("sample_weight", "offset") if k in options}
    model = estimator(loss, penalty, alpha, solver="simplex", **options)
    return model.fit(X, y, **fit_options)


def primal_program(X, y, pieces, weight, l1, lo, hi, intercept):
    """min Σ weight·max over pieces + l1·|w|, as a program in w⁺, w⁻, b and one bound per sample.

    ``pieces`` are lines (slope, constant) of t = signed score: rows of (a, c) with value a·z + c,
    per sample; the loss is their maximum.
    """
    n, d = X.shape
    rows, right = [], []
    for slope, constant in pieces:
        A = np.asarray(slope)[:, None] * np.column_stack([X, -X, np.ones(n) * intercept])
        rows.append(np.hstack([A, -np.eye(n)]))
        right.append(-np.asarray(constant))
    cost = np.concatenate([np.full(2 * d, l1), [0.0], weight])
    sides = [(0, None)] * (2 * d) + [(None, None)] * (1 + n)
    box = np.hstack([np.eye(d), -np.eye(d), np.zeros((d, 1 + n))])
    extra = [box[np.isfinite(hi)], -box[np.isfinite(lo)]]
    extra_right = [hi[np.isfinite(hi)], -lo[np.isfinite(lo)]]
    found = linprog(
        cost, np.vstack(rows + extra), np.concatenate(right + extra_right), bounds=sides
    )
    assert found.status == 0
    return found.fun


def lines(loss, y):
    """The losses as maxima of lines in z, written down anew."""
    one = np.ones(len(y))
    if isinstance(loss, mm.Absolute):
        return [(one, -y), (-one, y)]
    if isinstance(loss, mm.Quantile):
        return [(-loss.q * one, loss.q * y), ((1 - loss.q) * one, -(1 - loss.q) * y)]
    if isinstance(loss, mm.EpsilonInsensitive):
        return [(one, -y - loss.eps), (-one, y - loss.eps), (0 * one, 0 * one)]
    if isinstance(loss, mm.Hinge):
        return [(-y, one), (0 * one, 0 * one)]
    assert isinstance(loss, mm.PerceptronLoss)
    return [(-y, 0 * one), (0 * one, 0 * one)]


LOSSES = [
    mm.Absolute(),
    mm.Quantile(0.2),
    mm.EpsilonInsensitive(0.5),
    mm.Hinge(),
    mm.PerceptronLoss(),
]
PENALTIES = {
    "none": (mm.NoPenalty(), 0.0, -np.inf, np.inf),
    "l1": (mm.L1(), 0.05, -np.inf, np.inf),
    "nonnegative": (mm.NonNegative(), 0.0, 0.0, np.inf),
    "box": (mm.Box(-0.1, 0.2), 0.0, -0.1, 0.2),
    "l1 in a box": (mm.L1() + mm.Box(-0.3, 0.5), 0.05, -0.3, 0.5),
}


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_equals_an_independent_program(loss, name, intercept):
    penalty, l1, low, high = PENALTIES[name]
    X, y = data(n=40, d=3)
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.2, 3.0, size=40)
    signs = isinstance(loss, mm.Margin)
    y = np.sign(y - np.median(y) + 1e-9) if signs else y
    model = fit(
        loss,
        penalty,
        X,
        y,
        alpha=0.05,
        estimator=mm.Classifier if signs else mm.Regressor,
        intercept=intercept,
        sample_weight=weight,
    )
    mass = weight / weight.sum()
    lo, hi = np.full(3, low), np.full(3, high)
    best = primal_program(X, y, lines(loss, y), mass, l1, lo, hi, intercept)
    found = model.certificate_
    assert found.primal == pytest.approx(best, rel=1e-8, abs=1e-9)
    assert found.dual <= best + 1e-9
    assert found.gap <= 1e-9 * max(best, 1.0)


def chebyshev_program(X, y, l1=0.0, low=-np.inf, high=np.inf, intercept=True):
    n, d = X.shape
    A = np.column_stack([X, -X, np.ones(n) * intercept])
    rows = np.vstack([np.column_stack([s * A, -np.ones(n)]) for s in (1.0, -1.0)])
    cost = np.concatenate([np.full(2 * d, l1), [0.0, 1.0]])
    sides = [(0, None)] * (2 * d) + [(None, None), (0, None)]
    box = np.hstack([np.eye(d), -np.eye(d), np.zeros((d, 2))])
    right = np.concatenate([y, -y])
    if np.isfinite(high):
        rows, right = np.vstack([rows, box]), np.append(right, np.full(d, high))
    if np.isfinite(low):
        rows, right = np.vstack([rows, -box]), np.append(right, np.full(d, -low))
    return linprog(cost, rows, right, bounds=sides).fun


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", PENALTIES)
def test_chebyshev_equals_an_independent_program(name, intercept):
    penalty, l1, low, high = PENALTIES[name]
    X, y = data(n=900, d=4)
    model = fit("chebyshev", penalty, X, y, alpha=0.05, intercept=intercept)
    best = chebyshev_program(X, y, l1, low, high, intercept)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-9)
    assert model.certificate_.gap <= 1e-9 * best


def test_engel_median_regression():
    """The published least-absolute-deviation fit of Engel's data: 81.482 + 0.56018·income."""
    income, food = ENGEL[:, :1], ENGEL[:, 1]
    assert len(food) == 235
    model = fit("absolute", "no_penalty", income, food)
    assert model.intercept_ == pytest.approx(81.48225, abs=1e-5)
    assert model.coef_[0] == pytest.approx(0.5601806, abs=1e-7)
    assert model.certificate_.relative <= 1e-12
    half = fit(mm.Quantile(0.5), "no_penalty", income, food)
    np.testing.assert_allclose(half.coef_, model.coef_, rtol=1e-10)


@pytest.mark.parametrize("loss", [mm.Absolute(), mm.Quantile(0.8)], ids=repr)
def test_a_vertex_interpolates_as_many_samples_as_it_has_coefficients(loss):
    X, y = data(n=200, d=5)
    r = fit(loss, "no_penalty", X, y).predict(X) - y
    assert (np.abs(r) <= 1e-11 * np.abs(y).max()).sum() >= 6


def test_quantiles_divide_the_samples():
    X, y = data(n=301, d=3)
    for q in (0.1, 0.5, 0.9):
        z = fit(mm.Quantile(q), "no_penalty", X, y).predict(X)
        above, below = (y > z + 1e-9).sum(), (y < z - 1e-9).sum()
        assert above <= (1 - q) * 301
        assert below <= q * 301


def test_the_largest_residual_is_shared():
    """At least d + 2 residuals of the largest size, on both sides (de la Vallée Poussin)."""
    X, y = data(n=3000, d=4)
    r = fit("chebyshev", "no_penalty", X, y).predict(X) - y
    largest = np.abs(r).max()
    at = np.abs(np.abs(r) - largest) <= 1e-9 * largest
    assert at.sum() >= 6
    assert {-1.0, 1.0} == set(np.sign(r[at]))


def test_chebyshev_without_features_is_the_midrange():
    y = np.array([1.0, 5.0, 2.0, 9.0])
    model = fit("chebyshev", "no_penalty", np.zeros((4, 1)), y)
    assert model.intercept_ == pytest.approx(5.0)
    assert model.certificate_.primal == pytest.approx(4.0)
    assert model.certificate_.relative <= 1e-12


def test_chebyshev_counts_presence_only():
    """Copies and positive weights change nothing; a weight of zero leaves a sample out."""
    X, y = data(n=50, d=2)
    plain = fit("chebyshev", "l1", X, y, alpha=0.1)
    twice = fit("chebyshev", "l1", np.vstack([X, X]), np.append(y, y), alpha=0.1)
    weighted = fit("chebyshev", "l1", X, y, alpha=0.1, sample_weight=np.arange(1.0, 51.0))
    for other in (twice, weighted):
        assert other.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-12)
    assert plain.certificate_.objective.startswith("chebyshev(z, y) + 0.1")
    spoilt = np.append(y, 1e6)
    weight = np.append(np.ones(50), 0.0)
    without = fit("chebyshev", "l1", np.vstack([X, X[:1]]), spoilt, alpha=0.1, sample_weight=weight)
    np.testing.assert_allclose(without.coef_, plain.coef_, rtol=1e-9)


@pytest.mark.parametrize("loss", [mm.Absolute(), mm.Quantile(0.3)], ids=repr)
def test_weights_are_copies(loss):
    X, y = data(n=30, d=2)
    weight = np.random.default_rng(2).integers(0, 4, size=30).astype(float)
    heavy = fit(loss, "l1", X, y, alpha=0.05, sample_weight=weight)
    index = np.repeat(np.arange(30), weight.astype(int))
    copies = fit(loss, "l1", X[index], y[index], alpha=0.05)
    assert heavy.certificate_.primal == pytest.approx(copies.certificate_.primal, rel=1e-12)


@pytest.mark.parametrize("loss", ["absolute", "chebyshev", mm.Quantile(0.7)], ids=repr)
def test_equivariance(loss):
    """Scaling y scales the model; adding a linear function of X adds it; offsets are y moved."""
    X, y = data(n=80, d=3)
    plain = fit(loss, "no_penalty", X, y)
    more = fit(loss, "no_penalty", X, 7.0 * y + X @ [1.0, 2.0, 3.0] - 5.0)
    np.testing.assert_allclose(more.coef_, 7.0 * plain.coef_ + [1.0, 2.0, 3.0], rtol=1e-8)
    shift = np.sin(np.arange(80.0))
    moved = fit(loss, "no_penalty", X, y + shift, offset=shift)
    np.testing.assert_allclose(moved.coef_, plain.coef_, rtol=1e-8)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_is_dense(kind):
    X, y = data(n=80, d=4)
    X = X * (np.random.default_rng(3).random(X.shape) < 0.5)
    for loss in ("absolute", "chebyshev"):
        dense, thin = fit(loss, "l1", X, y, alpha=0.1), fit(loss, "l1", kind(X), y, alpha=0.1)
        np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-8, atol=1e-10)


DEGENERATE = {
    "constant column": lambda X, y: (np.column_stack([X, np.full(len(y), 3.0)]), y),
    "zero column": lambda X, y: (np.column_stack([X, np.zeros(len(y))]), y),
    "equal columns": lambda X, y: (np.column_stack([X, X[:, 0]]), y),
    "equal rows": lambda X, y: (np.vstack([X, X]), np.append(y, y + 1.0)),
    "constant y": lambda X, y: (X, np.full(len(y), 2.5)),
    "a perfect fit": lambda X, y: (X, X @ np.ones(X.shape[1]) + 2.0),
    "more columns than rows": lambda X, y: (X[:3], y[:3]),
    "one row": lambda X, y: (X[:1], y[:1]),
    "whole numbers": lambda X, y: (np.round(X), np.round(y)),
    "tiny y": lambda X, y: (X, 1e-12 * y),
    "huge y": lambda X, y: (X, 1e12 * y),
    "far columns": lambda X, y: (X + 1e5, y),
}


@pytest.mark.parametrize("penalty", ["no_penalty", "l1", "non_negative"])
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_data(name, penalty):
    X, y = DEGENERATE[name](*data(n=40, d=4))
    for loss in ("absolute", "chebyshev"):
        found = fit(loss, penalty, X, y, alpha=1e-3).certificate_
        assert found.relative <= 1e-6 or found.gap <= found.rounding


def test_l1_makes_exact_zeros():
    X, y = data(n=100, d=6)
    for loss, alpha in (("absolute", 1.0), ("chebyshev", 5.0)):
        model = fit(loss, "l1", X, y, alpha=alpha)
        assert 0 < (model.coef_ == 0).sum() < 6


class Steep(mm.Distance):
    """Three kinks of a user's own."""

    pieces = mm.Pieces([-2.0, 0.0, 1.0], [-3.0, -1.0, 0.5, 2.0], base=2.0)


def test_pieces_of_ones_own():
    X, y = data(n=50, d=3)
    model = fit(Steep(), "l1", X, y, alpha=0.1)
    one = np.ones(50)
    # Through (−2, 2), (0, 0), (1, 0.5): the lines of the four pieces.
    own = [
        (-3 * one, 3 * y - 4.0),
        (-1 * one, y),
        (0.5 * one, -0.5 * y),
        (2 * one, -2 * y - 1.5),
    ]
    none = np.full(3, np.inf)
    best = primal_program(X, y, own, one / 50, 0.1, -none, none, True)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-9)
    assert model.certificate_.relative <= 1e-10


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    d=st.integers(1, 6),
    loss=st.sampled_from(["absolute", "chebyshev", mm.Quantile(0.9), mm.EpsilonInsensitive(1.0)]),
    penalty=st.sampled_from(list(PENALTIES)),
    whole=st.booleans(),
    intercept=st.booleans(),
)
def test_never_a_false_certificate(seed, n, d, loss, penalty, whole, intercept):
    """dual ≤ P at any feasible point, and the gap closes."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, d)).astype(float) if whole else rng.normal(size=(n, d))
    y = rng.integers(-3, 4, size=n).astype(float) if whole else rng.normal(size=n)
    chosen, _, low, high = PENALTIES[penalty]
    model = fit(loss, chosen, X, y, alpha=0.05, intercept=intercept)
    found = model.certificate_
    assert found.relative <= 1e-8 or found.gap <= found.rounding
    for _ in range(5):
        other = mm.Regressor(loss, chosen, 0.05, intercept=intercept, solver="simplex")
        other.fit(X, y)
        other.coef_ = np.clip(model.coef_ + rng.normal(size=d), low, high)
        other.intercept_ = model.intercept_ + rng.normal() * intercept
        assert mm.certify(other, X, y).primal >= found.dual - 1e-9


def test_time_is_kept():
    """A program that is cut off leaves a valid model with an honest gap."""
    X, y = data(n=3000, d=40)
    with pytest.warns(Warning, match="max_seconds"):
        model = fit("absolute", "no_penalty", X, y, max_seconds=1e-3)
    best = fit("absolute", "no_penalty", X, y).certificate_
    cut = model.certificate_
    assert cut.gap > 0
    assert cut.dual <= best.primal <= cut.primal


def test_callbacks_may_stop_before_the_program_runs():
    X, y = data(n=200, d=3)
    seen = []

    def stop(state):
        seen.append(state)
        return mm.STOP

    with pytest.warns(Warning, match="a callback"):
        model = fit("absolute", "no_penalty", X, y, callbacks=[stop])
    best = fit("absolute", "no_penalty", X, y, callbacks=[lambda state: seen.append(state)])
    assert len(seen) == 3
    assert seen[1].gap > seen[2].gap
    assert model.certificate_.dual <= best.certificate_.primal < model.certificate_.primal
    assert mm.certify(model, X, y).primal == pytest.approx(model.certificate_.primal)


def test_refusals():
    X, y = data(n=20, d=2)
    cases = [
        ("squared", "l1", "is not made of straight pieces"),
        ("absolute", "l2", "quadratic part"),
        ("absolute", mm.L2Ball(1.0), "not a sum over features"),
    ]
    for loss, penalty, words in cases:
        with pytest.raises(ValueError, match=words):
            fit(loss, penalty, X, y)
    with pytest.raises(ValueError, match="one number for the whole set"):
        mm.Regressor("chebyshev", "l1", solver="newton").fit(X, y)


def test_memory_is_kept():
    X, y = data(n=2000, d=10)
    with pytest.raises(ValueError, match="does not fit into memory=1000"):
        fit("absolute", "no_penalty", X, y, memory=1000)


@pytest.mark.parametrize("loss", ["absolute", "chebyshev", mm.Quantile(0.8)], ids=repr)
@pytest.mark.parametrize("n", [60, 61])
def test_alpha_max(loss, n):
    """Everything is zero at alpha_max, and something is not below it."""
    X, y = data(n=n, d=3)
    top = mm.alpha_max(mm.Regressor(loss, "l1"), X, y)
    assert not fit(loss, "l1", X, y, alpha=top * (1 + 1e-9)).coef_.any()
    assert fit(loss, "l1", X, y, alpha=0.98 * top).coef_.any()
    labels = (y > 0.3).astype(int)
    top = mm.alpha_max(mm.Classifier("hinge", "l1"), X, labels)
    assert not fit("hinge", "l1", X, labels, alpha=top, estimator=mm.Classifier).coef_.any()
