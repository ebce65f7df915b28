"""A survey: certificates of random losses against every value that some model attains."""

import warnings

import numpy as np
from random_losses import Scaled, ScaledMargin, random_margin_shape, random_shape

import minimand as mm

LD = np.longdouble


def random_penalty(rng, d):
    """Any convex penalty there is."""
    weights = rng.uniform(0.2, 2.0, d)
    return [
        mm.L2(),
        mm.L1(),
        mm.L1() + 0.5 * mm.L2(),
        mm.L2(weights),
        mm.L1(weights),
        mm.NonNegative() + mm.L2(),
        mm.Box(-0.5, 0.5),
        mm.Box(-1, 2) + mm.L1(),
        mm.L1Ball(0.7),
        mm.L2Ball(0.7) + mm.L1(),
        mm.NoPenalty(),
    ][rng.integers(11)]


def random_problem(rng):
    """An estimator of a random loss and penalty, and data of a random scale for it."""
    n, d = int(rng.integers(5, 120)), int(rng.integers(1, 8))
    width, height = 10 ** rng.uniform(-3, 3), 10 ** rng.uniform(-3, 3)
    X = rng.standard_normal((n, d)) * 10 ** rng.uniform(-0.5, 0.5, d) + rng.choice([0.0, 1.0])
    weight = rng.choice([None, 0], p=[0.7, 0.3])
    weight = None if weight is None else rng.uniform(0.0, 3.0, n)
    alpha = height * 10 ** rng.uniform(-4, 0)
    settings = {"alpha": alpha, "intercept": bool(rng.random() < 0.8), "max_seconds": 5}
    if rng.random() < 0.3:
        loss = ScaledMargin(random_margin_shape(rng), 10 ** rng.uniform(-1, 1), height)
        y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1, -1)
        y[:2] = -1, 1
        return mm.Classifier(loss, random_penalty(rng, d), **settings), X, y, weight
    loss = Scaled(random_shape(rng), width, height)
    # Residuals from deep inside the bend of ψ to far beyond it.
    size = width * 10 ** rng.uniform(-2, 1.3)
    y = size * (X @ rng.standard_normal(d) + rng.standard_normal(n))
    return mm.Regressor(loss, random_penalty(rng, d), **settings), X, y, weight


def attained(model, X, y, weight, w, b):
    """P(w, b) in extended precision: an upper bound of the optimum, if w is feasible."""
    sign = y.astype(LD)
    z = X.astype(LD) @ w.astype(LD) + LD(b)
    loss = model.loss
    with np.errstate(all="ignore"):
        values = loss.psi(sign * z if isinstance(loss, mm.Margin) else z - sign)
        mass = np.full(len(y), LD(1)) if weight is None else weight.astype(LD)
        mean = (mass * values).sum() / mass.sum()
    return mean + LD(model.penalty.bind(w.size, model.alpha).value(w))


def certificates(rng):
    """(certificate, what) of a fit, of stopped fits and of moved ones, and the attained values."""
    model, X, y, weight = random_problem(rng)
    found, values = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, weight)

        def note(what, certificate):
            w, b = np.ravel(model.coef_).copy(), float(np.ravel(model.intercept_)[0])
            found.append((what, certificate))
            values.append(attained(model, X, y, weight, w, b))
            return w, b

        w, b = note("fit", model.certificate_)
        tight = mm.Regressor if isinstance(model, mm.Regressor) else mm.Classifier
        for steps in (1, 2, 3):
            early = tight(**{**model.get_params(deep=False), "max_iter": steps})
            early.fit(X, y, weight)
            found.append((f"max_iter={steps}", early.certificate_))
            values.append(
                attained(
                    model, X, y, weight, np.ravel(early.coef_), float(np.ravel(early.intercept_)[0])
                )
            )
        residual = float(np.std(y)) + 1.0
        for _ in range(3):
            if model.intercept:
                model.intercept_ = model.intercept_ + residual * rng.standard_normal() * 10 ** (
                    rng.uniform(-2, 1.5)
                )
            model.coef_ = model.coef_ * rng.choice([0.0, 0.3, 1.0])
            what = f"moved to {model.intercept_!r}"
            against = found[0][1] if rng.random() < 0.5 else None
            note(what, mm.certify(model, X, y, weight, against=against))
            model.coef_ = w.reshape(model.coef_.shape).copy()
            model.intercept_ = np.full(np.shape(model.intercept_), b)[()]
    return model, found, values


def false_certificates(seed):
    """Certificates of one random problem whose dual lies above a value that a model attains."""
    rng = np.random.default_rng(seed)
    model, found, values = certificates(rng)
    finite = [v for v in values if np.isfinite(v)]
    best = min(finite) if finite else np.inf
    wrong = []
    for what, certificate in found:
        assert not np.isnan(certificate.dual), (seed, what, model)
        excess = float(LD(certificate.dual) - best)
        if excess > certificate.rounding:
            wrong.append(
                f"seed {seed}, {what}, {model!r}: dual {certificate.dual!r} lies {excess:.3g} "
                f"above an attained {float(best)!r}, rounding {certificate.rounding:.3g}, "
                f"relative {certificate.relative:.2g}"
            )
    return len(found), wrong
