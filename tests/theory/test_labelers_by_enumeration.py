"""Labelers on odd little problems: their objective and their bound, against all labellings."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.theory.labelers_by_enumeration import Enumerated, problem


@pytest.mark.parametrize("seed", range(24))
def test_no_model_is_better_than_the_bound(seed):
    labeler, X, y, weights = problem(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labeler.fit(X, y, sample_weight=weights)
    found, exact = labeler.certificate_, Enumerated(labeler, X, y, weights)
    own, least = exact.value(exact.weights()), exact.least()
    slack = 1e-9 * (1.0 + abs(own))
    assert found.primal == pytest.approx(own, rel=1e-8, abs=1e-10)
    assert found.dual <= least + slack
    assert own <= least + found.gap + slack
    assert np.isfinite(found.gap)
