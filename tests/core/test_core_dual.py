"""Dual ascent over rows: what holds after any number of steps, in every type and order."""

import numpy as np
import pytest
import scipy.sparse as sp
from dual_runs import DUAL_RUNS
from hypothesis import given, settings
from hypothesis import strategies as st
from softplus_oracle import softplus_slope
from threadpoolctl import threadpool_limits

import minimand as mm
from minimand.canonical import AscentProblem, AscentState, RowDual, ascend
from minimand.design import as_design


@settings(max_examples=40, deadline=None)
@given(
    **DUAL_RUNS,
    loss=st.sampled_from([mm.Hinge(), mm.Logistic()]),
)
def test_the_state_is_consistent(
    seed, shape, density, kind, single, wide, equal, intercept, epochs, loss
):
    """w = −inverse·Xᵀ(mass·sign·v), slopes stay slopes of the loss, and the dual never falls."""
    rng = np.random.default_rng(seed)
    n, d = shape
    dense = rng.standard_normal(shape) * (rng.uniform(size=shape) < density)
    dense = dense.astype(np.float32 if single else np.float64)
    X = {"rows": dense, "columns": np.asfortranarray(dense)}.get(kind)
    if X is None:
        X = sp.csr_matrix(dense).asformat(kind)
        index = np.int64 if wide else np.int32
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    design, exact = as_design(X), dense.astype(float)
    inverse = np.array([2.0]) if equal else rng.uniform(0.5, 3.0, d)
    by_column = np.broadcast_to(inverse, d)
    squares = design.row_squares(inverse)
    np.testing.assert_allclose(squares, (exact**2 * by_column).sum(axis=1), rtol=1e-12)

    sign, mass = rng.choice([-1.0, 1.0], n), rng.uniform(0.1, 1.0, n)
    psi = loss.rowwise(sign).psi
    problem = AscentProblem(
        psi.parts, (sign, np.zeros(n), mass, squares), inverse, (intercept, 1.0)
    )
    bias = 0.5 if intercept else 0.0
    state = AscentState(
        np.zeros(n), np.zeros(d), np.arange(n, dtype=np.uint32), (0.0, bias, n, np.inf)
    )

    def dual(v):
        """−Σ mass·ψ*(v) − ½ Σ inverse·(Xᵀ(mass·sign·v))²."""
        image = exact.T @ (mass * sign * v)
        return -(mass @ loss.dual(v)) - 0.5 * (by_column @ image**2)

    found = ascend(design, problem, state, epochs, 0.0, seed)
    image = exact.T @ (mass * sign * state.v)
    np.testing.assert_allclose(state.w, -by_column * image, atol=1e-9)
    assert (state.v >= -1.0).all()
    assert (state.v <= 0.0).all()
    assert sorted(state.order) == list(range(n))
    assert 0 <= found.clock[2] <= n
    if not intercept:
        before = state.v.copy()
        ascend(design, problem, state._replace(clock=found.clock), 1, 0.0, seed + 1)
        assert dual(state.v) >= dual(before) - 1e-12


def independent(t, v, step):
    """Rows that share no column: one sweep takes the step of each."""
    n = t.size
    problem = AscentProblem(
        "softplus", (np.ones(n), np.zeros(n), np.ones(n), step), np.ones(1), (False, 1.0)
    )
    state = AscentState(v.copy(), t.copy(), np.arange(n, dtype=np.uint32), (0.0, 0.0, n, np.inf))
    values = np.sqrt(step)
    state.w[:] = t / values
    return as_design(sp.diags(values, format="csr")), problem, state


def test_logistic_steps_over_their_whole_domain():
    """Curvatures of 1e-12 … 1e12, scores of any size, slopes up to both ends."""
    ends = np.concatenate([[0.0, 5e-324, 1e-300], 10.0 ** np.arange(-20, 0), [0.3, 0.5]])
    slopes = -np.unique(np.concatenate([ends, 1.0 - ends]))
    scores = np.array([0.0, 1e-9, 0.01, 0.5, 3.0, 20.0, 40.0, 300.0, 1e4])
    grid = np.meshgrid(np.append(-scores, scores), slopes, 10.0 ** np.arange(-12, 13))
    t, v, step = (part.ravel() for part in grid)
    exact = softplus_slope(t, v, step)
    design, problem, state = independent(t, v, step)
    ascend(design, problem, state, 1, 0.0, 0)
    assert (state.v >= -1.0).all()
    assert (state.v <= 0.0).all()
    noise = 1e-14 * (1 + np.abs(t) / step)  # of v, as t itself is rounded
    assert (np.abs(state.v - exact) <= 2e-3 * np.abs(exact - v) + noise).all()
    ascend(design, problem, state, 6, 0.0, 0)  # steps that have become short are exact
    assert (np.abs(state.v - exact) <= 1e-14).all()


