"""Callbacks, progress and limits that are not reached never change what a solver does."""

import io
import warnings
from contextlib import redirect_stdout
from functools import partial

import numpy as np
import pytest
from accepted import ON_MATRICES, accepted
from sklearn.exceptions import ConvergenceWarning

import minimand as mm

rng = np.random.default_rng(0)
X = rng.standard_normal((120, 6)) * [1.0, 1.0, 2.0, 0.7, 1.0, 1.5]
Z = X[:, 0] - 0.2 * X[:, 2] + rng.standard_t(3, 120)
SPECIAL = {  # problems that are typical of a solver
    "working_set": ("logistic", "l1"),
    "dual": ("hinge", "l2"),
    "primal_dual": ("hinge", "l1"),
}
MARGINS = ("logistic", "hinge", "squared_hinge")


def fit(solver, loss, penalty, data=X, target=Z, **kwargs):
    kind = mm.Classifier if loss in MARGINS else mm.Regressor
    y = target > 0 if loss in MARGINS else target
    return fitted(kind, loss, penalty, data, y, solver=solver, **kwargs)


def fitted(kind, loss, penalty, data, y, **kwargs):
    kwargs = {"alpha": 0.02, "tol": 1e-6, **kwargs}
    kwargs |= {} if kind is mm.Ranker else {"random_state": 0}
    with redirect_stdout(io.StringIO()):
        return kind(loss, penalty, **kwargs).fit(data, y)


def same(plain, other, course=("passes", "primal", "dual", "gap")):
    """Bit by bit: model, certificate, and the course of it but for the seconds."""
    np.testing.assert_array_equal(plain.coef_, other.coef_)
    if hasattr(plain, "intercept_"):
        np.testing.assert_array_equal(plain.intercept_, other.intercept_)
    assert plain.solver_ == other.solver_
    assert plain.certificate_.gap == other.certificate_.gap
    assert plain.certificate_.passes == other.certificate_.passes
    for name in course:
        np.testing.assert_array_equal(
            getattr(plain.history_, name), getattr(other.history_, name), err_msg=name
        )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", [*ON_MATRICES, "auto"])
def test_watched_and_unwatched_fits_are_the_same(solver):
    kind, loss, penalty, y = accepted(solver, X, Z)
    again = partial(fitted, kind, loss, penalty, X, y, solver=solver)
    if solver in SPECIAL:
        again = partial(fit, solver, *SPECIAL[solver])
    most = 5 if solver == "sgd" else 3000  # epochs of the one, a bound of the others
    limit = {"max_iter": most} if solver in ("sgd", "subgradient") else {}  # else it takes long
    plain = again(**limit)
    same(plain, again(callbacks=[lambda state: None], **limit))
    if kind is not mm.Ranker:
        same(plain, again(verbose=True, **limit))
    same(plain, again(max_iter=most))
    same(plain, again(max_seconds=1000.0, **limit))


@pytest.mark.parametrize("loss", ["hinge", "quantile", "absolute"])
@pytest.mark.parametrize("penalty", ["l1", "l2", "no_penalty"])
def test_rows_are_left_out_whoever_watches(loss, penalty):
    """From 8,000 rows on, interior points work on some of them first."""
    many = np.random.default_rng(1).standard_normal((9000, 3))
    target = many[:, 0] + np.random.default_rng(2).standard_t(3, 9000)
    plain = fit("primal_dual", loss, penalty, many, target)
    same(plain, fit("primal_dual", loss, penalty, many, target, callbacks=[lambda state: None]))
    same(plain, fit("primal_dual", loss, penalty, many, target, max_iter=1000))


@pytest.mark.parametrize("labels", [2, 3])
def test_classes_are_the_same_one_by_one_and_on_threads(labels):
    y = np.digitize(Z, np.quantile(Z, np.arange(1, labels) / labels))
    plain = mm.Classifier("hinge", alpha=0.02, solver="dual").fit(X, y)
    watched = mm.Classifier("hinge", alpha=0.02, solver="dual", callbacks=[lambda state: None])
    # On threads, the class that comes first pays for the passes of its batch.
    same(plain, watched.fit(X, y), course=("primal", "dual", "gap"))


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "huber"])
@pytest.mark.parametrize("intercept", [True, False])
def test_every_step_inside_a_compiled_call_is_told(loss, intercept):
    """A state belongs to its model, its bound holds, and a fit stops at the model it was told."""
    states = []
    again = partial(fit, "newton", loss, "l2", intercept=intercept)
    plain, told = again(), again(callbacks=[states.append])
    same(plain, told)
    assert plain.n_iter_ == told.n_iter_ == len(states) - 1 >= 2
    assert [state.iteration for state in states] == list(range(len(states)))
    assert not states[0].point.w.any()
    assert (np.diff([state.primal for state in states]) <= 1e-12).all()
    assert (np.diff([state.passes for state in states]) > 0).all()
    for state in states:
        assert state.dual <= plain.certificate_.primal
        assert state.gap == pytest.approx(state.primal - state.dual)
        expected = X @ state.point.w + state.point.b
        np.testing.assert_allclose(state.point.z, expected, atol=1e-12)
        stop = [lambda now, last=state.iteration: mm.STOP if now.iteration == last else None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            stopped = again(callbacks=stop)
        np.testing.assert_allclose(np.ravel(stopped.coef_), state.point.w, rtol=0, atol=0)
        assert stopped.certificate_.primal == pytest.approx(state.primal, rel=1e-12)
        if state.iteration:  # the null model is recorded again when it is returned
            assert len(stopped.history_) == state.iteration + 1
