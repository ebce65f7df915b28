"""What `bind` of a user's penalty returns is checked: a wrong number would prove wrong bounds."""

import numpy as np
import pytest

import minimand as mm
from minimand.penalties import BoundPenalty, Penalty, Separable

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 4))
Y = X @ [1.0, -2.0, 0.0, 0.5] + 0.5 * rng.standard_normal(60)
ONE, NONE = np.ones(4), np.zeros(4)


class Given(Penalty):
    """A penalty whose bound form is given."""

    def __init__(self, form):
        self.form = form

    def bind(self, n_features, alpha=1.0):
        return self.form

    def formula(self, factor=1.0):
        return "given"

    def __repr__(self):
        return "Given()"


WRONG = {
    "a negative l1": (Separable(-ONE, ONE), "finite numbers ≥ 0 as l1"),
    "a negative l2": (Separable(NONE, -ONE), "finite numbers ≥ 0 as l2"),
    "NaN": (Separable(np.nan * ONE, ONE), "finite numbers ≥ 0 as l1"),
    "infinity": (Separable(NONE, np.inf * ONE), "finite numbers ≥ 0 as l2"),
    "another length": (Separable(np.ones(5), np.zeros(5)), r"l1 as .* shape \(4,\)"),
    "integers": (Separable(ONE.astype(int), NONE), "not one of int64"),
    "single precision": (Separable(ONE, NONE.astype(np.float32)), "l2 as .* not one of float32"),
    "every second number": (Separable(np.ones(8)[::2], NONE), "l1 as .* in C order"),
    "lists": (Separable([1.0] * 4, [0.0] * 4), r"not \[1.0, 1.0, 1.0, 1.0\]"),
    "a number": (Separable(1.0, 0.0), "not 1.0"),
    "bounds that contradict": (Separable(NONE, ONE, (ONE, -ONE)), "lo ≤ hi"),
    "bounds that are NaN": (Separable(NONE, ONE, (np.nan * ONE, ONE)), "lo ≤ hi"),
    "short bounds": (Separable(NONE, ONE, (ONE[:2], ONE)), "lo as"),
    "nothing": (None, "must return a minimand.penalties.Separable"),
    "a penalty": (mm.L1(), r"not L1\(\)"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_bound_form_that_is_none_is_refused_in_one_sentence(what):
    form, sentence = WRONG[what]
    for loss in ("squared", "huber", "absolute"):
        with pytest.raises(ValueError, match=f"bind of .*{sentence}"):
            mm.Regressor(loss, Given(form)).fit(X, Y)
    if what != "every second number":  # a copy of the penalty has a contiguous one
        with pytest.raises(ValueError, match=sentence):
            mm.path(mm.Regressor("squared", Given(form)), X, Y, alphas=[0.1])
    with pytest.raises(AssertionError, match=sentence):
        mm.testing.check_penalty(Given(form), 4)


def test_parts_of_a_sum_may_be_negative_if_the_sum_is_not():
    """½‖w‖² + (−¼‖w‖²) is a ridge; the other way round it is refused."""
    less = Given(Separable(NONE, -0.5 * ONE))
    found = mm.Regressor("squared", mm.L2() + less, alpha=1.0).fit(X, Y)
    same = mm.Regressor("squared", "l2", alpha=0.5).fit(X, Y)
    np.testing.assert_allclose(found.coef_, same.coef_)
    with pytest.raises(ValueError, match="finite numbers ≥ 0 as l2"):
        mm.Regressor("squared", 0.2 * mm.L2() + less, alpha=1.0).fit(X, Y)


class Terms(BoundPenalty):
    """alpha·‖w‖₁ with some Fenchel-Young terms."""

    def __init__(self, terms, d, alpha):
        self.terms, self.d, self.alpha = terms, d, alpha

    def value(self, w):
        return self.alpha * np.abs(w).sum()

    def by_feature(self, w, v):
        inside = np.abs(v) <= self.alpha
        return np.where(inside, self.terms(self.alpha * np.abs(w) - v * w), np.inf)

    def shrink(self, v):
        return min(1.0, self.alpha / max(np.abs(v).max(), 1e-300))

    def times(self, factor):
        return Terms(self.terms, self.d, factor * self.alpha)

    @property
    def free(self):
        return np.zeros(self.d, dtype=bool)

    def prox(self, w, step):
        return np.sign(w) * np.maximum(np.abs(w) - step * self.alpha, 0.0)


class OwnBound(Penalty):
    """‖w‖₁ by a bound form of its own."""

    def __init__(self, terms):
        self.terms = terms

    def bind(self, n_features, alpha=1.0):
        return Terms(self.terms, n_features, alpha)


@pytest.mark.parametrize(
    ("terms", "sentence"),
    [
        (lambda t: 0.0 * t, "differs from w to w"),  # would prove every model optimal
        (lambda t: 0.5 * t, "differs from w to w"),
        (lambda t: -t, "negative or NaN"),
        (lambda t: np.nan * t, "negative or NaN"),
    ],
)
def test_terms_that_do_not_belong_to_the_value_are_refused(terms, sentence):
    model = mm.Regressor("squared", OwnBound(terms), alpha=0.3, solver="fista")
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, Y)


def test_terms_that_do_are_taken():
    model = mm.Regressor("squared", OwnBound(lambda t: t), alpha=0.3, solver="fista").fit(X, Y)
    lasso = mm.Regressor("squared", "l1", alpha=0.3).fit(X, Y)
    assert model.certificate_.relative <= 1e-6
    np.testing.assert_allclose(model.coef_, lasso.coef_, atol=1e-3)
