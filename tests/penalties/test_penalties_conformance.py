"""Every penalty and expression of penalties against the public conformance suite."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minimand as mm
from minimand.penalties import Separable
from minimand.testing import check_penalty

W = [0.0, 1.0, 2.0, 0.5, 0.0, 1e-3, 1.0]
V = [1.0, 0.0, 2.0, 0.5, 0.0, 1e-3, 1.0]


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
