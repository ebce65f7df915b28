"""Dual ascent of several classes over rows: what holds after any number of steps."""

import numpy as np
import pytest
import scipy.sparse as sp
from dual_runs import DUAL_RUNS
from hypothesis import given, settings
from hypothesis import strategies as st
from softplus_oracle import softplus_slope

import minimand as mm
from minimand import _core
from minimand.canonical import DualBatch, RowDual
from minimand.design import as_design

LOSSES = [
    mm.Hinge(),
    mm.SquaredHinge(),
    mm.Logistic(),
    mm.SquaredMargin(),
    mm.PerceptronLoss(),
    mm.Quantile(0.8),
    mm.EpsilonInsensitive(0.4),
    mm.Huber(0.6),
]


def matrix(rng, shape, density, kind, single, wide):
    dense = rng.standard_normal(shape) * (rng.uniform(size=shape) < density)
    dense = dense.astype(np.float32 if single else np.float64)
    if kind in ("rows", "columns"):
        return (dense if kind == "rows" else np.asfortranarray(dense)), dense.astype(float)
    X = sp.csr_matrix(dense).asformat(kind)
    index = np.int64 if wide else np.int32
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X, dense.astype(float)


def duals(rng, X, loss, classes, equal, intercept):
    """One dual per class, with masses and shifts of its own."""
    design = as_design(X)
    n, d = design.shape
    l2 = np.full(d, 0.5) if equal else rng.uniform(0.3, 2.0, d)
    found = []
    for _ in range(classes):
        y = rng.choice([-1.0, 1.0], n) if isinstance(loss, mm.Margin) else rng.standard_normal(n)
        rowwise = loss.rowwise(y)
        rowwise = rowwise._replace(shift=rowwise.shift - 0.1 * rowwise.sign)
        v = rowwise.psi.clip(np.zeros(n))
        mass = rng.uniform(0.1, 1.0, n)
        w = -(design.rmatvec(mass * rowwise.sign * v)) / l2
        found.append(RowDual(design, rowwise, mass, l2, intercept, v, w))
    return found


def value(form, exact, loss):
    """−Σ mass·(ψ*(v) + shift·v) − ½ Σ (Xᵀ(mass·sign·v))²/l2."""
    image = exact.T @ (form.mass * form.loss.sign * form.v)
    paid = loss.dual(form.v) + form.loss.shift * form.v
    return -(form.mass @ paid) - 0.5 * (image**2 / form.l2).sum()


@settings(max_examples=50, deadline=None)
@given(
    **DUAL_RUNS,
    classes=st.integers(1, 16),
    loss=st.sampled_from(LOSSES),
)
def test_the_state_is_consistent(
    seed, shape, density, kind, single, wide, equal, intercept, epochs, classes, loss
):
    """w = −Xᵀ(mass·sign·v)/l2 for every class, and without intercept no dual ever falls."""
    rng = np.random.default_rng(seed)
    X, exact = matrix(rng, shape, density, kind, single, wide)
    forms = duals(rng, X, loss, classes, equal, intercept)
    before = [value(form, exact, loss) for form in forms]
    together = DualBatch(forms)
    found = together.ascend(epochs, np.zeros(classes))
    together.unpack()
    assert found.gaps.shape == (classes,)
    assert not together.pull[:, classes:].any()
    for form, old in zip(forms, before):
        image = exact.T @ (form.mass * form.loss.sign * form.v)
        np.testing.assert_allclose(form.w, -image / form.l2, atol=1e-9)
        assert np.isfinite(loss.dual(form.v)).all()
        if not intercept:
            assert value(form, exact, loss) >= old - 1e-12


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("sparse", [False, True])
def test_every_class_meets_what_it_meets_by_itself(loss, sparse):
    """The optimum of a strongly concave dual is unique in w: together or one by one."""
    rng = np.random.default_rng(1)
    X, exact = matrix(rng, (60, 5), 0.7, "csr" if sparse else "rows", False, False)
    forms = duals(rng, X, loss, 6, equal=False, intercept=False)
    alone = [RowDual(f.design, f.loss, f.mass, f.l2, False, f.v.copy(), f.w.copy()) for f in forms]
    together = DualBatch(forms)
    for _ in range(20):
        together.ascend(100, np.full(6, 1e-13))
    together.unpack()
    for one, other in zip(forms, alone):
        for _ in range(30):  # a run ends early where the rows that it visits have met the target
            one.ascend(100, 1e-13)
            other.ascend(100, 1e-13)
        assert value(one, exact, loss) == pytest.approx(value(other, exact, loss), abs=1e-9)
        np.testing.assert_allclose(one.w, other.w, atol=1e-4)


