"""The fixtures that scikit-learn's tests ask for, and the list of failures that are expected."""

import fnmatch
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from swap import is_ours, is_theirs

HERE = Path(__file__).parent
CAUSES = tomllib.loads((HERE / "expected_failures.toml").read_text(encoding="utf-8"))["cause"]


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture
def global_dtype():
    return np.float64


def pytest_configure(config):
    for name in ("thread_unsafe", "no_check_spmatrix"):
        config.addinivalue_line("markers", f"{name}: scikit-learn's")


def pytest_collection_modifyitems(config, items):
    """Leave out what is about other classes; mark what is listed."""
    kept, others = [], []
    for item in items:
        mine = item.path.parent != HERE or _about_us(item)
        (kept if mine else others).append(item)
        if mine and item.path.parent == HERE:
            item.add_marker(pytest.mark.conformance)
            _mark(item)
    config.hook.pytest_deselected(items=others)
    items[:] = kept


def _about_us(item):
    """Whether the parameters, if they hold estimators at all, hold one of ours."""
    values = list(item.callspec.params.values()) if hasattr(item, "callspec") else []
    return any(map(is_ours, values)) or not any(map(is_theirs, values))


def _mark(item):
    """``fails`` must fail, so that one that passes fails the run; ``skips`` is not run.

    Marks of scikit-learn's own, for what its classes fail, are taken off: ours must pass.
    """
    item.own_markers[:] = [mark for mark in item.own_markers if mark.name != "xfail"]
    name = f"{item.path.stem.removeprefix('test_suite_')}::{item.name}"
    for cause in CAUSES:
        if any(_matches(name, pattern) for pattern in cause.get("fails", ())):
            item.add_marker(pytest.mark.xfail(reason=cause["reason"], strict=True))
        if any(_matches(name, pattern) for pattern in cause.get("skips", ())):
            item.add_marker(pytest.mark.skip(reason=cause["reason"]))


def _matches(name, pattern):
    """A pattern may name a whole test, or hold * for parts of its parameters."""
    literal = pattern.replace("[", "[[]")
    return fnmatch.fnmatchcase(name, literal) or fnmatch.fnmatchcase(name, literal + "[[]*")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A test that ends in a refusal in words, listed under ``refuses``, is an expected failure."""
    report = yield
    if report.failed and item.path.parent == HERE:
        text = str(report.longrepr)
        for cause in CAUSES:
            if "refuses" in cause and re.search(cause["refuses"], text):
                report.outcome, report.wasxfail = "skipped", cause["reason"]
    return report
