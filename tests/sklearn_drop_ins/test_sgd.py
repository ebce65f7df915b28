"""SGDClassifier and SGDRegressor take scikit-learn's steps."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm
import minimand.sklearn
from minimand.sklearn import SGDClassifier, SGDRegressor
from minimand.solvers.stochastic.learner import Learner

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
    return failures


@pytest.mark.conformance
@parametrize_with_checks(
    [SGDClassifier(max_iter=20), SGDRegressor(), SGDClassifier("log_loss", average=True)],
    expected_failed_checks=_expected_failures,
)
def test_checks(estimator, check):
    check(estimator)


_RATES = linear_model.SGDClassifier._parameter_constraints["learning_rate"][0].options
_HAS_PASSIVE = "pa1" in _RATES
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


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("many", [False, True])
def test_a_seed_gives_the_rows_in_the_same_order(kind, held_out, many):
    data = sparse.csr_matrix(X) if kind == "sparse" else X
    y = LABELS if many else LABELS == "a"
    options = {
        "random_state": 7,
        "max_iter": 6,
        "tol": 0.0,
        "n_iter_no_change": 9,
        "early_stopping": held_out,
    }
    ours = SGDClassifier("log_loss", alpha=1.0, **options).fit(data, y)
    theirs = linear_model.SGDClassifier("log_loss", alpha=1.0, **options).fit(data, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-7)
    ours = SGDRegressor(alpha=0.1, **options).fit(data, Y)
    theirs = linear_model.SGDRegressor(alpha=0.1, **options).fit(data, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7)


def test_partial_fit_continues():
    options = {"shuffle": False, "tol": None, "average": True}
    whole = SGDClassifier(max_iter=1, **options).fit(X, LABELS)
    parts = SGDClassifier(**options)
    for rows in (slice(0, 7), slice(7, 100), slice(100, 300)):
        parts.partial_fit(X[rows], LABELS[rows], classes=np.unique(LABELS))
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
    assert not hasattr(parts, "certificate_")


def test_l1_gives_zeros():
    wide = np.hstack([X, np.random.default_rng(5).standard_normal((300, 30))])
    model = SGDRegressor(penalty="l1", alpha=0.3, random_state=0, tol=None, max_iter=100)
    model.fit(wide, Y)
    theirs = linear_model.SGDRegressor(**model.get_params()).fit(wide, Y)
    np.testing.assert_array_equal(model.coef_ == 0, theirs.coef_ == 0)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-8, atol=1e-12)
    assert (model.coef_[6:] == 0).sum() >= 5
    assert (model.coef_[[0, 1, 5]] != 0).all()


@pytest.mark.skipif(not _HAS_PASSIVE, reason="scikit-learn < 1.8")
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("penalty", [None, "l2", "elasticnet"])
@pytest.mark.parametrize("rate", ["pa1", "pa2"])
def test_passive_aggressive_rates(rate, penalty, kind):
    data = sparse.csr_matrix(X) if kind == "sparse" else X
    options = {"learning_rate": rate, "eta0": 0.3, "penalty": penalty, "random_state": 3}
    options |= {"average": 50 if penalty is None else False, "max_iter": 7}
    for name, loss, y in (
        ("SGDClassifier", "hinge", LABELS),
        ("SGDRegressor", "epsilon_insensitive", Y),
    ):
        ours = getattr(minimand.sklearn, name)(loss=loss, **options).fit(data, y)
        theirs = getattr(linear_model, name)(loss=loss, **options).fit(data, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-12)
        assert ours.n_iter_ == theirs.n_iter_
        assert not hasattr(ours, "certificate_")  # nothing is minimised


@pytest.mark.skipif(not _HAS_PASSIVE, reason="scikit-learn < 1.8")
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_passive_aggressive_steps_with_a_penalty_are_not_averaged(penalty):
    model = SGDClassifier(learning_rate="pa1", penalty=penalty, average=True)
    words = f"average=True with learning_rate='pa1' needs penalty=None, not '{penalty}': .*; set"
    for method in (model.fit, lambda X, y: model.partial_fit(X, y, np.unique(y))):
        with pytest.raises(ValueError, match=words):
            method(X, LABELS)


@pytest.mark.skipif(not _HAS_PASSIVE, reason="scikit-learn < 1.8")
def test_a_stream_may_change_its_steps():
    model = SGDClassifier(random_state=0).fit(X, LABELS)
    model.set_params(learning_rate="pa1").partial_fit(X, LABELS)
    model.set_params(learning_rate="invscaling").partial_fit(X, LABELS)
    assert model.score(X, LABELS) > 0.8
    assert not hasattr(model, "certificate_")


WEIGHTS = np.random.default_rng(2).integers(0, 4, X.shape[0]).astype(float)


@pytest.mark.parametrize("class_weight", [None, "balanced", {"a": 3.0, "c": 0.5}])
@pytest.mark.parametrize("penalty", ["l2", None])
def test_weights_count_as_in_scikit_learn(class_weight, penalty):
    options = {"class_weight": class_weight, "penalty": penalty, "shuffle": False, "max_iter": 3}
    options |= {"tol": None, "learning_rate": "constant", "eta0": 0.05, "alpha": 0.1}
    weights = WEIGHTS + 0.5  # rows of weight zero still shrink scikit-learn's models
    ours = SGDClassifier("log_loss", **options).fit(X, LABELS, sample_weight=weights)
    theirs = linear_model.SGDClassifier("log_loss", **options)
    theirs.fit(X, LABELS, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8)
    certificate = mm.certify(theirs, X, LABELS, weights)
    np.testing.assert_allclose(certificate.primal, ours.certificate_.primal, rtol=1e-8)


def test_the_certificate_is_of_the_weighted_objective():
    """Σ s·loss/n + alpha·½‖w‖², whose steps are taken, at its optimum and nowhere else."""
    rows = WEIGHTS > 0
    total, n = WEIGHTS.sum(), X.shape[0]
    best = mm.Regressor(alpha=0.3 * n / total, tol=1e-12).fit(X[rows], Y[rows], WEIGHTS[rows])
    model = linear_model.SGDRegressor(alpha=0.3).fit(X, Y, sample_weight=WEIGHTS)
    model.coef_, model.intercept_ = best.coef_, np.array([best.intercept_])
    assert mm.certify(model, X, Y, WEIGHTS).relative < 1e-10
    steps = SGDRegressor(alpha=0.3, average=True, tol=None, max_iter=300, random_state=0)
    gap = steps.fit(X, Y, sample_weight=WEIGHTS).certificate_.relative
    assert gap < 1e-3  # steps lead to that optimum


def test_a_batch_may_lack_a_weighted_class():
    model = SGDClassifier(class_weight={"a": 2.0}, shuffle=False)
    without = LABELS != "a"
    model.partial_fit(X[without], LABELS[without], classes=np.unique(LABELS))
    assert model.partial_fit(X, LABELS).score(X, LABELS) > 0.5


def test_negative_weights_are_refused():
    """There would be nothing to minimise, and a certificate of it."""
    weights = np.where(np.arange(300) < 10, -1.0, 1.0)
    for model, y in ((SGDClassifier(), LABELS), (SGDRegressor(), Y)):
        with pytest.raises(ValueError, match="sample_weight must not be negative"):
            model.fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("change", [{"alpha": 0.01}, {"penalty": "l2"}, {}])
def test_what_an_l1_penalty_is_owed_is_not_priced_anew(change):
    """Neither by another alpha nor by rows that weigh little: a few rows change a model little."""
    options = {"penalty": "l1", "alpha": 1e-4, "learning_rate": "constant", "eta0": 0.01}
    model = SGDRegressor(**options).partial_fit(X, Y)
    before = np.abs(model.coef_).sum()
    model.set_params(**change).partial_fit(X[:2], Y[:2], sample_weight=[1e-3, 1e-3])
    assert np.abs(model.coef_).sum() > 0.95 * before


def test_a_stream_goes_on_from_coefficients_that_were_set():
    options = {"alpha": 0.1, "learning_rate": "invscaling", "shuffle": False}
    ours, theirs = SGDRegressor(**options), linear_model.SGDRegressor(**options)
    for model in (ours, theirs):
        model.partial_fit(X, Y)
        model.coef_ = np.arange(X.shape[1], dtype=float)
        model.partial_fit(X[:20], Y[:20])
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "log_loss", "penalty": None},
        {"average": 5},
        {"shuffle": False, "tol": 1e-2},
        {"learning_rate": "adaptive", "eta0": 0.1},
        {"max_iter": 4, "tol": None},
    ],
    ids=str,
)
def test_epochs_of_one_call_are_those_of_many(options, kind, monkeypatch):
    model = SGDClassifier(random_state=3, **options)
    together = clone(model).fit(kind(X), LABELS)
    monkeypatch.setattr(Learner, "short_epochs", lambda *_: 0)
    apart = clone(model).fit(kind(X), LABELS)
    assert together.n_iter_ == apart.n_iter_
    np.testing.assert_allclose(together.coef_, apart.coef_, rtol=1e-12)
    np.testing.assert_allclose(together.intercept_, apart.intercept_, rtol=1e-12)


_FEW = sparse.random_array((400, 60), density=0.1, rng=np.random.default_rng(11), format="csr")
_FEW_SCORES = _FEW @ np.random.default_rng(12).standard_normal(60)


@pytest.mark.skipif(not _HAS_PASSIVE, reason="scikit-learn < 1.8 compares losses alone")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"penalty": None},
        {"alpha": 1e-2, "learning_rate": "constant", "eta0": 0.05},
        {"learning_rate": "adaptive", "eta0": 0.1, "alpha": 1e-3},
        {"learning_rate": "invscaling", "eta0": 0.1, "average": True},
        {"alpha": 1e-2, "n_iter_no_change": 2, "tol": 1e-4},
    ],
    ids=str,
)
@pytest.mark.parametrize("many", [False, True])
def test_epochs_are_as_many_as_scikit_learns(many, options, weighted):
    """Of sparse rows, too, where it measures the coefficients of one row for the penalty."""
    weights = np.random.default_rng(2).uniform(0.5, 3.0, 400) if weighted else None
    for rows in (_FEW, _FEW.toarray()):
        for name, y in (
            ("SGDClassifier", np.digitize(_FEW_SCORES, [-0.3, 0.3][: 1 + many])),
            ("SGDRegressor", _FEW_SCORES),
        ):
            ours = getattr(minimand.sklearn, name)(random_state=5, **options)
            theirs = getattr(linear_model, name)(random_state=5, **options)
            start = {} if many else {"coef_init": np.full((60,), 0.3), "intercept_init": 0.1}
            for model in (ours, theirs):
                model.fit(rows, y, sample_weight=weights, **start)
            assert ours.n_iter_ == theirs.n_iter_
            np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.skipif(not _HAS_PASSIVE, reason="scikit-learn < 1.8 compares losses alone")
@pytest.mark.parametrize("penalty", ["l1", "elasticnet"])
def test_epochs_under_l1_are_as_many_as_scikit_learns(penalty):
    model = SGDRegressor(penalty=penalty, alpha=1e-2, random_state=5)
    theirs = linear_model.SGDRegressor(**model.get_params()).fit(X, Y)
    model.fit(X, Y)
    assert model.n_iter_ == theirs.n_iter_
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "y"), [("Perceptron", LABELS), ("PassiveAggressiveRegressor", Y)])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_online_epochs_of_one_call_are_those_of_many(name, y, monkeypatch):
    model = getattr(minimand.sklearn, name)(random_state=1)
    together = clone(model).fit(X, y)
    monkeypatch.setattr(Learner, "short_epochs", lambda *_: 0)
    apart = clone(model).fit(X, y)
    assert together.n_iter_ == apart.n_iter_
    np.testing.assert_array_equal(together.coef_, apart.coef_)


@pytest.mark.parametrize(
    "labels", [Y > 0, (Y > -1.0).astype(int) + (Y > 1.0)], ids=["two", "three"]
)
@pytest.mark.parametrize("name", ["SGDClassifier", "Perceptron"])
def test_arrays_in_order_and_lists_give_the_same_fit(name, labels):
    model = getattr(minimand.sklearn, name)(random_state=0)
    begun = vars(clone(model).fit(X, labels))
    checked = vars(clone(model).fit(X.tolist(), labels.tolist()))
    assert set(begun) == set(checked)
    for attribute in ("coef_", "intercept_", "classes_", "t_", "n_iter_", "n_features_in_"):
        np.testing.assert_array_equal(begun[attribute], checked[attribute])
        assert np.asarray(begun[attribute]).dtype == np.asarray(checked[attribute]).dtype


def test_a_second_fit_on_other_classes_and_columns_begins_anew():
    model = SGDClassifier(random_state=0).fit(X, (Y > -1.0).astype(int) + (Y > 1.0))
    again = model.fit(X[:, :3].copy(), Y > 0)
    fresh = SGDClassifier(random_state=0).fit(X[:, :3].copy(), Y > 0)
    np.testing.assert_array_equal(again.coef_, fresh.coef_)
    assert again.n_features_in_ == 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rule", ["invscaling", "pa1"])
def test_data_in_order_give_the_model_of_data_that_scikit_learn_converts(rule, dtype):
    """Arrays that need no conversion skip scikit-learn's checks."""
    model = SGDRegressor("epsilon_insensitive", penalty=None, learning_rate=rule, random_state=0)
    plain, rows = X.astype(dtype), np.asfortranarray(X.astype(dtype))
    one, other = clone(model).fit(plain, Y), clone(model).fit(rows, Y)
    assert one.coef_.dtype == other.coef_.dtype == dtype
    assert one.n_features_in_ == X.shape[1]
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    np.testing.assert_array_equal(clone(one).fit(plain, Y).coef_, one.fit(plain, Y).coef_)


def test_a_schedule_of_two_roots_takes_the_steps_of_any_other_power():
    """t^-1/4 is computed apart; a power next to it must give nearly the same model."""
    fits = [SGDRegressor(power_t=p, random_state=0).fit(X, Y) for p in (0.25, 0.25 + 1e-9)]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-6)
