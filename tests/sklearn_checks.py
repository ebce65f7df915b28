"""Tests of estimators by scikit-learn's checks."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks


def by_checks(few, others=(), expected=None):
    """Parametrise a test(estimator, check); the checks of the others are left to conformance."""
    first = parametrize_with_checks(list(few), expected_failed_checks=expected)
    more = parametrize_with_checks(list(others), expected_failed_checks=expected).args[1]
    later = [
        pytest.param(*getattr(case, "values", case), marks=(*marks, pytest.mark.conformance))
        for case, marks in ((case, getattr(case, "marks", ())) for case in more)
    ]
    names, cases = first.args
    return pytest.mark.parametrize(names, [*cases, *later], **first.kwargs)


def quietly(estimator, check):
    """Checks fit data without a minimiser, and defaults that will change: they may warn of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)
        check(estimator)


def weights_are_no_copies(reason):
    """Expected failures of the checks that compare weights with copies."""
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in kinds}
