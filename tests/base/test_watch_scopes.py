"""Scopes that a reason to stop ends, and compiled kernels inside them."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from interrupts import X, y
from scipy import sparse

import minimand as mm
from minimand import _core
from minimand._base import watch
from minimand.design import as_design


def test_threads_that_are_not_the_main_one_hear_nothing():
    found = []
    worker = threading.Thread(target=lambda: found.append(mm.Regressor().fit(X, y)))
    worker.start()
    worker.join()
    assert found[0].certificate_.relative <= 1e-6


def test_the_exception_travels():
    sent = pickle.loads(pickle.dumps(mm.Interrupted("words", [1.0])))
    assert isinstance(sent, KeyboardInterrupt)
    assert (str(sent), sent.result) == ("words", [1.0])


def test_scopes_lie_inside_one_another():
    assert watch.reason() == ""
    with watch.watching() as outer:
        with watch.watching(lambda: "late") as inner:
            assert watch.reason() == "late"
            watch.look()  # nobody would catch it
            with watch.watching(hears=True), pytest.raises(watch.StoppedError, match="late"):
                watch.look()
            with watch.undisturbed():
                assert watch.reason() == ""
            inner.interrupt()
        assert outer.interrupted
        assert watch.reason() == watch.INTERRUPT
    assert watch.reason() == ""
    with pytest.raises(KeyboardInterrupt):
        watch.interrupt()


def test_pieces_cover_everything_until_somebody_says_stop():
    whole = list(watch.pieces(10, watch.PIECE / 4))
    assert [(p.start, p.stop) for p in whole] == [(0, 4), (4, 8), (8, 10)]
    with watch.watching() as scope:
        seen = []
        for piece in watch.pieces(10, watch.PIECE / 4):
            seen.append(piece.start)
            scope.stop("enough")
    assert seen == [0]
    assert list(watch.pieces(0, 1.0)) == []


@pytest.fixture
def impatient():
    """A scope that shall stop by now, after the pause in which kernels ask nobody."""
    time.sleep(0.11)
    with watch.watching(lambda: "late", hears=True) as scope:
        yield scope


@pytest.mark.parametrize("kind", ["C", "F", "csr", "csc"])
def test_a_gram_is_given_up(kind, impatient):
    data = np.array(X, order=kind) if len(kind) == 1 else sparse.csr_array(X).asformat(kind)
    design = as_design(data)
    with pytest.raises(watch.StoppedError, match="late"):
        design.gram(np.ones(len(X)))
    if kind in "CF":
        with pytest.raises(watch.StoppedError, match="late"):
            design.covariance(np.ones(len(X)))
    with watch.undisturbed():  # and nothing of it stays behind
        np.testing.assert_allclose(design.gram(np.ones(len(X))), X.T @ X, atol=1e-9)


def test_descents_hand_over_what_they_have(impatient):
    gram, q = X.T @ X / len(X), X.T @ y / len(X)
    w = np.zeros(X.shape[1])
    ones = np.ones(X.shape[1])
    epochs, decrease = _core.cd_gram(gram, -q, w, 1e-3 * ones, 0 * ones, 10**9, 0.0)
    assert epochs < 10**9
    assert decrease == np.inf


def test_interrupts_come_through_kernels(ctrl_c):
    """A signal while a kernel runs: it ends early, and Ctrl-C is not lost."""
    gram, ones = np.eye(40) + 0.999, np.ones(40)
    clock = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])

    def long_descent():
        clock.start()  # in here: on a busy machine 0.3 seconds may pass before the kernel begins
        _core.cd_gram(gram, ones, np.zeros(40), 0 * ones, 0 * ones, 10**9, -1.0)

    with pytest.raises(KeyboardInterrupt):  # else it would not end for minutes
        long_descent()
    clock.join()


def test_exceptions_of_signal_handlers_come_out_as_themselves():
    class AlarmError(Exception):
        pass

    def ring(*_):
        raise AlarmError("time is up")

    gram, ones = np.eye(40) + 0.999, np.ones(40)
    before = signal.signal(signal.SIGUSR1, ring)
    clock = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGUSR1])

    def long_descent():
        clock.start()
        _core.cd_gram(gram, ones, np.zeros(40), 0 * ones, 0 * ones, 10**9, -1.0)

    try:
        with pytest.raises(AlarmError, match="time is up"):
            long_descent()
    finally:
        clock.join()
        signal.signal(signal.SIGUSR1, before)
    _core.cd_gram(gram, ones, np.zeros(40), 0 * ones, 0 * ones, 10, -1.0)  # nothing is left of it
