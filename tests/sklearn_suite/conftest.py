"""The fixtures that scikit-learn's tests ask for, and the list of failures that are expected."""

import fnmatch
import tomllib
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
EXPECTED = HERE / "expected_failures.toml"


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture
def global_dtype():
    return np.float64


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe: scikit-learn's, for free-threaded Python")


def pytest_collection_modifyitems(config, items):
    """Mark what is listed: ``fails`` must fail (an unexpected pass fails the run), ``slow`` is skipped."""
    causes = tomllib.loads(EXPECTED.read_text(encoding="utf-8"))["cause"]
    for item in items:
        if item.path.parent != HERE:
            continue
        name = f"{item.path.stem.removeprefix('test_suite_')}::{item.name}"
        for cause in causes:
            if any(_matches(name, pattern) for pattern in cause.get("fails", ())):
                item.add_marker(pytest.mark.xfail(reason=cause["reason"], strict=True))
            if any(_matches(name, pattern) for pattern in cause.get("slow", ())):
                item.add_marker(pytest.mark.skip(reason=cause["reason"]))


def _matches(name, pattern):
    """A pattern may name a whole test, or hold * for parts of its parameters."""
    literal = pattern.replace("[", "[[]")
    return fnmatch.fnmatchcase(name, literal) or fnmatch.fnmatchcase(name, literal + "[[]*")
