"""Group penalties: their laws, a conic oracle, and what is refused."""

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import minimand as mm
from minimand.penalties import Grouped, Separable

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


def oracle(penalty, target, step):
    """argmin Ω(x) + ‖x − target‖²/(2·step) by Clarabel, Ω = Σ norm‖x_g‖ + Σ l1|x| + ½ l2 x²."""
    d, count = target.size, penalty.groups.count
    size = 2 * d + count  # x, bounds of |x|, bounds of the norms
    curve = np.concatenate([penalty.l2 + 1.0 / step, np.zeros(d + count)])
    cost = np.concatenate([-target / step, penalty.l1, penalty.norm])
    rows, cones = [], []
    eye = np.eye(size)
    for j in range(d):
        rows += [eye[j] - eye[d + j], -eye[j] - eye[d + j]]
    cones.append(clarabel.NonnegativeConeT(2 * d))
    for g in range(count):
        members = np.flatnonzero(penalty.groups.label == g)
        rows += [-eye[2 * d + g], *(-eye[j] for j in members)]
        cones.append(clarabel.SecondOrderConeT(members.size + 1))
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-13
    solver = clarabel.DefaultSolver(
        sparse.diags_array(curve).tocsc(), cost, sparse.csc_array(np.array(rows)),
        np.zeros(len(rows)), cones, options,
    )  # fmt: skip
    return np.array(solver.solve().x)[:d]


@pytest.mark.parametrize("l2", [None, [0.0, 1.0, 3.0, 0.2, 0.0, 0.0]])
def test_prox_by_a_conic_oracle(l2):
    rng = np.random.default_rng(3)
    penalty = mm.SparseGroup(G, 0.4) + (mm.NoPenalty() if l2 is None else mm.L2(l2))
    bound = penalty.bind(6, 0.8)
    assert isinstance(bound, Grouped)
    for step in (0.3, 2.0):
        for _ in range(3):
            target = 2.0 * rng.standard_normal(6)
            x, y = bound.prox(target, step), oracle(bound, target, step)
            assert x == pytest.approx(y, abs=1e-6)
            both = [bound.value(p) + ((p - target) ** 2).sum() / (2 * step) for p in (x, y)]
            assert both[0] <= both[1] + 1e-10


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"groups": [[0, 1], [1, 2]]}, "feature 1 is listed twice"),
        ({"groups": [[0, 0], [1, 2]]}, "feature 0 is listed twice"),
        ({"groups": [[0, 1]]}, "feature 2 is in no group"),
        ({"groups": [[0, 1, 2], []]}, "group 1 of GroupL2 is empty"),
        ({"groups": [[0, 1], [3]]}, "from 0 to 2"),
        ({"groups": [0, 1]}, "expected 3, got 2"),
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
