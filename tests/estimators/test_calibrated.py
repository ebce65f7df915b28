"""Probabilities by calibration: scikit-learn's checks, its own result, and their use."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm


@pytest.mark.conformance
@parametrize_with_checks(
    [mm.Calibrated(mm.Classifier("squared_hinge", tol=1e-10), cv=3, method=m, ensemble=e)
     for m, e in (("sigmoid", True), ("isotonic", False))],
)  # fmt: skip
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def data(classes=2):
    return make_classification(
        600, 8, n_informative=5, n_classes=classes, class_sep=0.7, random_state=0
    )


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("classes", [2, 3])
def test_it_is_the_calibration_of_scikit_learn(method, classes):
    X, y = data(classes)
    svm = mm.Classifier("squared_hinge", "l2", alpha=0.01)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    ours = mm.Calibrated(svm, method=method, cv=3).fit(X, y, weights)
    theirs = CalibratedClassifierCV(svm, method=method, cv=3).fit(X, y, weights)
    assert np.array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    assert np.array_equal(ours.predict(X), ours.classes_[ours.predict_proba(X).argmax(axis=1)])
    assert len(ours.certificates_) == 3
    assert max(certificate.relative for certificate in ours.certificates_) <= 1e-6


def test_probabilities_are_better_than_a_guess_from_the_score():
    X, y = data()
    train, test = slice(0, 400), slice(400, None)
    svm = mm.Classifier("hinge", "l2", alpha=0.01)
    model = mm.Calibrated(svm, cv=5).fit(X[train], y[train])
    score = svm.fit(X[train], y[train]).decision_function(X[test])
    found = log_loss(y[test], model.predict_proba(X[test]))
    assert found < log_loss(y[test], np.clip(0.5 + 0.5 * score, 0.01, 0.99))
    logistic = mm.Classifier("logistic", "l2", alpha=0.01).fit(X[train], y[train])
    assert found < log_loss(y[test], logistic.predict_proba(X[test])) + 0.05


def test_one_model_on_all_data():
    X, y = data()
    model = mm.Calibrated(cv=3, ensemble=False).fit(X, y)  # a hinge by default
    alone = mm.Classifier("hinge").fit(X, y)
    (fitted,) = model.calibrated_classifiers_
    assert np.allclose(fitted.estimator.coef_, alone.coef_)
    assert len(model.certificates_) == 1
    # The function of the score increases, so it keeps the order of the samples.
    order = np.argsort(alone.decision_function(X)[:, 0] if alone.coef_.shape[0] > 1
                       else alone.decision_function(X))  # fmt: skip
    assert (np.diff(model.predict_proba(X)[order, 1]) >= -1e-12).all()


def test_what_is_refused():
    X, y = data()
    with pytest.raises(ValueError, match="no offset"):
        mm.Calibrated().fit(X, y, offset=np.zeros(len(y)))
    with pytest.raises(ValueError, match="it must hold zeros and ones"):
        mm.Calibrated().fit(X, np.stack([y, y + 2], axis=1))
    with pytest.raises(NotFittedError):
        mm.Calibrated().predict_proba(X)
