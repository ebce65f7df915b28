"""Group penalties: their laws, and what is refused; `theory/test_groups.py` has an oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minimand as mm
from minimand.penalties import Separable

G = [0, 1, 0, 2, 2, 1]

CHECKED = [
    (mm.GroupL2(G), 6),
    (mm.GroupL2(G, [1.0, 0.0, 2.0]) + mm.L2([0.0, 1.0, 2.0, 0.5, 0.0, 0.0]), 6),
    (mm.GroupL2(G) + mm.L1([0.0, 1.0, 2.0, 0.5, 0.0, 0.0]) + mm.L2([1, 2, 3, 0, 0, 1]), 6),
    (mm.SparseGroup(G, 0.9, [1e-3, 1.0, 0.0]), 6),
    (mm.L21(by="output"), (3, 2)),
    (mm.L21([1.0, 0.0, 2.0]) + 0.5 * mm.L2(), (3, 2)),
    (mm.GroupL2(G, [1.0, 0.0, 2.0], squared=True), 6),
    (mm.L21(squared=True) + 0.3 * mm.L2(), (3, 2)),
]


@pytest.mark.parametrize(("penalty", "shape"), CHECKED, ids=repr)
def test_conformance(penalty, shape):
    mm.testing.check_penalty(penalty, shape)


def test_the_same_penalty_under_several_names():
    rng = np.random.default_rng(0)
    w, W = rng.standard_normal(5), rng.standard_normal((5, 3))
    weights = [1.0, 2.0, 0.0, 0.5, 3.0]
    assert isinstance(mm.GroupL2(range(5), weights).bind(5), Separable)
    assert mm.GroupL2(range(5), weights).value(w) == mm.L1(weights).value(w)
    assert mm.L21().value(w) == mm.L1().value(w)
    assert mm.L21(by="output").value(w) == pytest.approx(np.linalg.norm(w), rel=1e-15)
    assert mm.L21(by="output").value(W) == pytest.approx(mm.L21().value(W.T), rel=1e-15)
    assert mm.GroupL2(range(5)).value(W) == pytest.approx(mm.L21().value(W), rel=1e-15)
    names = mm.GroupL2(["b", "a", "b", "c", "a"], [1.0, 2.0, 3.0])
    lists = mm.GroupL2([[1, 4], [0, 2], [3]], [1.0, 2.0, 3.0])
    assert names.value(w) == lists.value(w)
    assert np.array_equal(names.prox(w, 0.3), lists.prox(w, 0.3))
    share = mm.SparseGroup([0, 0, 1, 1, 1], 0.3)
    parts = 0.3 * mm.L1() + 0.7 * mm.GroupL2([0, 0, 1, 1, 1])
    assert share.value(w) == pytest.approx(parts.value(w), rel=1e-15)
    assert share.prox(w, 0.5) == pytest.approx(parts.prox(w, 0.5), rel=1e-12)
    assert mm.L21(squared=True).value(W) == pytest.approx(0.5 * mm.L21().value(W) ** 2)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 1.0]))
def test_no_point_of_the_domain_proves_more(seed, squares):
    # Ω*(v) = sup v·w − Ω(w): attained, for scaled v, by no random w; and never exceeded.
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, 7)
    l2 = squares * rng.uniform(0, 1, 7) * (rng.uniform(size=7) < 0.7)
    penalty = mm.SparseGroup(label, rng.uniform()) + mm.L2(l2)
    v = rng.standard_normal(7)
    bound = penalty.bind(7)
    v = bound.shrink(v) * v
    conjugate = penalty.conjugate(v)
    assert np.isfinite(conjugate)
    for size in (0.1, 1.0, 10.0):
        w = size * rng.standard_normal(7)
        assert v @ w - penalty.value(w) <= conjugate + 1e-12 * (1 + size)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"groups": [[0, 1], [1, 2]]}, "feature 1 is listed twice"),
        ({"groups": [[0, 0], [1, 2]]}, "feature 0 is listed twice"),
        ({"groups": [[0, 1]]}, "feature 2 is in no group"),
        ({"groups": [[0, 1, 2], []]}, "group 1 of GroupL2 is empty"),
        ({"groups": [[0, 1], [3]]}, "from 0 to 2"),
        ({"groups": [0, 1]}, "expected 3, got 2"),
        ({"groups": [0, [1, 2], 0]}, "all labels of one type"),
        ({"groups": [0.0, 1.0, np.nan]}, "must not be NaN"),
        ({"groups": None}, "one label per feature"),
        ({"groups": "abc"}, "one label per feature"),
        ({"groups": [0, 1, 1], "weights": [1.0]}, r"expected shape \(2,\)"),
        ({"groups": [0, 1, 1], "weights": [1.0, -1.0]}, "not negative"),
        ({"groups": [0, 1, 1], "weights": ["a", "b"]}, "must be numbers"),
    ],
)
def test_refused_in_words(arguments, words):
    with pytest.raises(ValueError, match=words):
        mm.GroupL2(**arguments).bind(3)


def test_other_refusals():
    with pytest.raises(ValueError, match="share of SparseGroup"):
        mm.SparseGroup([0, 0], 1.5).bind(2)
    with pytest.raises(ValueError, match="by of L21"):
        mm.L21(by="row").bind((2, 2))
    with pytest.raises(ValueError, match="cannot be added"):
        (mm.GroupL2([0, 0, 1]) + mm.NonNegative()).bind(3)
    with pytest.raises(ValueError, match="cannot be added"):
        (mm.GroupL2([0, 0, 1]) + mm.GroupL2([0, 1, 1])).bind(3)
    with pytest.raises(ValueError, match="GroupL2"):
        mm.penalties.REGISTRY.get("group_lasso")
