"""Kernel machines while they are fitted: callbacks of scikit-learn, stops, one call or several."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
from minimand.sklearn import SVC, SVR, NuSVC, NuSVR, OneClassSVM

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")

X, Y = load_iris(return_X_y=True)


class Recorder:
    """Writes down the gaps and what models met on the way predict; stops after some of them."""

    def __init__(self, stop_after=None):
        self.stop_after, self.gaps, self.answers = stop_after, [], []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X, metadata, fitted_estimator):
        if context.task_name != "iteration":
            return None
        self.gaps.append(metadata["gap"])
        self.answers.append(fitted_estimator.predict(X))
        return self.stop_after is not None and len(self.gaps) >= self.stop_after

    def teardown(self, estimator, context):
        pass


MODELS = [SVC(), SVC(kernel="linear"), NuSVC(nu=0.2), SVR(), NuSVR(), OneClassSVM(nu=0.2)]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_callbacks_see_every_machine_and_change_no_model(model):
    recorder, plain = Recorder(), clone(model).fit(X, Y)
    watched = clone(model).set_callbacks(recorder).fit(X, Y)
    shown = clone(model).set_params(verbose=True).fit(X, Y)
    for other in (watched, shown):  # bit by bit
        for name in ("support_", "dual_coef_", "intercept_"):
            np.testing.assert_array_equal(getattr(other, name), getattr(plain, name), err_msg=name)
        assert other.certificate_.gap == plain.certificate_.gap
    machines = 3 if isinstance(model, SVC | NuSVC) else 1
    assert len(recorder.gaps) >= 2 * machines  # where each begins, and where it ends
    np.testing.assert_array_equal(recorder.answers[-1], watched.predict(X))
    assert watched.certificate_.relative <= 1e-6
    assert not hasattr(watched, "_relay")


def test_a_callback_stops_all_machines():
    model = SVC(C=10.0).set_callbacks(Recorder(stop_after=3))
    with pytest.warns(ConvergenceWarning, match="a callback"):
        model.fit(X, Y)
    best = SVC(C=10.0).fit(X, Y).certificate_
    found = model.certificate_
    assert 0 < found.gap < np.inf
    assert found.dual <= best.primal * (1 + 1e-9)
    assert model.predict(X).shape == (150,)


def test_digits_at_once_are_digits_one_by_one():
    data, y = load_digits(return_X_y=True)
    data, y = data[:500], y[:500]
    at_once = SVC().fit(data, y)
    one_by_one = SVC().set_callbacks(Recorder()).fit(data, y)
    found, expected = one_by_one.decision_function(data), at_once.decision_function(data)
    np.testing.assert_array_equal(found, expected)
    assert one_by_one.certificate_.gap == at_once.certificate_.gap
    assert mm.certify(at_once, data, y).relative <= 2e-6


def test_steep_bounds_on_few_columns():
    for C in (1e3, 1e5):
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            model = SVC(kernel="linear", C=C).fit(X, Y)
        assert model.certificate_.relative <= 1e-6
        assert mm.certify(model, X, Y).relative <= 1e-5


def test_the_sigmoid_is_the_minimum_of_the_cross_entropy():
    from minimand.sklearn.kernel_svm.probabilities import _sigmoid

    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0, 1e4):
        scores = size * (rng.normal(size=80) + 3.0)
        first = scores + size * rng.normal(size=80) > 3.0 * size
        weights = rng.uniform(0.5, 2.0, 80)
        A, B = _sigmoid(scores, first, np.arange(80), weights)
        target = np.where(first, (first.sum() + 1) / (first.sum() + 2), 1 / ((~first).sum() + 2))
        oracle = mm.Regressor("cross_entropy", "no_penalty", alpha=0.0, tol=1e-12)
        oracle.fit(scores[:, None], target, sample_weight=weights)
        assert pytest.approx(-oracle.coef_[0], rel=1e-5) == A
        assert pytest.approx(-oracle.intercept_, rel=1e-5, abs=1e-6) == B
    perfect = _sigmoid(
        np.array([-1.0, -1.0, 1.0]), np.array([0, 0, 1], bool), np.arange(3), np.ones(3)
    )
    assert np.isfinite(perfect).all()
    assert _sigmoid(np.ones(4), np.array([1, 0, 0, 0], bool), np.arange(4), np.ones(4))[0] == 0.0
