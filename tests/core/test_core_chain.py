"""The kernels over chains: what they refuse, threads, padded rows, and forbidden transitions."""

import numpy as np
import pytest

from minimand import _core


def scores(rows, k, seed=0, width=None):
    rng = np.random.default_rng(seed)
    unary = rng.normal(size=(rows, k if width is None else width))
    return unary, rng.normal(size=(k, k)), rng.normal(size=k), rng.normal(size=k), np.empty(0)


@pytest.fixture
def threads():
    """Two threads, and the number before afterwards."""
    before = _core.get_num_threads()
    yield _core.set_num_threads
    _core.set_num_threads(before)


def test_threads_change_nothing_but_the_order_of_sums(threads):
    rng = np.random.default_rng(1)
    offsets = np.append(0, np.cumsum(rng.integers(1, 40, size=400))).astype(np.int64)
    n, k = int(offsets[-1]), 9
    given, moves = scores(n, k), scores(n, k, seed=2)
    labels, mass = rng.integers(k, size=n), rng.random(400)
    found = []
    for count in (1, 2):
        threads(count)
        chain = _core.ChainPass(offsets, k)
        best = np.empty(n, np.int64)
        several = np.empty((3, n), np.int64)
        values = _core.chain_best(offsets, given, best)
        tops = _core.chain_several_best(offsets, given, 3, several)
        slopes = chain.slopes(given, labels, mass)
        found.append([*slopes, *chain.product(*moves[:4]), values, best, tops, several])
    for one, two in zip(*found):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)


def test_wider_rows_are_the_same_scores_filled_up_with_zeros():
    offsets, k = np.array([0, 3, 4, 9]), 5
    wide = scores(9, k, width=8)
    narrow = (np.ascontiguousarray(wide[0][:, :k]), *wide[1:])
    labels, mass = np.arange(9) % k, np.array([0.5, 0.2, 0.3])
    moves = scores(9, k, seed=3, width=8)
    results = []
    for given, unary in ((narrow, np.ascontiguousarray(moves[0][:, :k])), (wide, moves[0])):
        chain = _core.ChainPass(offsets, k)
        slopes = chain.slopes(given, labels, mass)
        results.append([*slopes, *chain.product(unary, *moves[1:4])])
    for one, two in zip(*results):
        if two.shape[1:] == (8,):
            assert not two[:, k:].any()
            two = two[:, :k]
        np.testing.assert_allclose(one, two, rtol=1e-13)


def test_a_sequence_without_any_labelling_has_none():
    offsets = np.array([0, 2, 4])
    unary, steps, start, stop, none = scores(4, 2)
    unary[1] = -np.inf
    given = unary, steps, start, stop, none
    chain = _core.ChainPass(offsets, 2)
    partition, path, slope, pairs = chain.slopes(given, np.zeros(4, np.int64), np.ones(2))
    assert partition[0] == -np.inf
    assert path[0] == -np.inf
    assert not slope[:2].any()
    assert np.isfinite(pairs).all()
    derivative, _ = chain.product(*scores(4, 2, seed=1)[:4])
    assert not derivative[:2].any()
    labels = np.empty(4, np.int64)
    assert _core.chain_best(offsets, given, labels)[0] == -np.inf
    np.testing.assert_array_equal(labels[:2], -1)
    drawn = np.empty((3, 4), np.int64)
    _core.chain_sample(offsets, given, np.full((3, 4), 0.5), drawn)
    assert (drawn[:, :2] == -1).all()
    assert (drawn[:, 2:] >= 0).all()


@pytest.mark.parametrize(
    "change",
    [
        {"offsets": np.array([0, 3])},
        {"offsets": np.array([0, 2, 2, 4])},
        {"unary": np.zeros((4, 2))},
        {"unary": np.zeros(4)},
        {"transitions": np.zeros((3, 2))},
        {"start": np.zeros(2)},
        {"edges": np.zeros((3, 3, 3))},
        {"labels": np.array([0, 1, 2, 3])},
        {"labels": np.array([0, 1])},
        {"mass": np.zeros(3)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_wrong_shapes_are_refused(change):
    given = dict(zip(("unary", "transitions", "start", "stop", "edges"), scores(4, 3)))
    given |= {"offsets": np.array([0, 1, 4]), "labels": np.zeros(4, np.int64), "mass": np.ones(2)}
    given |= change
    tables = tuple(given[name] for name in ("unary", "transitions", "start", "stop", "edges"))
    with pytest.raises(ValueError, match="must"):
        _core.ChainPass(given["offsets"], 3).slopes(tables, given["labels"], given["mass"])


def test_a_product_needs_marginals_first():
    chain = _core.ChainPass(np.array([0, 2]), 3)
    with pytest.raises(ValueError, match="must be found first"):
        chain.product(*scores(2, 3)[:4])
    chain.log_partition(scores(2, 3))
    with pytest.raises(ValueError, match="must be found first"):
        chain.product(*scores(2, 3)[:4])
