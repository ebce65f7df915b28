"""Several box problems in one compiled call: the optimum, exact scores, levels, and hard cases."""

import numpy as np
import pytest
from test_core_kernel_dual import box_for, kernel_matrix, oracle, value

from minimand import _core
from minimand.canonical import Box, BoxBatch


def start_of(kind, box):
    return 0.25 * (box.high + box.low) if kind == "groups" else np.zeros(box.low.size)


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("kind", ["hinge", "tube", "groups"])
def test_every_problem_reaches_its_own_optimum(kind, balanced):
    X, K = kernel_matrix(60)
    whole = box_for(kind, X, balanced)
    rng = np.random.default_rng(2)
    parts = [np.arange(60), np.arange(10, 40), rng.permutation(60)[:25], np.arange(7)]
    boxes = [whole.taken(rows) for rows in parts]
    starts = [start_of(kind, box) for box in boxes]
    batch = BoxBatch(parts, boxes)
    found = batch.settled(K, np.concatenate(starts), np.full(4, 1e-9))
    for m, (rows, box, start) in enumerate(zip(parts, boxes, starts)):
        here = slice(batch.ends[m], batch.ends[m + 1])
        a, own = found.a[here], K[np.ix_(rows, rows)]
        assert (a >= box.low).all()
        assert (a <= box.high).all()
        np.testing.assert_allclose(found.f[here], own @ a, atol=1e-13)
        if balanced:
            for g in (0, 1):
                moved = (a - start)[box.group == g].sum()
                assert abs(moved) <= 1e-13 * (1 + np.abs(a).sum())
        best = box.levels(a, own @ a)
        gap = box.gap(a, own @ a, best)
        assert found.gap[m] <= gap + 1e-12  # no level is better than the one it names
        assert gap <= 1e-8
        primal = 0.5 * a @ own @ a + box.losses(own @ a + found.levels[m][box.group]).sum()
        primal += sum(found.levels[m][g] * a[box.group == g].sum() for g in (0, 1))
        assert found.primal[m] == pytest.approx(primal, rel=1e-12, abs=1e-12)
        least = oracle(own, box, start)
        assert abs(value(own, box, a) - least) <= 1e-6 * (1 + abs(least))


def test_the_number_of_threads_changes_nothing():
    X, K = kernel_matrix(200)
    box = box_for("hinge", X, True)
    parts = [np.sort(np.random.default_rng(m).permutation(200)[:150]) for m in range(8)]
    batch = BoxBatch(parts, [box.taken(rows) for rows in parts])
    start, goals = np.zeros(8 * 150), np.full(8, 1e-8)
    before, found = _core.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            _core.set_num_threads(count)
            found.append(batch.settled(K, start, goals).a)
    finally:
        _core.set_num_threads(before)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("kind", ["hinge", "tube", "groups"])
def test_large_bounds_on_a_matrix_of_low_rank(kind):
    X, _ = kernel_matrix(80)
    K = X @ X.T + 1.0
    box = box_for(kind, X, True)
    box = box._replace(low=1e4 * box.low, high=1e4 * box.high)
    start = start_of(kind, box)
    scale = box.gap(start, K @ start, box.levels(start, K @ start))
    found = BoxBatch([np.arange(80)], [box]).settled(K, start, np.array([1e-9 * scale]))
    f = K @ found.a
    assert box.gap(found.a, f, box.levels(found.a, f)) <= 2e-9 * scale


def test_a_share_of_the_norm_is_enough_of_a_gap():
    X, K = kernel_matrix(60)
    box = box_for("groups", X, True)
    start = start_of("groups", box)
    batch = BoxBatch([np.arange(60)], [box])
    loose = batch.settled(K, start, np.array([1e-12]), np.array([1e-3]))
    size = 0.5 * loose.a @ K @ loose.a
    assert 1e-12 < loose.gap[0] <= 1e-3 * size * (1 + 1e-9)


def test_rows_that_serve_two_positions_and_problems_that_cannot_move():
    _, K = kernel_matrix(6)
    y = np.array([1.0, -1.0])
    box = Box(np.minimum(y, 0), np.maximum(y, 0), y, y, np.zeros(2, np.uint8), True)
    stuck = box._replace(low=np.zeros(2), high=np.zeros(2))
    found = BoxBatch([[3, 3], [0, 1]], [box, stuck]).settled(K, np.zeros(4), np.full(2, 1e-9))
    assert found.a[:2].sum() == 0.0
    assert not found.a[2:].any()
    assert found.gap[0] <= 1e-9
    assert found.gap[1] == 0.0


def test_bad_arguments_are_refused():
    _, K = kernel_matrix(6)
    zero, group = np.zeros(2), np.zeros(2, np.uint8)
    box, rows, ends = (zero, zero, zero, zero, group), np.array([0, 5], np.uint32), np.array([0, 2])
    goals = (np.ones(1), np.ones(1))

    def call(matrix=K, rows=rows, ends=ends, box=box, goals=goals):
        kind, points = (True, False), (zero.copy(), zero.copy())
        return _core.settle_boxes(matrix, (rows, ends), box, kind, *points, goals)

    assert call().shape == (1, 4)
    with pytest.raises(ValueError, match="square"):
        call(matrix=np.ones((2, 3)))
    with pytest.raises(ValueError, match="numbers of rows"):
        call(rows=np.array([0, 6], np.uint32))
    with pytest.raises(ValueError, match="ends must hold"):
        call(ends=np.array([0, 3]))
    with pytest.raises(ValueError, match="must not decrease"):
        call(ends=np.array([2, 0]))
    with pytest.raises(ValueError, match="goal must have length 1"):
        call(goals=(np.ones(2), np.ones(1)))
    with pytest.raises(TypeError, match="float64"):
        call(matrix=K.astype(np.float32))
