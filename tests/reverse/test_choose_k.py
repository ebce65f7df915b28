"""`choose_k`: known numbers of clusters, the formulas of its criteria, stops and bad input."""

import signal
import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import silhouette_score

import minimand as mm
from minimand.reverse import criteria

X, Y = make_blobs(240, centers=4, n_features=6, cluster_std=0.7, random_state=2)


@pytest.mark.parametrize("criterion", ["gap", "silhouette", "eigengap", "certificate"])
def test_separated_blobs(criterion):
    choice = mm.choose_k(X, range(1, 8), criterion, n_references=5, random_state=0)
    assert choice.k == 4
    assert mm.metrics.optimal_accuracy(Y, choice.model.labels_) == 1.0
    assert choice.ks.tolist() == list(range(1 if criterion in ("gap", "eigengap") else 2, 8))
    assert f"KChoice(k=4 by {criterion}" in repr(choice)


def test_no_clusters_are_one_cluster():
    noise = np.random.default_rng(0).uniform(size=(150, 2))
    assert mm.choose_k(noise, range(1, 6), n_references=8, random_state=0).k == 1


def test_a_kernel_that_joins_all_rows_has_its_eigengap_after_one():
    X = np.random.default_rng(0).normal(size=(30, 2))
    joined = mm.NormalizedCut(2, kernel=mm.RBF(100.0))
    assert mm.choose_k(X, range(1, 5), "eigengap", estimator=joined, random_state=0).k == 1


def test_the_rule_of_one_standard_error():
    gap = object.__new__(criteria.Gap)
    gap.rule = "first"
    values, errors = np.array([0.1, 0.5, 0.52, 0.9]), np.array([0.1, 0.1, 0.1, 0.1])
    assert gap.choice(values, errors) == 1  # 0.5 ≥ 0.52 − 0.1
    assert gap.choice(values, 0.01 * errors) == 3  # none: the largest
    assert gap.choice(np.array([0.1, np.nan, 0.05, 0.9]), errors) == 0
    gap.rule = "global"
    assert gap.choice(values, errors) == 3
    assert gap.choice(values, 4 * errors) == 1


def test_the_formula_of_the_gap():
    ks, several = [2, 4], mm.KMeans(n_init=10)
    choice = mm.choose_k(X, ks, estimator=several, n_references=3, random_state=3)
    rule = criteria.Gap(X, several, np.array(ks), 3, "first", 3)
    for k, value, error in zip(ks, choice.values, choice.errors):
        own = np.log(KMeans(k, n_init=10, random_state=0).fit(X).inertia_)
        logs = [
            np.log(KMeans(k, n_init=10, random_state=0).fit(rule.reference(b)).inertia_)
            for b in range(1, 4)
        ]
        assert value == pytest.approx(np.mean(logs) - own, abs=0.02)
        assert error == pytest.approx(np.std(logs) * np.sqrt(1 + 1 / 3), abs=0.02)
    # the box has the extent of the data along its principal axes
    points = rule.reference(1) - X.mean(axis=0)
    axes = np.linalg.svd(X - X.mean(axis=0))[2]
    inside, box = points @ axes.T, (X - X.mean(axis=0)) @ axes.T
    assert (inside.max(axis=0) <= box.max(axis=0) + 1e-9).all()
    assert (inside.min(axis=0) >= box.min(axis=0) - 1e-9).all()


def test_values_are_those_of_the_models():
    choice = mm.choose_k(X, [2, 4], "silhouette", random_state=0)
    assert choice.values[1] == pytest.approx(silhouette_score(X, choice.model.labels_))
    choice = mm.choose_k(X, [3, 4, 5], "certificate", random_state=0)
    assert choice.values[1] == 1.0  # proved optimal
    assert (choice.values[[0, 2]] < 1).all()
    again = mm.choose_k(X, [2, 4], "gap", n_references=3, random_state=0)
    same = mm.choose_k(X, [4, 2, 2], "gap", n_references=3, random_state=0)
    np.testing.assert_array_equal(again.values, same.values)


