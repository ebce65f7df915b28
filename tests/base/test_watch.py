"""Ctrl-C ends a fit and the loops around it; what was found is stored first."""

import signal
import threading
import warnings

import numpy as np
import pytest
from interrupts import X, labels, stopped_in, y
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import scale

import minimand as mm
import minimand.sklearn as drop_in
from minimand._base import watch
from minimand.audit import examination as audit
from minimand.selection import trials
from minimand.solvers import loop

flowers, kinds = load_iris(return_X_y=True)
apart = np.where(y > 0, 1, -1)  # a plane separates these, once the middle is left out
wide = np.abs(y) > 1.0


MODELS = {
    "huber": (mm.Regressor("huber", alpha=1e-3), X, y),
    "lasso": (mm.Regressor("squared", "l1", alpha=1e-3), X, y),
    "absolute": (mm.Regressor("absolute", "l1", alpha=1e-3), X, y),
    "simplex": (mm.Regressor("absolute", "l1", alpha=1e-3, solver="simplex"), X, y),
    "ball": (mm.Regressor("huber", mm.L1Ball(0.5)), X, y),
    "mcp": (mm.Regressor("squared", "mcp", alpha=0.1), X, y),
    "robust": (mm.Regressor(mm.GemanMcClure(), alpha=1e-3), X, y),
    "hinge": (mm.Classifier("hinge", alpha=1e-3), X, labels),
    "classes": (mm.Classifier("logistic", alpha=1e-4), flowers, kinds),
    "sgd": (mm.Classifier("logistic", alpha=1e-4, solver="sgd"), X, labels),
    "hidden": (mm.Regressor(alpha=1e-3, features=mm.HiddenLayer(3, random_state=0)), X, y),
    "Lasso": (drop_in.Lasso(1e-3), X, y),
    "LogisticRegression": (drop_in.LogisticRegression(), X, labels),
    "LinearSVC": (drop_in.LinearSVC(), X, labels),
    "HuberRegressor": (drop_in.HuberRegressor(), X, y),
    "LassoCV": (drop_in.LassoCV(cv=3), X, y),
    "LogisticRegressionCV": (
        drop_in.LogisticRegressionCV(
            Cs=4, l1_ratios=(0,), cv=3, scoring="accuracy", use_legacy_attributes=False
        ),
        X,
        labels,
    ),
    "RidgeCV": (drop_in.RidgeCV(cv=3), X, y),
    "LassoLarsIC": (drop_in.LassoLarsIC(), X, y),
    "HardMargin": (mm.HardMargin(tol=1e-12), X[wide], apart[wide]),
    "Tuned": (mm.Tuned(mm.Regressor("huber", "l1"), alphas=10, cv=3, n_jobs=1), X, y),
}  # fmt: skip


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_stored_before_the_interrupt_is_raised(name, count, ctrl_c):
    model, data, target = MODELS[name]
    model = mm.Tuned(model.estimator, 10, 3, n_jobs=1) if name == "Tuned" else _fresh(model)
    ctrl_c.at(loop, "judge", count)
    ctrl_c.at(loop, "observe", count)
    try:
        result = stopped_in(model.fit, data, target)
    except pytest.fail.Exception:
        assert ctrl_c.calls < count  # it was done before
        return
    except KeyboardInterrupt:
        assert name == "HardMargin"  # no plane was known yet
        return
    assert result is model
    assert model.predict(data).shape == target.shape
    found = model.certificate_
    assert found.dual <= found.primal
    again = mm.certify(model.best_estimator_ if name == "Tuned" else model, data, target)
    assert again.dual <= found.primal + found.rounding


def _fresh(model):
    from sklearn.base import clone

    return clone(model)