def test_numbers_that_overflow_leave_the_slope_alone():
    t, step = np.array([np.nan, np.inf, 1.0, 1e308]), np.array([1.0, 1.0, np.inf, 1e300])
    n = t.size
    rows = (np.ones(n), np.zeros(n), np.ones(n), step)
    problem = AscentProblem("softplus", rows, np.ones(1), (False, 1.0))
    state = AscentState(
        np.full(n, -0.25), t.copy(), np.arange(n, dtype=np.uint32), (0.0, 0.0, n, np.inf)
    )
    ascend(as_design(sp.identity(n, format="csr")), problem, state, 3, 0.0, 0)
    assert ((state.v >= -1) & (state.v <= 0)).all()


@pytest.mark.parametrize("intercept", [False, True])
def test_logistic_ascent_equals_a_plain_loop(intercept):
    """Rows one after the other, in an order that is given: every step is a scalar equation."""
    rng = np.random.default_rng(3)
    n, d = 9, 4
    X = rng.standard_normal((n, d)) * (rng.uniform(size=(n, d)) < 0.7)
    sign, mass, l2 = rng.choice([-1.0, 1.0], n), rng.uniform(0.1, 2, n), rng.uniform(0.2, 3, d)
    shift, bias = rng.standard_normal(n), 0.3 * intercept
    design = as_design(sp.csr_matrix(X))
    squares = design.row_squares(1 / l2)
    problem = AscentProblem(
        "softplus", (sign, shift, mass, squares), 1 / l2, (False, 1.0)
    )  # the loop below does not move the centre of b
    v, w, b = np.full(n, -0.4), np.zeros(d), 0.1
    plain_v, plain_w, plain_b = v.copy(), w.copy(), b
    for row in rng.integers(n, size=60):
        order = np.array([row], dtype=np.uint32)
        found = ascend(design, problem, AscentState(v, w, order, (b, bias, 1, np.inf)), 1, 0.0, 5)
        b = found.clock[0]
        t = sign[row] * (X[row] @ plain_w + plain_b) - shift[row]
        new = softplus_slope(t, plain_v[row], mass[row] * (squares[row] + bias))
        scale = -mass[row] * sign[row] * (new - plain_v[row])
        plain_w += scale * X[row] / l2
        plain_b += bias * scale
        plain_v[row] = new
    np.testing.assert_allclose(v, plain_v, atol=1e-4)
    np.testing.assert_allclose(w, plain_w, atol=1e-4)
    assert b == pytest.approx(plain_b, abs=1e-4)


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("loss", [mm.Logistic(), mm.SquaredHinge()], ids=["logistic", "squared"])
def test_threads_share_a_sweep(threads, kind, loss):
    """However many: w is the image of v, the dual never falls, and it converges."""
    rng = np.random.default_rng(0)
    n, d, l2 = 6000, 120, 0.02
    X = rng.standard_normal((n, d)) + 0.5
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    design = as_design(X if kind == "dense" else sp.csr_matrix(X))
    mass = np.full(n, 1 / n)

    def dual(form):
        return -(mass @ loss.dual(form.v)) - 0.5 * l2 * (form.w @ form.w)

    form = RowDual(design, loss.rowwise(y), mass, np.full(d, l2), False, np.zeros(n), np.zeros(d))
    values = [dual(form)]
    with threadpool_limits(threads):
        for _ in range(6):
            form.ascend(1, 0.0)
            image = -design.rmatvec(mass * y * form.v) / l2
            np.testing.assert_allclose(form.w, image, rtol=1e-9, atol=1e-10)
            values.append(dual(form))
        assert (np.diff(values) >= -1e-12).all()
        form.ascend(90, 0.0)
    primal = mass @ loss.value(design.matvec(form.w), y) + 0.5 * l2 * (form.w @ form.w)
    assert -1e-12 <= primal - dual(form) <= 1e-6
