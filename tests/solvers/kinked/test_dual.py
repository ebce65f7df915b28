"""Dual coordinate ascent against a quadratic program, and its invariances."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes

import minimand as mm
from minimand.canonical import RowDual
from minimand.design import Standardized, as_design

REGRESSION = [
    mm.Absolute(),
    mm.Quantile(0.8),
    mm.EpsilonInsensitive(0.4),
    mm.SquaredEpsilonInsensitive(0.4),
    mm.Huber(0.6),
]
CLASSIFICATION = [mm.Hinge(), mm.SquaredHinge(), mm.PerceptronLoss()]


class Kinked(mm.Distance):
    """Three knots, a curved piece in the middle, a jump beside it."""

    pieces = mm.Pieces([-1.0, 0.0, 2.0], [-2.0, -1.0, 0.5, 3.0], [0.0, 1.0, 0.25, 0.0], base=3.0)


def data(loss, n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5
    z = X @ rng.standard_normal(d) + 0.7 * rng.standard_normal(n) + 1
    return X, (np.where(z > 0.5, 1.0, -1.0) if isinstance(loss, mm.Margin) else z)


def fit(loss, X, y, alpha=0.05, tol=1e-8, weight=None, **kwargs):
    kind = mm.Classifier if isinstance(loss, mm.Margin) else mm.Regressor
    model = kind(loss, kwargs.pop("penalty", "l2"), alpha=alpha, solver="dual", tol=tol, **kwargs)
    return model.fit(X, y, sample_weight=weight)


def optimum(loss, X, y, alpha, intercept, mass):
    """min Σ mass·s + ½ alpha‖w‖² with s above every piece: the increments of ψ' as slacks.

    ψ(t) = base + first slope·(t − k₀) + Σ over jumps Jₖ·(t − k)₊ + Σ over curved stretches, each
    ½c·clip(t − k, 0, width)² + c·width·(t − k − width)₊ = min over 0 ≤ p ≤ width, q ≥ 0 with
    p + q ≥ t − k of ½c·p² + c·width·q.
    """
    psi = loss.pieces
    n, d = X.shape
    plq = loss.plq(y)
    terms = []  # (knot, linear weight, curvature, width)
    first = psi.slopes[0]
    assert psi.curvatures[0] == 0 or psi.slopes[0] == 0
    for k, jump in enumerate(psi.jumps):
        terms.append((+1, psi.knots[k], jump, 0.0, np.inf))
        if k + 1 < len(psi.knots):
            width = psi.knots[k + 1] - psi.knots[k]
            terms.append((+1, psi.knots[k], 0.0, psi.curvatures[k + 1], width))
    terms.append((+1, psi.knots[-1], 0.0, psi.curvatures[-1], np.inf))
    terms.append((-1, psi.knots[0], 0.0, psi.curvatures[0], np.inf))
    terms = [t for t in terms if t[2] > 0 or t[3] > 0]
    count = d + 1 + 2 * n * len(terms)
    P, q = np.zeros(count), np.zeros(count)
    P[:d] = alpha
    A, b = [], []
    T = sparse.csr_matrix(np.column_stack([X * plq.sign[:, None], plq.sign * intercept]))
    q[: d + 1] += first * (T.T @ mass)
    constant = psi.base + first * float(mass @ (-plq.shift - psi.knots[0]))
    at = d + 1
    eye = sparse.eye(n, format="csr")
    for side, knot, jump, bend, width in terms:
        p, r = slice(at, at + n), slice(at + n, at + 2 * n)
        P[p] = mass * bend
        linear = jump if bend == 0 else bend * width if np.isfinite(width) else 0.0
        q[p if bend == 0 else r] += mass * linear
        row = sparse.lil_matrix((n, count))
        row[:, : d + 1] = side * T
        row[:, p] = -eye
        if bend > 0 and np.isfinite(width):
            row[:, r] = -eye
        A.append(row)
        b.append(side * (plq.shift + knot))
        for block, limit in ((p, width if bend > 0 else np.inf), (r, np.inf)):
            low = sparse.lil_matrix((n, count))
            low[:, block] = -eye
            A.append(low)
            b.append(np.zeros(n))
            if np.isfinite(limit):
                A.append(-low)
                b.append(np.full(n, limit))
        at += 2 * n
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    A, b = sparse.vstack(A, format="csc"), np.concatenate(b)
    cones = [clarabel.NonnegativeConeT(A.shape[0])]
    found = clarabel.DefaultSolver(sparse.diags(P, format="csc"), q, A, b, cones, settings).solve()
    return found.obj_val + constant


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", [*REGRESSION, *CLASSIFICATION, Kinked()], ids=repr)
def test_equals_the_quadratic_program(loss, intercept):
    X, y = data(loss)
    weight = np.random.default_rng(1).uniform(0.2, 2, len(y))
    model = fit(loss, X, y, intercept=intercept, weight=weight)
    c = model.certificate_
    assert c.relative <= 1e-8
    best = optimum(loss, X, y, 0.05, intercept, weight / weight.sum())
    assert c.dual <= best + 1e-8 * (1 + abs(best))
    assert c.primal >= best - 2e-6 * (1 + abs(best))  # no better than Clarabel is itself


@pytest.mark.parametrize("loss", [mm.Hinge(), mm.Quantile(0.3), Kinked()], ids=repr)
def test_storage_does_not_matter(loss):
    X, y = data(loss)
    X[np.abs(X) < 0.4] = 0.0
    first = fit(loss, X, y)
    for other in (
        np.asfortranarray(X),
        sparse.csr_matrix(X),
        sparse.csc_matrix(X),
        sparse.csr_array(X.astype(np.float32).astype(float)),
        X[:, ::-1][:, ::-1],
    ):
        model = fit(loss, other, y)
        assert abs(model.certificate_.primal - first.certificate_.primal) < 1e-6
    single = fit(loss, X.astype(np.float32), y)
    np.testing.assert_allclose(single.coef_, first.coef_, atol=2e-3)


@pytest.mark.parametrize("loss", [mm.Hinge(), mm.EpsilonInsensitive(0.2)], ids=repr)
def test_weights_are_copies_and_zero_is_absent(loss):
    X, y = data(loss, n=30)
    times = np.random.default_rng(2).integers(0, 4, 30)
    weighted = fit(loss, X, y, weight=times.astype(float))
    copies = fit(loss, np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, copies.coef_, atol=1e-4)
    assert weighted.certificate_.primal == pytest.approx(copies.certificate_.primal, rel=1e-7)


def test_offset_and_per_feature_weights():
    X, y = data(mm.Absolute())
    offset = np.linspace(-1, 1, len(y))
    scale = np.array([1.0, 0.25, 4.0, 1.0])
    model = mm.Regressor("absolute", mm.L2(weights=scale), alpha=0.05, solver="dual", tol=1e-9)
    model.fit(X, y, offset=offset)
    other = fit(mm.Absolute(), X / np.sqrt(scale), y - offset, tol=1e-9)
    np.testing.assert_allclose(model.coef_ * np.sqrt(scale), other.coef_, atol=1e-5)
    assert model.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-8)


def test_empty_rows_and_constant_columns():
    X, y = data(mm.Hinge())
    X[:7] = 0.0
    X[:, 1] = 0.0
    X[:, 2] = 3.0
    assert fit(mm.Hinge(), X, y, tol=1e-7).certificate_.relative <= 1e-7
    assert fit(mm.Hinge(), np.zeros((6, 2)), np.array([1.0, -1, 1, 1, -1, 1])).coef_.any() == 0


def test_w_is_always_the_image_of_v():
    X, y = data(mm.Hinge())
    mass = np.full(len(y), 1 / len(y))
    for design in (
        as_design(X),
        as_design(sparse.csr_matrix(X)),
        Standardized(as_design(X), X.mean(axis=0), X.std(axis=0)),
    ):
        form = RowDual(
            design,
            mm.Hinge().rowwise(y),
            mass,
            np.full(4, 0.1),
            True,
            np.zeros(len(y)),
            np.zeros(4),
        )
        for epochs in (1, 3, 10):
            form.ascend(epochs, 0.0)
            image = -design.rmatvec(mass * y * form.v) / 0.1
            np.testing.assert_allclose(form.w, image, rtol=1e-10, atol=1e-12)
            assert (form.v >= -1).all()
            assert (form.v <= 0).all()


@pytest.mark.parametrize("alpha", [1e-3, 1e-2, 0.1])
def test_balanced_classes_need_no_other_solver(alpha):
    """Their best constant score is 0, a unit away from the knot of the hinge.

    What an unbalanced intercept costs is measured in that distance. Without it, ascent takes itself
    to be done as soon as no multiplier moves, and hands over.
    """
    X, y = load_diabetes(return_X_y=True)
    y = np.where(y > np.median(y), 1.0, -1.0)
    assert y.sum() == 0
    model = fit(mm.Hinge(), X, y, alpha=alpha, tol=1e-6)
    assert model.solver_ == "dual"
    assert model.certificate_.relative <= 1e-6
    assert len(model.history_) <= 4


def test_refusals_are_in_words():
    X, y = data(mm.Hinge())
    with pytest.raises(ValueError, match="not L2 on every coefficient"):
        fit(mm.Hinge(), X, y, penalty="l1")
    with pytest.raises(ValueError, match="neither piecewise quadratic nor logistic"):
        fit(mm.Exponential(), X, y)