def test_classes_that_were_not_begun_are_null_models_with_their_gap(ctrl_c):
    seen = []

    def second_class(state):
        seen.append(state.iteration)
        if seen.count(0) == 2:
            signal.raise_signal(signal.SIGINT)

    model = mm.Classifier("logistic", alpha=1e-3, callbacks=[second_class])
    assert stopped_in(model.fit, flowers, kinds) is model
    first, _, last = (model.coef_ != 0).any(axis=1)
    assert first
    assert not last
    best = mm.Classifier("logistic", alpha=1e-3).fit(flowers, kinds).certificate_
    assert model.certificate_.primal - best.primal <= model.certificate_.gap


def test_loops_of_others_end(ctrl_c):
    """Ctrl-C in the third fit of many: none is begun after it."""
    fits = []

    class Counted(mm.Regressor):
        def fit(self, X, y):
            fits.append(self)
            return super().fit(X, y)

    ctrl_c.at(loop, "observe", 3)
    with pytest.raises(mm.Interrupted):
        cross_val_score(Counted("huber", alpha=1e-3), X, y, cv=10)
    begun = len(fits)
    assert 1 < begun < 10
    ctrl_c.calls = 0
    with pytest.raises(mm.Interrupted):
        GridSearchCV(Counted("huber"), {"alpha": np.geomspace(1e-3, 1, 100)}).fit(X, y)
    assert len(fits) - begun < 20


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic"])
def test_a_path_so_far(loss, ctrl_c):
    target = np.where(y > 0, 1, 0) if loss == "logistic" else y
    kind = mm.Classifier if loss == "logistic" else mm.Regressor
    seen = []

    def fifth(state):
        seen.append(state)
        if len(seen) == 9:
            signal.raise_signal(signal.SIGINT)

    path = stopped_in(mm.path, kind(loss, "l1", callbacks=[fifth]), X, target, 30)
    assert 1 <= len(path) < 30
    assert len(seen) == 9
    for i, certificate in enumerate(path.certificates):
        found = mm.certify(path.model(i), X, target)
        assert certificate.dual <= found.primal + found.rounding
    assert all(c.relative <= 1e-6 for c in path.certificates[:-1])


def test_a_path_of_classes_has_all_of_them(ctrl_c):
    ctrl_c.at(loop, "observe", 20)
    path = stopped_in(mm.path, mm.Classifier("hinge", "l1"), flowers, kinds, 20)
    assert path.coefs.shape == (len(path), 3, 4)
    assert path.model(0).predict(flowers).shape == kinds.shape


@pytest.mark.parametrize(
    "model",
    [
        mm.Perceptron(max_epochs=10**6),
        drop_in.Perceptron(max_iter=10**6, tol=None),
        drop_in.SGDClassifier(max_iter=10**6, tol=None),
        drop_in.SGDClassifier(max_iter=10**6, tol=None, learning_rate="pa1", eta0=1.0),
        drop_in.SGDRegressor(max_iter=10**6, tol=None),
        mm.Classifier(solver=mm.solvers.Sgd(epochs=10**6)),
    ],
)
def test_passes_that_would_go_on_for_ever(model, ctrl_c):
    target = y if isinstance(model, drop_in.SGDRegressor) else kinds
    data = X if isinstance(model, drop_in.SGDRegressor) else flowers
    clock = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    clock.start()
    assert stopped_in(_fresh(model).fit, data, target).predict(data).shape == target.shape
    clock.join()


def test_a_perceptron_that_was_cut_off_does_not_claim_to_have_converged(ctrl_c):
    from minimand.solvers.textbook.perceptron import Machine

    ctrl_c.at(Machine, "one_pass", 2)
    data, target = X[wide], apart[wide]
    model = stopped_in(mm.Perceptron(trace=0).fit, data, target)
    assert not model.converged_
    assert model.mistakes_ == model.counts_.sum()


def test_an_interrupt_before_there_is_a_model_is_a_plain_one(ctrl_c):
    from minimand.estimators.posing import coded

    ctrl_c.at(coded, "build", 1)
    with pytest.raises(KeyboardInterrupt) as stopped:
        mm.Regressor().fit(X, y)
    assert not isinstance(stopped.value, mm.Interrupted)


