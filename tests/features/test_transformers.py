"""Feature maps are scikit-learn transformers."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm
from minimand.features import Features
from minimand.testing import check_features

MAPS = [
    mm.Monomials(),
    mm.Monomials(3, interactions=False),
    mm.Monomials(2, interactions="only"),
    mm.Centers(),
    mm.Centers(n=1, tau=2.0),
    mm.Neighbors(1),
    mm.HiddenLayer(3),
    mm.HiddenLayer(2, "relu"),
]


@pytest.mark.parametrize("phi", MAPS, ids=repr)
def test_laws_of_maps(phi):
    check_features(clone(phi).set_params(**{k: 0 for k in phi.get_params() if k == "random_state"}))


class _Wrong(Features):
    """Breaks one law at a time."""

    def __init__(self, law):
        self.law = law

    def learn(self, X):
        self.calls_ = 0

    def columns(self, X):
        forms = {
            "rows": X[:-1],
            "finite": np.full(X.shape, np.inf),
            "constant": np.ones(X.shape),
            "random": np.random.default_rng().normal(size=X.shape),
            "alone": X - X.mean(axis=0),
        }
        return forms.get(self.law, X)

    def names(self, inputs):
        return inputs[1:] if self.law == "names" else inputs

    def bind(self, X, y=None):
        if self.law == "bind":
            self.seen = X.shape
        return super().bind(X, y)


@pytest.mark.parametrize(
    ("law", "words"),
    {
        "rows": "30 rows gave 29",
        "finite": "not finite",
        "constant": "every column is constant",
        "random": "two fits differ",
        "alone": "differently when it is alone",
        "names": "3 names for 4 columns",
        "bind": "bind changed the object",
    }.items(),
)
def test_the_laws_can_be_broken(law, words):
    with pytest.raises(AssertionError, match=words):
        check_features(_Wrong(law))


@pytest.mark.conformance
@parametrize_with_checks(MAPS)
def test_conformance(estimator, check):
    check(estimator)
