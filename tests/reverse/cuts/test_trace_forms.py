"""The normalised cut of a clustering: four forms, one number."""

import numpy as np
import pytest
from partitions import cut
from scipy import sparse

import minimand as mm

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(12, 2))
FORMS = ("graph", "trace", "kernel", "residual")


@pytest.mark.parametrize("labels", [RNG.integers(3, size=12), np.arange(12), np.zeros(12)])
@pytest.mark.parametrize("form", FORMS)
def test_all_forms_are_the_edges_cut_over_volumes(form, labels):
    K = mm.RBF(0.7)(POINTS)
    wanted = cut(K, labels)
    assert mm.normalized_cut(K, labels, form=form) == pytest.approx(wanted, abs=1e-12)
    graph = sparse.csr_matrix(np.where(K > 0.3, K, 0.0))
    wanted = cut(graph.toarray(), labels)
    assert mm.normalized_cut(graph, labels, form=form) == pytest.approx(wanted, abs=1e-12)


def test_labels_of_any_kind_and_the_range():
    K = mm.RBF(1.0)(POINTS)
    names = np.array(list("aabbaabbaabb"))
    assert mm.normalized_cut(K, names) == mm.normalized_cut(K, names == "a")
    assert 0 <= mm.normalized_cut(K, names) <= 2
    assert mm.normalized_cut(np.kron(np.eye(2), np.ones((3, 3))), [0, 0, 0, 1, 1, 1]) == 0


@pytest.mark.parametrize(
    ("K", "labels", "words"),
    [
        (np.ones((3, 2)), [0, 1, 1], "square"),
        ([[0.0, 1.0], [0.0, 1.0]], [0, 1], "symmetric"),
        ([[1.0, -1.0], [-1.0, 1.0]], [0, 1], "negative"),
        ([[1.0, 0.0], [0.0, 0.0]], [0, 1], "row 1"),
        ([[1.0, np.nan], [np.nan, 1.0]], [0, 1], "NaN"),
        (np.ones((2, 2)), [0, 1, 1], "labels"),
    ],
)
def test_bad_input_gets_one_sentence(K, labels, words):
    with pytest.raises(ValueError, match=words) as caught:
        mm.normalized_cut(K, labels)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="form"):
        mm.normalized_cut(np.ones((2, 2)), [0, 1], form="cut")
