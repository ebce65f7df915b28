"""The fixture that presses Ctrl-C."""

import pytest
from interrupts import CtrlC


@pytest.fixture
def ctrl_c(monkeypatch):
    return CtrlC(monkeypatch)
