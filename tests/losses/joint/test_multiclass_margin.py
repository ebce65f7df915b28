"""Losses of class margins: their formulas by enumeration, their polytopes, their intercepts."""

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linprog

import minimand as mm
from minimand.testing import check_loss

COST = np.array([[0.0, 1.0, 4.0, 0.5], [2.0, 0.0, 1.0, 0.0], [1.0, 3.0, 0.0, 1.0], [1, 1, 2, 0]])
LOSSES = [
    mm.CrammerSinger(),
    mm.CrammerSinger(COST),
    mm.Ranking(),
    mm.Ranking(COST),
    mm.TopK(1),
    mm.TopK(2),
    mm.TopK(3),
    mm.WeightedRanking(),
    mm.WeightedRanking([2.0, 1.0, 0.3], COST),
    mm.WeightedRanking([1.0, 1.0]),
]


def scores(seed=0, n=40, k=4, size=1.0):
    rng = np.random.default_rng(seed)
    return size * rng.standard_normal((n, k)), rng.integers(0, k, n).astype(float)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_conformance(loss):
    check_loss(loss, [0.0, 1.0, 2.0, 3.0], n_scores=4)


@pytest.mark.parametrize("loss", [mm.CrammerSinger(), mm.Ranking(), mm.WeightedRanking()], ids=repr)
@pytest.mark.parametrize("k", [2, 3, 7])
def test_other_numbers_of_classes(loss, k):
    check_loss(loss, np.arange(float(k)), n_scores=k)


def by_loops(loss, z, y):
    k = len(z)
    cost, weights = loss.costs(k), loss.order_weights(k)
    margins = sorted((cost[y, c] + z[c] - z[y] for c in range(k) if c != y), reverse=True)
    return sum(a * max(0.0, t) for a, t in zip(weights, margins))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_formula(loss):
    z, y = scores(size=2.0)
    expected = [by_loops(loss, row, int(label)) for row, label in zip(z, y)]
    assert loss.value(z, y) == pytest.approx(expected, rel=1e-14)


def test_the_formulas_of_the_seeds():
    z, y = scores(1, size=2.0)
    for i, label in enumerate(y.astype(int)):
        others = [c for c in range(4) if c != label]
        worst = max(COST[label] + z[i]) - z[i, label]
        pairs = sum(max(0.0, COST[label, c] - (z[i, label] - z[i, c])) for c in others)
        assert mm.CrammerSinger(COST).value(z, y)[i] == pytest.approx(worst)
        assert mm.Ranking(COST).value(z, y)[i] == pytest.approx(pairs)
    assert mm.TopK(1).value(z, y) == pytest.approx(mm.CrammerSinger().value(z, y))
    assert mm.TopK(3).value(z, y) == pytest.approx(mm.Ranking().value(z, y) / 3)
    wrong = z.argmax(axis=1) != y
    assert (mm.CrammerSinger().value(z, y) >= wrong).all()


def corners(loss, k, y):
    """All corners of the multipliers of a row: the first weights in some order."""
    weights, others = loss.order_weights(k), [c for c in range(k) if c != y]
    for order in permutations(others):
        for count in range(k):
            u = np.zeros(k)
            u[list(order[:count])] = weights[:count]
            u[y] = -u.sum()
            yield u


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_nearest_multipliers(loss):
    # p is the nearest point to a iff no corner q has (a − p)·(q − p) > 0.
    for size in (0.1, 1.0, 10.0):
        a, y = scores(3, n=30, size=size)
        p = loss.into_domain(a, y)
        for i, label in enumerate(y.astype(int)):
            for q in corners(loss, 4, label):
                assert (a[i] - p[i]) @ (q - p[i]) <= 1e-11 * (1.0 + size)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_conjugate_is_a_maximum_over_corners(loss):
    # ℓ(z) = max over corners of u·z − ℓ*(u), and ℓ* is linear on the polytope.
    z, y = scores(4, n=20, size=2.0)
    for i, label in enumerate(y.astype(int)):
        all_u = np.array(list(corners(loss, 4, label)))
        star = loss.conjugate(all_u, np.full(len(all_u), y[i]))
        assert np.isfinite(star).all()
        assert loss.value(z[i : i + 1], y[i : i + 1])[0] == pytest.approx(
            (all_u @ z[i] - star).max()
        )


def test_outside_the_polytope_the_conjugate_is_infinite():
    u = np.array([[0.6, 0.6, -1.2], [-0.1, 0.5, -0.4], [0.2, 0.2, 0.0]])
    y = np.full(3, 2.0)
    assert np.isinf(mm.CrammerSinger().conjugate(u, y)).all()
    assert np.isfinite(mm.Ranking().conjugate(u, y)).tolist() == [True, False, False]


@pytest.mark.parametrize("loss", [mm.CrammerSinger(COST), mm.CrammerSinger(), mm.Ranking(COST)],
                         ids=repr)  # fmt: skip
@pytest.mark.parametrize("null", [True, False])
def test_the_best_intercepts_by_a_linear_program(loss, null):
    rng = np.random.default_rng(5)
    z, y = scores(5, n=30)
    y[y == 3] = 0.0
    y[0] = 3.0  # a class of one sample
    z = np.zeros_like(z) if null else z
    mass = loss.masses(rng.uniform(0.1, 2.0, 30))
    b = loss.best_shift(z, y, mass)
    assert abs(b.sum()) <= 1e-12 * max(1.0, np.abs(b).max())
    least = intercepts_by_program(loss, z, y, mass)
    assert mass @ loss.value(z + b, y) == pytest.approx(least, rel=1e-9)


