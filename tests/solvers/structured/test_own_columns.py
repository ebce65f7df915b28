"""Columns without entries: they change nothing, and their weights are zero."""

import numpy as np
import pytest
from scipy import sparse

import minimand as mm

RNG = np.random.default_rng(3)
WIDTH, EMPTY = 6, 5  # columns with entries, and columns without in front of and behind each


def rows(length):
    dense = RNG.integers(0, 3, size=(length, WIDTH)) * (RNG.random((length, WIDTH)) < 0.5)
    dense[0, RNG.integers(WIDTH)] = 1.0
    return dense.astype(float)


X = [rows(length) for length in (1, 4, 3, 6, 2, 5, 4, 3)]
X[0][:] = 1.0  # every column occurs
Y = [RNG.integers(3, size=len(x)).tolist() for x in X]
EDGES = [[(i, i + 1) for i in range(len(x) - 1)] for x in X]
PLACES = EMPTY + 2 * np.arange(WIDTH)


def spread(x):
    wide = np.zeros((len(x), 2 * WIDTH + 2 * EMPTY))
    wide[:, PLACES] = x
    return sparse.csr_array(wide)


NARROW, WIDE = [sparse.csr_array(x) for x in X], [spread(x) for x in X]
CASES = {
    "crf": {},
    "l1": {"penalty": "l1", "alpha": 0.02},
    "elastic net": {"penalty": "elastic_net", "alpha": 0.02},
    "observed": {"weights": "observed"},
    "max_margin": {"loss": "max_margin"},
    "margin observed": {"loss": "max_margin", "weights": "observed"},
    "perceptron": {"loss": "perceptron", "random_state": 0},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", [mm.SequenceLabeler, mm.GraphLabeler])
def test_empty_columns_change_nothing(kind, case):
    own = (Y,) if kind is mm.SequenceLabeler else (Y, EDGES)
    narrow, wide = (kind(**CASES[case]).fit(x, *own) for x in (NARROW, WIDE))
    assert np.array_equal(wide.coef_[:, PLACES], narrow.coef_)
    assert np.count_nonzero(wide.coef_) == np.count_nonzero(narrow.coef_)
    assert wide.certificate_.primal == narrow.certificate_.primal
    assert wide.certificate_.gap == narrow.certificate_.gap
    others = {} if kind is mm.SequenceLabeler else {"edges": EDGES}
    audited = mm.certify(wide, WIDE, Y, **others)
    assert np.isclose(audited.primal, narrow.certificate_.primal, rtol=1e-12)


@pytest.mark.parametrize("loss", ["crf", "max_margin"])
def test_empty_columns_of_edges_change_nothing(loss):
    params = {"loss": loss, "alpha": 0.1, "edge_features": "later"}
    narrow, wide = (mm.SequenceLabeler(**params).fit(x, Y) for x in (NARROW, WIDE))
    assert np.allclose(wide.edge_coef_[PLACES], narrow.edge_coef_, atol=1e-12)
    assert np.count_nonzero(wide.edge_coef_) == np.count_nonzero(narrow.edge_coef_)
    assert wide.predict(WIDE) == narrow.predict(NARROW)


@pytest.mark.parametrize("loss", ["crf", "max_margin", "perceptron"])
def test_batches_of_graphs_with_few_columns_are_steps_on_all_columns(loss):
    params = {} if loss == "perceptron" else {"alpha": 0.05}
    parts = [x * (np.arange(WIDTH) % 2 == i % 2) for i, x in enumerate(X)]
    found = []
    for make in (np.asarray, sparse.csr_array):  # arrays keep all of their columns
        model = mm.GraphLabeler(loss, **params)
        for _ in range(2):
            for part, y, edges in zip(parts, Y, EDGES):
                model.partial_fit([make(part)], [y], [edges], classes=[0, 1, 2])
        found.append(model)
    np.testing.assert_allclose(found[0].coef_, found[1].coef_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found[0].pairs_, found[1].pairs_, rtol=1e-10, atol=1e-12)


def test_hashed_features_that_a_fit_has_not_seen_count_nothing():
    tokens = [[{"word": str(label)} for label in own] for own in Y]
    model = mm.SequenceLabeler(alpha=0.1, features="hash").fit(tokens, Y)
    new = [[{"word": "0"}, {"word": "unseen", "more": 3.0}]]
    blank = [[{"word": "0"}, {}]]
    assert np.array_equal(model.predict_marginals(new)[0], model.predict_marginals(blank)[0])
    assert model.predict_marginals(new)[0].shape == (2, 3)


def test_sequences_without_any_entry_have_transitions_alone():
    model = mm.SequenceLabeler(alpha=0.1).fit([sparse.csr_array(x.shape) for x in X], Y)
    assert model.certificate_.relative <= 1e-4
    assert not model.coef_.any()
    assert model.transitions_.any()
