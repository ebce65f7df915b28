"""Ctrl-C at a chosen moment, and what it leaves."""

import signal
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import minimand as mm
from minimand._base import watch

X, labels = load_breast_cancer(return_X_y=True)
X = scale(X)
y = X @ np.linspace(-1, 1, X.shape[1]) + np.sin(np.arange(len(X)))


class CtrlC:
    """Presses Ctrl-C, as a terminal does, when a function is called for the n-th time."""

    def __init__(self, monkeypatch):
        self.patch, self.calls = monkeypatch, 0

    def at(self, owner, name, count):
        inner = getattr(owner, name)

        def counting(*args, **kwargs):
            self.calls += 1
            if self.calls == count:
                signal.raise_signal(signal.SIGINT)
            return inner(*args, **kwargs)

        self.patch.setattr(owner, name, counting)


def stopped_in(call, *args):
    """What `Interrupted` carries; nothing else is said."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(mm.Interrupted, match="Ctrl-C") as stopped:
            call(*args)
    assert watch.current() is None
    return stopped.value.result
