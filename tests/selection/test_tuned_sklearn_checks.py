"""scikit-learn's own conformance suite for Tuned."""

import minimand as mm
from sklearn_checks import by_checks, quietly

_FEW = {"alphas": [0.1, 0.01], "cv": 2}

_ONE = [mm.Tuned(mm.Regressor("squared", "l1", tol=1e-12), rule="1se", **_FEW)]
_OTHERS = [
    mm.Tuned(mm.Regressor("squared", "l2", tol=1e-12), alphas=3, cv="loo"),
    mm.Tuned(mm.Classifier("logistic", "l2", tol=1e-12), **_FEW),
]


def _expected_failures(tuned):
    if isinstance(tuned.estimator, mm.Classifier):
        return {}
    reason = "decision_function is the score z, which predict transforms to the scale of y"
    return {"check_regressors_no_decision_function": reason}


@by_checks(_ONE, _OTHERS, _expected_failures)
def test_sklearn(estimator, check):
    quietly(estimator, check)
