"""What holds for all tests."""

import builtins
import signal

import pytest


def pytest_configure():
    """Ctrl-C is heard also where the tests run in the background of a shell, which ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def without(monkeypatch):
    """A function after which a package cannot be imported."""
    real = builtins.__import__

    def leave_out(package):
        def refuse(name, *args, **kwargs):
            if name.split(".")[0] == package:
                raise ImportError(name)
            return real(name, *args, **kwargs)

        monkeypatch.setattr(builtins, "__import__", refuse)

    return leave_out
