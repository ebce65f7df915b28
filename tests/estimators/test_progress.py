"""Bars, limits, interrupts, callbacks, warm starts."""

import builtins
import signal
import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
from minimand.estimators.outcome import shortfall
from minimand.report.progress import Bar
from minimand.solvers import Solution, State


@pytest.fixture(scope="module")
def data():
    return make_classification(200, 30, n_informative=10, random_state=0)


def slow(**settings):
    """A fit that takes several iterations and never reaches its tolerance."""
    return mm.Classifier("logistic", "l2", alpha=1e-4, tol=0.0, **settings)


def quiet_fit(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


# The bar -------------------------------------------------------------------------------------


def test_the_bar_shows_the_gap(data, capsys):
    quiet_fit(mm.Classifier(alpha=1e-3, verbose=True), *data)
    out, err = capsys.readouterr()
    assert out == ""
    assert "Classifier" in err
    assert "gap" in err


def test_without_rich_there_are_plain_lines(data, capsys, monkeypatch):
    plain = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.split(".")[0] == "rich":
            raise ImportError("no rich here")
        return plain(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    model = mm.Classifier(alpha=1e-3, verbose=True).fit(*data)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.strip().splitlines()
    assert len(lines) >= model.n_iter_
    assert lines[0].startswith("Classifier: iteration 0  passes ")
    assert all("gap " in line for line in lines)


def test_silence_is_the_default(data, capsys):
    mm.Classifier(alpha=1e-3).fit(*data)
    assert capsys.readouterr() == ("", "")


def test_the_bar_closes_when_a_callback_fails(data, capsys):
    def fail(state):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        mm.Classifier(verbose=True, callbacks=[fail]).fit(*data)
    mm.Classifier(verbose=True).fit(*data)  # rich allows one live bar per console


@pytest.mark.parametrize(
    ("gaps", "fractions"),
    [
        ([np.inf, 1.0, 1e-3, 1e-6, 0.0], [0.0, 0.0, 0.5, 1.0, 1.0]),
        ([1.0, 2.0], [0.0, 0.0]),
        ([1e-9], [1.0]),
    ],
)
def test_the_bar_counts_digits(gaps, fractions):
    bar = Bar("x")
    try:
        for gap, fraction in zip(gaps, fractions):
            state = State(0, 1.0, 0.0, 1.0, 1.0 - gap, gap, target=1e-6)
            assert bar._fraction(state) == pytest.approx(fraction)
    finally:
        bar.close()


def test_the_bar_survives_a_target_of_zero():
    bar = Bar("x")
    try:
        assert bar._fraction(State(0, 1.0, 0.0, 1.0, 0.0, 1.0, target=0.0)) == 0.0
        assert bar._fraction(State(0, 1.0, 0.0, 1.0, 1.0, 0.0, target=0.0)) == 1.0
    finally:
        bar.close()


# Limits --------------------------------------------------------------------------------------


def assert_a_valid_model(model, X, y):
    """Stopped short, but the certificate tells the truth."""
    certificate = model.certificate_
    assert np.isfinite(model.coef_).all()
    assert certificate.gap > 0
    best = mm.Classifier("logistic", "l2", alpha=1e-4, tol=1e-12).fit(X, y)
    true_gap = certificate.primal - best.certificate_.primal
    assert true_gap <= certificate.gap + 1e-12
    assert_allclose(mm.certify(model, X, y).primal, certificate.primal, rtol=1e-12)


def test_max_iter(data):
    with pytest.warns(ConvergenceWarning, match="max_iter=3") as caught:
        model = slow(max_iter=3).fit(*data)
    assert caught[0].filename == __file__
    assert model.n_iter_ <= 3
    assert_a_valid_model(model, *data)


def test_max_seconds(data):
    def dawdle(state):
        time.sleep(0.03)

    with pytest.warns(ConvergenceWarning, match=r"max_seconds=0\.05"):
        model = slow(max_seconds=0.05, callbacks=[dawdle]).fit(*data)
    assert_a_valid_model(model, *data)


def test_no_warning_when_the_tolerance_is_met_within_the_limit(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mm.Classifier(alpha=0.01, max_iter=1000, max_seconds=60).fit(*data)


def test_the_warning_names_gap_passes_and_a_solver(data):
    with pytest.warns(ConvergenceWarning) as caught:
        model = slow(max_iter=2).fit(*data)
    text = str(caught[0].message)
    assert f"relative gap of {model.certificate_.relative:.1e}" in text
    assert f"{model.certificate_.passes:g} passes" in text
    assert f"solver={model.solver_!r}" in text
    assert "or try solver='" in text
    assert "above tol=0" in text
    assert f"within {model.certificate_.gap:.3g} of the optimum" in text
    assert "\n" not in text


def test_the_warning_of_an_unbounded_gap_gives_the_reason():
    certificate = mm.Certificate(1.0, -np.inf, np.inf, np.inf, infeasibility="it is a cone")
    solution = Solution(np.zeros(1), 0.0, certificate, "newton", False, "no further progress")
    text = shortfall(solution, 1e-6, [])
    assert "without a bound (it is a cone); add a penalty" in text
    assert "within inf" not in text


@pytest.mark.parametrize("loss", ["logistic", "multinomial"])
def test_where_no_minimum_exists_no_other_solver_is_named(loss):
    rng = np.random.default_rng(0)
    centres = 8 * np.array([[0, 0], [1, 0], [0, 1]][: 2 + (loss == "multinomial")])
    X = np.vstack([rng.standard_normal((20, 2)) + centre for centre in centres])
    y = np.repeat(np.arange(len(centres)), 20)
    with pytest.warns(ConvergenceWarning, match=r"no minimiser exists\); add a penalty\.$"):
        mm.Classifier(loss, alpha=0).fit(X, y)


def test_separable_data_without_a_penalty_claim_no_minimum():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = mm.Classifier("logistic", "no_penalty").fit(X, [0, 0, 1, 1])
    # The infimum is 0 and is not attained, so the whole objective is what is left to gain.
    assert model.certificate_.gap >= model.certificate_.primal * (1 - 1e-9)
    short = model.certificate_.relative > 1e-6
    assert [w.category for w in caught] == [ConvergenceWarning] * short
    assert all("add a penalty" in str(w.message) for w in caught)
    assert model.score(X, [0, 0, 1, 1]) == 1.0


# Interrupts ----------------------------------------------------------------------------------


def interrupt_by_exception():
    raise KeyboardInterrupt


def interrupt_by_signal():
    # Background jobs of a shell start with SIGINT ignored; a terminal's program does not.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("interrupt", [interrupt_by_exception, interrupt_by_signal])
def test_an_interrupt_leaves_a_fitted_model(interrupt, data):
    def callback(state):
        if state.iteration == 2:
            interrupt()

    model = slow(callbacks=[callback])
    with pytest.raises(mm.Interrupted, match=r"Ctrl-C\) with a relative gap of") as stopped:
        model.fit(*data)
    assert stopped.value.result is model
    assert model.certificate_.iterations == 2
    assert_a_valid_model(model, *data)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_an_interrupt_before_the_first_step(loss, penalty, data):
    def callback(state):
        raise KeyboardInterrupt

    X, y = data
    model = mm.Regressor(loss, penalty, alpha=1e-3, tol=0.0, callbacks=[callback])
    with pytest.raises(mm.Interrupted):
        model.fit(X, y)
    assert model.predict(X).shape == (200,)
    assert model.certificate_.gap >= 0


# Callbacks -----------------------------------------------------------------------------------


def test_callbacks_see_every_iteration(data):
    states = []
    model = mm.Classifier(alpha=1e-3, callbacks=[states.append]).fit(*data)
    assert [s.iteration for s in states] == list(range(len(states)))
    assert states[-1].iteration == model.certificate_.iterations
    for s in states:
        assert s.gap >= 0
        assert_allclose(s.dual, s.primal - s.gap)
        assert s.seconds >= 0
    assert all(np.diff([s.passes for s in states]) > 0)
    assert all(np.diff([s.primal for s in states]) <= 1e-12)
    assert states[-1].gap <= states[-1].target


def test_stop(data):
    with pytest.warns(ConvergenceWarning, match="a callback"):
        model = slow(callbacks=[lambda s: mm.STOP if s.iteration == 1 else None]).fit(*data)
    assert model.certificate_.iterations == 1
    assert_a_valid_model(model, *data)
    assert repr(mm.STOP) == "minimand.STOP"


@pytest.mark.parametrize("answer", [True, 1, "stop", None, False])
def test_only_stop_stops(answer, data):
    model = mm.Classifier(alpha=1e-3, callbacks=[lambda s: answer]).fit(*data)
    assert model.certificate_.relative <= 1e-6


def test_every_callback_is_called_even_if_the_first_says_stop(data):
    seen = []
    model = slow(callbacks=[lambda s: mm.STOP, seen.append])
    quiet_fit(model, *data)
    assert len(seen) == 1


def test_an_exception_of_a_callback_propagates(data):
    class MineError(Exception):
        pass

    def fail(state):
        raise MineError

    model = mm.Classifier(callbacks=[fail])
    with pytest.raises(MineError):
        model.fit(*data)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "classes_")


def test_a_warm_start_after_a_failed_fit(data):
    def fail(state):
        raise RuntimeError

    model = mm.Classifier(callbacks=[fail], warm_start=True)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            model.fit(*data)
    assert model.set_params(callbacks=None).fit(*data).certificate_.relative <= 1e-6


# Warm starts ---------------------------------------------------------------------------------

WARM = [
    mm.Regressor("squared", "l1", alpha=0.01, warm_start=True),
    mm.Regressor("squared", "l2", alpha=0.01, warm_start=True),
    mm.Regressor("huber", "l2", alpha=0.01, warm_start=True),
    mm.Classifier("logistic", "l2", alpha=0.01, warm_start=True),
    mm.Classifier("logistic", "l1", alpha=0.01, warm_start=True),
    mm.Classifier("squared_hinge", mm.L1() + mm.L2(), alpha=0.01, warm_start=True),
]


@pytest.mark.parametrize("model", WARM, ids=repr)
def test_the_same_problem_again_is_done_at_once(model, data):
    X, y = data
    model.fit(X, y)
    coef = model.coef_.copy()
    model.fit(X, y)
    assert model.certificate_.iterations <= 1
    assert_allclose(model.coef_, coef, rtol=1e-3, atol=1e-4)


def test_several_classes_again_are_done_at_once(data):
    X, _ = data
    y = np.digitize(X[:, 0], [-1, 0, 1])
    model = mm.Classifier(alpha=0.01, warm_start=True).fit(X, y)
    assert model.fit(X, y).certificate_.iterations <= 1


@pytest.mark.parametrize("model", WARM, ids=repr)
def test_other_shapes_start_afresh(model, data):
    X, y = data
    model.fit(X, y)
    model.fit(X[:, :7], y)
    assert model.coef_.shape[-1] == 7
    model.fit(X[:50], y[:50])
    assert model.coef_.shape[-1] == 30
    assert model.certificate_.relative <= 1e-6


def test_other_classes_start_afresh(data):
    X, y = data
    model = mm.Classifier(alpha=0.01, warm_start=True).fit(X, y)
    model.fit(X, np.digitize(X[:, 0], [-1, 1]))
    assert model.coef_.shape == (3, 30)
    model.fit(X, np.where(y, "b", "a"))
    assert model.coef_.shape == (1, 30)


@pytest.mark.parametrize("loss", ["huber", "squared"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_an_old_intercept_does_not_survive_intercept_false(loss, penalty, data):
    X, y = data
    warm = mm.Regressor(loss, penalty, alpha=0.01, warm_start=True, tol=1e-10).fit(X, y + 5.0)
    warm.set_params(intercept=False).fit(X, y + 5.0)
    assert warm.intercept_ == 0.0
    cold = mm.Regressor(loss, penalty, alpha=0.01, intercept=False, tol=1e-10).fit(X, y + 5.0)
    assert_allclose(warm.coef_, cold.coef_, rtol=1e-3, atol=1e-4)