def test_other_clusterers():
    rings, _ = make_circles(150, factor=0.3, noise=0.03, random_state=0)
    cut = mm.NormalizedCut()
    assert mm.choose_k(rings, range(1, 6), "eigengap", estimator=cut, random_state=0).k == 2
    tree = mm.Agglomerative(linkage="complete")
    choice = mm.choose_k(X, range(2, 7), "silhouette", estimator=tree)
    assert choice.k == 4
    assert choice.model.linkage == "complete"
    assert mm.choose_k(X, range(2, 7), "certificate", estimator=tree).k == 4
    kernel = mm.Agglomerative(kernel="rbf")
    with pytest.raises(ValueError, match="Agglomerative has none"):
        mm.choose_k(X, range(2, 5), "certificate", estimator=kernel)


class Slow(mm.Agglomerative):
    """Presses Ctrl-C, or waits, when it is fitted for the n-th time."""

    fits, at = 0, 0

    def fit(self, X, y=None):
        Slow.fits += 1
        if Slow.fits == Slow.at:
            signal.raise_signal(signal.SIGINT)
        return super().fit(X)


def test_stops(monkeypatch):
    from minimand.reverse import choose_k as module

    monkeypatch.setattr(module, "get_num_threads", lambda: 1)
    monkeypatch.setattr(Slow, "fits", 0)
    monkeypatch.setattr(Slow, "at", 4)
    with pytest.raises(mm.Interrupted, match="after 3 of 6") as stopped:
        mm.choose_k(X, range(2, 8), "silhouette", estimator=Slow())
    assert stopped.value.result.ks.tolist() == [2, 3, 4]
    assert stopped.value.result.k == 4
    monkeypatch.setattr(Slow, "fits", 0)
    monkeypatch.setattr(Slow, "at", 1)
    with pytest.raises(KeyboardInterrupt):
        mm.choose_k(X, range(2, 8), "silhouette", estimator=Slow())
    with pytest.raises(ValueError, match="max_seconds=0"):
        mm.choose_k(X, range(2, 8), "silhouette", max_seconds=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        mm.choose_k(X, [2, 3], "silhouette", max_seconds=1000, random_state=0)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"k": [3]}, "at least two different k"),
        ({"k": [1, 2], "criterion": "silhouette"}, "at least two different k ≥ 2"),
        ({"k": 5}, "k must hold the numbers to compare"),
        ({"k": [0, 1]}, "every k must be an integer ≥ 1"),
        ({"k": [2, 999]}, "more than the n_samples=240 rows"),
        ({"criterion": "elbow"}, "criterion must be one of"),
        ({"rule": "last"}, "rule must be"),
        ({"n_references": 0}, "n_references must be an integer"),
        ({"estimator": mm.Regressor()}, "has no parameter n_clusters"),
        ({"max_seconds": -1.0}, "max_seconds must be"),
    ],
)
def test_bad_input_gets_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        mm.choose_k(X, **options)


def test_says_when_the_end_of_the_range_wins():
    X, _ = make_blobs(150, centers=5, cluster_std=0.3, random_state=1)
    with pytest.warns(UserWarning, match="k=4 is the largest that was compared"):
        mm.choose_k(X, [2, 3, 4], "silhouette", random_state=0)
    with pytest.warns(UserWarning, match="k=5 is the smallest that was compared"):
        mm.choose_k(X, [5, 6, 7], "silhouette", random_state=0)


def test_a_far_row_proves_nothing():
    rows = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0], [1e8, 0.0]])
    poor = np.array([[1.5, 0.0], [1.5, 1.0], [1e8, 0.0], [3.0, 1.0]])
    start = mm.KMeans(init=lambda X, k, random_state: poor[:k])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        choice = mm.choose_k(rows, [3, 4], "certificate", estimator=start)
    assert choice.values[0] < 0.2  # three clusters with 9 times the least sum of squares


def test_equal_rows_are_not_proved_to_be_several_clusters():
    with pytest.raises(ValueError, match="has no value for any k"):
        mm.choose_k(np.ones((4, 2)), [1, 2, 3], "certificate")
    three = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    assert mm.choose_k(three, [2, 3, 4], "certificate", random_state=0).k == 3
