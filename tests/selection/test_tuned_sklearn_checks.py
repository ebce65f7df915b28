"""scikit-learn's own conformance suite for Tuned."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm

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


def _run(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@parametrize_with_checks(_ONE, expected_failed_checks=_expected_failures)
def test_sklearn(estimator, check):
    _run(estimator, check)


@pytest.mark.conformance
@parametrize_with_checks(_OTHERS, expected_failed_checks=_expected_failures)
def test_sklearn_on_the_others(estimator, check):
    _run(estimator, check)
