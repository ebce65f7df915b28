"""Quadratics over boxes with given sums by interior points; gaps of best multiples of models."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from minimand.canonical import Box, BoxBatch
from minimand.sklearn import NuSVC
from minimand.solvers.kernel.box_walk import BoxWalk


def quadratic(rng, m, rank, groups):
    A = rng.normal(size=(m, rank))
    low, high = -rng.uniform(0, 1, m), rng.uniform(0, 1, m)
    kinds = None if groups == 0 else rng.integers(0, groups, m)
    return A @ A.T, rng.normal(size=m), low, high, kinds


@pytest.mark.parametrize("groups", [0, 1, 2])
@pytest.mark.parametrize("rank", [2, 12, 60])
def test_no_pair_and_no_single_number_gains(groups, rank):
    """The conditions of Karush, Kuhn and Tucker, which are sufficient as the problem is convex."""
    rng = np.random.default_rng(10 * rank + groups)
    K, slope, low, high, kinds = quadratic(rng, 60, rank, groups)
    d = BoxWalk(K, slope, low, high, kinds).to(1e-9)
    assert ((low <= d) & (d <= high)).all()
    rest = slope - K @ d
    for kind in range(max(groups, 1)):
        here = slice(None) if kinds is None else kinds == kind
        up = np.where(d < high, rest, -np.inf)[here].max()
        down = np.where(d > low, rest, np.inf)[here].min()
        if kinds is None:
            assert up <= 1e-5
            assert down >= -1e-5
        else:
            assert abs(d[here].sum()) <= 1e-12
            assert up - down <= 1e-5
    assert ((d == low) | (d == high)).sum() >= 60 - rank - 2  # bounds are reached exactly


def nu_box(rng, n):
    y = np.repeat([1.0, -1.0], n)
    zero, group = np.zeros(2 * n), (y < 0).astype(np.uint8)
    box = Box(np.minimum(y, 0), np.maximum(y, 0), zero, zero, group, True, True)
    a = y * np.tile(rng.uniform(0, 1, n), 2)
    A = rng.normal(size=(2 * n, 3)) + 0.2 * y[:, None]
    return box, a, A @ A.T, y


@pytest.mark.parametrize("shrink", [1.0, 1e-2])
def test_the_gap_of_the_best_multiple(shrink):
    rng = np.random.default_rng(4)
    box, a, K, _ = nu_box(rng, 20)
    a = shrink * a
    f = K @ a
    levels = box.levels(a, f)
    sums = np.array([a[box.group == g].sum() for g in (0, 1)])
    square = a @ f
    linear = box.losses(f + levels[box.group]).sum() + levels @ sums

    def gap(t):
        return 0.5 * t * t * square + t * linear + 0.5 * square

    least = min(minimize_scalar(gap, bounds=(0, 2), method="bounded").fun, gap(0.0))
    assert box.gap(a, f, levels) == pytest.approx(least, rel=1e-9)
    plain = box._replace(scaled=False).gap(a, f, levels)
    assert plain == pytest.approx(gap(1.0), rel=1e-9)


def test_compiled_steps_end_at_the_gap_of_the_best_multiple():
    rng = np.random.default_rng(5)
    box, a, K, _ = nu_box(rng, 40)
    found = BoxBatch([np.arange(80)], [box]).settled(K, a, np.array([1e-6]))
    f = K @ found.a
    assert found.gap[0] <= 1e-6
    assert box.gap(found.a, f, found.levels[0]) == pytest.approx(found.gap[0], abs=1e-12)
    assert found.primal[0] - found.gap[0] == pytest.approx(-0.5 * found.a @ f, abs=1e-12)


@pytest.mark.parametrize("nu", [0.1, 0.5])
@pytest.mark.parametrize("n", [300, 1300])
def test_machines_without_a_margin_are_certified(nu, n):
    """Classes that overlap so far that f vanishes: coefficients within their bounds are a proof."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3))
    y = np.sign(X[:, 0] + 2.0 * rng.normal(size=n))
    model = NuSVC(nu=nu, gamma=0.05).fit(X, y)
    proof = model.certificate_
    assert proof.relative <= 1e-6
    a = -proof.dual_point
    side = np.where(y == model.classes_[0], 1.0, -1.0)
    assert (a * side >= 0).all()
    assert (a * side <= 1).all()
    for s in (1.0, -1.0):
        assert abs((a * side)[side == s].sum() - 0.5 * nu * n) <= 1e-9 * n
    square = np.exp(-0.05 * ((X[:, None] - X) ** 2).sum(axis=2)) @ a @ a
    assert proof.dual == pytest.approx(-0.5 * square, abs=1e-9)
    assert proof.primal <= 1e-12  # f = 0 costs nothing, and some multiple is not worse
