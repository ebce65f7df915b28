"""One problem of several scores, from the estimators: all that a problem of one score can do."""

import pickle
import warnings

import numpy as np
import pytest
import skops.io
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_linnerud, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

import minimand as mm

IRIS = load_iris(return_X_y=True)
WINE, GRAPES = load_wine(return_X_y=True)
BODIES, EXERCISES = load_linnerud(return_X_y=True)
BODIES = scale(BODIES)

MULTINOMIAL = mm.Classifier(mm.Multinomial(), "l2", alpha=0.01)
SPARSE = mm.Classifier(mm.Multinomial(), "l1", alpha=0.02)
ROWS = mm.Classifier(mm.Multinomial(), mm.L21(), alpha=0.02)
TASKS = mm.Regressor("squared", mm.L21(), alpha=4.0)
ROBUST = mm.Regressor(mm.Huber(5.0), mm.L21() + 0.1 * mm.L2(), alpha=1.0)
CASES = {
    "multinomial": (MULTINOMIAL, *IRIS),
    "sparse": (SPARSE, *IRIS),
    "rows": (ROWS, *IRIS),
    "tasks": (TASKS, BODIES, EXERCISES),
    "robust": (ROBUST, BODIES, EXERCISES),
}


@pytest.fixture(params=list(CASES))
def case(request):
    model, X, y = CASES[request.param]
    return clone(model), X, y


def test_a_fit_is_certified_and_audited(case):
    model, X, y = case
    model.fit(X, y)
    assert model.coef_.shape == (3, X.shape[1])
    assert model.intercept_.shape == (3,)
    assert model.certificate_.relative <= 1e-6
    found = mm.certify(model, X, y)
    assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-10)
    assert found.relative <= 1e-6
    assert found.by_sample.shape == (len(X),)
    assert found.gap == pytest.approx(found.by_sample.sum() + found.by_feature.sum(), abs=1e-12)
    worse = clone(model).fit(X, y)
    worse.coef_ = worse.coef_ * 1.1
    audit = mm.certify(worse, X, y)
    true_gap = audit.primal - model.certificate_.primal
    assert true_gap <= audit.gap <= true_gap + 2e-6 * audit.gap / audit.relative


def test_words_tables_and_verdicts(case):
    model, X, y = case
    text = str(mm.explain(model, X, y))
    assert "→" in text  # a solver is chosen
    model.fit(X, y)
    tables = mm.duality(model, X, y)
    assert len(tables.samples) == 3
    assert tables.certificate.gap >= 0
    assert str(tables)
    assert model.solver_ in text
    assert repr(model)
    assert model._repr_html_()


def test_a_path_holds_a_certified_model_at_every_alpha(case):
    model, X, y = case
    path = mm.path(model, X, y, alphas=6)
    assert path.coefs.shape == (6, 3, X.shape[1])
    assert path.intercepts.shape == (6, 3)
    assert all(c.relative <= 1e-6 for c in path.certificates)
    at = float(path.alphas[4])
    alone = clone(model).set_params(alpha=at, tol=1e-9).fit(X, y)
    assert_allclose(path.coefs[4], alone.coef_, atol=1e-2 * np.abs(alone.coef_).max())
    if "l2" not in str(model.penalty):
        assert not path.coefs[0].any()  # the largest alpha of the grid empties the model
    fitted = path.model(4)
    assert_allclose(fitted.predict(X[:5]).shape, np.shape(y[:5]))


def test_tuning_chooses_what_a_grid_search_chooses():
    X, y = IRIS
    alphas = [1.0, 0.1, 0.01]
    for model, X, y in ((MULTINOMIAL, *IRIS), (TASKS, BODIES, EXERCISES)):
        tuned = mm.Tuned(model, alphas=alphas, cv=3).fit(X, y)
        if model is TASKS:
            search = GridSearchCV(model, {"alpha": alphas}, cv=3, scoring="neg_mean_squared_error")
        else:
            search = GridSearchCV(model, {"alpha": alphas}, cv=3, scoring="neg_log_loss")
        search.fit(X, y)
        assert tuned.alpha_ == search.best_params_["alpha"]
        mine, other = tuned.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
        factor = 1.0 if model is MULTINOMIAL else 1.5  # ½·(sum of three targets) against a mean
        order = [list(tuned.cv_results_["param_alpha"]).index(a) for a in alphas]
        assert_allclose(np.asarray(mine)[order], factor * other, rtol=1e-3)
        assert tuned.certificate_.relative <= 1e-6
        assert tuned.predict(X).shape == np.shape(y)


