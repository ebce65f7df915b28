"""Losses of a user's own over k scores, and norms of one's own of W: no certificate is false.

``MINIMAND_FUZZ=500 pytest …`` looks at so many random problems.
"""

import os
import warnings

import numpy as np
import pytest
from random_vector_losses import (
    NORMS,
    SHAPES,
    OfVector,
    Parabola,
    RowLengths,
    Steep,
    WithCurvature,
    random_loss,
    random_penalty,
)
from scipy.optimize import minimize

import minimand as mm

PROBLEMS = int(os.environ.get("MINIMAND_FUZZ", "8"))


def random_problem(rng):
    """An estimator of a random loss and penalty, and data of a random scale for it."""
    n, d, k = int(rng.integers(5, 80)), int(rng.integers(1, 7)), int(rng.integers(2, 6))
    X = rng.standard_normal((n, d)) * 10 ** rng.uniform(-0.5, 0.5, d) + rng.choice([0.0, 1.0])
    loss = random_loss(rng, k)
    size = loss.width * 10 ** rng.uniform(-2, 1)
    Y = size * (X @ rng.standard_normal((d, k)) + rng.standard_normal((n, k)))
    weight = rng.uniform(0.0, 3.0, n) if rng.random() < 0.3 else None
    if weight is not None and rng.random() < 0.5:
        weight[: n // 3] = 0.0
    penalty, solver = random_penalty(rng)
    alpha = loss.height * 10 ** rng.uniform(-4, 0) / max(size, loss.width)
    free = bool(rng.random() < 0.8)
    model = mm.Regressor(loss, penalty, alpha, solver=solver, intercept=free, max_seconds=1)
    return model, X, Y, weight


def attained(model, X, Y, weight, w, b):
    """P at the coefficients (d, k) and intercepts."""
    mass = np.ones(len(Y)) if weight is None else weight
    with np.errstate(all="ignore"):
        loss = mass @ model.loss.value(X @ w + b, Y) / mass.sum()
    return float(loss + model.penalty.bind(w.shape, model.alpha).value(w))


def polished(model, X, Y, weight, w, b):
    """A lower value nearby, by quasi-Newton steps that know nothing of kinks."""
    (d, k), free = w.shape, model.intercept
    mass = np.ones(len(Y)) if weight is None else weight
    bound = model.penalty.bind(w.shape, model.alpha)

    def value(x):
        return attained(model, X, Y, weight, x[: d * k].reshape(d, k), x[d * k :] if free else 0.0)

    if bound.ridge is None:
        return value(np.append(w, b if free else []))

    def slope(x):
        w, b = x[: d * k].reshape(d, k), x[d * k :] if free else 0.0
        with np.errstate(all="ignore"):
            g = mass[:, None] * model.loss.gradient(X @ w + b, Y) / mass.sum()
        return np.append((X.T @ g + bound.ridge * w).ravel(), g.sum(axis=0) if free else [])

    start = np.append(w, b if free else [])
    found = minimize(value, start, jac=slope, method="L-BFGS-B", options={"maxiter": 500})
    return min(found.fun, value(start))


def examined(seed):
    """The fit, its certificates with what they are of, and the least attained value."""
    rng = np.random.default_rng(seed)
    model, X, Y, weight = random_problem(rng)
    found, values = [], []

    def note(what, fitted, certificate):
        w, b = np.array(fitted.coef_).T, np.array(fitted.intercept_)
        value = attained(model, X, Y, weight, w, b)
        found.append((what, certificate, value))
        values.append(value)
        return w, b

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y, weight)
        w, b = note("fit", model, model.certificate_)
        values.append(polished(model, X, Y, weight, w, b))
        for steps in (1, 3):
            early = mm.Regressor(**{**model.get_params(deep=False), "max_iter": steps})
            note(f"max_iter={steps}", early.fit(X, Y, weight), early.certificate_)
        first = model.certificate_
        for _ in range(3):
            model.coef_ = w.T * rng.choice([0.0, 0.5, 1.0]) + rng.choice([0.0, 0.1]) * np.abs(w.T)
            if model.intercept:
                model.intercept_ = b + np.std(Y) * rng.standard_normal(b.shape)
            against = first if rng.random() < 0.5 else None
            note("moved", model, mm.certify(model, X, Y, weight, against=against))
        model.coef_, model.intercept_ = w.T, b if model.intercept else model.intercept_
    return model, found, min(v for v in values if np.isfinite(v))


