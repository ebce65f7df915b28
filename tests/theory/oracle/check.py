"""Penalties by name, and what every certificate must be."""

from __future__ import annotations

import numpy as np

from .formulas import LD


def form_of(penalty, alpha, d):
    """(l1, l2) by the penalty's name: independent of minimand's own algebra."""
    ones, zeros = np.ones(d), np.zeros(d)
    weights = np.linspace(0.0, 2.0, d)  # includes a zero: an unpenalised column
    return {
        "l1": (alpha * ones, zeros),
        "l2": (zeros, alpha * ones),
        "mixed": (alpha * ones, 0.5 * alpha * ones),
        "none": (zeros, zeros),
        "weighted_l1": (alpha * weights, zeros),
        "weighted_l2": (zeros, alpha * weights),
    }[penalty]


def penalty_of(name, d):
    """minimand's object of that name."""
    import minimand as mm

    weights = np.linspace(0.0, 2.0, d)
    return {
        "l1": mm.L1(),
        "l2": mm.L2(),
        "mixed": mm.L1() + 0.5 * mm.L2(),
        "none": mm.NoPenalty(),
        "weighted_l1": mm.L1(weights),
        "weighted_l2": mm.L2(weights),
    }[name]


def check_certificate(problem, w, b, certificate, *, accuracy=1e-9, value=None):
    """dual ≤ optimum ≤ primal and gap ≥ P(model) − optimum; returns dual − optimum.

    ``accuracy`` is what rounding is allowed, relative to the size of the problem: a thousandth of
    the default tol. ``value`` is the best known objective, by default that of the reference. A
    value at any point is an upper bound of the optimum, so a dual above it is a false certificate
    whatever the quality of the reference.
    """
    w, b = np.ravel(w), float(np.ravel(b)[0])
    with np.errstate(over="ignore"):
        primal = problem.primal(w, b)
    if value is None:
        value = problem.optimum()[2]
    best = min(value, primal)
    null = problem.primal(np.zeros_like(w), problem.null_intercept)
    size = float(max(abs(primal), abs(null)))
    allowed = accuracy * size + 4 * certificate.rounding + problem.noise(w, b) + 1e-300
    assert abs(float(primal - LD(certificate.primal))) <= allowed, (
        f"primal {certificate.primal!r} is not the objective {float(primal)!r}"
    )
    assert certificate.gap >= 0
    assert not np.isnan(certificate.dual)
    excess = float(LD(certificate.dual) - best)
    assert excess <= allowed, (
        f"false certificate: dual {certificate.dual!r} > optimum {float(best)!r} by {excess:.3g}, "
        f"gap {certificate.gap:.3g}, rounding {certificate.rounding:.3g}"
    )
    true_gap = float(primal - best)
    assert true_gap <= certificate.gap + allowed, (
        f"gap {certificate.gap!r} is less than the true suboptimality {true_gap!r}"
    )
    if np.isinf(certificate.gap):
        assert certificate.infeasibility, "an infinite gap must say why"
    return excess
