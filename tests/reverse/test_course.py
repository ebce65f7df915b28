"""The record of a fit without given outputs: limits, callbacks, Ctrl-C, the certificate."""

import math
import time

import pytest
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
from minimand.estimators.callbacks import with_callbacks
from minimand.reverse.base import Course, Reverse


class Halving(Reverse):
    """Halves a number, which is its own objective; the optimum is 0."""

    def __init__(self, steps=5, max_seconds=None, callbacks=None, verbose=False, raises=-1):
        self.steps, self.max_seconds, self.callbacks = steps, max_seconds, callbacks
        self.verbose, self.raises = verbose, raises

    def _points(self):
        value = 1.0
        for step in range(self.steps):
            if step == self.raises:
                raise KeyboardInterrupt
            yield value, value, 0.0
            value /= 2

    @with_callbacks
    def fit(self, X, y=None):
        """Fit."""
        self._check_limits()
        with Course(self, "x", X) as course:
            self.value_ = course.follow(self._points())
            self.history_, self.n_iter_ = course.history, course.iterations
            self.certificate_ = course.certificate(self.value_, 0.0, "relaxation", scale=2.0)
        return self


def test_every_point_is_recorded_and_the_last_one_returned():
    model = Halving().fit(None)
    assert model.history_.primal.tolist() == [1.0, 0.5, 0.25, 0.125, 0.0625]
    assert model.value_ == 0.0625
    assert model.n_iter_ == 4
    found = model.certificate_
    assert (found.primal, found.dual, found.gap) == (0.0625, 0.0, 0.0625)
    assert found.relative == 0.03125
    assert (found.kind, found.objective, found.iterations) == ("relaxation", "x", 4)
    assert "objective 0.0625" in repr(model)


def test_a_callback_stops_the_fit_which_warns_at_the_line_that_called_it():
    def third(state):
        return mm.STOP if state.iteration == 2 else None

    with pytest.warns(ConvergenceWarning, match="a callback") as caught:
        model = Halving(callbacks=[third]).fit(None)
    assert model.value_ == 0.25
    assert caught[0].filename == __file__


def test_the_time_limit_stops_the_fit():
    with pytest.warns(ConvergenceWarning, match=r"max_seconds=0\.02"):
        model = Halving(1000, max_seconds=0.02, callbacks=[lambda s: time.sleep(0.01)]).fit(None)
    assert len(model.history_) < 1000


@pytest.mark.parametrize("how", ["in a callback", "in a step"])
def test_ctrl_c_stores_the_model_first(how):
    def second(state):
        if state.iteration == 1:
            raise KeyboardInterrupt

    model = Halving(callbacks=[second]) if how == "in a callback" else Halving(raises=2)
    with pytest.raises(mm.Interrupted) as stop:
        model.fit(None)
    assert stop.value.result is model
    assert model.value_ == 0.5


def test_ctrl_c_before_any_model_is_passed_on():
    with pytest.raises(KeyboardInterrupt) as stop:
        Halving(raises=0).fit(None)
    assert not isinstance(stop.value, mm.Interrupted)


@pytest.mark.parametrize(
    ("name", "value"), [("max_seconds", -1.0), ("max_seconds", math.nan), ("callbacks", print)]
)
def test_bad_limits_are_refused_by_name(name, value):
    with pytest.raises((TypeError, ValueError), match=name):
        Halving(**{name: value}).fit(None)


def test_progress_shows_the_objective(capsys):
    Halving(verbose=True).fit(None)
    assert "Halving" in capsys.readouterr().err
