"""Fixtures shared by the tests of the compiled core."""

import pytest

from minimand import _core


@pytest.fixture(params=[1, 2], ids=["one-thread", "two-threads"])
def threads(request):
    """Run a test with one thread and with two, and put the number back."""
    before = _core.get_num_threads()
    _core.set_num_threads(request.param)
    yield request.param
    _core.set_num_threads(before)
