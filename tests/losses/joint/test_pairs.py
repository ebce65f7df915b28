"""Losses over pairs of items: all sums by enumeration of the pairs."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import minimand as mm
from minimand.design import as_design
from minimand.losses.joint.pairs import SmoothedPairwiseHinge

UNITS = np.array([0, 6, 7, 9, 20, 40])
LOSSES = {
    "hinge": (mm.losses.PairwiseHinge(), lambda m: max(0.0, 1 - m)),
    "squared": (mm.losses.PairwiseSquaredHinge(), lambda m: max(0.0, 1 - m) ** 2),
    "logistic": (mm.losses.PairwiseLogistic(), lambda m: float(np.logaddexp(0.0, -m))),
    "smoothed": (
        SmoothedPairwiseHinge(0.25),
        lambda m: 0.0 if m >= 1 else (2 * (1 - m) ** 2 if m >= 0.75 else 1 - m - 0.125),
    ),
}


def items(seed=0, kind="graded"):
    rng = np.random.default_rng(seed)
    y = {
        "binary": rng.integers(0, 2, 40).astype(float),
        "graded": rng.integers(0, 5, 40).astype(float),
        "real": rng.standard_normal(40),
        "large": 1e6 * rng.integers(-3, 3, 40),
    }[kind]
    z = rng.standard_normal(40)
    z[3] = z[2] + 1.0  # a pair at the kink, up to rounding
    z[12] = z[11]  # and a tie
    return z, y


def by_pairs(psi, z, y):
    """One number per query, with all pairs written out."""
    found = []
    for start, stop in itertools.pairwise(UNITS):
        pairs = [(i, j) for i in range(start, stop) for j in range(start, stop) if y[i] > y[j]]
        found.append(np.mean([psi(z[i] - z[j]) for i, j in pairs]) if pairs else 0.0)
    return np.array(found)


@pytest.mark.parametrize("kind", ["binary", "graded", "real", "large"])
@pytest.mark.parametrize("name", LOSSES)
def test_values_and_slopes_by_enumeration(name, kind):
    loss, psi = LOSSES[name]
    loss = loss.bind(UNITS)
    for seed in range(3):
        z, y = items(seed, kind)
        value, gradient = loss.value(z, y), loss.gradient(z, y)
        assert value == pytest.approx(by_pairs(psi, z, y), abs=1e-13)
        for other in (items(seed + 10)[0], np.zeros(40), 30.0 * z):
            chord = loss.value(other, y) - value - loss.by_unit(gradient * (other - z))
            assert (chord >= -1e-11 * (1 + np.abs(other).max())).all()
        assert np.add.reduceat(gradient, UNITS[:-1]) == pytest.approx(0.0, abs=1e-14)
        assert (loss.fenchel_young(z, gradient, y) <= 1e-12).all()
        assert loss.fenchel_young(z, 0 * z, y) == pytest.approx(value)
        assert np.isinf(loss.fenchel_young(z, gradient + 0.1, y)).all()


@pytest.mark.parametrize("name", ["squared", "smoothed"])
def test_the_curvature_is_the_slope_of_the_gradient(name):
    loss = LOSSES[name][0].bind(UNITS)
    z, y = items(1)
    z[3] += 0.1
    rng = np.random.default_rng(0)
    t = rng.standard_normal(40)
    curvature = loss.curvature(z, y)
    step = 1e-7
    quotient = (loss.gradient(z + step * t, y) - loss.gradient(z - step * t, y)) / (2 * step)
    assert curvature.times(t) == pytest.approx(quotient, abs=1e-6)
    assert t @ curvature.times(t) <= curvature.bound @ (t * t) + 1e-12
    X = rng.standard_normal((40, 3))
    weights = np.repeat(rng.uniform(0.5, 2.0, 5), np.diff(UNITS))
    columns = np.column_stack([curvature.weighted(weights).times(x) for x in X.T])
    assert curvature.weighted(weights).gram(as_design(X)) == pytest.approx(X.T @ columns)


@pytest.mark.parametrize("width", [1.0, 0.25, 2.0**-12])
def test_slopes_of_the_smoothed_hinge_are_multipliers_of_the_hinge(width):
    # ℓ(z) + ℓ*(u) − u·z, ℓ* by the best flow over all pairs: u is what flows in, at most 1 a pair.
    z, y = items(2, "binary")
    z[5] = z[1] + 1.0 - 0.3 * width  # on the parabola
    hinge, smooth = mm.losses.PairwiseHinge().bind(UNITS), SmoothedPairwiseHinge(width).bind(UNITS)
    u = smooth.gradient(z, y)
    terms = hinge.fenchel_young(z, u, y)
    for query, (start, stop) in enumerate(itertools.pairwise(UNITS)):
        pairs = [(i, j) for i in range(start, stop) for j in range(start, stop) if y[i] > y[j]]
        if not pairs:
            assert terms[query] == 0
            continue
        flow = np.zeros((stop - start, len(pairs)))
        for at, (i, j) in enumerate(pairs):
            flow[i - start, at], flow[j - start, at] = -1.0, 1.0
        best = linprog(
            -np.ones(len(pairs)), A_eq=flow, b_eq=len(pairs) * u[start:stop], bounds=(0, 1)
        )
        assert best.status == 0
        exact = hinge.value(z, y)[query] + best.fun / len(pairs) - u[start:stop] @ z[start:stop]
        assert exact - 1e-9 <= terms[query] <= width / 4 + 1e-12


def test_a_query_without_pairs_costs_nothing():
    z, _ = items()
    for loss, _ in LOSSES.values():
        assert (loss.bind(UNITS).value(z, np.ones(40)) == 0).all()
        assert (loss.bind(UNITS).gradient(z, np.ones(40)) == 0).all()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999, 1.0])
@pytest.mark.parametrize("name", ["squared", "hinge", "smoothed", "logistic"])
def test_a_share_of_the_slope_has_a_bound(name, share):
    """No z' has u·z' − ℓ(z') above the conjugate that the bound implies."""
    loss, _ = LOSSES[name]
    loss, (z, y) = loss.bind(UNITS), items(1)
    u = share * loss.gradient(z, y)
    terms = loss.fenchel_young(z, u, y)
    value = loss.value(z, y)
    assert (terms <= (1 - share) * value + 1e-12).all()
    conjugate = terms - value + np.add.reduceat(u * z, UNITS[:-1])
    rng = np.random.default_rng(0)
    for size in (0.0, 0.1, 1.0, 10.0):
        other = z + size * rng.standard_normal(z.size)
        attained = np.add.reduceat(u * other, UNITS[:-1]) - loss.value(other, y)
        assert (attained <= conjugate + 1e-12).all()
