"""Arrays that need no conversion take a short way through the checks, to the same end."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import linear_model

import minimand as mm
import minimand.sklearn as drop_ins

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 3))
Y = X[:, 0] + 0.1 * RNG.standard_normal(30)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
MODELS = [mm.Regressor("squared", "l1", alpha=0.1), drop_ins.Lasso(alpha=0.1)]
named = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@named
def test_names_of_an_earlier_fit_are_forgotten(model):
    model.fit(FRAME, Y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    model.fit(X[:, :2], Y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2
    with pytest.raises(ValueError, match="2 features"):
        model.predict(X)


@named
@pytest.mark.parametrize("dtype", [np.float32, np.float64, int])
@pytest.mark.parametrize("order", ["C", "F"])
def test_both_ways_lead_to_the_same_model(model, dtype, order):
    rows = np.asarray(10 * X, dtype=dtype, order=order)
    target = np.round(10 * Y).astype(dtype)
    short = model.fit(rows, target).coef_.copy()
    long = model.fit(pd.DataFrame(rows), target.tolist()).coef_
    np.testing.assert_allclose(short, long, rtol=1e-4 if dtype == np.float32 else 1e-9)


@named
@pytest.mark.parametrize("form", ["csr_array", "csc_matrix", "coo_array"])
def test_sparse_matrices_lead_there_too(model, form):
    expected = model.fit(X, Y).coef_.copy()
    rows = getattr(sparse, form)(X)
    np.testing.assert_allclose(model.fit(rows, Y).coef_, expected, atol=1e-4)
    np.testing.assert_allclose(model.predict(rows), model.predict(X))
    rows.data[4] = np.nan
    for refuses in (model.fit, model.score):
        with pytest.raises(ValueError, match=r"contains NaN"):
            refuses(rows, Y)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (X[:, 0], Y),
        (X[:0], Y[:0]),
        (X[:, :0], Y),
        (X, Y[:-1]),
        (X, np.full(30, np.nan)),
        (np.where(X > 1, np.inf, X), Y),
        (X, np.zeros((30, 0))),
        (X, np.zeros((30, 1, 1))),
        (X + 1j, Y),
        (X, Y + 1j),
        (sparse.csr_array(X)[:0], Y[:0]),
        (sparse.csr_array(np.where(X > 1, np.inf, X)), Y),
    ],
)
def test_what_is_not_in_order_is_refused_by_scikit_learns_own_sentence(X, y):
    with pytest.raises(ValueError, match=r".") as theirs:
        linear_model.Lasso().fit(X, y)
    with pytest.raises(ValueError, match=r".") as ours:
        drop_ins.Lasso().fit(X, y)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_labels_that_look_like_measurements_are_still_wondered_about():
    many = np.arange(30)
    with pytest.warns(UserWarning, match="greater than 50%"):
        mm.Classifier(max_iter=1).fit(X, many)
    with pytest.raises(ValueError, match="no class labels"):
        mm.Classifier().fit(X, many + 0.5)


@pytest.mark.parametrize("kind", [int, float, bool, np.uint8, str])
def test_labels_of_all_kinds_are_labels(kind):
    labels = (Y > 0).astype(int).astype(kind)
    model = mm.Classifier(alpha=0.1).fit(X, labels)
    assert model.classes_.dtype == labels.dtype
    assert set(model.predict(X)) <= set(labels)
