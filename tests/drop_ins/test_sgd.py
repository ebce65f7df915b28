"""SGDClassifier and SGDRegressor take scikit-learn's steps."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm
from minimand.sklearn import SGDClassifier, SGDRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X = np.random.default_rng(0).standard_normal((300, 6))
Y = X @ [1.0, -1.0, 0.5, 0.0, 0.0, 2.0] + 0.3 * np.random.default_rng(1).standard_normal(300)
LABELS = np.array(["a", "b", "c"])[(Y > -1.0).astype(int) + (Y > 1.0)]


def _expected_failures(estimator):
    reason = "a weight is a longer step, a repetition two steps: only their means agree"
    failures = {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }
    if estimator.average:
        far = "weights of 1000 are steps 1000 times as long, and the average remembers them"
        failures["check_class_weight_classifiers"] = far
    return failures


@parametrize_with_checks(
    [SGDClassifier(max_iter=20), SGDRegressor(), SGDClassifier("log_loss", average=True)],
    expected_failed_checks=_expected_failures,
)
def test_checks(estimator, check):
    check(estimator)


LOSSES = ["hinge", "squared_hinge", "perceptron", "log_loss", "modified_huber", "squared_error"]
DISTANCES = ["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"]


@pytest.mark.parametrize("penalty", ["l2", None])
@pytest.mark.parametrize("average", [False, True, 100])
@pytest.mark.parametrize("rate", ["optimal", "constant", "invscaling"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_same_steps_give_the_same_classifier(loss, rate, average, penalty):
    options = {"learning_rate": rate, "average": average, "penalty": penalty, "shuffle": False}
    options |= {"max_iter": 3, "tol": None, "alpha": 10.0 if rate == "optimal" else 0.01}
    ours = SGDClassifier(loss, **options).fit(X, LABELS)
    theirs = linear_model.SGDClassifier(loss, **options).fit(X, LABELS)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6, atol=1e-8)
    assert ours.certificate_.dual <= ours.certificate_.primal


@pytest.mark.parametrize("rate", ["optimal", "constant", "invscaling"])
@pytest.mark.parametrize("loss", DISTANCES)
def test_the_same_steps_give_the_same_regressor(loss, rate):
    # Weak penalties make the first "optimal" steps explode, and rounding with them.
    options = {"learning_rate": rate, "alpha": 10.0 if rate == "optimal" else 0.05}
    options |= {"shuffle": False, "max_iter": 2, "tol": None}
    ours = SGDRegressor(loss, **options).fit(X, Y)
    theirs = linear_model.SGDRegressor(loss, **options).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6, atol=1e-8)
    certificate = mm.certify(theirs, X, Y)
    np.testing.assert_allclose(certificate.primal, ours.certificate_.primal, rtol=1e-6)


@pytest.mark.parametrize("options", [{}, {"early_stopping": True}, {"learning_rate": "adaptive"}])
def test_training_stops_by_itself(options):
    model = SGDClassifier(random_state=0, eta0=0.1, **options).fit(X, LABELS)
    assert model.n_iter_ < 1000
    assert model.score(X, LABELS) > 0.85
    regressor = SGDRegressor(random_state=0, **options).fit(X, Y)
    assert regressor.score(X, Y) > 0.9
    optimum = mm.Regressor(alpha=1e-4).fit(X, Y).certificate_
    assert optimum.dual <= regressor.certificate_.primal <= 1.1 * optimum.primal
    assert regressor.certificate_.dual <= optimum.primal


def test_partial_fit_continues():
    options = {"shuffle": False, "tol": None, "average": True}
    whole = SGDClassifier(max_iter=1, **options).fit(X, LABELS)
    parts = SGDClassifier(**options)
    for rows in (slice(0, 7), slice(7, 100), slice(100, 300)):
        parts.partial_fit(sparse.csr_matrix(X[rows]), LABELS[rows], classes=np.unique(LABELS))
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
    assert not hasattr(parts, "certificate_")


def test_l1_gives_zeros():
    model = SGDRegressor(penalty="l1", alpha=0.2, random_state=0).fit(X, Y)
    assert (model.coef_[3:5] == 0).any()


def test_passive_aggressive_rates_are_refused():
    with pytest.raises(ValueError, match="learning_rate"):
        SGDClassifier(learning_rate="pa1").fit(X, LABELS)
