"""What a bound penalty says of its kind."""

import numpy as np
import pytest

import minimand as mm

WEIGHTS = [1.0, 2.0, 0.5]

# Is it a sum over features, over groups, a function of the norm, quadratic; kinked, constrained?
KINDS = [
    (mm.L1(), (True, True, False, False), (True, False)),
    (mm.L2(), (True, True, True, True), (False, False)),
    (mm.NoPenalty(), (True, True, True, True), (False, False)),
    (mm.L2(WEIGHTS), (True, True, False, True), (False, False)),
    (mm.L1() + 0.5 * mm.L2(), (True, True, False, False), (True, False)),
    (mm.NonNegative(), (True, False, False, False), (False, True)),
    (mm.L2() + mm.Box(-1.0, 1.0), (True, False, False, False), (False, True)),
    (mm.L2Ball(2.0), (False, False, True, False), (False, True)),
    (mm.L2Ball(2.0) + mm.L2(), (False, False, True, False), (False, True)),
    (mm.L2Ball(2.0) + mm.L2(WEIGHTS), (False, False, False, False), (False, True)),
    (mm.L1Ball(2.0), (False, False, False, False), (True, True)),
    (mm.GroupL2([0, 0, 1]), (False, True, False, False), (True, False)),
    (mm.GroupL2([0, 1, 2]), (True, True, False, False), (True, False)),
    (mm.GroupL2([0, 0, 0]) + mm.L2(), (False, True, True, False), (True, False)),
    (mm.GroupL2([0, 0, 1], squared=True), (False, False, False, False), (True, False)),
    (mm.MCP(), (False, False, False, False), (True, False)),
    (mm.MCP() + mm.NonNegative(), (False, False, False, False), (True, True)),
]


@pytest.mark.parametrize(("penalty", "forms", "flags"), KINDS, ids=lambda p: repr(p)[:40])
def test_answers(penalty, forms, flags):
    bound = penalty.bind(3, 0.7)
    found = (bound.sum_over_features, bound.sum_over_groups, bound.function_of_norm, bound.ridge)
    assert tuple(form is not None for form in found) == forms
    assert (bound.makes_zeros, bound.has_constraints) == flags


@pytest.mark.parametrize("penalty", [mm.L2(), mm.L2Ball(2.0), mm.L2Ball(2.0) + mm.L2()], ids=repr)
def test_a_function_of_the_norm_has_the_same_terms(penalty):
    # Ω(w) + Ω*(v) − v·w = [r(‖w‖) + r*(‖v‖) − ‖w‖‖v‖] + [‖w‖‖v‖ − v·w].
    rng = np.random.default_rng(0)
    bound = penalty.bind(3, 0.7)
    for size in (0.1, 1.0, 10.0):
        w, v = rng.standard_normal((2, 3))
        w, v = w / np.linalg.norm(w), size * v
        norms = np.linalg.norm(w, keepdims=True), np.linalg.norm(v, keepdims=True)
        apart = float(norms[0] @ norms[1] - v @ w)
        whole = float(bound.function_of_norm.by_feature(*norms).sum()) + apart
        assert float(bound.by_feature(w, v).sum()) == pytest.approx(whole, rel=1e-12)
