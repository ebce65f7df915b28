"""The fixture that presses Ctrl-C."""

import signal

import pytest
from interrupts import CtrlC


@pytest.fixture
def ctrl_c(monkeypatch):
    # Background jobs of a shell start with SIGINT ignored; a terminal's program does not.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield CtrlC(monkeypatch)
    signal.signal(signal.SIGINT, before)
