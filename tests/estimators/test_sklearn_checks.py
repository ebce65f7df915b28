"""scikit-learn's own conformance suite, over losses and penalties."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm

_ELASTIC = mm.L1() + 0.5 * mm.L2()
# Checks compare two fits to seven digits, so the fits must be that good.
_TIGHT = {"alpha": 0.01, "tol": 1e-12}

# One of each kind of fit is checked by `make test`, all others by `make conformance`.
_FEW = [
    mm.Regressor(),
    mm.Regressor("huber", "l1", **_TIGHT),
    mm.Classifier("logistic", "l1", **_TIGHT),
    mm.Classifier("squared_hinge", "l2", **_TIGHT),
    mm.Classifier(mm.Multinomial(), "l2", **_TIGHT),
]
_OTHERS = [
    mm.Regressor("squared", "l1", **_TIGHT),
    mm.Regressor("squared", "no_penalty", **_TIGHT),
    mm.Regressor("squared", _ELASTIC, **_TIGHT),
    mm.Regressor("huber", "l2", **_TIGHT),
    mm.Regressor("huber", "no_penalty", **_TIGHT),
    mm.Regressor("poisson", "l1", **_TIGHT),
    mm.Regressor("poisson", "l2", **_TIGHT),
    mm.Regressor("poisson", "no_penalty", **_TIGHT),
    mm.Regressor("poisson", _ELASTIC, **_TIGHT),
    mm.Regressor("cross_entropy", "l1", **_TIGHT),
    mm.Regressor("cross_entropy", "l2", **_TIGHT),
    mm.Classifier(),
    mm.Classifier("logistic", "no_penalty", max_iter=10, **_TIGHT),
    mm.Classifier("logistic", _ELASTIC, **_TIGHT),
    mm.Classifier("squared_hinge", "l1", **_TIGHT),
    mm.Classifier("squared_hinge", "no_penalty", **_TIGHT),
    mm.Classifier("cross_entropy", "l2", **_TIGHT),
    mm.Classifier("squared", "no_penalty", **_TIGHT),
    mm.Classifier("huber", "l2", **_TIGHT),
    mm.Regressor("squared", mm.L21(), **_TIGHT),
    mm.Regressor("huber", mm.L21() + 0.5 * mm.L2(), **_TIGHT),
    mm.Classifier(mm.Multinomial(), "l1", alpha=0.01, tol=1e-15),
    mm.Classifier(mm.Multinomial(), mm.L21(), alpha=0.01, tol=1e-15),
    mm.Classifier(mm.Multinomial(reference=0), "l2", **_TIGHT),
    mm.Classifier(mm.CrammerSinger(), "l2", **_TIGHT),
    mm.Regressor(features=StandardScaler()),
    mm.Classifier(class_weight="balanced", tol=1e-12),
]

_WEIGHTS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def _expected_failures(estimator):
    """Checks that cannot hold, each with the reason."""
    failures = {}
    if isinstance(estimator, mm.Regressor):
        failures["check_regressors_no_decision_function"] = (
            "decision_function is the score z, which predict transforms to the scale of y"
        )
    if estimator.loss == "cross_entropy" and isinstance(estimator, mm.Regressor):
        for check in ("check_sample_weights_pandas_series", "check_sample_weights_not_an_array"):
            failures[check] = "its y, 1 and 2, is written down in the check and not in [0, 1]"
    if estimator.features is not None:
        for check in _WEIGHTS:
            failures[check] = "features sees no weights, so a row of weight 0 moves its means"
    return failures


def _into_unit_interval(estimator, y):
    """scikit-learn has no tag for y in [0, 1], so its checks are given such a y by hand."""
    y = np.asarray(y, dtype=float)
    if not np.isfinite(y).all():
        return y
    spread = np.ptp(y)
    return (y - y.min()) / spread if spread > 0 else np.full(y.shape, 0.5)


# Without a minimiser the last bits decide whether two fits agree to seven digits, so that comparing
# them says nothing. That weights are repetitions is tested in theory/test_invariance.py.
_NOT_COMPARABLE = {
    ("logistic", "no_penalty"): "separable data have no minimiser, so the iterates go on growing",
}


def _run(estimator, check, monkeypatch):
    reason = _NOT_COMPARABLE.get((estimator.loss, estimator.penalty))
    if reason and check.func.__name__ in _WEIGHTS:
        pytest.skip(reason)
    if isinstance(estimator, mm.Regressor) and estimator.loss == "cross_entropy":
        monkeypatch.setattr(estimator_checks, "_enforce_estimator_tags_y", _into_unit_interval)
    with warnings.catch_warnings():
        # Checks fit unscaled or separable data, where an unpenalised problem has no minimiser.
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@parametrize_with_checks(_FEW, expected_failed_checks=_expected_failures)
def test_sklearn(estimator, check, monkeypatch):
    _run(estimator, check, monkeypatch)


@pytest.mark.conformance
@parametrize_with_checks(_OTHERS, expected_failed_checks=_expected_failures)
def test_sklearn_on_all_others(estimator, check, monkeypatch):
    _run(estimator, check, monkeypatch)


@pytest.mark.parametrize(
    ("loss", "positive"), [("squared", False), ("huber", False), ("poisson", True)]
)
def test_tags_say_which_targets_are_legal(loss, positive):
    tags = mm.Regressor(loss).__sklearn_tags__()
    assert tags.target_tags.positive_only is positive
    assert tags.target_tags.required
    assert tags.input_tags.sparse
    assert tags.estimator_type == "regressor"


def test_tags_of_an_unknown_loss_do_not_fail():
    assert mm.Regressor("no such loss").__sklearn_tags__().target_tags.positive_only is False
    assert mm.Classifier().__sklearn_tags__().estimator_type == "classifier"
