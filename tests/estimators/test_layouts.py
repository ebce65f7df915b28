"""Wherever the numbers of X lie, the model is that of a plain copy, and X stays as it was."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import minimand as mm
from minimand.design import as_design
from minimand.sklearn import Lasso, LinearSVC, SGDClassifier

N, D = 60, 5
RNG = np.random.default_rng(0)
SERIES = RNG.standard_normal(N + D - 1)


def packed(values):
    """A field of records that begin one byte before it: not aligned."""
    kind = [("flag", "u1"), ("x", values.dtype, values.shape[1:])]
    records = np.zeros(len(values), np.dtype(kind))
    records["x"] = values
    return records["x"]


def unaligned(values):
    """Contiguous, one byte away from where a number should begin."""
    moved = np.zeros(values.nbytes + 1, np.uint8)[1:].view(values.dtype).reshape(values.shape)
    moved[:] = values
    return moved


def read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


WINDOWS = np.lib.stride_tricks.sliding_window_view(SERIES, D)
PLAIN = np.ascontiguousarray(WINDOWS)
LAYOUTS = {
    "windows": WINDOWS,
    "windows of float32": np.lib.stride_tricks.sliding_window_view(SERIES.astype("f4"), D),
    "windows, turned": np.lib.stride_tricks.sliding_window_view(SERIES, N).T,
    "every other window": np.lib.stride_tricks.sliding_window_view(np.repeat(SERIES, 2), 2 * D)[
        ::2, ::2
    ],
    "packed records": packed(PLAIN),
    "unaligned": unaligned(PLAIN),
    "read-only": read_only(PLAIN),
    "Fortran": np.asfortranarray(PLAIN),
    "neither order": np.repeat(np.repeat(PLAIN, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": PLAIN[::-1, ::-1].copy()[::-1, ::-1],
    "columns backwards": np.asfortranarray(PLAIN[:, ::-1])[:, ::-1],
    "the same row": np.broadcast_to(PLAIN[0], PLAIN.shape),
    "the same column": np.broadcast_to(PLAIN[:, :1], PLAIN.shape),
    "other bytes first": PLAIN.astype(">f8"),
    "one column": SERIES[:N, None],
    "one column of packed records": packed(PLAIN[:, :1]),
    "one row": WINDOWS[:1],
    "complex parts": (PLAIN + 1j * PLAIN).real,
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_design_of_any_layout(name):
    x = LAYOUTS[name]
    mm.testing.check_design(as_design(x), np.array(x, dtype=float))


Y = PLAIN @ np.arange(1.0, D + 1) + RNG.standard_normal(N)
LABELS = np.where(Y > 0, "up", "down")


def regression(X, y):
    model = mm.Regressor("huber", "l1", alpha=0.01).fit(X, y)
    return model.coef_, model.predict(X), model.score(X, y)


def path(X, y):
    found = mm.path(mm.Regressor("squared", "l1"), X, y, 5)
    return found.coefs, found.intercepts


def certify(X, y):
    model = mm.Regressor("squared", "l2", alpha=0.1).fit(np.ascontiguousarray(X), y)
    found = mm.certify(model, X, y)
    return found.primal, found.by_feature


def classification(X, y):
    model = mm.Classifier("hinge", "l2", alpha=0.1).fit(X, y > 0)
    return model.coef_, model.decision_function(X)


def sgd(X, y):
    model = mm.Classifier("logistic", alpha=0.1, solver="sgd", max_iter=3, random_state=0)
    return (model.fit(X, y > 0).coef_,)


def stream(X, y):
    model = mm.Regressor("squared", "l2", alpha=0.1)
    for part in np.array_split(np.arange(len(y)), 3):
        model.partial_fit(X[part[0] : part[-1] + 1], y[part[0] : part[-1] + 1])
    return (model.coef_,)


def drop_ins(X, y):
    return (
        Lasso(alpha=0.01).fit(X, y).coef_,
        LinearSVC().fit(X, y > 0).coef_,
        SGDClassifier(max_iter=5, random_state=0).fit(X, y > 0).coef_,
    )


def online(X, y):
    return mm.Perceptron(max_epochs=3).fit(X, y > 0).coef_, mm.separable(X, y > 0).separable


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "use", [regression, path, certify, classification, sgd, stream, drop_ins, online]
)
@pytest.mark.parametrize("name", ["windows", "packed records", "unaligned", "neither order"])
def test_models_of_any_layout(name, use):
    x, y = LAYOUTS[name], packed(Y[:, None])[:, 0]
    before = x.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(use(x, y), use(PLAIN, Y))
    assert_array_equal(x, before)


@pytest.mark.parametrize("side", ["y", "sample_weight", "offset"])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_vectors_of_any_layout(side, loss):
    given = {"y": Y, "sample_weight": RNG.random(N), "offset": RNG.standard_normal(N)}
    plain = mm.path(mm.Regressor(loss, "l1"), PLAIN, alphas=3, **given)
    for odd in (unaligned, lambda v: np.repeat(v, 2)[::2], lambda v: v[::-1].copy()[::-1]):
        changed = {**given, side: odd(given[side])}
        found = mm.path(mm.Regressor(loss, "l1"), PLAIN, alphas=3, **changed)
        assert_allclose(found.coefs, plain.coefs, rtol=1e-9)


def strided(a):
    return np.repeat(a, 2)[::2]


@pytest.mark.parametrize("layout", [strided, unaligned, read_only], ids=lambda f: f.__name__)
@pytest.mark.parametrize("part", ["data", "indices", "indptr"])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_parts_of_any_layout(kind, part, layout):
    plain = kind(np.where(np.abs(PLAIN) > 0.5, PLAIN, 0.0))
    odd = plain.copy()
    setattr(odd, part, layout(getattr(odd, part)))
    before = getattr(odd, part).copy()
    mm.testing.check_design(as_design(odd), plain.toarray())
    fits = [mm.Regressor("huber", "l1", alpha=0.01).fit(x, Y) for x in (odd, plain)]
    assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-12)
    assert_allclose(fits[0].predict(odd), fits[1].predict(plain))
    assert_array_equal(getattr(odd, part), before)
