"""Scores of clusterings: hand cases, scikit-learn, enumeration of all mappings, invariances."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as theirs

import minimand as mm
from minimand import metrics

LABELS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("true", "predicted", "h", "c"),
    [
        ([0, 0, 1, 1], [0, 0, 1, 1], 1, 1),
        ([0, 0, 1, 1], [1, 1, 0, 0], 1, 1),
        ([0, 0, 1, 1], [0, 0, 0, 0], 0, 1),  # one cluster: complete, not homogeneous
        ([0, 0, 1, 1], [0, 1, 2, 3], 1, 0.5),  # H(K|C) = log 2, H(K) = log 4
        ([0, 0, 0, 0], [0, 0, 1, 1], 1, 0),  # H(C) = 0
        ([0, 0, 0, 0], [5, 5, 5, 5], 1, 1),  # H(C) = H(K) = 0
        ([0, 0, 1, 1], [0, 1, 0, 1], 0, 0),  # independent
        # H(C|K) = ½·log 2: one cluster is pure, the other half and half
        ([0, 0, 0, 1], [0, 0, 1, 1], 1 - 0.5 * np.log(2) / 0.5623351446, None),
    ],
)
def test_homogeneity_and_completeness_by_hand(true, predicted, h, c):
    assert metrics.homogeneity(true, predicted) == pytest.approx(h, abs=1e-9)
    if c is not None:
        assert metrics.completeness(true, predicted) == pytest.approx(c, abs=1e-9)
        v = 2 * h * c / (h + c) if h + c else 0
        assert metrics.v_measure(true, predicted) == pytest.approx(v, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(LABELS)
def test_against_scikit_learn_and_the_order_of_mappings(pairs):
    true, predicted = map(np.array, zip(*pairs))
    h, c, v = theirs.homogeneity_completeness_v_measure(true, predicted, beta=2.0)
    assert metrics.homogeneity(true, predicted) == pytest.approx(h, abs=1e-12)
    assert metrics.completeness(true, predicted) == pytest.approx(c, abs=1e-12)
    assert metrics.v_measure(true, predicted, beta=2.0) == pytest.approx(v, abs=1e-12)
    greedy = metrics.greedy_accuracy(true, predicted)
    optimal = metrics.optimal_accuracy(true, predicted)
    optimistic = metrics.optimistic_accuracy(true, predicted)
    assert greedy <= optimal + 1e-12
    assert optimal <= optimistic + 1e-12
    # names of labels do not matter, nor the order of the samples
    names, order = np.array(list("dbeca")), np.argsort(predicted, kind="stable")[::-1]
    assert metrics.optimal_accuracy(true[order], names[predicted][order]) == pytest.approx(optimal)
    assert metrics.greedy_accuracy(true, predicted + 7) == greedy


@settings(max_examples=40, deadline=None)
@given(LABELS)
def test_optimal_and_optimistic_against_all_mappings(pairs):
    true, predicted = map(np.array, zip(*pairs))
    best = max(
        np.mean(np.array(chosen)[predicted] == true) for chosen in permutations(range(5))
    )  # classes 0 to 3, and 4, which is none
    assert metrics.optimal_accuracy(true, predicted) == pytest.approx(best)
    majority = sum(np.bincount(true[predicted == c]).max() for c in np.unique(predicted))
    assert metrics.optimistic_accuracy(true, predicted) == pytest.approx(majority / len(true))


@settings(max_examples=30, deadline=None)
@given(LABELS, st.integers(0, 1000))
def test_weights_are_copies_and_zero_is_absent(pairs, seed):
    true, predicted = map(np.array, zip(*pairs))
    weights = np.random.default_rng(seed).integers(0, 4, len(true))
    weights[0] += 1
    copies = np.repeat(np.arange(len(true)), weights)
    for name in ("homogeneity", "completeness", "v_measure", "greedy_accuracy"):
        score = getattr(metrics, name)
        weighted = score(true, predicted, sample_weight=weights)
        assert weighted == pytest.approx(score(true[copies], predicted[copies]), abs=1e-12)
    for name in ("optimal_accuracy", "optimistic_accuracy"):
        score = getattr(metrics, name)
        weighted = score(true, predicted, sample_weight=weights)
        assert weighted == pytest.approx(score(true[copies], predicted[copies]))


def test_greedy_is_not_optimal():
    true, predicted = [0] * 9 + [1] * 4, [0] * 5 + [1] * 4 + [0] * 4
    assert metrics.greedy_accuracy(true, predicted) == pytest.approx(5 / 13)
    assert metrics.optimal_accuracy(true, predicted) == pytest.approx(8 / 13)
    assert metrics.cluster_mapping(true, predicted) == {0: 1, 1: 0}
    assert metrics.cluster_mapping(true, predicted, "greedy") == {0: 0}
    assert metrics.cluster_mapping(true, predicted, "optimistic") == {0: 0, 1: 0}


def test_many_labels_take_no_square_table():
    n = 60_000
    labels = np.arange(n)
    assert metrics.greedy_accuracy(labels, labels[::-1]) == 1.0
    assert metrics.homogeneity(labels, labels) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="use the greedy one"):
        metrics.optimal_accuracy(labels, labels)


@pytest.mark.parametrize(
    ("true", "predicted", "sentence"),
    [
        ([], [], "true must be 1D and not empty"),
        ([0, 1], [0], "the same samples"),
        ([0, np.nan], [0, 1], "missing label"),
        ([0, 1], ["a", None], "missing label"),
        ([[0, 1]], [0, 1], "true must be 1D"),
    ],
)
def test_bad_labels_get_a_sentence(true, predicted, sentence):
    with pytest.raises(ValueError, match=sentence):
        metrics.v_measure(true, predicted)


def test_silhouettes_against_scikit_learn():
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((60, 3)), rng.integers(0, 4, 60)
    labels[0] = 9  # alone
    for distance in ("euclidean", "manhattan", "cosine"):
        wanted = theirs.silhouette_samples(X, labels, metric=distance)
        np.testing.assert_allclose(metrics.silhouette_samples(X, labels, distance), wanted)
    by_kernel = metrics.silhouette_samples(X, labels, kernel=mm.Linear())
    np.testing.assert_allclose(by_kernel, theirs.silhouette_samples(X, labels), atol=1e-7)
    square = theirs.pairwise_distances(X)
    given_distances = metrics.silhouette(square, labels, "precomputed")
    assert given_distances == pytest.approx(theirs.silhouette_score(X, labels))
    for bad in (np.zeros(60), np.arange(60)):
        with pytest.raises(ValueError, match="at least two clusters"):
            metrics.silhouette(X, bad)


def test_classes_and_numbers_are_scikit_learns():
    rng = np.random.default_rng(1)
    true, predicted = rng.integers(0, 3, 50), rng.integers(0, 3, 50)
    weights = rng.uniform(0.5, 2, 50)
    assert metrics.accuracy(true, predicted, weights) == theirs.accuracy_score(
        true, predicted, sample_weight=weights
    )
    wanted = theirs.precision_score(true, predicted, average="macro")
    assert metrics.precision(true, predicted) == pytest.approx(wanted)
    wanted = theirs.fbeta_score(true, predicted, beta=2, average="weighted")
    assert metrics.f_score(true, predicted, average="weighted", beta=2) == pytest.approx(wanted)
    words = np.array(["mail", "spam"])
    two, guess = words[true % 2], words[predicted % 2]
    wanted = theirs.recall_score(two, guess, pos_label="spam")
    assert metrics.recall(two, guess) == pytest.approx(wanted)
    wanted = theirs.recall_score(two, guess, pos_label="mail")
    assert metrics.recall(two, guess, positive="mail") == pytest.approx(wanted)
    with pytest.raises(ValueError, match="positive='ham' is none of the labels"):
        metrics.recall(two, guess, positive="ham")
    errors = metrics.regression_errors([1.0, 2.0, 4.0], [1.0, 3.0, 2.0])
    assert errors["largest"] == 2.0
    assert errors["mean squared"] == pytest.approx(5 / 3)
    assert np.isnan(metrics.regression_errors([1.0], [2.0])["R²"])


def test_a_table_of_clusterings():
    rng = np.random.default_rng(2)
    X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 10, axis=0) + rng.standard_normal((20, 2))
    true = np.repeat([0, 1], 10)

    class Model:
        labels_ = 1 - true

    table = metrics.compare_clusterings(true, Model(), np.arange(20) % 2, X=X)
    assert table.rows == ("Model", "labels 2")
    assert table["Model"]["V"] == table["Model"]["optimal"] == 1.0
    assert table["labels 2"]["optimal"] == 0.5
    assert table["Model"]["silhouette"] > 0.8 > 0.1 > table["labels 2"]["silhouette"]
    assert str(table).splitlines()[0].split() == list(table.columns)
    alone = metrics.compare_clusterings(None, all_apart=np.arange(20), X=X)
    assert np.isnan(alone["all_apart"]["silhouette"])
    with pytest.raises(ValueError, match="at least one clustering"):
        metrics.compare_clusterings(true)


@pytest.mark.parametrize("score", [mm.metrics.precision, mm.metrics.recall, mm.metrics.f_score])
def test_scores_of_nothing_are_refused(score):
    with pytest.raises(ValueError, match="at least one sample"):
        score([], [])


def test_models_without_labels_are_refused():
    with pytest.raises(ValueError, match=r"KMeans\(n_clusters=2\) has no labels_: fit it first"):
        mm.metrics.compare_clusterings([0, 1], mm.KMeans(2))
