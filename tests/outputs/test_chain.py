"""Dynamic programs over chains equal the enumeration of all labellings."""

import numpy as np
import pytest
from chains_by_hand import SHAPES, labellings, small_chains
from hypothesis import given, settings
from hypothesis import strategies as st

from minimand.outputs.chain import (
    Chains,
    entropy,
    expected_transitions,
    k_best,
    log_partition,
    loss_augmented,
    marginals,
    pairwise_marginals,
    path_scores,
    sample,
    viterbi,
)

KINDS = [{}, {"masked": True}, {"edges": True}, {"masked": True, "edges": True}, {"size": 60.0}]


def log_sum(scores):
    """log Σ exp, −inf for none."""
    most = scores.max()
    return most if most == -np.inf else most + np.log(np.exp(scores - most).sum())


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize(("k", "lengths"), SHAPES, ids=str)
def test_sums_over_labellings_equal_enumeration(k, lengths, kind):
    chains = small_chains(k, k, lengths, **kind)
    partition, p, pairs = log_partition(chains), marginals(chains), pairwise_marginals(chains)
    weights = np.arange(1.0, len(lengths) + 1)
    bits, steps = entropy(chains), np.zeros((k, k))
    for i, (first, last) in enumerate(zip(chains.offsets, chains.offsets[1:])):
        paths, scores = labellings(chains, i)
        total = log_sum(scores)
        np.testing.assert_allclose(partition[i], total, rtol=1e-12)
        share = np.zeros(len(paths)) if total == -np.inf else np.exp(scores - total)
        live = share > 0
        np.testing.assert_allclose(bits[i], -(share[live] @ np.log(share[live])), atol=1e-10)
        for t in range(first, last):
            right = np.bincount(paths[:, t - first], share, k)
            np.testing.assert_allclose(p[t], right, atol=1e-12)
            both = np.zeros((k, k))
            if t > first:
                np.add.at(both, (paths[:, t - first - 1], paths[:, t - first]), share)
            np.testing.assert_allclose(pairs[t], both, atol=1e-12)
            steps += weights[i] * both
    np.testing.assert_allclose(expected_transitions(chains, weights), steps, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize(("k", "lengths"), SHAPES, ids=str)
def test_maxima_over_labellings_equal_enumeration(k, lengths, kind):
    chains = small_chains(7 + k, k, lengths, **kind)
    labels, values = viterbi(chains)
    several, scores_of = k_best(chains, 4)
    for i, (first, last) in enumerate(zip(chains.offsets, chains.offsets[1:])):
        paths, scores = labellings(chains, i)
        np.testing.assert_allclose(values[i], scores.max(), rtol=1e-12)
        order = np.argsort(-scores, kind="stable")[:4]
        order = order[scores[order] > -np.inf]
        np.testing.assert_allclose(scores_of[i, : order.size], scores[order], rtol=1e-12)
        assert (scores_of[i, order.size :] == -np.inf).all()
        assert (several[order.size :, first:last] == -1).all()
        np.testing.assert_array_equal(several[: order.size, first:last], paths[order])
        best = paths[order[0]] if order.size else np.full(last - first, -1)
        np.testing.assert_array_equal(labels[first:last], best)


@pytest.mark.parametrize("with_cost", [False, True])
def test_the_loss_augmented_maximum_includes_the_cost(with_cost):
    chains = small_chains(3, 3, [4, 2, 1], masked=True)
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=7)
    cost = rng.random((3, 3)) if with_cost else None
    weights = np.array([1.0, 0.25, 3.0])
    labels, values = loss_augmented(chains, y, cost, weights)
    table = 1.0 - np.eye(3) if cost is None else cost
    for i, (first, last) in enumerate(zip(chains.offsets, chains.offsets[1:])):
        paths, scores = labellings(chains, i)
        total = scores + weights[i] * table[y[first:last], paths].sum(axis=1)
        np.testing.assert_allclose(values[i], total.max())
        np.testing.assert_array_equal(labels[first:last], paths[total.argmax()])


def test_path_scores_are_those_of_the_labels():
    chains = small_chains(5, 4, [3, 1, 2], edges=True)
    y = np.array([0, 3, 1, 2, 2, 0])
    for i, (first, last) in enumerate(zip(chains.offsets, chains.offsets[1:])):
        paths, scores = labellings(chains, i)
        right = scores[(paths == y[first:last]).all(axis=1)]
        np.testing.assert_allclose(path_scores(chains, y)[i], right[0])


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(1, 6), st.lists(st.integers(1, 5), min_size=1, max_size=4)
)
def test_marginals_are_slopes_of_the_log_partition(seed, k, lengths):
    chains = small_chains(seed, k, lengths)
    rng = np.random.default_rng(seed)
    h = 1e-5
    moves = [rng.normal(size=t.shape) for t in (chains.unary, chains.transitions)]

    def value(t):
        moved = Chains(
            chains.unary + t * moves[0],
            chains.offsets,
            chains.transitions + t * moves[1],
            chains.start,
            chains.stop,
        )
        return log_partition(moved).sum()

    slope = np.vdot(marginals(chains), moves[0])
    slope += np.vdot(expected_transitions(chains), moves[1])
    assert abs((value(h) - value(-h)) / (2 * h) - slope) <= 1e-6 * (1 + abs(slope))


