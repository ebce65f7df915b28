"""Separability: a plane or a witness, each recomputed here; never both, never neither."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import minimand as mm

CUBE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
FORMS = ("margin", "slack")


def check(found, X, y, intercept=True):
    """The plane or the witness proves the answer."""
    X = np.asarray(X.todense()) if sparse.issparse(X) else np.asarray(X, float)
    signs = np.where(np.asarray(y) == np.unique(y)[1], 1.0, -1.0)
    assert bool(found) == found.separable == (found.witness is None)
    if found:
        margins = signs * (X @ found.coef + found.intercept)
        assert margins.min() >= 1 - 1e-12 * np.abs(X * found.coef).sum(axis=1).max()
        assert intercept or found.intercept == 0
        assert found.margin == pytest.approx(margins.min() / np.linalg.norm(found.coef))
        return
    a = found.witness
    assert (a >= 0).all()
    assert a.sum() == pytest.approx(1.0)
    assert np.abs((a * signs) @ X).max() <= 1e-12 * max(1.0, (a @ np.abs(X)).max())
    if intercept:
        assert abs(a @ signs) <= 1e-13


def delta_of(X, y, intercept):
    """The optimum of form one, by an independent formulation with a split w."""
    signs = np.where(np.asarray(y) == np.unique(y)[1], 1.0, -1.0)[:, None]
    A = np.column_stack([X, np.ones(len(X))]) if intercept else np.asarray(X, float)
    rows = np.hstack([-signs * A, signs * A, np.ones((len(A), 1))])
    cost = np.append(np.zeros(2 * A.shape[1]), -1.0)
    bounds = [(0, None)] * (2 * A.shape[1]) + [(None, 1)]
    return -linprog(cost, A_ub=rows, b_ub=np.zeros(len(A)), bounds=bounds).fun


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("y", "expected"),
    [([0, 0, 0, 1], True), ([0, 1, 1, 1], True), ([0, 0, 1, 1], True), ([0, 1, 1, 0], False)],
    ids=["and", "or", "first", "xor"],
)
def test_logical_functions(y, expected, form):
    found = mm.separable(CUBE, y, form=form)
    assert found.separable is expected
    check(found, CUBE, y)


def test_xor_in_words():
    found = mm.separable(CUBE, ["no", "yes", "yes", "no"])
    assert "samples 0 and 3 of class no equals a mean of samples 1 and 2 of class yes" in str(found)
    np.testing.assert_array_equal(found.samples(0), [0, 3])
    np.testing.assert_allclose(found.witness, 0.25)


def test_slacks_of_xor_are_least():
    """The best plane of XOR violates every margin by 1, or two of them by 2: 4 in total."""
    found = mm.separable(CUBE, [0, 1, 1, 0], form="slack")
    assert found.slack.sum() == pytest.approx(4.0)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 25),
    d=st.integers(1, 6),
    intercept=st.booleans(),
    whole=st.booleans(),
)
def test_agrees_with_the_linear_program(form, seed, n, d, intercept, whole):
    """δ = 1 iff separable, else 0; small integers make ties, duplicates and constant columns."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, d)).astype(float) if whole else rng.normal(size=(n, d))
    y = rng.integers(0, 2, size=n)
    y[:2] = 0, 1
    found = mm.separable(X, y, intercept=intercept, form=form)
    check(found, X, y, intercept)
    assert found.separable == (delta_of(X, y, intercept) > 0.5)


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_many_rows_of_any_kind(noise, as_matrix):
    """Rows join the program as they are needed; the answer is about all of them."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(5000, 6)) * (rng.random((5000, 6)) < 0.5)
    y = X @ np.arange(1.0, 7.0) + noise * rng.normal(size=5000) > 0.5
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    found = mm.separable(as_matrix(X), y)
    assert found.separable is (noise == 0)
    check(found, X, y)


def test_units_and_position_do_not_matter():
    """Columns in any units, far from the origin."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 4))
    for y in (X @ [1, -1, 2, 0.5] > 0.2, rng.random(60) < 0.5):
        expected = mm.separable(X, y).separable
        moved = X * [1e-6, 1.0, 1e5, 30.0] + [1.0, 2000.0, -1e6, 0.0]
        found = mm.separable(moved, y)
        assert found.separable is expected
        check(found, moved, y)


def test_a_shared_point_is_a_witness():
    X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [0.0, 9.0]])
    found = mm.separable(X, [0, 0, 1, 1])
    np.testing.assert_allclose(found.witness, [0.5, 0, 0.5, 0])
    assert "sample 0 of class 0 equals a mean of sample 2 of class 1" in str(found)


def test_the_origin_without_an_intercept():
    X = np.array([[-1.0], [2.0]])
    assert mm.separable(X, [0, 1], intercept=False)
    found = mm.separable(np.abs(X), [0, 1], intercept=False)
    assert not found
    check(found, np.abs(X), [0, 1], intercept=False)
    assert "positive combination" in str(found)
    zero = mm.separable(np.array([[0.0], [2.0]]), [0, 1], intercept=False)
    assert "a mean of sample 0 of class 0 is the origin" in str(zero)


def test_a_close_call_is_not_guessed():
    """The classes are a unit in the last place apart: the plane's own scores cannot show it."""
    X = 1.0 + np.finfo(float).eps * np.array([[0.0], [1.0], [-1.0], [2.0]])
    with pytest.raises(ValueError, match="by less than the rounding of double precision"):
        mm.separable(X, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((CUBE, [0, 1, 2, 1]), {}, "y must hold two classes, but it holds 3: compare one class"),
        ((CUBE, [1, 1, 1, 1]), {}, "two classes, but it holds 1"),
        ((CUBE, [0.5, 1.5, 2.5, 0.1]), {}, "y holds no class labels"),
        ((CUBE, [0, 1, 1]), {}, "X has 4 rows and y has 3"),
        ((CUBE * np.nan, [0, 1, 1, 0]), {}, "X contains NaN"),
        ((CUBE, [0, 1, 1, 0]), {"form": "other"}, "form must be 'margin' or 'slack'"),
        ((CUBE, [0, 1, 1, 0]), {"intercept": "yes"}, "intercept must be True or False"),
    ],
)
def test_bad_input(arguments, options, words):
    with pytest.raises(ValueError, match=words):
        mm.separable(*arguments, **options)
