"""Every penalty and expression of penalties against the public conformance suite."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
from minimand.penalties import Separable
from minimand.testing import check_penalty

W = [0.0, 1.0, 2.0, 0.5, 0.0, 1e-3, 1.0]
V = [1.0, 0.0, 2.0, 0.5, 0.0, 1e-3, 1.0]
LO = [-1, 0, -np.inf, 0, 1, -2, 0.0]
HI = [1, np.inf, 0, 0, 2, -1, 1e-3]


@pytest.mark.parametrize(
    "penalty",
    [
        mm.L1(),
        mm.L2(),
        mm.NoPenalty(),
        mm.L1(W),
        mm.L2(W),
        mm.L1(np.zeros(7)),
        mm.L1() + 0.5 * mm.L2(),
        mm.L1(W) + mm.L2(V),
        0.3 * mm.L1(),
        0 * mm.L2(),
        2 * (0.5 * mm.L1() + mm.NoPenalty()),
        np.float64(0.1) * mm.L2() * 3,
        mm.NonNegative(),
        0 * mm.NonNegative(),
        mm.Box(LO, HI),
        mm.Box(1.0, 2.0),
        mm.Box(-np.inf, np.inf),
        mm.L1(W) + mm.NonNegative(),
        mm.L1() + 0.5 * mm.L2() + mm.Box(LO, HI),
        mm.L2(V) + mm.Box(-np.inf, 3.0),
        mm.L1Ball(2.0),
        mm.L2Ball(2.0),
        mm.L1Ball(0.0),
        mm.L1Ball(1e-8),
        mm.L2Ball(1e8),
        0.5 * mm.L2Ball(1.0) + mm.L1(),
        mm.L1Ball(1.0) + mm.L2(W),
        mm.L2Ball(1.0) + mm.L2(W),
        mm.L1Ball(2.0) + mm.NonNegative(),
        mm.L2Ball(1.0) + mm.Box(-0.3, 0.2),
    ],
    ids=lambda p: p.formula() + str(getattr(p, "weights", None) is not None),
)
def test_conformance(penalty):
    check_penalty(penalty)


class Tampered(mm.L1):
    """L1 with another bound form."""

    Bound = Separable

    def bind(self, n_features, alpha=1.0):
        form = super().bind(n_features, alpha)
        return self.Bound(form.l1, form.l2)


class WrongConjugate(Tampered):
    class Bound(Separable):
        def by_feature(self, w, v):
            return super().by_feature(w, 0.9 * v)


class TimidShrink(Tampered):
    class Bound(Separable):
        def shrink(self, v):
            return 0.5 * super().shrink(v)


class HardThreshold(mm.L1):
    def prox(self, w, step):
        return np.where(np.abs(w) > step, w, 0.0)

    def scaled(self, alpha):
        return type(self)(alpha * np.ones(7))


class HiddenFree(Tampered):
    class Bound(Separable):
        @property
        def free(self):
            return np.zeros(self.l1.size, bool)


@pytest.mark.parametrize(
    ("penalty", "words"),
    [
        (WrongConjugate(), "by_feature|conjugate"),
        (TimidShrink(), "larger factor"),
        (HardThreshold(), "prox|scaled"),
        (HiddenFree(W), "costs nothing"),
    ],
    ids=lambda p: type(p).__name__,
)
def test_the_suite_sees_mistakes(penalty, words):
    with pytest.raises(AssertionError, match=words):
        check_penalty(penalty)


vectors = hnp.arrays(float, 5, elements=st.floats(-1e6, 1e6, allow_subnormal=False))
factors = st.one_of(st.just(0.0), st.floats(1e-100, 1e4))
limits = st.floats(-1e3, 1e3, allow_subnormal=False)


@settings(max_examples=60, deadline=None)
@given(w=vectors, v=vectors, a=factors, b=factors)
def test_algebra_is_arithmetic(w, v, a, b):
    one = (a * mm.L1() + b * mm.L2()).value(w)
    two = a * np.abs(w).sum() + 0.5 * b * (w * w).sum()
    assert one == pytest.approx(two, rel=1e-12)
    form = (a * mm.L1() + b * mm.L2()).bind(5)
    terms = form.by_feature(w, v)
    assert (terms >= 0).all()
    s = form.shrink(v)
    kept = np.where(form.free, 0.0, s * v)
    assert np.isfinite(form.by_feature(w, kept)).all()


@settings(max_examples=60, deadline=None)
@given(w=vectors, a=factors, b=factors, step=st.floats(1e-6, 1e3))
def test_prox_is_exactly_zero_where_it_should_be(w, a, b, step):
    p = (a * mm.L1() + b * mm.L2()).prox(w, step)
    assert (p[np.abs(w) <= a * step] == 0).all()
    assert (p * w >= 0).all()
    assert (np.abs(p) <= np.abs(w)).all()


@pytest.mark.parametrize("factor", [-1.0, np.nan, np.inf, True, "a"])
def test_bad_factors_are_refused(factor):
    with pytest.raises((ValueError, TypeError), match="factor"):
        (factor * mm.L1()).value(np.ones(2))


@pytest.mark.parametrize("weights", [[1.0, -1.0], [1.0], [1.0, np.nan], ["a", "b"]])
def test_bad_weights_are_refused(weights):
    with pytest.raises(ValueError, match="weights of L1"):
        mm.L1(weights).bind(2)


@settings(max_examples=80, deadline=None)
@given(w=vectors, v=vectors, a=factors, b=factors, ends=hnp.arrays(float, (2, 5), elements=limits))
def test_bounds_keep_fenchel_and_young(w, v, a, b, ends):
    """Ω(w) + Ω*(v) − v·w is a sum of terms ≥ 0 that vanish where v pulls w; Ω* is a supremum."""
    lo, hi = ends.min(axis=0), ends.max(axis=0)
    penalty = a * mm.L1() + b * mm.L2() + mm.Box(lo, hi)
    form, inside = penalty.bind(5), np.clip(w, lo, hi)
    assert np.array_equal(form.project(w), inside)
    terms = form.by_feature(inside, v)
    conjugate, value = penalty.conjugate(v), penalty.value(inside)
    assert (terms >= 0).all()
    size = abs(value) + abs(conjugate) + float(np.abs(v) @ np.abs(inside))
    assert terms.sum() == pytest.approx(value + conjugate - v @ inside, abs=1e-9 * size + 1e-300)
    p = penalty.prox(w, 0.5)
    assert (lo <= p).all()
    assert (p <= hi).all()
    at_best = form.by_feature(p, (w - p) / 0.5).sum()
    assert at_best <= 1e-9 * (1 + penalty.value(p) + float(np.abs(w) @ np.abs(p)))


@settings(max_examples=60, deadline=None)
@given(w=vectors, v=vectors, r=st.floats(1e-6, 1e6), norm=st.sampled_from([1, 2]))
def test_the_conjugate_of_a_ball_is_the_dual_norm(w, v, r, norm):
    ball = (mm.L1Ball if norm == 1 else mm.L2Ball)(r)
    dual = r * np.linalg.norm(v, np.inf if norm == 1 else 2)
    assert ball.conjugate(v) == pytest.approx(dual, rel=1e-9, abs=1e-150)
    p = ball.prox(w, 3.0)
    assert np.linalg.norm(p, norm) <= r
    if np.linalg.norm(w, norm) > r:
        assert np.linalg.norm(p, norm) == pytest.approx(r, rel=1e-9)


@pytest.mark.parametrize(
    ("penalty", "words"),
    [
        (mm.Box(1, 0), "lo and hi of Box leave feature 0 no value"),
        (mm.Box(np.inf, np.inf), "leave feature 0"),
        (mm.Box([0.0], 1), "lo of Box must be a number or hold one per feature"),
        (mm.Box(0, np.nan), "hi of Box must not be NaN"),
        (mm.Box("a", 1), "lo of Box must be a number"),
        (mm.Box(0, 1) + mm.Box(2, 3), "contradict each other: feature 0"),
        (mm.L1Ball(-1), "r of L1Ball must be a finite number"),
        (mm.L2Ball(np.inf), "r of L2Ball must be a finite number"),
        (mm.L2Ball("a"), "r of L2Ball must be"),
        (mm.L1Ball(1) + mm.L2Ball(1), "cannot be added"),
        (mm.L1Ball(1) + mm.Box(1, 2), "only if these contain zero"),
    ],
)
def test_bad_constraints_are_refused(penalty, words):
    with pytest.raises(ValueError, match=words):
        penalty.bind(2)


def test_a_penalty_that_ignores_alpha_is_found_out():
    class Stubborn(mm.Penalty):
        def bind(self, n_features, alpha=1.0):
            return Separable(np.ones(n_features), np.zeros(n_features))

        def formula(self, factor=1.0):
            return "Σ|wⱼ|"

        def scaled(self, alpha):
            return self

    with pytest.raises(AssertionError, match="ignores alpha"):
        mm.testing.check_penalty(Stubborn())


def test_a_penalty_without_a_dual_norm_ends():
    class Half(mm.penalties.Penalty):
        """max(w, 0): no step takes a negative coefficient to zero."""

        def value(self, w):
            return np.maximum(w, 0).sum()

        def prox(self, w, step):
            return np.where(w > 0, np.maximum(w - step, 0), w)

    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    y = X @ [1, -1, 2, 0, 1.0]
    model = mm.Regressor("squared", Half(), alpha=0.05, solver="fista", max_iter=50)
    with pytest.warns(ConvergenceWarning):
        found = model.fit(X, y).certificate_
    assert found.dual <= found.primal