def test_an_interrupt_while_the_certificate_is_made(ctrl_c):
    ctrl_c.at(loop, "_final", 1)
    model = stopped_in(mm.Regressor("huber", alpha=1e-3).fit, X, y)
    assert model.certificate_.relative <= 1e-6  # it had been solved


# Scopes --------------------------------------------------------------------------------------


# Compiled kernels ----------------------------------------------------------------------------


def test_certify_is_interrupted_too(monkeypatch):
    """A solver inside that Ctrl-C stops hands over what it has; certify then tells the loop."""
    X, y = load_breast_cancer(return_X_y=True)
    rough = LogisticRegression(C=1.0, max_iter=1).fit(scale(X), y)
    solve = audit.solve

    def interrupted(*args):
        watch.interrupt()
        return solve(*args)

    monkeypatch.setattr(audit, "solve", interrupted)
    with pytest.raises(mm.Interrupted) as stopped:
        mm.certify(rough, scale(X), y)
    assert stopped.value.result.dual <= stopped.value.result.primal


def test_the_words_say_how_far_a_choice_came():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 20))
    y = X[:, 0] + rng.standard_normal(300)
    seen = []

    def impatient(state):
        seen.append(state)
        if len(seen) == 250:
            raise KeyboardInterrupt

    model = mm.Regressor("huber", "l1", callbacks=[impatient])
    words = r"among \d+ of 30 alphas on \d of 5 folds"
    with pytest.raises(mm.Interrupted, match=words):
        mm.Tuned(model, alphas=30).fit(X, y)
    seen.clear()
    with pytest.raises(mm.Interrupted, match=words + ", in 1 of 2 combinations,"):
        mm.Tuned(model, alphas=30, grid={"loss__delta": [1.0, 2.0]}).fit(X, y)


def test_the_words_do_not_speak_of_a_choice_before_there_was_one(monkeypatch):
    """The model is then that of the largest alpha, within its gap at this alpha only."""

    def impatient(state):
        raise KeyboardInterrupt

    words = "before any of 30 alphas was compared, at the largest of them,.*at its alpha"
    with pytest.raises(mm.Interrupted, match=words):
        mm.Tuned(mm.Regressor("huber", "l1", callbacks=[impatient]), alphas=30).fit(X, y)
    cross_validate = trials.cross_validate

    def interrupted(*args):
        watch.interrupt()
        return cross_validate(*args)

    monkeypatch.setattr(trials, "cross_validate", interrupted)
    lasso = drop_in.LassoCV(cv=3, alphas=30)
    with pytest.raises(mm.Interrupted, match=words):
        lasso.fit(X, y)
    assert lasso.alpha_ == lasso.alphas_.max()


@pytest.mark.parametrize("name", ["null_of", "recentred", "_Course"])
def test_the_scale_of_a_huber_fit_is_interrupted_before_its_first_model(name, ctrl_c):
    from minimand.solvers.nested import scale_search

    ctrl_c.at(scale_search, name, 1)
    model = drop_in.HuberRegressor()
    assert stopped_in(model.fit, X, y) is model
    assert model.scale_ > 0
    found = model.certificate_
    assert found.dual <= found.primal
    assert drop_in.HuberRegressor().fit(X, y).certificate_.primal <= found.primal + found.rounding


@pytest.mark.parametrize("tol", [None, 1e-3])
def test_an_interrupt_between_two_epochs_leaves_a_model(tol, ctrl_c, monkeypatch):
    from minimand.sklearn import stochastic
    from minimand.solvers.stochastic.learner import Learner

    monkeypatch.setattr(Learner, "short_epochs", lambda *_: 1)  # epochs of one compiled call
    ctrl_c.at(stochastic, "reason", 2)
    model = drop_in.SGDRegressor(max_iter=10, tol=tol, random_state=0)
    assert stopped_in(model.fit, X, y) is model
    once = drop_in.SGDRegressor(max_iter=1, tol=None, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        once.fit(X, y)
    np.testing.assert_array_equal(model.coef_, once.coef_)
