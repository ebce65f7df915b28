"""What holds for all tests."""

import signal


def pytest_configure():
    """Ctrl-C is heard also where the tests run in the background of a shell, which ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
