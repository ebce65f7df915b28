"""scikit-learn's checks of the estimators that cut graphs."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm

_MODELS = [
    mm.KernelKMeans(2, n_init=1, random_state=0),
    mm.NormalizedCut(2, kernel=mm.RBF(1.0), random_state=0),
    mm.NormalizedCut(2, kernel=mm.NeighborGraph(5), random_state=0),
    mm.GraphClassifier(kernel=mm.RBF(1.0)),
]
_COPIES = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def _expected_failures(estimator):
    """Checks that cannot hold, each with the reason."""
    if isinstance(estimator, mm.GraphClassifier):
        reason = "weights are those of losses; a copy of a row is a node of the graph as well"
        marked = {"check_classifiers_classes": "the label −1 marks rows without a label"}
        return marked | dict.fromkeys(_COPIES, reason)
    if isinstance(estimator.kernel, mm.NeighborGraph):
        return dict.fromkeys(_COPIES, "a copy of a row is one more neighbour")
    if isinstance(estimator, mm.KernelKMeans):
        return dict.fromkeys(_COPIES, "starts are drawn among rows: other local minima are found")
    return {}


@pytest.mark.conformance
@parametrize_with_checks(_MODELS, expected_failed_checks=_expected_failures)
def test_scikit_learns_checks_of_cuts(estimator, check):
    check(estimator)
