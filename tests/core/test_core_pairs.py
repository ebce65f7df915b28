"""Sums over pairs of rows of a run: the kernel against a loop over all pairs."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimand import _core


def plain_order(z, units):
    """The rows of every run by decreasing score, equal scores by their number."""
    runs = [np.arange(a, b) for a, b in pairwise(units)]
    return np.concatenate([rows[np.lexsort((rows, -z[rows]))] for rows in runs])


def plain_sums(z, level, units, values, margin):
    """Pair by pair: how often a row is the higher and the lower one, and sums of differences."""
    above, below, sums = np.zeros(z.size), np.zeros(z.size), np.zeros_like(values)
    for first, end in pairwise(units):
        for i in range(first, end):
            for j in range(first, end):
                if level[i] > level[j] and z[i] - z[j] < margin:
                    above[i] += 1
                    below[j] += 1
                    sums[i] += values[i] - values[j]
                    sums[j] += values[j] - values[i]
    return above, below, sums


def ordered(z, units):
    order = np.empty(z.size, np.uint32)
    _core.pair_order(z, units, order)
    return order


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 24),
    cuts=st.integers(0, 5),
    levels=st.integers(1, 6),
    width=st.sampled_from([None, 1, 2, 5]),
    margin=st.sampled_from([-1.0, 0.0, 0.5, 1.0, np.inf, -np.inf]),
)
def test_sums_over_pairs(seed, n, cuts, levels, width, margin):
    """Scores have ties and lie on the margin; all numbers are halves, so that sums are exact."""
    rng = np.random.default_rng(seed)
    units = np.unique([0, n, *rng.integers(0, n + 1, cuts)]).astype(np.int64)
    z = rng.integers(-4, 5, n) / 2.0
    level = rng.integers(0, levels, n).astype(np.int32)
    values = rng.integers(-6, 7, n if width is None else (n, width)) / 2.0
    order = ordered(z, units)
    np.testing.assert_array_equal(order, plain_order(z, units))
    found = _core.pair_sums(z, level, units, order, values, margin)
    for mine, theirs in zip(found, plain_sums(z, level, units, values, margin)):
        np.testing.assert_array_equal(mine, theirs)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 24),
    cuts=st.integers(0, 5),
    levels=st.sampled_from([1, 3, 16, 40]),
    margin=st.sampled_from([-1.0, 0.0, 0.5, 1.0]),
)
def test_hinges_of_pairs(seed, n, cuts, levels, margin):
    """Squares and hinges with their slopes, few levels and many: as the sums over pairs have it."""
    rng = np.random.default_rng(seed)
    units = np.unique([0, n, *rng.integers(0, n + 1, cuts)]).astype(np.int64)
    z, level = rng.standard_normal(n), rng.integers(0, levels, n).astype(np.int32)
    above, below, spread = plain_sums(z, level, units, z, margin)
    every, _, _ = plain_sums(z, level, units, z, np.inf)
    pairs = np.maximum(np.add.reduceat(every, units[:-1]), 1.0)
    share, count = np.repeat(1.0 / pairs, np.diff(units)), below - above
    # Half of the sum of (c − m)², where the sums of m and of m² are −z·count and z·spread.
    squares = 0.5 * margin**2 * above + margin * count * z + 0.5 * spread * z
    expected = (
        np.add.reduceat(squares, units[:-1]) / pairs,
        share * (spread + margin * count),
        np.add.reduceat(margin * above + count * z, units[:-1]) / pairs,
        share * count,
        above + below,
    )
    found = _core.pair_hinges(margin, z, level, units, ordered(z, units))
    for mine, theirs in zip(found, expected):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-12)


def test_many_short_runs_on_all_threads():
    """As many runs as threads share them: each is summed by itself."""
    rng = np.random.default_rng(0)
    units = np.arange(0, 30_001, 3)
    z, values = rng.standard_normal(30_000), rng.standard_normal((30_000, 2))
    level = rng.integers(0, 3, 30_000).astype(np.int32)
    found = _core.pair_sums(z, level, units, ordered(z, units), values, 1.0)
    own, other = np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)  # all pairs of three rows
    scores, ranks, sheet = z.reshape(-1, 3), level.reshape(-1, 3), values.reshape(-1, 3, 2)
    higher = ranks[:, own] > ranks[:, other]
    active = higher & (scores[:, own] - scores[:, other] < 1.0)
    above = active.reshape(-1, 3, 3).sum(axis=2)
    below = active.reshape(-1, 3, 3).sum(axis=1)
    both = active.reshape(-1, 3, 3) | active.reshape(-1, 3, 3).transpose(0, 2, 1)
    sums = np.einsum("qij,qijm->qim", both * 1.0, sheet[:, :, None] - sheet[:, None])
    np.testing.assert_array_equal(found[0], above.ravel())
    np.testing.assert_array_equal(found[1], below.ravel())
    np.testing.assert_allclose(found[2], sums.reshape(-1, 2), rtol=0, atol=1e-13)


Z, UNITS, LEVEL = np.array([1.0, 0.0, 2.0]), np.array([0, 2, 3]), np.array([0, 1, 0], np.int32)
ORDER, ONES = np.array([0, 1, 2], np.uint32), np.ones(3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"units": np.array([0, 2, 2, 3])}, "units must rise"),
        ({"units": np.array([0, 2])}, "units must rise"),
        ({"units": np.array([1, 3])}, "units must rise"),
        ({"level": -LEVEL}, "level must not be negative"),
        ({"level": LEVEL[:2]}, "level"),
        ({"order": ORDER[[0, 2, 1]]}, "order must keep runs"),
        ({"order": ORDER[:2]}, "order"),
        ({"order": np.array([0, 1, 3], np.uint32)}, "order"),
        ({"values": np.ones(2)}, "values"),
    ],
)
def test_bad_arrays_are_refused(changes, words):
    given = {"z": Z, "level": LEVEL, "units": UNITS, "order": ORDER, "values": ONES, "margin": 1.0}
    _core.pair_sums(**given)
    with pytest.raises(ValueError, match=words):
        _core.pair_sums(**(given | changes))
