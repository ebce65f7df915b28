"""Estimators take a Design wherever they take a matrix."""

from __future__ import annotations

import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

import minimand as mm
from minimand.design import Block, Design, Standardized, as_design
from own_models import Cluster

rng = np.random.default_rng(0)
X = rng.standard_normal((90, 4))
Y = X @ [1.0, -2.0, 0.0, 0.5] + 0.3 * rng.standard_normal(90)
SIGNS = Y > 0
THREE = np.array(["a", "b", "c"])[np.digitize(Y, [-1.0, 1.0])]
WEIGHTS = rng.integers(0, 3, 90).astype(float)


class Blocks(Design):
    """A user's own design: nothing but a shape and blocks."""

    def __init__(self, matrix, count=3):
        self.parts = np.split(matrix, count) if isinstance(matrix, np.ndarray) else [matrix]
        self.shape = matrix.shape

    def blocks(self):
        start = 0
        for part in self.parts:
            yield Block(slice(start, start + part.shape[0]), part)
            start += part.shape[0]


DESIGNS = {
    "dense": as_design(X),
    "sparse": as_design(sparse.csr_matrix(X)),
    "blocks": Blocks(X),
    "sparse blocks": Blocks(sparse.csr_matrix(X)),
    "cluster": Cluster(X),
}
MODELS = {
    "lasso": (mm.Regressor("squared", "l1", alpha=0.1, tol=1e-9), Y),
    "ridge": (mm.Regressor(tol=1e-9), Y),
    "huber": (mm.Regressor("huber", alpha=0.1, tol=1e-9), Y),
    "logistic": (mm.Classifier("logistic", alpha=0.1, tol=1e-9), SIGNS),
    "hinge": (mm.Classifier("hinge", alpha=0.1), SIGNS),
    "three": (mm.Classifier("squared_hinge", alpha=0.1, tol=1e-9), THREE),
}


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
@pytest.mark.parametrize("kind", DESIGNS)
@pytest.mark.parametrize("name", MODELS)
def test_a_fit_on_a_design_is_the_fit_on_its_matrix(name, kind, weights) -> None:
    estimator, y = MODELS[name]
    design = DESIGNS[kind]
    model = clone(estimator).fit(design, y, sample_weight=weights)
    same = clone(estimator).fit(X, y, sample_weight=weights)
    assert model.n_features_in_ == 4
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-4)
    if model.predict(X).dtype.kind == "f":
        np.testing.assert_allclose(model.predict(design), model.predict(X))
    else:
        np.testing.assert_array_equal(model.predict(design), model.predict(X))
    np.testing.assert_allclose(model.decision_function(design), model.decision_function(X))
    assert model.score(design, y) == pytest.approx(model.score(X, y))
    judged = mm.certify(model, design, y, sample_weight=weights)
    assert judged.relative <= 1e-6
    assert judged.objective == same.certificate_.objective
    if name == "hinge":
        vectors = model.support_vectors_
        vectors = vectors.toarray() if sparse.issparse(vectors) else vectors
        np.testing.assert_array_equal(vectors, X[model.support_])


def test_a_path_on_a_design() -> None:
    lasso = mm.Regressor("squared", "l1", tol=1e-9)
    on_design, on_matrix = (mm.path(lasso, data, Y, alphas=8) for data in (Blocks(X), X))
    np.testing.assert_allclose(on_design.alphas, on_matrix.alphas)
    np.testing.assert_allclose(on_design.coefs, on_matrix.coefs, atol=1e-5)
    assert mm.alpha_max(lasso, Blocks(X), Y) == pytest.approx(on_matrix.alphas[0])
    assert mm.explain(lasso, Blocks(X), Y).chosen


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("name", ["lasso", "huber", "logistic"])
def test_alpha_chosen_on_a_design(name, shuffled) -> None:
    estimator, y = MODELS[name]
    folds = [
        tuple(rng.permutation(part) if shuffled else part for part in pair)
        for pair in KFold(3).split(X)
    ]
    chosen = [
        mm.Tuned(estimator, alphas=6, cv=folds).fit(data, y, sample_weight=WEIGHTS)
        for data in (Blocks(X), X)
    ]
    np.testing.assert_allclose(
        chosen[0].cv_results_["mean_test_score"], chosen[1].cv_results_["mean_test_score"],
        rtol=1e-5,
    )  # fmt: skip
    assert chosen[0].alpha_ == pytest.approx(chosen[1].alpha_)
    np.testing.assert_allclose(chosen[0].predict(X[:5]), chosen[1].predict(X[:5]), rtol=1e-4)
    assert chosen[0].score(Blocks(X), y) == pytest.approx(chosen[1].score(X, y), rel=1e-4)


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (mm.Regressor("squared", "no_penalty"), Y),
        (mm.Regressor("quantile", "l1", alpha=0.01), Y),
        (mm.Regressor("chebyshev", "l2", alpha=0.1), Y),
        (mm.Regressor("squared", mm.L1Ball(1.0)), Y),
        (mm.Regressor("squared", "mcp", alpha=0.1), Y),
        (mm.Regressor("squared", mm.GroupL2([0, 0, 1, 1]), alpha=0.1), Y),
        (mm.Regressor("squared", mm.TraceNorm(), alpha=0.1), np.column_stack([Y, Y**2])),
        (mm.Classifier(mm.Multinomial(), "l2", alpha=0.1), THREE),
        (mm.Classifier(mm.CrammerSinger(), "l2", alpha=0.1), THREE),
        (mm.HardMargin(), X[:, 0] > 0),
        (mm.Perceptron(), X[:, 0] > 0),
        (mm.Tuned(mm.Regressor("squared", "l1"), cv=3, alphas=4), Y),
        (mm.Tuned(mm.Regressor(), cv="loo", alphas=4), Y),
    ],
    ids=lambda given: repr(given) if hasattr(given, "fit") else "",
)
def test_two_functions_of_a_cluster_are_enough_for_every_kind_of_fit(estimator, y) -> None:
    """Solvers that work in blocks, or gather rows, ask for them through the two functions."""
    found = clone(estimator).fit(Cluster(X), y)
    same = clone(estimator).fit(X, y)
    np.testing.assert_allclose(
        found.decision_function(Cluster(X)) if hasattr(found, "decision_function")
        else found.predict(Cluster(X)),
        same.decision_function(X) if hasattr(same, "decision_function") else same.predict(X),
        atol=2e-3,
    )  # fmt: skip