@pytest.mark.parametrize("loss", [mm.Hinge(), mm.SquaredHinge(), mm.Logistic(), mm.Huber(0.6)])
def test_one_step_is_the_step_of_one_class(loss):
    """With one row per column no row disturbs another: a sweep ends where the single one does."""
    rng = np.random.default_rng(2)
    n = 40
    X = sp.csr_matrix(np.diag(rng.uniform(0.1, 30.0, n)))
    forms = duals(rng, X, loss, 5, equal=True, intercept=False)
    for form in forms:
        form.v = form.loss.psi.clip(form.loss.psi.slope(3 * rng.standard_normal(n)))
        form.w = -X.T @ (form.mass * form.loss.sign * form.v) / form.l2
    alone = [RowDual(f.design, f.loss, f.mass, f.l2, False, f.v.copy(), f.w.copy()) for f in forms]
    together = DualBatch(forms)
    together.ascend(1, np.zeros(5))
    together.unpack()
    for one, other in zip(forms, alone):
        other.ascend(1, 0.0)
        np.testing.assert_allclose(one.v, other.v, rtol=0, atol=2e-3)
        together_again = DualBatch([one])
        together_again.ascend(6, np.zeros(1))
        together_again.unpack()
        other.ascend(6, 0.0)
        np.testing.assert_allclose(one.v, other.v, rtol=1e-9, atol=1e-9)


def test_logistic_steps_over_their_whole_domain():
    """Curvatures of 1e-12 … 1e12, scores of any size, slopes up to both ends."""
    ends = np.concatenate([[0.0, 5e-324, 1e-300], 10.0 ** np.arange(-20, 0), [0.3, 0.5]])
    slopes = -np.unique(np.concatenate([ends, 1.0 - ends]))
    scores = np.array([0.0, 1e-9, 0.01, 0.5, 3.0, 20.0, 40.0, 300.0])
    lanes = np.append(-scores, scores)  # 16 classes, each with its score
    v, step = (part.ravel() for part in np.meshgrid(slopes, 10.0 ** np.arange(-12, 13)))
    n, width = v.size, lanes.size
    values = np.sqrt(step)
    X = as_design(sp.diags(values, format="csr")).row_lines
    t, v = np.broadcast_to(lanes, (n, width)), np.repeat(v[:, None], width, axis=1)
    w, clock = t / values[:, None], np.zeros((4, width))
    clock[2:] = np.inf

    def sweeps(count):
        _core.dual_batch(
            X,
            "softplus",
            (np.ones(n * width), np.zeros(width), step),
            np.ones(1),
            (np.ones(width), np.zeros(width), False),
            found.reshape(-1),
            w.reshape(-1),
            clock.reshape(-1),
            np.ones(n * width, np.uint8),
            count,
            0,
        )

    exact, found = softplus_slope(t, v, step[:, None]), v.copy()
    sweeps(1)
    assert ((found >= -1.0) & (found <= 0.0)).all()
    noise = 1e-14 * (1 + np.abs(t) / step[:, None])  # of v, as t itself is rounded
    assert (np.abs(found - exact) <= 2e-3 * np.abs(exact - v) + noise).all()
    sweeps(6)  # steps that have become short are exact
    assert (np.abs(found - exact) <= 1e-14).all()


@pytest.mark.parametrize("psi", ["softplus", mm.Hinge().pieces.parts, mm.Huber().pieces.parts])
def test_numbers_that_overflow_do_no_harm_to_other_classes(psi):
    t = np.array([[np.nan, np.inf, 1e308, 0.5]])
    w, v, clock = t.copy(), np.full((1, 4), -0.25), np.zeros((4, 4))
    _core.dual_batch(
        as_design(sp.identity(1, format="csr")).row_lines,
        psi,
        (np.ones(4), np.zeros(4), np.ones(1)),
        np.ones(1),
        (np.ones(4), np.zeros(4), False),
        v.reshape(-1),
        w.reshape(-1),
        clock.reshape(-1),
        np.ones(4, np.uint8),
        3,
        0,
    )
    assert np.isfinite(v[0, 3])
    assert w[0, 3] == pytest.approx(0.5 - (v[0, 3] + 0.25))


def test_bad_sizes_are_refused():
    X = as_design(np.ones((3, 2))).row_lines
    psi = mm.Hinge().rowwise(np.ones(3)).psi.parts

    def call(classes=2, v=12, clock=16, byte=np.uint8):
        _core.dual_batch_dense(
            X,
            psi,
            (np.ones(12), np.zeros(4), np.ones(3)),
            np.ones(1),
            (np.ones(classes), np.zeros(classes), False),
            np.zeros(v),
            np.zeros(8),
            np.zeros(clock),
            np.zeros(12, byte),
            1,
            0,
        )

    call()
    for wrong in ({"classes": 0}, {"classes": 17}, {"v": 11}, {"clock": 4}):
        with pytest.raises(ValueError, match="must"):
            call(**wrong)
    with pytest.raises(ValueError, match="uint8"):
        call(byte=float)
