"""Problems that no solver takes: the nearest reasons, and what to take instead."""

import numpy as np
import pytest

import minimand as mm

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 5))
MANY = RNG.standard_normal((60, 3))
CLASSES = RNG.integers(0, 3, 60)
COST = np.ones((3, 3)) - np.eye(3)
L21, GROUPS = mm.L21(), mm.GroupL2([0, 0, 1, 1, 1])


class Own(mm.Loss):
    """The largest class margin, as a loss of one's own of which no envelope is known."""

    target, joint, smooth = "class", True, False

    def __init__(self):
        self.margin = mm.CrammerSinger()

    def value(self, z, y):
        return self.margin.value(z, y)

    def gradient(self, z, y):
        return self.margin.gradient(z, y)

    def conjugate(self, u, y):
        return self.margin.conjugate(u, y)

    def into_domain(self, u, y):
        return self.margin.into_domain(u, y)

    def infimum(self, y):
        return np.zeros(len(y))


CASES = {
    "quantiles in order": (
        mm.Regressor(mm.Quantiles([0.2, 0.8], crossing=False), L21),
        MANY[:, 0],
        ["has kinks that no solver here can round off", r"L2\(\)"],
        mm.Regressor(mm.Quantiles([0.2, 0.8], crossing=False), "l2"),
    ),
    "quantiles in groups": (
        mm.Regressor(mm.Quantiles([0.2, 0.8], crossing=False), GROUPS, alpha=0.1),
        MANY[:, 0],
        ["not a sum over features, as L1", "take crossing=True or "],
        mm.Regressor(mm.Quantiles([0.2, 0.8]), GROUPS, alpha=0.1),
    ),
    "classes": (
        mm.Classifier(Own(), L21),
        CLASSES,
        ["has kinks that no solver here can round off", r"loss such as Multinomial\(\)"],
        mm.Classifier(mm.Multinomial(), L21),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_problem_of_several_scores(name):
    """Solvers of one score have nothing to say about it; what is advised can be fitted."""
    model, y, messages, advised = CASES[name]
    with pytest.raises(ValueError, match=r"^no solver takes .* minimand\.explain shows") as caught:
        model.fit(X, y)
    words = str(caught.value)
    assert "closed_form" not in words
    for message in messages:
        with pytest.raises(ValueError, match=message):
            raise caught.value
    assert advised.fit(X, y).certificate_.relative <= 1e-6


def test_a_penalty_of_ones_own_is_sent_to_solvers_that_take_it():
    class Pairs(mm.penalties.Penalty):
        def value(self, w):
            return np.linalg.norm(np.reshape(w, (-1, 2)), axis=1).sum()

        def prox(self, w, step):
            pairs = np.reshape(w, (-1, 2))
            norms = np.maximum(np.linalg.norm(pairs, axis=1, keepdims=True), 1e-300)
            return (pairs * np.maximum(1 - step / norms, 0)).ravel()

    with pytest.raises(ValueError, match=r"or name one of \[.*'fista'\], which accept it"):
        mm.Regressor("squared", Pairs(), alpha=0.1).fit(X[:, :4], MANY[:, 0])


def test_matrices_are_not_spelt_out():
    """A cost matrix is told by its shape, on one line."""
    for cost in (COST, COST.tolist()):
        with pytest.raises(ValueError, match=r"cost=(array|\[\[).*kinks") as caught:
            mm.Classifier(mm.CrammerSinger(cost), solver="newton").fit(X, CLASSES)
        assert "\n" not in str(caught.value)
    assert repr(mm.CrammerSinger(np.eye(40))) == "CrammerSinger(cost=array of shape (40, 40))"
    assert repr(mm.L1([1.0, 2.0])) == "L1(weights=[1.0, 2.0])"
