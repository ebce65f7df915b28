"""Callbacks of scikit-learn ≥ 1.9: set with set_callbacks, passed as callbacks=, propagated."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import minimand as mm

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")


class Recorder:
    """Writes down what it is told; asks to stop after some iterations if wanted."""

    def __init__(self, stop_after=None, fail=False):
        self.stop_after, self.fail = stop_after, fail
        self.begun, self.facts, self.models, self.log, self.names = [], [], [], [], []

    def setup(self, estimator, context):
        self.log.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.names.append((context.estimator_name, context.task_name))
        if context.task_name != "iteration":
            return None
        if self.fail:
            raise RuntimeError("mine")
        assert X.shape[0] == y.shape[0]
        self.facts.append(metadata)
        self.models.append((fitted_estimator, X))
        return self.stop_after is not None and len(self.facts) >= self.stop_after

    def teardown(self, estimator, context):
        self.log.append("teardown")


class Propagated(Recorder):
    max_propagation_depth = None


@pytest.fixture(scope="module")
def data():
    return make_classification(150, 10, n_informative=5, random_state=0)


def attach(how, model, recorder):
    if how == "set_callbacks":
        return model.set_callbacks(recorder)
    return model.set_params(callbacks=[recorder])


HOW = pytest.mark.parametrize("how", ["set_callbacks", "callbacks"])


@HOW
@pytest.mark.parametrize("kind", [mm.Regressor, mm.Classifier])
def test_metadata_is_our_state(how, kind, data):
    recorder, states = Recorder(), []
    model = attach(how, kind(kind().loss, "l1", alpha=1e-3), recorder)
    model.set_params(callbacks=[*(model.callbacks or []), states.append])
    model.fit(*data)
    assert recorder.log == ["setup", "teardown"]
    assert len(recorder.facts) == len(states)
    for facts, state in zip(recorder.facts, states):
        for name in ("iteration", "passes", "seconds", "primal", "dual", "gap"):
            assert facts[name] == getattr(state, name)
    assert recorder.begun == ["fit"] + ["iteration"] * len(states)
    assert recorder.names[-1] == (kind.__name__, "fit")


@HOW
def test_the_fitted_estimator_predicts(how, data):
    X, y = data
    recorder = Recorder()
    model = attach(how, mm.Classifier(alpha=1e-3), recorder).fit(X, y)
    for fitted, seen in recorder.models:
        assert fitted.predict_proba(seen).shape == (150, 2)
    last, _ = recorder.models[-1]
    assert_allclose(last.predict_proba(X), model.predict_proba(X), atol=1e-6)
    recorder, X = Recorder(), np.tile(X, 5)  # few columns are fitted by one compiled call
    attach(how, mm.Classifier(alpha=1e-3), recorder).fit(X, y)
    first, _ = recorder.models[0]
    assert np.ptp(first.decision_function(X)) == 0.0  # it begins with the null model


def test_several_classes_report_too(data):
    X, _ = data
    y = np.digitize(X[:, 0], [-1, 0, 1])
    recorder = Recorder()
    mm.Classifier(alpha=1e-3, callbacks=[recorder]).fit(X, y)
    assert len(recorder.facts) >= 4
    for fitted, _ in recorder.models:
        assert fitted.predict(X).shape == (150,)
        assert fitted.coef_.shape == (4, 10)


@HOW
@pytest.mark.parametrize("classes", [2, 4])
def test_true_stops(how, classes, data):
    X, _ = data
    y = np.digitize(X[:, 0], [0] if classes == 2 else [-1, 0, 1])
    recorder = Recorder(stop_after=2)
    model = attach(how, mm.Classifier(alpha=1e-3, tol=0.0), recorder)
    with pytest.warns(ConvergenceWarning, match="a callback"):
        model.fit(X, y)
    assert len(recorder.facts) == 2
    assert model.predict(X).shape == (150,)


@HOW
def test_an_error_propagates_and_the_estimator_is_as_before(how, data):
    recorder = Recorder(fail=True)
    model = attach(how, mm.Classifier(), recorder)
    before = list(getattr(model, "_skl_callbacks", []))
    with pytest.raises(RuntimeError, match="mine"):
        model.fit(*data)
    assert recorder.log == ["setup", "teardown"]
    assert getattr(model, "_skl_callbacks", []) == before
    recorder.fail = False
    model.fit(*data)
    assert getattr(model, "_skl_callbacks", []) == before


def test_both_ways_at_once_call_each_callback_once(data):
    one, two = Recorder(), Recorder()
    model = mm.Classifier(alpha=1e-3, callbacks=[one, two]).set_callbacks(one).fit(*data)
    assert one.log == two.log == ["setup", "teardown"]
    assert len(one.facts) == len(two.facts)
    assert model._skl_callbacks == [one]


def test_the_progress_bar_of_scikit_learn(data, capsys):
    pytest.importorskip("rich")
    mm.Classifier(alpha=1e-3).set_callbacks(callback.ProgressBar()).fit(*data)
    mm.Classifier(alpha=1e-3, callbacks=[callback.ProgressBar()]).fit(*data)
    assert "Classifier" in capsys.readouterr().out


def test_features_and_callbacks(data):
    recorder = Recorder()
    mm.Classifier(features=StandardScaler(), callbacks=[recorder]).fit(*data)
    assert recorder.models
    for fitted, X in recorder.models:
        assert fitted.predict(X).shape == (150,)


def test_a_pipeline_propagates(data):
    recorder = Propagated()
    pipe = make_pipeline(StandardScaler(), mm.Classifier(alpha=1e-3)).set_callbacks(recorder)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*does not support callbacks.*")
        pipe.fit(*data)
    assert recorder.log == ["setup", "teardown"]
    assert ("Classifier", "iteration") in recorder.names
    assert all(np.isfinite(facts["gap"]) for facts in recorder.facts)
    assert not hasattr(pipe[-1], "_skl_callbacks")


def test_a_search_propagates(data):
    recorder = Propagated()
    search = GridSearchCV(mm.Classifier(), {"alpha": [0.1, 1.0]}, cv=2).set_callbacks(recorder)
    search.fit(*data)
    assert recorder.log == ["setup", "teardown"]
    fits = sum(1 for facts in recorder.facts if facts["iteration"] == 0)
    assert fits == 2 * 2 + 1


def test_callbacks_of_the_estimator_run_within_a_search(data):
    recorder = Recorder()
    model = mm.Classifier(callbacks=[recorder])
    search = GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=2).fit(*data)
    assert search.best_estimator_.predict(data[0]).shape == (150,)


def test_a_clone_keeps_the_parameter(data):
    recorder = Recorder()
    model = mm.Classifier(alpha=1e-3, callbacks=[recorder])
    copied = clone(model)
    assert len(copied.callbacks) == 1
    assert copied.fit(*data).certificate_.relative <= 1e-6