def test_a_scorer_gets_the_design() -> None:
    tuned = mm.Tuned(mm.Classifier("logistic"), alphas=4, cv=3, scoring="accuracy")
    same = clone(tuned).fit(X, SIGNS)
    tuned.fit(Blocks(X), SIGNS)
    np.testing.assert_allclose(
        tuned.cv_results_["mean_test_score"], same.cv_results_["mean_test_score"]
    )


def test_leave_one_out_on_a_design() -> None:
    ridge = mm.Tuned(mm.Regressor("squared", "l2"), cv="loo", alphas=5)
    assert clone(ridge).fit(Blocks(X), Y).alpha_ == pytest.approx(ridge.fit(X, Y).alpha_)


def test_batches_may_be_designs() -> None:
    whole = mm.Regressor(alpha=0.1).partial_fit(X[:45], Y[:45]).partial_fit(X[45:], Y[45:])
    parts = mm.Regressor(alpha=0.1)
    for rows in (slice(0, 45), slice(45, 90)):
        parts.partial_fit(Blocks(X[rows]), Y[rows])
    np.testing.assert_allclose(parts.coef_, whole.coef_)
    batches = [(Blocks(X[:45]), Y[:45]), (Blocks(X[45:]), Y[45:])]
    model = mm.Regressor(alpha=0.1).fit(X, Y)
    assert mm.certify(model, batches=batches).relative < 1e-4


def test_columns_that_are_scaled_without_a_copy() -> None:
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    design = Standardized(as_design(X), mean, deviation)
    model = mm.Regressor("squared", "l1", alpha=0.1, tol=1e-9).fit(design, Y)
    same = mm.Regressor("squared", "l1", alpha=0.1, tol=1e-9).fit((X - mean) / deviation, Y)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-6)


def test_a_model_of_a_design_is_saved_without_it() -> None:
    model = mm.Classifier("hinge", alpha=0.1).fit(Blocks(X), SIGNS)
    saved = skops.io.dumps(model)
    assert not any("Blocks" in name for name in skops.io.get_untrusted_types(data=saved))
    again = skops.io.loads(saved, trusted=skops.io.get_untrusted_types(data=saved))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


class TestRefusals:
    """One sentence each."""

    def test_another_width(self) -> None:
        model = mm.Regressor().fit(Blocks(X), Y)
        for wrong in (Blocks(X[:, :3]), as_design(X[:, :3]), X[:, :3]):
            with pytest.raises(ValueError, match="X has 3 features, but Regressor is expecting 4"):
                model.predict(wrong)
        with pytest.raises(ValueError, match="X has 3 features"):
            mm.certify(model, Blocks(X[:, :3]), Y)

    def test_another_length(self) -> None:
        with pytest.raises(ValueError, match="X has 90 rows and y has 80"):
            mm.Regressor().fit(Blocks(X), Y[:80])

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_entries_that_are_no_numbers(self, bad) -> None:
        spoilt = X.copy()
        spoilt[70, 2] = bad
        with pytest.raises(ValueError, match=r"X contains .* \(first at row 70, column 2\)"):
            mm.Regressor().fit(Blocks(spoilt), Y)
        with pytest.raises(ValueError, match="X contains"):
            mm.Regressor().fit(X, Y).predict(Blocks(spoilt))

    def test_blocks_that_are_not_the_matrix(self) -> None:
        narrow, few, lists, old = (Blocks(X) for _ in range(4))
        narrow.shape, few.shape = (90, 5), (120, 4)
        lists.parts = [part.tolist() for part in lists.parts]
        old.parts = [np.matrix(part) for part in old.parts]
        with pytest.raises(ValueError, match=r"5 columns, but its rows from 0 .* shape \(30, 4\)"):
            mm.Regressor().fit(narrow, Y)
        with pytest.raises(ValueError, match="120 rows, but its blocks hold 90"):
            mm.Regressor().fit(few, np.append(Y, Y[:30]))
        with pytest.raises(ValueError, match="blocks must be arrays or sparse matrices"):
            mm.Regressor().fit(old, Y)
        lists.blocks = lambda: (Block(slice(0, 90), part) for part in [X.tolist()])
        with pytest.raises(ValueError, match="blocks must be arrays or sparse matrices"):
            mm.Regressor().fit(lists, Y)

    def test_no_rows_or_columns(self) -> None:
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            mm.Regressor().fit(Blocks(np.zeros((0, 3))), [])
        with pytest.raises(ValueError, match=r"0 feature\(s\)"):
            mm.Regressor().fit(Blocks(np.zeros((90, 0))), Y)

    def test_feature_maps(self) -> None:
        mapped = mm.Regressor(features=mm.Monomials(2))
        with pytest.raises(ValueError, match="Design"):
            mapped.fit(Blocks(X), Y)
        mapped.fit(X, Y)
        with pytest.raises(ValueError, match="Design"):
            mapped.predict(Blocks(X))

    def test_before_a_fit(self) -> None:
        with pytest.raises(NotFittedError):
            mm.Regressor().predict(Blocks(X))
