"""Functions as ``edge_features``: what they give is checked, also where there are no edges."""

import numpy as np
import pytest
from scipy import sparse

import minimand as mm

X = [np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])]
Y = [["a", "b"], ["b", "a", "a"]]
EDGES = [[(0, 1)], [(0, 1), (1, 2)]]
NONE = [[], []]


def _calls(kind, loss, value, width=1):
    """Fit and predict with a function of which only a value and a width are chosen."""
    now = {"value": 0.5, "width": 1}

    def rows(count):
        found = np.full((count, now["width"]), now["value"])
        return sparse.csr_array(found) if kind == "sparse" else found

    if kind == "graph":
        model = mm.GraphLabeler(loss, edge_features=lambda x, edges: rows(len(edges)))
        more = (EDGES,)
    else:
        model, more = mm.SequenceLabeler(loss, edge_features=lambda x: rows(x.shape[0] - 1)), ()
    model.fit(X, Y, *more)
    model.predict(X, *more)
    now.update(value=value, width=width)
    return [
        lambda: model.predict(X, *more),
        lambda: mm.certify(model, X, Y, **({"edges": EDGES} if more else {})),
    ], lambda: model.fit(X, Y, *more)


CASES = [
    *(("graph", loss) for loss in ("crf", "max_margin", "perceptron")),
    *((kind, loss) for kind in ("sequence", "sparse") for loss in ("crf", "max_margin")),
]


@pytest.mark.parametrize(("kind", "loss"), CASES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(kind, loss, value):
    reads, fit = _calls(kind, loss, value)
    for call in (*reads, fit):
        with pytest.raises(ValueError, match=r"edge_features gave NaN or infinity for .* 0 with 1"):
            call()


@pytest.mark.parametrize(("kind", "loss"), CASES)
def test_another_width_than_that_of_the_fit_is_refused(kind, loss):
    for call in _calls(kind, loss, 1.0, width=3)[0]:
        with pytest.raises(ValueError, match=r"edge_features gave 3 columns for .*, but 1 before"):
            call()


@pytest.mark.parametrize("loss", ["crf", "max_margin", "perceptron"])
def test_graphs_without_an_edge_need_no_function(loss):
    def products(x, edges):  # which a list without a row makes no matrix
        return np.array([x[u] * x[v] for u, v in edges]).reshape(len(edges), -1)

    model = mm.GraphLabeler(loss, edge_features=products, random_state=0).fit(X, Y, NONE)
    plain = mm.GraphLabeler(loss, random_state=0).fit(X, Y, NONE)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-9)
    assert model.predict(X, EDGES) == plain.predict(X, EDGES)
    mixed = mm.GraphLabeler(loss, edge_features=products).fit(X, Y, [EDGES[0], []])
    assert mixed.edge_coef_.shape == (2, 2, 2)
    assert len(mixed.predict(X, NONE)) == 2


@pytest.mark.parametrize("loss", ["crf", "max_margin"])
def test_sequences_without_a_step_need_no_function(loss):
    single = [x[:1] for x in X]
    model = mm.SequenceLabeler(loss, edge_features=lambda x: x[1:] / (len(x) - 1))
    model.fit(single, [["a"], ["b"]])
    assert model.predict(single) == [["a"], ["b"]]
    assert len(model.predict(X)[1]) == 3
