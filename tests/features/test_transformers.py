"""Feature maps are scikit-learn transformers."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm

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


@parametrize_with_checks(MAPS)
def test_conformance(estimator, check):
    check(estimator)
