"""Sums of one loss over the scores of a row."""

import numpy as np
import pytest

import minimand as mm
from minimand.testing import check_loss

BASES = [mm.Squared(), mm.Huber(0.7), mm.Absolute(), mm.Quantile(0.3), mm.EpsilonInsensitive(0.2)]


@pytest.mark.parametrize("weights", [None, [0.5, 1.0, 4.0]])
@pytest.mark.parametrize("base", [*BASES, mm.Logistic(), mm.Poisson()], ids=repr)
def test_conformance(base, weights):
    rng = np.random.default_rng(0)
    y = rng.standard_normal((7, 3))
    y = {"sign": np.sign(y), "count": np.abs(y)}.get(base.target, y)
    check_loss(mm.OverScores(base, weights), y=y, n_scores=3)


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_it_is_the_weighted_sum(base):
    rng = np.random.default_rng(1)
    z, y, u = rng.standard_normal((3, 20, 3))
    v = np.array([0.5, 1.0, 4.0])
    loss = mm.OverScores(base, v)
    inside = loss.into_domain(u, y)
    parts = [base.into_domain(u[:, c] / v[c], y[:, c]) for c in range(3)]
    assert np.allclose(inside, v * np.stack(parts, axis=1))
    value = sum(v[c] * base.value(z[:, c], y[:, c]) for c in range(3))
    assert np.allclose(loss.value(z, y), value)
    young = sum(v[c] * base.fenchel_young(z[:, c], parts[c], y[:, c]) for c in range(3))
    assert np.allclose(loss.fenchel_young(z, inside, y), young)
    assert np.allclose(
        loss.conjugate(inside, y) + loss.value(z, y) - (inside * z).sum(axis=1), young
    )


@pytest.mark.parametrize("weights", [[1.0, 0.0], [1.0, -1.0], "heavy", [[1.0]], [1.0, np.nan]])
def test_bad_weights_are_refused(weights):
    with pytest.raises(ValueError, match="weights of OverScores must be"):
        mm.OverScores(mm.Squared(), weights).check_parameters()


def test_a_sum_of_sums_is_refused():
    with pytest.raises(ValueError, match="must be a loss of one score"):
        mm.OverScores(mm.OverScores(mm.Squared())).check_parameters()


@pytest.mark.parametrize("sum_of", [mm.OverScores, mm.OneVsRest, mm.OneVsOne])
def test_a_short_name_is_the_loss(sum_of):
    short, long = sum_of("hinge"), sum_of(mm.Hinge())
    assert short.loss == "hinge"
    assert short.by_score == long.by_score
    assert short.name == long.name
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(5, 3)), np.where(rng.random((5, 3)) < 0.5, -1.0, 1.0)
    y = np.arange(5.0) % 3 if sum_of is mm.OneVsOne else y
    np.testing.assert_array_equal(short.value(z, y), long.value(z, y))
    np.testing.assert_array_equal(short.gradient(z, y), long.gradient(z, y))
    with pytest.raises(ValueError, match="did you mean 'hinge'"):
        sum_of("hing").check_parameters()