def intercepts_by_program(loss, z, y, mass):
    """min Σ mass·ξ, ξ ≥ t_c for every c (Crammer-Singer), or a ξ for every c (ranking)."""
    n, k = z.shape
    cost, single = loss.costs(k), not loss.order_weights(k)[1:].any()
    count = n if single else n * k
    objective = np.append(np.zeros(k), mass if single else np.repeat(mass, k))
    rows, limits = [], []
    for i, label in enumerate(y.astype(int)):
        for c in range(k):
            if c != label:
                row = np.zeros(k + count)
                row[c], row[label], row[k + (i if single else i * k + c)] = 1.0, -1.0, -1.0
                rows.append(row)
                limits.append(-(cost[label, c] + z[i, c] - z[i, label]))
    bounds = [(None, None)] * k + [(0, None)] * count
    return linprog(objective, A_ub=np.array(rows), b_ub=limits, bounds=bounds).fun


@pytest.mark.parametrize("loss", [mm.CrammerSinger(), mm.TopK(2), mm.WeightedRanking()], ids=repr)
def test_classes_may_be_permuted(loss):
    z, y = scores(6)
    order = np.array([2, 0, 3, 1])
    place = np.argsort(order)
    assert loss.value(z[:, order], place[y.astype(int)].astype(float)) == pytest.approx(
        loss.value(z, y), rel=1e-14
    )


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (mm.CrammerSinger([[0, 1], [1, 0], [1, 1]]), "square"),
        (mm.CrammerSinger([[0, -1], [1, 0]]), "not negative"),
        (mm.CrammerSinger([[1, 1], [1, 0]]), "diagonal"),
        (mm.Ranking([[0, np.nan], [1, 0]]), "finite"),
        (mm.TopK(0), "at least 1"),
        (mm.TopK(2.5), "integer"),
        (mm.WeightedRanking([0.0, 0.0]), "positive"),
        (mm.WeightedRanking([1.0, -1.0]), "not negative"),
    ],
    ids=repr,
)
def test_bad_parameters(loss, words):
    with pytest.raises(ValueError, match=words):
        loss.check_parameters()


def test_numbers_of_classes_that_do_not_fit():
    z, y = scores()
    for loss, words in (
        (mm.CrammerSinger(np.ones((3, 3)) - np.eye(3)), "3×3, but there are 4 classes"),
        (mm.TopK(4), "more than 4 classes"),
        (mm.WeightedRanking([4.0, 3.0, 2.0, 1.0]), "only 3 others"),
    ):
        with pytest.raises(ValueError, match=words):
            loss.value(z, y)


def test_increasing_weights_are_no_convex_loss():
    loss = mm.WeightedRanking([0.5, 1.0])
    assert not loss.convex
    z, y = scores()
    assert loss.value(z, y) == pytest.approx([by_loops(loss, r, int(c)) for r, c in zip(z, y)])


RISING = [
    mm.WeightedRanking([0.5, 1.0]),
    mm.WeightedRanking([0.0, 1.0, 0.0]),
    mm.WeightedRanking([0.5, 1.0, 0.5], COST),
    mm.WeightedRanking([0.0, 1.0, 2.0]),
    mm.WeightedRanking([2.0, 0.0, 1.0], COST),
]


@pytest.mark.parametrize("loss", RISING, ids=repr)
def test_convex_tangents_lie_above_and_touch(loss):
    z, y = scores(3, size=2.0)
    value = loss.value(z, y)
    assert value == pytest.approx([by_loops(loss, r, int(c)) for r, c in zip(z, y)])
    tangent, target = loss.tangent(z, y)
    assert tangent.value(z, target) == pytest.approx(value, abs=1e-13)
    for seed in range(5):
        other = scores(seed + 10, size=3.0)[0]
        assert (tangent.value(other, target) >= loss.value(other, y) - 1e-12).all()
        slope = tangent.gradient(other, target)
        chord = tangent.value(other, target) + np.sum(slope * (z - other), axis=1)
        assert (tangent.value(z, target) >= chord - 1e-12).all()
        u = tangent.into_domain(other, target)
        terms = tangent.fenchel_young(z, u, target)
        direct = tangent.value(z, target) + tangent.conjugate(u, target) - np.sum(u * z, axis=1)
        assert terms == pytest.approx(direct, abs=1e-12)
    above, _ = loss.tangent(z, y, 0.0)
    assert (above.loss.value(z, y) >= value - 1e-13).all()


@pytest.mark.parametrize("step", [0.1, 2.0])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_proximal_points_are_stationary(loss, step):
    """(z − x)/step is a multiplier that touches the loss at x."""
    z, y = scores(2, size=2.0)
    x = loss.prox(z, y, step)
    assert (loss.fenchel_young(x, (z - x) / step, y) <= 1e-12).all()


def test_costs_that_are_no_matrix_are_named_without_a_fit():
    with pytest.raises(ValueError, match="cost of CrammerSinger must be a square matrix"):
        mm.CrammerSinger("abc").value(np.zeros((1, 3)), np.array([1.0]))