def test_samples_have_the_frequencies_of_the_distribution():
    chains = small_chains(11, 3, [2, 1], masked=True)
    drawn = sample(chains, 20_000, random_state=0)
    pairs, p = pairwise_marginals(chains)[1], marginals(chains)
    seen = np.bincount(3 * drawn[:, 0] + drawn[:, 1], minlength=9).reshape(3, 3) / len(drawn)
    np.testing.assert_allclose(seen, pairs, atol=0.02)  # five standard deviations
    np.testing.assert_allclose(np.bincount(drawn[:, 2], minlength=3) / len(drawn), p[2], atol=0.02)
    np.testing.assert_array_equal(drawn, sample(chains, 20_000, random_state=0))
    assert np.isfinite(path_scores(chains, drawn[0])).all()


def test_long_chains_of_large_scores_lose_no_digits():
    rng = np.random.default_rng(0)
    n, k = 100_000, 4
    unary = rng.uniform(-1e4, 1e4, size=(n, k))
    for spread in (1.0, 150.0, 1e4):  # products of probabilities, and logarithms
        transitions = rng.uniform(-spread, spread, size=(k, k))
        chains = Chains(unary, [0, n], transitions)
        labels, values = viterbi(chains)
        p, total = marginals(chains), log_partition(chains)
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)
        np.testing.assert_allclose(total, values, rtol=1e-6)  # the best labelling dominates
        np.testing.assert_allclose(values, path_scores(chains, labels), rtol=1e-12)
        assert (p[np.arange(n), labels] > 0.45).mean() > 0.99
        shifted = marginals(Chains(unary + 1e4, [0, n], transitions))
        np.testing.assert_allclose(p, shifted, atol=1e-6)  # the rounding of unary + 1e4


def test_forbidden_transitions_do_not_lose_what_underflows():
    # The only labelling that is allowed passes through scores that are exp(-800) of the best.
    steps = np.full((3, 3), -np.inf)
    steps[0, 1] = steps[1, 2] = steps[2, 0] = steps[0, 0] = 0.0
    unary = np.array([[0.0, -900.0, -900.0]] * 6)
    start = np.array([-np.inf, 0.0, -np.inf])
    chains = Chains(unary, [0, 6], steps, start)
    _paths, scores = labellings(chains, 0)
    np.testing.assert_allclose(log_partition(chains), log_sum(scores), rtol=1e-14)
    np.testing.assert_allclose(marginals(chains).sum(axis=1), 1.0)
    gradual = np.linspace(0, 3000, 11)[:, None] * np.array([-1.0, 0.0, 0.0])
    chains = Chains(
        gradual, [0, 11], np.where(np.eye(3) > 0, 0.0, -np.inf), [0.0, -1500.0, -1600.0]
    )
    np.testing.assert_allclose(log_partition(chains), [-1500.0])
    np.testing.assert_allclose(marginals(chains)[:, 1], 1.0)


def test_sequences_in_another_order_give_the_same_numbers():
    chains = small_chains(2, 5, [3, 2, 4])
    order = [5, 6, 7, 8, 0, 1, 2, 3, 4]
    turned = Chains(
        chains.unary[order], [0, 4, 7, 9], chains.transitions, chains.start, chains.stop
    )
    np.testing.assert_array_equal(log_partition(turned), log_partition(chains)[[2, 0, 1]])
    np.testing.assert_array_equal(marginals(turned), marginals(chains)[order])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"unary": np.zeros(3)}, "unary must have 2 dimensions"),
        ({"unary": np.full((3, 2), np.nan)}, "NaN"),
        ({"unary": np.zeros((3, 0))}, "a column for every label"),
        ({"offsets": [0, 2]}, "offsets must rise"),
        ({"offsets": [0, 2, 2, 3]}, "offsets must rise"),
        ({"transitions": np.zeros((2, 3))}, "transitions must have the shape"),
        ({"start": np.zeros(3)}, "start must have the shape"),
        ({"edges": np.zeros((2, 2, 2))}, "edges must have the shape"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_scores_are_refused_in_a_sentence(change, words):
    given = {"unary": np.zeros((3, 2)), "offsets": [0, 3], "transitions": np.zeros((2, 2))}
    with pytest.raises(ValueError, match=words):
        Chains(**{**given, **change})


def test_bad_labels_and_counts_are_refused():
    chains = small_chains(0, 2, [2])
    for labels in ([0, 2], [0], [0.5, 1.0], [-1, 0]):
        with pytest.raises(ValueError, match="labels must be"):
            path_scores(chains, labels)
    with pytest.raises(ValueError, match="count"):
        k_best(chains, 0)
    with pytest.raises(ValueError, match="count"):
        sample(chains, 0)