@pytest.mark.parametrize("how", ["stop", "interrupt", "max_iter"])
def test_a_fit_that_ends_early_is_a_model_with_its_true_gap(how, case):
    model, X, y = case
    seen = []

    def callback(state):
        seen.append(state)
        if how == "interrupt":
            raise KeyboardInterrupt
        return mm.STOP if how == "stop" else None

    best = clone(model).set_params(tol=1e-10).fit(X, y).certificate_.primal
    model.set_params(tol=0.0, callbacks=[callback], max_iter=1 if how == "max_iter" else None)
    if how == "interrupt":
        with pytest.raises(mm.Interrupted) as stopped:
            model.fit(X, y)
        assert stopped.value.result is model
    elif how == "stop":
        with pytest.warns(ConvergenceWarning, match="a callback"):
            model.fit(X, y)
    else:
        with warnings.catch_warnings():  # a problem may be solved in one step
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
    assert seen[0].gap >= seen[0].primal - best
    assert model.certificate_.primal - best <= model.certificate_.gap
    assert model.predict(X).shape == np.shape(y)


def test_progress_goes_to_stderr(case, capsys):
    model, X, y = case
    model.set_params(verbose=True).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert type(model).__name__ in err
    assert "gap" in err


def test_models_travel_through_files(case):
    model, X, y = case
    model.fit(X, y)
    saved = skops.io.dumps(model)
    for other in (
        pickle.loads(pickle.dumps(model)),
        skops.io.loads(saved, trusted=skops.io.get_untrusted_types(data=saved)),
    ):
        assert_array_equal(other.predict(X), model.predict(X))
        assert other.certificate_.gap == model.certificate_.gap


def test_weights_are_repetitions_and_layouts_do_not_matter(case):
    model, X, y = case
    model.set_params(tol=1e-10)
    counts = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = clone(model).fit(X, y, counts)
    repeated = clone(model).fit(X.repeat(counts, axis=0), y.repeat(counts, axis=0))
    size = np.abs(repeated.coef_).max()
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3 * size)
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-8)
    plain = clone(model).fit(X, y)
    for other in (sparse.csr_array(X), np.asfortranarray(X)):
        assert_allclose(clone(model).fit(other, y).coef_, plain.coef_, atol=1e-3 * size)


def test_a_warm_start_begins_at_the_last_model(case):
    model, X, y = case
    model.set_params(warm_start=True).fit(X, y)
    last, seen = model.certificate_.primal, []
    model.set_params(callbacks=[lambda state: seen.append(state.primal)]).fit(X, y)
    assert seen[0] == pytest.approx(last, rel=1e-9)
    assert model.certificate_.relative <= 1e-6


# Classes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_digits_and_wine(penalty):
    for X, y in (load_digits(return_X_y=True), (WINE, GRAPES)):
        model = mm.Classifier(mm.Multinomial(), penalty, alpha=0.01).fit(X, y)
        assert model.certificate_.relative <= 1e-6
        assert model.score(X, y) > 0.9
        p = model.predict_proba(X)
        assert_allclose(p.sum(axis=1), 1.0)
        assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))


def labels(kind):
    y = IRIS[1]
    if kind == "bool":
        return y > 0
    if kind == "object":
        return np.array(["x", "y", "z"], dtype=object)[y]
    return np.array(["x", "y", "z"])[y] if kind == "str" else 10 * y - 5


@pytest.mark.parametrize("kind", ["str", "int", "bool", "object"])
@pytest.mark.parametrize("reference", [None, 0, -1])
def test_labels_of_every_kind(kind, reference):
    X, y = IRIS[0], labels(kind)
    loss = mm.Multinomial(reference)
    model = mm.Classifier(loss, alpha=0.01, tol=1e-10).fit(X, y)
    codes = np.unique(y, return_inverse=True)[1]
    plain = mm.Classifier(loss, alpha=0.01, tol=1e-10).fit(X, codes)
    assert_array_equal(model.classes_, np.unique(y))
    assert_allclose(model.coef_, plain.coef_, atol=1e-6)
    assert_array_equal(model.predict(X), model.classes_[plain.predict(X)])
    p = model.predict_proba(X)
    assert p.shape == (150, len(model.classes_))
    assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    assert_allclose(model.predict_log_proba(X), np.log(p))


def test_class_weights_and_permutations():
    X, y = WINE, GRAPES
    weighted = mm.Classifier(mm.Multinomial(), class_weight={0: 3.0, 2: 0.5}, tol=1e-10, alpha=0.1)
    factors = np.array([3.0, 1.0, 0.5])[y]
    same = mm.Classifier(mm.Multinomial(), tol=1e-10, alpha=0.1).fit(X, y, factors)
    assert_allclose(weighted.fit(X, y).coef_, same.coef_, atol=1e-6)
    balanced = mm.Classifier(mm.Multinomial(), class_weight="balanced", tol=1e-10, alpha=0.1)
    assert_allclose(balanced.fit(X, y).predict_proba(X).T @ balanced_weights(y), 1 / 3, atol=1e-4)
    order = np.array([1, 2, 0])
    permuted = mm.Classifier(mm.Multinomial(), tol=1e-10, alpha=0.1).fit(X, order[y], factors)
    assert_allclose(permuted.coef_[order], same.coef_, atol=1e-6)
    assert_allclose(permuted.intercept_[order], same.intercept_, atol=1e-5)