def wrong(seed):
    """Certificates that claim what is not so, in words."""
    model, found, best = examined(seed)
    for what, certificate, value in found:
        assert not np.isnan(certificate.dual)
        words = f"seed {seed}, {what}, {model!r}: {certificate!r}"
        room = certificate.rounding + 1e-12 * abs(value)
        if certificate.dual > best + room:
            yield f"{words} lies above an attained {best!r}"
        if np.isfinite(value) and abs(certificate.primal - value) > room + 1e-9 * abs(value):
            yield f"{words} is not of {value!r}"


@pytest.mark.parametrize("seed", range(PROBLEMS))
def test_no_certificate_is_false(seed):
    assert not [*wrong(seed)]


@pytest.mark.parametrize("form", [OfVector, WithCurvature])
@pytest.mark.parametrize("kind", SHAPES)
def test_laws_and_fits(kind, form):
    """Also where the curvature is found by differences of the gradient."""
    rng = np.random.default_rng(0)
    loss = form(kind(np.array([[1.0, 0.5], [0.0, 2.0]])), 1.5, 0.7)
    X, Y = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))
    if kind is not Steep:  # its gradients far out have lost the digits that its conjugate needs
        mm.testing.check_loss(loss, Y[:5], n_scores=2)
    for penalty in (mm.L2(), mm.L21()):
        model = mm.Regressor(loss, penalty, alpha=0.05).fit(X, Y)
        assert model.certificate_.relative <= 1e-6


@pytest.mark.parametrize("kind", NORMS)
def test_norms_of_matrices(kind):
    mm.testing.check_penalty(kind(), (4, 3))
    mm.testing.check_penalty(kind() + 0.5 * mm.L2(), (4, 3))


def test_a_norm_of_rows_is_ours():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((50, 4)), rng.standard_normal((50, 3))
    fista = mm.solvers.Fista(restart=True)
    own = mm.Regressor("squared", RowLengths(), 0.1, solver=fista, tol=1e-9).fit(X, Y)
    ours = mm.Regressor("squared", mm.L21(), 0.1, tol=1e-9).fit(X, Y)
    np.testing.assert_allclose(own.coef_, ours.coef_, atol=1e-4)
    assert own.certificate_.dual <= ours.certificate_.primal


class Twice(OfVector):
    """Its gradient is that of half of it."""

    def value(self, z, y):
        return 2.0 * super().value(z, y)


class Halved(OfVector):
    """Its conjugate is half of what it should be, and would prove too much."""

    def conjugate(self, u, y):
        return 0.5 * super().conjugate(u, y)


class Waves(OfVector):
    """Not convex."""

    def value(self, z, y):
        return super().value(z, y) + np.cos(3.0 * (z - y)).sum(axis=1)

    def gradient(self, z, y):
        return super().gradient(z, y) - 3.0 * np.sin(3.0 * (z - y))


class OneNumber(OfVector):
    """Its values are added up over all rows."""

    def value(self, z, y):
        return super().value(z, y).sum()


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Twice, "gradient is not the derivative"),
        (Halved, "conjugate"),
        (Waves, "not convex"),
        (OneNumber, "one number per row"),
    ],
)
def test_slips_in_formulas_are_found(kind, words):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((50, 4)), rng.standard_normal((50, 3))
    with pytest.raises(ValueError, match=words):
        mm.Regressor(kind(Parabola(np.eye(3))), "l2", 0.1).fit(X, Y)


class ForMatrices(RowLengths):
    couples_scores = False


def test_a_norm_that_takes_matrices_alone_says_so():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((50, 4)), rng.standard_normal((50, 3))
    with pytest.raises(ValueError, match="couples_scores"):
        mm.Regressor("squared", ForMatrices(), 0.1, solver="fista").fit(X, Y)
