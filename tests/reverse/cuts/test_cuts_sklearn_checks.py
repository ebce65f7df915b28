"""scikit-learn's checks of the estimators that cut graphs."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm

_MODELS = [
    mm.KernelKMeans(2, n_init=1, random_state=0),
    mm.NormalizedCut(2, kernel=mm.RBF(1.0), random_state=0),
    mm.NormalizedCut(2, kernel=mm.NeighborGraph(2), random_state=0),
    mm.GraphClassifier(kernel=mm.RBF(1.0)),
]


@pytest.mark.conformance
@parametrize_with_checks(_MODELS)
def test_scikit_learns_checks_of_cuts(estimator, check):
    check(estimator)