def balanced_weights(y):
    counts = np.bincount(y)
    return (1.0 / (3.0 * counts))[y]


@pytest.mark.parametrize("model", [MULTINOMIAL, SPARSE, ROWS], ids=["l2", "l1", "rows"])
def test_intercepts_add_up_to_zero(model):
    fitted = clone(model).fit(*IRIS)
    assert fitted.intercept_.sum() == pytest.approx(0.0, abs=1e-9)
    shifted = clone(model).set_params(warm_start=True).fit(*IRIS)
    shifted.intercept_ = shifted.intercept_ + 3.0
    assert shifted.fit(*IRIS).intercept_.sum() == pytest.approx(0.0, abs=1e-9)


def test_a_stream_takes_penalties_that_are_sums():
    assert hasattr(MULTINOMIAL, "partial_fit")
    assert not hasattr(ROWS, "partial_fit")
    with pytest.raises(AttributeError) as refused:
        _ = ROWS.partial_fit
    assert "joins the scores" in str(refused.value.__cause__)


def test_a_class_of_one_sample():
    X, y = IRIS[0], IRIS[1].copy()
    y[7] = 3
    for penalty in ("l1", "l2"):
        model = mm.Classifier(mm.Multinomial(), penalty, alpha=0.01).fit(X, y)
        assert model.certificate_.relative <= 1e-6
        assert model.predict_proba(X)[:, 3].mean() == pytest.approx(1 / 150, rel=1e-2)


def test_offsets_by_class():
    X, y = IRIS
    shift = np.random.default_rng(0).standard_normal((150, 3))
    model = mm.Classifier(mm.Multinomial(), alpha=0.1).fit(X, y, offset=shift)
    z = X @ model.coef_.T + model.intercept_ + shift
    assert_allclose(model.predict_proba(X, offset=shift), softmax(z, axis=1))
    assert mm.certify(model, X, y, offset=shift).relative <= 1e-6


def test_two_classes_are_the_logistic_regression():
    X, y = IRIS[0], IRIS[1] > 0
    for penalty, alpha in (("l2", 0.005), ("l1", 0.01)):
        two = mm.Classifier(mm.Multinomial(), penalty, alpha=0.01, tol=1e-10).fit(X, y)
        one = mm.Classifier("logistic", penalty, alpha=alpha, tol=1e-10).fit(X, y)
        assert_allclose(two.predict_proba(X), one.predict_proba(X), atol=1e-4)
        assert_allclose(two.decision_function(X), one.decision_function(X), atol=1e-3)


# A loss of vectors ------------------------------------------------------------------------------


class Sum(mm.Loss):
    """½‖z − y‖²: the squared loss, written as a loss of vectors."""

    target, joint, smoothness = "vector", True, 1.0

    def value(self, z, y):
        return 0.5 * ((z - y) ** 2).sum(axis=1)

    def gradient(self, z, y):
        return z - y

    def curvature(self, z, y):
        return np.ones_like(z)

    def conjugate(self, u, y):
        return (0.5 * u * u + u * y).sum(axis=1)

    def infimum(self, y):
        return np.zeros(len(y))


def test_a_vector_loss_that_is_a_sum_has_the_fit_of_the_sum():
    for penalty in ("l2", mm.L21()):
        own = mm.Regressor(Sum(), penalty, alpha=2.0, tol=1e-10).fit(BODIES, EXERCISES)
        plain = mm.Regressor("squared", penalty, alpha=2.0, tol=1e-10).fit(BODIES, EXERCISES)
        assert_allclose(own.coef_, plain.coef_, atol=1e-3)
        assert own.certificate_.primal == pytest.approx(plain.certificate_.primal)
        assert own.predict(BODIES).shape == EXERCISES.shape
        residual = ((own.predict(BODIES) - EXERCISES) ** 2).sum()
        total = ((EXERCISES - EXERCISES.mean(axis=0)) ** 2).sum()
        assert own.score(BODIES, EXERCISES) == pytest.approx(1 - residual / total)
    constant = np.tile(EXERCISES[:1], (20, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mm.Regressor(Sum()).fit(BODIES, constant).score(BODIES, constant) == 1.0


def test_tables_of_multipliers_leave_out_the_class_of_reference():
    X, y = IRIS
    names = np.array(["x", "y", "z"])[y]
    model = mm.Classifier(mm.Multinomial(reference=1), alpha=0.1).fit(X, names)
    tables = mm.duality(model, X, names).samples
    assert [table.name for table in tables] == ["class x", "class z"]
    p = model.predict_proba(X)
    multiplier = (p[:, 0] - (names == "x")) / 150
    assert_allclose(tables[0].multiplier, multiplier, atol=1e-6)
