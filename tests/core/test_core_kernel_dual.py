"""The compiled steps of pairs against a quadratic program, and the laws of the box problem."""

import clarabel
import numpy as np
import pytest
from scipy import sparse

from minimand import _core
from minimand.canonical import Box


def kernel_matrix(n=60, seed=0, gamma=0.4):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    square = (X**2).sum(axis=1)
    return X, np.exp(-gamma * (square[:, None] + square - 2 * X @ X.T))


def box_for(kind, X, balanced):
    rng = np.random.default_rng(1)
    n = len(X)
    group = np.zeros(n, np.uint8)
    bound = rng.uniform(0.0, 4.0, n) * (rng.uniform(size=n) < 0.9)  # some samples cannot move
    y = np.sign(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n))
    if kind == "hinge":
        return Box(np.minimum(bound * y, 0), np.maximum(bound * y, 0), y, y, group, balanced)
    target = X[:, 0] ** 2
    if kind == "tube":
        return Box(-bound, bound, target + 0.2, target - 0.2, group, balanced)
    group[y > 0] = 1  # two groups
    zero = np.zeros(n)
    return Box(np.minimum(bound * y, 0), np.maximum(bound * y, 0), zero, zero, group, balanced)


def oracle(K, box, a0):
    """The least value of ½aᵀKa − Σ gain, by an interior-point method on a = p − m, p, m ≥ 0."""
    n = len(K)
    P = sparse.csc_matrix(np.triu(np.block([[K, -K], [-K, K]]) + 1e-12 * np.eye(2 * n)))
    q = np.concatenate([-box.above, box.below])
    eye = sparse.identity(2 * n, format="csc")
    rows, right, cones = [], [], []
    if box.balanced:
        sums = np.array([(box.group == g).astype(float) for g in (0, 1) if (box.group == g).any()])
        rows.append(np.hstack([sums, -sums]))
        right.append(sums @ a0)
        cones.append(clarabel.ZeroConeT(len(sums)))
    rows += [eye, -eye]
    right += [np.concatenate([box.high, -box.low]), np.zeros(2 * n)]
    cones.append(clarabel.NonnegativeConeT(4 * n))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    constraints = sparse.csc_matrix(sparse.vstack(rows))
    solver = clarabel.DefaultSolver(P, q, constraints, np.concatenate(right), cones, settings)
    return solver.solve().obj_val


def value(K, box, a):
    return 0.5 * a @ K @ a - box.gains(a).sum()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("block", [8, 16, 256])
@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("kind", ["hinge", "tube", "groups"])
def test_steps_of_pairs_reach_the_optimum_of_the_quadratic_program(kind, balanced, block, dtype):
    X, K = kernel_matrix()
    box = box_for(kind, X, balanced)
    a = 0.25 * (box.high + box.low) if kind == "groups" else np.zeros(len(X))
    start, f = a.copy(), K @ a
    report = box.steps(K.astype(dtype), a, f, 1e-7, block)
    assert report.violation <= 1e-7
    assert (a >= box.low).all()
    assert (a <= box.high).all()
    np.testing.assert_allclose(f, K @ a, atol=1e-12 if dtype is np.float64 else 3e-5)
    best = oracle(K, box, start)
    room = 1e-6 * (1 + abs(best))  # of the oracle
    if balanced:
        for g in (0, 1):
            moved = (a - start)[box.group == g]
            assert abs(moved.sum()) <= 1e-12 * (1 + np.abs(a).sum())
    exact = K @ a
    gap = box.gap(a, exact, box.levels(a, exact))
    assert abs(value(K, box, a) - best) <= room
    assert gap <= 10 * room


def test_only_positions_with_rows_move_but_all_scores_follow():
    X, K = kernel_matrix()
    box = box_for("hinge", X, True)
    a, f = np.zeros(len(X)), np.zeros(len(X))
    box.steps(K[:20].copy(), a, f, 1e-9)
    assert a[:20].any()
    assert not a[20:].any()
    np.testing.assert_allclose(f, K @ a, atol=1e-12)


@pytest.mark.parametrize("kind", ["hinge", "tube", "groups"])
def test_the_level_minimises_the_losses(kind):
    X, K = kernel_matrix()
    box = box_for(kind, X, True)
    a = 0.25 * (box.high + box.low)
    f = K @ a
    best = box.levels(a, f)
    for shift in (1e-3, -1e-3, 0.1, -0.5):
        for g in (0, 1):
            other = best.copy()
            other[g] += shift
            assert box.gap(a, f, best) <= box.gap(a, f, other) + 1e-9


def test_without_freedom_nothing_moves():
    _, K = kernel_matrix(8)
    y = np.ones(8)  # one class: the sum of a must stay zero
    box = Box(np.zeros(8), y, y, y, np.zeros(8, np.uint8), True)
    a, f = np.zeros(8), np.zeros(8)
    assert box.steps(K, a, f, 1e-9).steps == 0
    assert not a.any()
    assert box.gap(a, f, box.levels(a, f)) == 0.0


def test_a_constant_kernel_and_equal_points_end():
    y = np.array([1.0, -1.0] * 5)
    box = Box(np.minimum(y, 0), np.maximum(y, 0), y, y, np.zeros(10, np.uint8), True)
    for K in (np.ones((10, 10)), np.zeros((10, 10))):
        a, f = np.zeros(10), np.zeros(10)
        box.steps(K, a, f, 1e-9)
        assert box.gap(a, f, box.levels(a, f)) <= 1e-9


def test_bad_arguments_are_refused():
    _, K = kernel_matrix(6)
    zero, group = np.zeros(6), np.zeros(6, np.uint8)
    box = (zero, zero, zero, zero, group)
    with pytest.raises(ValueError, match="zeros and ones"):
        _core.box_steps(K, (*box[:4], group + 2), True, zero.copy(), zero.copy(), 0.1, 8, 9)
    with pytest.raises(ValueError, match="length 6"):
        _core.box_steps(K, box, True, np.zeros(5), zero.copy(), 0.1, 8, 9)
    with pytest.raises(ValueError, match="at least 8"):
        _core.box_steps(K, box, True, zero.copy(), zero.copy(), 0.1, 7, 9)
    with pytest.raises(ValueError, match="as many rows"):
        _core.box_steps(np.ones((7, 6)), box, True, zero.copy(), zero.copy(), 0.1, 8, 9)
