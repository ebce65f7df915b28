"""Piecewise quadratic functions: value, conjugate, proximal point and best intercept are exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import minimand as mm
from minimand.losses import PLQ
from minimand.testing import check_loss

PIECEWISE = [
    mm.Absolute(),
    mm.Quantile(0.2),
    mm.EpsilonInsensitive(0.3),
    mm.EpsilonInsensitive(0.0),
    mm.SquaredEpsilonInsensitive(0.5),
    mm.Hinge(),
    mm.PerceptronLoss(),
    mm.SquaredHinge(),
    mm.Huber(0.7),
    mm.Squared(),
]


@st.composite
def pieces(draw):
    count = draw(st.integers(1, 4))
    number = st.floats(0.125, 4.0, width=16)
    knots = np.cumsum([draw(number) for _ in range(count)]) - draw(number) * 2
    bends = [draw(st.sampled_from([0.0, 0.0, 0.5, 2.0])) for _ in range(count + 1)]
    slopes = [draw(st.floats(-3, 1, width=16))]
    for k in range(count):
        at = slopes[k] + (bends[k] * (knots[k] - knots[k - 1]) if k else 0.0)
        slopes.append(at + draw(st.sampled_from([0.0, 0.5, 1.0])))
    return mm.Pieces(knots, slopes, bends, base=draw(number))


@pytest.mark.parametrize("loss", PIECEWISE, ids=repr)
def test_loss_conforms(loss):
    check_loss(loss)


@pytest.mark.parametrize("loss", PIECEWISE, ids=repr)
def test_pieces_are_the_loss(loss):
    y = np.where(np.arange(401) % 2, 1.0, -1.0)
    z = np.linspace(-5, 5, 401)
    plq = loss.plq(y)
    np.testing.assert_allclose(plq.pieces.value(plq.at(z)), loss.value(z, y), atol=1e-14)
    slope = plq.sign * plq.pieces.slope(plq.at(z))
    off_kinks = np.abs(plq.at(z)[:, None] - plq.pieces.knots).min(axis=1) > 1e-9
    np.testing.assert_allclose(slope[off_kinks], loss.gradient(z, y)[off_kinks], atol=1e-14)


@settings(max_examples=60, deadline=None)
@given(pieces(), st.integers(0, 2**32 - 1))
def test_young_and_prox_against_brute_force(psi, seed):
    rng = np.random.default_rng(seed)
    t = rng.normal(size=30) * 4
    t[:4] = rng.choice(psi.knots, 4)
    v = rng.uniform(-4, 4, 30)
    v[:6] = rng.choice(psi.slopes, 6)
    grid = np.union1d(np.linspace(-60, 60, 240001), psi.knots)
    inside = (v >= psi.lowest) & (v <= psi.highest)
    gap = psi.young(t, v)
    assert np.isinf(gap[~inside]).all()
    conjugate = np.array([(a * grid - psi.value(grid)).max() for a in v[inside]])
    np.testing.assert_allclose(psi.dual(v)[inside], conjugate, rtol=1e-5, atol=1e-5)
    direct = psi.value(t[inside]) + conjugate - v[inside] * t[inside]
    np.testing.assert_allclose(gap[inside], direct, rtol=1e-5, atol=1e-5)
    step = rng.uniform(0.01, 3, 30)
    s = psi.prox(t, step)
    least, greatest = psi.subgradients(s, 1e-12)
    slope = (t - s) / step
    assert (slope >= least - 1e-9).all()
    assert (slope <= greatest + 1e-9).all()


@settings(max_examples=80, deadline=None)
@given(pieces(), st.integers(0, 2**32 - 1), st.booleans())
def test_best_shifts_against_brute_force(psi, seed, coarse):
    assume(psi.lowest <= 0 <= psi.highest)
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    z = rng.integers(-3, 4, n).astype(float) if coarse else rng.normal(size=n)
    mass = rng.choice([0.0, 0.25, 1.0, 1.0], n)
    sign = rng.choice([-1.0, 1.0], n)
    plq = PLQ(psi, sign, np.zeros(n))
    lowest, highest = plq.best_shifts(z, mass)

    def risk(b):
        return float((mass * psi.value(plq.at(z + b))).sum())

    assert lowest <= highest
    ends = [b for b in (lowest, highest) if np.isfinite(b)]
    for b in [*ends, 0.5 * (lowest + highest) if len(ends) == 2 else 0.0][: len(ends) + 1]:
        if len(ends) < 2 and b not in ends:
            continue
        around = np.concatenate([b + np.linspace(-1, 1, 201), b + np.linspace(-30, 30, 61)])
        assert risk(b) <= min(map(risk, around)) + 1e-9
    if len(ends) == 2:  # the interval is all there is
        margin = 1e-3
        assert risk(lowest - margin) > risk(lowest) - 1e-12
        assert risk(highest + margin) > risk(highest) - 1e-12


def test_bad_pieces_are_refused():
    with pytest.raises(ValueError, match="not convex"):
        mm.Pieces([0.0], [1.0, -1.0])
    with pytest.raises(ValueError, match="one slope and one curvature more"):
        mm.Pieces([0.0], [1.0])
    with pytest.raises(ValueError, match="increase strictly"):
        mm.Pieces([1.0, 0.0], [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="q of Quantile"):
        mm.Regressor(mm.Quantile(1.5)).fit(np.eye(3), np.arange(3.0))
