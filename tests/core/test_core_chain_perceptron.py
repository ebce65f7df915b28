"""The compiled pass of the structured perceptron, against the same steps in NumPy."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from scipy import sparse

from minimand import _core


def steps_in_numpy(X, offsets, y, k, ends, fixed, sizes, order, w, lag, count):
    """Every labelling is tried; of the best ones that with the smallest last label, and so on."""
    d = X.shape[1]
    wrong, radius = 0, 0.0

    def features(rows, labels):
        f = np.zeros_like(w)
        for t, c in enumerate(labels):
            f[: d * k].reshape(d, k)[:, c] += rows[t]
            if t:
                f[d * k + labels[t - 1] * k + c] += 1
        if ends:
            f[d * k + k * k + labels[0]] += 1
            f[d * k + k * k + k + labels[-1]] += 1
        return f

    def barred(labels):
        parts = [fixed[a * k + b] for a, b in pairwise(labels)]
        return sum(parts) + fixed[k * k + labels[0]] + fixed[k * k + k + labels[-1]]

    for i in order:
        rows, own = X[offsets[i] : offsets[i + 1]], list(y[offsets[i] : offsets[i + 1]])
        labellings = [list(c[::-1]) for c in product(range(k), repeat=len(own))]
        scores = [features(rows, c) @ w + barred(c) for c in labellings]
        best = labellings[int(np.argmax(scores))]
        if best != own:
            change = features(rows, own) - features(rows, best)
            wrong, radius = wrong + 1, max(radius, change @ change)
            w += sizes[i] * change
            lag += count * sizes[i] * change
        count += 1
    return count, wrong, radius


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("kind", ["float64", "float32", "csr32", "csr64"])
def test_a_pass_is_the_textbook_pass(kind, ends):
    rng = np.random.default_rng(3)
    lengths, k, d = np.array([3, 1, 4, 2, 3]), 3, 4
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    X = rng.normal(size=(offsets[-1], d)).round(2)
    y = rng.integers(0, k, size=offsets[-1])
    fixed = np.zeros(k * k + 2 * k)
    barred = np.flatnonzero(~np.isin(np.arange(k * k), y[:-1] * k + y[1:]))[:1]
    fixed[barred] = -np.inf
    sizes = rng.uniform(0.5, 2.0, size=lengths.size)
    rows, kernel = X, _core.chain_perceptron_dense
    if kind == "float32":
        rows = X.astype(np.float32)
        X = rows.astype(float)
    elif kind.startswith("csr"):
        csr = sparse.csr_array(X)
        index = np.int32 if kind == "csr32" else np.int64
        rows = _core.Compressed(csr.indptr.astype(index), csr.indices.astype(index), csr.data, d)
        kernel = _core.chain_perceptron
    w, lag = np.zeros(d * k + k * k + 2 * k), np.zeros(d * k + k * k + 2 * k)
    expected, expected_lag, count, expected_count = w.copy(), lag.copy(), 0.0, 0.0
    for _ in range(3):
        order = rng.permutation(lengths.size).astype(np.uint32)
        arrays = (offsets, y, fixed, sizes)
        count, visited, wrong, tokens, radius = kernel(rows, arrays, k, ends, order, w, lag, count)
        expected_count, by_hand, length = steps_in_numpy(
            X, offsets, y, k, ends, fixed, sizes, order, expected, expected_lag, expected_count
        )
        assert (visited, wrong, count) == (lengths.size, by_hand, expected_count)
        assert wrong <= tokens <= offsets[-1]
        np.testing.assert_allclose(radius, length, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(w, expected, atol=1e-12)
        np.testing.assert_allclose(lag, expected_lag, atol=1e-11)


def test_bad_arrays_are_refused():
    good = (np.array([0, 2]), np.array([0, 1]), np.zeros(8), np.ones(1))
    order, w = np.zeros(1, np.uint32), np.zeros(2 * 2 + 8)

    def run(arrays=good, order=order, w=w, k=2):
        return _core.chain_perceptron_dense(
            np.ones((2, 2)), arrays, k, True, order, w, np.zeros_like(w), 0.0
        )

    run()
    for place, value in [
        (0, np.array([0, 1])),
        (0, np.array([0, 0, 2])),
        (1, np.array([0, 2])),
        (1, np.array([0])),
        (2, np.zeros(7)),
        (3, np.ones(2)),
    ]:
        arrays = [*good]
        arrays[place] = value
        with pytest.raises(ValueError, match="must"):
            run(tuple(arrays))
    with pytest.raises(ValueError, match="order"):
        run(order=np.array([1], np.uint32))
    with pytest.raises(ValueError, match="weights"):
        run(w=np.zeros(3))
    with pytest.raises(ValueError, match="n_labels"):
        run(k=0)
