"""The vectorised functions against extended precision."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minimand import _core

doubles = hnp.arrays(
    np.float64, st.integers(0, 9), elements=st.floats(allow_nan=True, allow_infinity=True)
)


def ulps(result, exact):
    """Distance to the extended-precision value in units in the last place of a double."""
    with np.errstate(over="ignore"):
        spacing = np.spacing(np.abs(exact.astype(np.float64))).astype(np.longdouble)
    return np.max(np.abs(result.astype(np.longdouble) - exact) / spacing, initial=0)


def test_exp_accuracy(threads):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-745.2, 709.7, 200_000), rng.normal(size=50_000) * 1e-3])
    assert ulps(_core.exp(x), np.exp(x.astype(np.longdouble))) < 1.1


def test_log1p_accuracy(threads):
    rng = np.random.default_rng(0)
    magnitudes = 10.0 ** rng.uniform(-300, 308, 50_000)
    x = np.concatenate(
        [
            rng.uniform(-1, 1, 100_000),
            magnitudes,
            -(10.0 ** rng.uniform(-300, -1e-9, 50_000)),
            np.nextafter(-1, 0) * np.ones(1),
        ]
    )
    assert ulps(_core.log1p(x), np.log1p(x.astype(np.longdouble))) < 1.1


@settings(max_examples=300, deadline=None)
@given(doubles)
def test_special_values(x):
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(_core.exp(x), np.exp(x), rtol=1e-15, atol=1e-323)
        np.testing.assert_allclose(_core.log1p(x), np.log1p(x), rtol=1e-15, atol=0)


def test_named_special_values():
    x = np.array([np.inf, -np.inf, np.nan, 710.0, -746.0, 0.0, 1e308, -1e308])
    np.testing.assert_array_equal(_core.exp(x), [np.inf, 0, np.nan, np.inf, 0, 1, np.inf, 0])
    x = np.array([np.inf, -1.0, -1.5, np.nan, 0.0, -np.inf])
    np.testing.assert_array_equal(_core.log1p(x), [np.inf, -np.inf, np.nan, np.nan, 0.0, np.nan])


def test_logistic_accuracy(threads):
    rng = np.random.default_rng(1)
    m = np.concatenate([rng.uniform(-700, 700, 30_000), rng.normal(size=60_000) * 3])
    y = np.where(rng.uniform(size=m.size) < 0.5, -1.0, 1.0)
    value, gradient, curvature = _core.logistic_terms(y * m, y)
    wide = m.astype(np.longdouble)
    assert ulps(value, np.log1p(np.exp(-np.abs(wide))) + np.maximum(-wide, 0)) < 4
    assert ulps(gradient, -y / (1 + np.exp(wide))) < 4
    p = 1 / (1 + np.exp(np.abs(wide)))
    assert ulps(curvature, p * (1 - p)) < 5
    only_gradient, only_curvature = _core.logistic_derivatives(y * m, y)
    np.testing.assert_array_equal(only_gradient, gradient)
    np.testing.assert_array_equal(only_curvature, curvature)


def test_logistic_at_the_ends():
    z = np.array([1e308, -1e308, 800.0, -800.0, 0.0, np.inf, -np.inf])
    value, gradient, curvature = _core.logistic_terms(z, np.ones(7))
    np.testing.assert_array_equal(value, [0, 1e308, 0, 800, np.log(2), 0, np.inf])
    np.testing.assert_array_equal(gradient, [0, -1, 0, -1, -0.5, 0, -1])
    np.testing.assert_array_equal(curvature, [0, 0, 0, 0, 0.25, 0, 0])


@given(st.integers(0, 11))
def test_every_length(n):
    x = np.linspace(-3, 3, n)
    np.testing.assert_allclose(_core.exp(x), np.exp(x), rtol=1e-15)
    assert [part.shape for part in _core.logistic_terms(x, np.ones(n))] == [(n,)] * 3


def test_rejects_wrong_arrays():
    with pytest.raises(TypeError):
        _core.exp(np.ones(3, np.float32))
    with pytest.raises(ValueError, match="C-contiguous"):
        _core.exp(np.ones(6)[::2])
    with pytest.raises(ValueError, match="y must have length 3"):
        _core.logistic_terms(np.ones(3), np.ones(2))


def test_thread_count():
    before = _core.get_num_threads()
    _core.set_num_threads(0)
    assert _core.get_num_threads() == 1
    _core.set_num_threads(7)
    assert _core.get_num_threads() == 7
    _core.set_num_threads(before)


def test_thread_count_follows_the_environment():
    code = "from minimand import _core; print(_core.get_num_threads())"
    run = subprocess.run(
        [sys.executable, "-c", code], env={"OMP_NUM_THREADS": "1"}, capture_output=True, text=True
    )
    assert run.stdout.strip() == "1", run.stderr


def test_kernels_run_side_by_side():
    x = np.linspace(-5, 5, 200_000)
    expected = _core.exp(x)
    wrong = []

    def work():
        for _ in range(20):
            if not np.array_equal(_core.exp(x), expected):
                wrong.append(True)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.parametrize("size", [0, 1, 5, 64, 1003])
def test_add_is_a_scaled_sum_in_place(size):
    rng = np.random.default_rng(size)
    to, more = rng.normal(size=size), rng.normal(size=size)
    expected = to + 0.3 * more
    _core.add(to, 0.3, more)
    np.testing.assert_allclose(to, expected, rtol=1e-15, atol=1e-16)
    with pytest.raises(ValueError, match="more must have length"):
        _core.add(to, 1.0, np.zeros(size + 1))
