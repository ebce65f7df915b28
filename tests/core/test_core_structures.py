"""Kernels over structures in the compiled core: plain formulas, threads, and refused arrays."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from minimand import _core


def compressed(matrix):
    return _core.Compressed(
        matrix.indptr, matrix.indices, matrix.data, matrix.shape[matrix.format == "csr"]
    )


@settings(max_examples=50, deadline=None)
@given(
    groups=st.lists(st.lists(st.integers(-3, 3), max_size=8), min_size=1, max_size=5),
    known=st.one_of(st.none(), st.lists(st.integers(-5, 5), unique=True)),
    weighted=st.booleans(),
)
def test_keys_are_counted(groups, known, weighted):
    keys = np.array([key for group in groups for key in group], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum([len(group) for group in groups])])
    times = np.arange(1.0, keys.size + 1) if weighted else None
    given_keys = None if known is None else np.array(known, dtype=np.int64)
    indptr, indices, counts, first = _core.key_counts(keys, starts, times, given_keys)
    names = list(dict.fromkeys(keys.tolist())) if known is None else known
    expected = np.zeros((len(groups), len(names)))
    for g in range(len(groups)):
        for place in range(starts[g], starts[g + 1]):
            if keys[place] in names:
                expected[g, names.index(keys[place])] += 1 if times is None else times[place]
    shape = expected.shape
    table = sparse.csr_array((counts, indices, indptr), shape=shape)
    np.testing.assert_array_equal(table.toarray(), expected)
    assert table.has_canonical_format
    if known is None:
        assert keys[first].tolist() == names
    else:
        found = _core.key_numbers(given_keys, keys)
        assert found.tolist() == [known.index(k) if k in known else -1 for k in keys.tolist()]


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("scalar", [np.float32, np.float64])
def test_row_products_are_added(threads, scalar, index):
    rng = np.random.default_rng(0)
    left = sparse.random_array((300, 80), density=0.2, rng=rng, format="csr", dtype=scalar)
    right = sparse.random_array((200, 80), density=0.2, rng=rng, format="csc", dtype=scalar)
    for matrix in (left, right):
        matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    sums = np.ones((300, 200))
    _core.row_products(compressed(left), compressed(right), sums)
    expected = 1 + left.toarray().astype(float) @ right.toarray().astype(float).T
    np.testing.assert_allclose(sums, expected, rtol=1e-6 if scalar == np.float32 else 1e-13)
    with pytest.raises(ValueError, match="a row per row of left"):
        _core.row_products(compressed(left), compressed(right), sums.T.copy())
    with pytest.raises(ValueError, match="right_columns must have length"):
        _core.row_products(compressed(left), compressed(right[:, :9]), sums)


def test_types_of_row_products_are_the_same():
    one, other = sparse.eye_array(3, format="csr"), sparse.eye_array(3, format="csc", dtype="f")
    with pytest.raises(TypeError, match="of the same types"):
        _core.row_products(compressed(one), compressed(other), np.zeros((3, 3)))


def test_keys_of_pairs_are_those_of_the_formula():
    def mixed(x):
        x = (x + 0x9E3779B97F4A7C15) % 2**64
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
        return x ^ (x >> 31)

    one, two = np.array([0, -1, 2**62]), np.array([5, 7, -9])
    alone = [mixed(int(k) % 2**64) for k in one]
    pairs = [mixed((int(a) * 0xBF58476D1CE4E5B9 + int(b)) % 2**64) for a, b in zip(one, two)]
    assert _core.mix_keys(one, None).view(np.uint64).tolist() == alone
    assert _core.mix_keys(one, two).view(np.uint64).tolist() == pairs
    with pytest.raises(ValueError, match="second must have length 3"):
        _core.mix_keys(one, two[:2])


def some_sequences(rng, count, longest):
    lengths = rng.integers(0, longest, count)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return rng.integers(0, 4, starts[-1]).astype(np.int32), starts


def plain_subsequences(s, t, length, decay):
    """The recursion over all prefixes, for one pair."""
    below = np.ones((s.size + 1, t.size + 1))
    for _ in range(length):
        total, above = 0.0, np.zeros_like(below)
        for i in range(s.size):
            run = 0.0
            for j in range(t.size):
                step = decay**2 * below[i, j] * (s[i] == t[j])
                total += step
                run = decay * run + step
                above[i + 1, j + 1] = decay * above[i, j + 1] + run
        below = above
    return total


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6, 9])
def test_subsequences_by_the_recursion(threads, length):
    rng = np.random.default_rng(length)
    left, right = some_sequences(rng, 5, 12), some_sequences(rng, 7, 25)
    found = _core.subsequences(left, right, length, 0.7)
    a, b = (np.split(symbols, starts[1:-1]) for symbols, starts in (left, right))
    expected = [[plain_subsequences(s, t, length, 0.7) for t in b] for s in a]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    both = _core.subsequences(right, None, length, 0.7)
    np.testing.assert_array_equal(both, both.T)
    np.testing.assert_allclose(
        np.diag(both), _core.own_subsequences(right, length, 0.7), rtol=1e-13
    )


def test_threads_do_not_change_values():
    rng = np.random.default_rng(0)
    sequences = some_sequences(rng, 60, 60)
    graphs = ring_graphs(40, 30)
    before = _core.get_num_threads()
    results = []
    for count in (1, 2):
        _core.set_num_threads(count)
        table = _core.subgraphs(graphs, 4)
        paths = _core.shortest_paths(graphs)
        results.append(
            (_core.subsequences(sequences, None, 4, 0.5), sorted_rows(table), sorted_rows(paths))
        )
    _core.set_num_threads(before)
    for one, two in zip(*results):
        np.testing.assert_array_equal(one, two)


def sorted_rows(table):
    return table[np.lexsort(table.T[::-1])]


def ring_graphs(count, size):
    """Rings one after another, with labels 0 and 1 in turn."""
    nodes = np.arange(count * size)
    base, place = nodes // size * size, nodes % size
    around = np.stack([base + (place + 1) % size, base + (place - 1) % size], axis=1)
    starts = np.arange(0, count * size + 1, size)
    return starts, (place % 2).astype(np.int32), np.arange(0, 2 * nodes.size + 1, 2), around.ravel()


def test_rings():
    graphs = ring_graphs(2, 6)
    records = {tuple(row) for row in _core.shortest_paths(graphs).tolist()}
    one = {(0, 1, 1, 6), (0, 0, 2, 3), (1, 1, 2, 3), (0, 1, 3, 3)}
    assert records == {(g, *row) for g in (0, 1) for row in one}
    paths = Counter(tuple(row[:1]) for row in _core.subgraphs(graphs, 3).tolist())
    assert paths == {(0,): 2, (1,): 2}
    assert _core.subgraphs(graphs, 3)[:, -1].tolist() == [3, 3, 3, 3]


def trees(production, children, starts=None):
    sizes = [len(each) for each in children]
    links = np.array([c for each in children for c in each], dtype=np.int64)
    starts = np.array([0, len(children)] if starts is None else starts)
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return starts, np.array(production, dtype=np.int32), ends, links


def test_wrong_structures_are_refused():
    good = trees([0, 1], [[-1], [0]])
    assert _core.subset_trees(good, None, 2, 1.0) == 1 + 2
    for bad, words in [
        (trees([0, 2], [[-1], [0]]), "production holds a number out of range"),
        (trees([0, 1], [[1], [0]]), "leads out of its group"),
        (trees([0, 1], [[-1], [1]]), "leads out of its group"),
        (trees([0, 1], [[-1], [0]], [0, 1, 2]), "leads out of its group"),
        (trees([0, 0], [[-1], [0, -1]]), "one number of children"),
        (trees([0, 1], [[-1], [0]], [0, 3]), "starts must rise from 0 to 2"),
        (good[:3], "trees are"),
    ]:
        with pytest.raises(ValueError, match=words):
            _core.subset_trees(bad, None, 2, 1.0)
    starts, labels, ends, around = ring_graphs(1, 3)
    for bad, words in [
        ((starts, labels - 1, ends, around), "labels holds a number out of range"),
        ((starts, labels, ends, around + 1), "leads out of its group"),
        ((starts, labels, ends[:-1], around[:-2]), "neighbor_starts must have length 4"),
    ]:
        with pytest.raises(ValueError, match=words):
            _core.shortest_paths(bad)
        with pytest.raises(ValueError, match=words):
            _core.subgraphs(bad, 3)
    with pytest.raises(ValueError, match="2 to 5 nodes"):
        _core.subgraphs((starts, labels, ends, around), 6)
    symbols = np.array([0, 1], dtype=np.int32), np.array([0, 2])
    for length, decay, words in [(0, 0.5, "length"), (1, 0.0, "decay"), (1, np.nan, "decay")]:
        with pytest.raises(ValueError, match=words):
            _core.subsequences(symbols, None, length, decay)
    with pytest.raises(ValueError, match="starts must rise"):
        _core.key_counts(np.zeros(2, np.int64), np.array([0, 1]), None, None)
