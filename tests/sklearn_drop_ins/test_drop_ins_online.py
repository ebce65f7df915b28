"""Drop-ins that learn row by row: scikit-learn's models, number by number."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm
import minimand.sklearn as drop_ins

pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning"
)  # PassiveAggressive* are deprecated
THERE = hasattr(linear_model, "PassiveAggressiveClassifier")
passive_aggressive = pytest.mark.skipif(not THERE, reason="scikit-learn has them no more")


def agree(name, X, y, **parameters):
    """Fit both, and compare all that scikit-learn says of its model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(linear_model, name)(**parameters).fit(X, y)
        ours = getattr(drop_ins, name)(**parameters).fit(X, y)
    single = X.dtype == np.float32
    for attribute in ("coef_", "intercept_"):
        mine, yours = getattr(ours, attribute), getattr(theirs, attribute)
        assert mine.shape == yours.shape
        tol = 1e-3 if single else 1e-9
        np.testing.assert_allclose(mine, yours, rtol=tol, atol=tol * np.abs(theirs.coef_).max())
    assert ours.coef_.dtype == theirs.coef_.dtype
    assert (ours.n_iter_, ours.t_) == (theirs.n_iter_, theirs.t_)


def classes(k):
    return make_classification(200, 8, n_informative=5, n_classes=k, random_state=0)


def as_sparse(X):
    return sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0.0))


@pytest.mark.parametrize("order", [{"shuffle": False, "random_state": 0}, {"random_state": 3}])
@pytest.mark.parametrize("form", [np.asarray, as_sparse, np.float32])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"penalty": "l2", "alpha": 0.01},
        {"penalty": "l1", "alpha": 0.001},
        {"penalty": "elasticnet", "alpha": 0.001},
        {"class_weight": {0: 2.0}},
        {"early_stopping": True},
        {"fit_intercept": False, "n_iter_no_change": 2, "tol": 1e-2},
        {"max_iter": 3, "tol": None, "eta0": 0.5},
    ],
)
def test_perceptron(parameters, k, form, order):
    X, y = classes(k)
    if form is as_sparse and "penalty" in parameters:
        # scikit-learn measures the norm of the features of the last sparse row, not of all, when
        # it asks whether to stop.
        parameters = {"tol": None, "max_iter": 10, **parameters}
    agree("Perceptron", form(X), y, **parameters, **order)


@passive_aggressive
@pytest.mark.parametrize("order", [{"shuffle": False, "random_state": 0}, {"random_state": 3}])
@pytest.mark.parametrize("form", [np.asarray, as_sparse])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(
    "parameters", [{}, {"average": True}, {"average": 50}, {"C": 0.1, "class_weight": {0: 2.0}}]
)
def test_passive_aggressive_classifier(parameters, loss, k, form, order):
    X, y = classes(k)
    agree("PassiveAggressiveClassifier", form(X), y, loss=loss, **parameters, **order)


@passive_aggressive
@pytest.mark.parametrize("order", [{"shuffle": False, "random_state": 0}, {"random_state": 3}])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize(
    "parameters", [{}, {"average": 50, "C": 0.1}, {"early_stopping": True}, {"epsilon": 3.0}]
)
def test_passive_aggressive_regressor(parameters, loss, order):
    X, y = make_regression(200, 6, noise=5.0, random_state=0)
    agree("PassiveAggressiveRegressor", X, y, loss=loss, **parameters, **order)


@pytest.mark.parametrize("name", ["PassiveAggressiveRegressor", "SGDRegressor"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_targets_may_be_a_column_of_a_table(name, dtype):
    if not hasattr(linear_model, name):
        pytest.skip("scikit-learn has it no more")
    X, y = make_regression(60, 4, noise=5.0, random_state=0)
    table = np.column_stack([y, -y]).astype(dtype)
    assert not table[:, 0].flags.contiguous
    X, model = X.astype(dtype), getattr(drop_ins, name)(random_state=0)
    column, copied = (model.fit(X, target).coef_ for target in (table[:, 0], table[:, 0].copy()))
    np.testing.assert_array_equal(column, copied)


def test_batches_of_a_perceptron():
    X, y = classes(3)
    theirs, ours = (m.Perceptron(shuffle=False) for m in (linear_model, drop_ins))
    for rows in (slice(0, 60), slice(60, 200)):
        for model in (theirs, ours):
            model.partial_fit(X[rows], y[rows], classes=np.unique(y))
        ours = pickle.loads(pickle.dumps(ours))
    np.testing.assert_allclose(ours.coef_, theirs.coef_)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_)


@passive_aggressive
@pytest.mark.parametrize("average", [False, True, 30])
@pytest.mark.parametrize("k", [2, 3])
def test_batches_are_one_pass_averaged_or_not(k, average):
    X, y = classes(k)
    settings = {"shuffle": False, "average": average}
    model = drop_ins.PassiveAggressiveClassifier(**settings)
    whole = drop_ins.PassiveAggressiveClassifier(max_iter=1, tol=None, **settings).fit(X, y)
    for rows in (slice(0, 60), slice(60, 200)):
        model.partial_fit(X[rows], y[rows], classes=np.unique(y))
    np.testing.assert_allclose(model.coef_, whole.coef_)
    np.testing.assert_allclose(model.intercept_, whole.intercept_)


@passive_aggressive
@pytest.mark.parametrize("C", [1e6, np.inf])
def test_an_aggressive_step_mends_the_loss_of_its_sample_by_the_least_change(C):
    x, y = np.array([[3.0, 4.0]]), [7.0]
    model = drop_ins.PassiveAggressiveRegressor(
        C=C, epsilon=0.5, fit_intercept=False, max_iter=1, tol=None
    ).fit(x, y)
    np.testing.assert_allclose(model.coef_, 6.5 * x[0] / 25)  # x·w = y − ε, along x
    mild = drop_ins.PassiveAggressiveRegressor(
        C=C, loss="squared_epsilon_insensitive", fit_intercept=False, max_iter=1, tol=None
    )
    blank = np.zeros((2, 2))
    assert np.isfinite(mild.fit(blank, [1.0, 2.0]).coef_).all()


def test_it_is_the_perceptron():
    X, y = classes(2)
    theirs = drop_ins.Perceptron(shuffle=False, max_iter=4, tol=None).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        ours = mm.Perceptron(max_epochs=4).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_)


def test_overflow_is_said():
    X = np.array([[1e200], [1e200], [-1e200]])
    with pytest.raises(ValueError, match="overflow occurred at epoch #"):
        drop_ins.Perceptron(eta0=1e200).fit(X, [0, 1, 0])


def test_verbose_speaks(capsys):
    X, y = classes(2)
    drop_ins.Perceptron(verbose=1, max_iter=2, tol=None).fit(X, y)
    assert capsys.readouterr().out.count("Epoch") == 2


_CHECKED = [drop_ins.Perceptron(), drop_ins.Perceptron(penalty="elasticnet")]
if THERE:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        _CHECKED += [drop_ins.PassiveAggressiveClassifier(), drop_ins.PassiveAggressiveRegressor()]


def _expected_failures(estimator):
    """scikit-learn's own classes fail these, for the same reason."""
    reason = "a row of weight 2 is one step twice as long, not two steps"
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in kinds}


@pytest.mark.conformance
@parametrize_with_checks(_CHECKED, expected_failed_checks=_expected_failures)
def test_sklearn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)
        check(estimator)
