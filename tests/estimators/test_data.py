"""Weights, offsets, frames, and input that is awkward but legal."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import minimand as mm

TIGHT = {"alpha": 0.1, "tol": 1e-12}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def X(rng):
    return rng.normal(size=(60, 4))


@pytest.fixture
def y(rng, X):
    return X @ [1.0, -2.0, 0.0, 0.5] + 3.0 + 0.3 * rng.normal(size=60)


def models():
    return [
        mm.Regressor("squared", "l1", **TIGHT),
        mm.Regressor("huber", "l2", **TIGHT),
        mm.Classifier("logistic", "l2", **TIGHT),
        mm.Classifier("squared_hinge", mm.L1() + mm.L2(), **TIGHT),
    ]


def target(model, y):
    return y if isinstance(model, mm.Regressor) else np.where(y > np.median(y), "yes", "no")


def same(a, b, rtol=1e-5):
    assert_allclose(a.coef_, b.coef_, rtol=rtol, atol=1e-6)
    assert_allclose(a.intercept_, b.intercept_, rtol=rtol, atol=1e-6)


# Weights and offsets -------------------------------------------------------------------------


@pytest.mark.parametrize("model", models(), ids=repr)
def test_a_weight_is_a_number_of_copies(model, X, y, rng):
    t = target(model, y)
    weights = rng.integers(0, 4, size=60)
    weighted = model.fit(X, t, sample_weight=weights)
    coef, intercept = weighted.coef_.copy(), np.copy(weighted.intercept_)
    repeated = model.fit(np.repeat(X, weights, axis=0), np.repeat(t, weights))
    assert_allclose(coef, repeated.coef_, rtol=1e-5, atol=1e-6)
    assert_allclose(intercept, repeated.intercept_, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("model", models(), ids=repr)
def test_only_ratios_of_weights_matter_and_a_scalar_is_no_weight(model, X, y):
    t = target(model, y)
    plain = model.fit(X, t)
    coef = plain.coef_.copy()
    assert_allclose(model.fit(X, t, sample_weight=7.0).coef_, coef, rtol=1e-6, atol=1e-8)
    assert_allclose(model.fit(X, t, sample_weight=[1e-8] * 60).coef_, coef, rtol=1e-6, atol=1e-8)


def test_an_offset_of_a_squared_loss_is_subtracted_from_y(X, y, rng):
    offset = rng.normal(size=60)
    model = mm.Regressor("squared", "l1", **TIGHT).fit(X, y, offset=offset)
    same(model, mm.Regressor("squared", "l1", **TIGHT).fit(X, y - offset))
    assert_allclose(model.predict(X, offset=offset), model.predict(X) + offset)
    assert_allclose(model.predict(X, offset=2.0), model.predict(X) + 2.0)


def test_an_exposure_enters_poisson_as_its_logarithm(X, rng):
    exposure = rng.uniform(0.5, 3.0, size=60)
    counts = rng.poisson(exposure * np.exp(0.3 * X[:, 0]))
    model = mm.Regressor("poisson", "l2", **TIGHT).fit(X, counts, offset=np.log(exposure))
    expected = exposure * np.exp(X @ model.coef_ + model.intercept_)
    assert_allclose(model.predict(X, offset=np.log(exposure)), expected, rtol=1e-12)
    # The same fit through weights: rates y/e with weight e.
    rates = mm.Regressor("poisson", "l2", alpha=0.1 / exposure.mean(), tol=1e-12)
    same(model, rates.fit(X, counts / exposure, sample_weight=exposure))


def test_an_offset_of_a_classifier_is_added_to_the_score(X, y, rng):
    offset = rng.normal(size=60)
    model = mm.Classifier(**TIGHT).fit(X, y > 3, offset=offset)
    z = X @ model.coef_[0] + model.intercept_[0]
    assert_allclose(model.decision_function(X, offset=offset), z + offset)
    assert_allclose(model.predict_proba(X, offset=offset)[:, 1], 1 / (1 + np.exp(-z - offset)))
    assert_array_equal(model.predict(X, offset=offset), z + offset > 0)
    assert_allclose(
        model.predict_log_proba(X, offset=offset), np.log(model.predict_proba(X, offset=offset))
    )


def test_a_constant_offset_only_moves_the_intercept(X, y):
    for model in models():
        t = target(model, y)
        moved = model.fit(X, t, offset=np.full(60, 5.0))
        coef, intercept = moved.coef_.copy(), np.copy(moved.intercept_)
        plain = model.fit(X, t)
        assert_allclose(coef, plain.coef_, rtol=1e-5, atol=1e-6)
        assert_allclose(intercept + 5.0, plain.intercept_, rtol=1e-5, atol=1e-5)


# Frames --------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_names_and_the_same_model(frame, X, y):
    names = ["a", "b", "c", "d"]
    table = frame({name: X[:, j] for j, name in enumerate(names)})
    model = mm.Regressor("squared", "l1", alpha=0.1).fit(table, y)
    plain = mm.Regressor("squared", "l1", alpha=0.1).fit(X, y)
    same(model, plain, rtol=1e-12)
    assert_array_equal(model.feature_names_in_, names)
    assert model.n_features_in_ == 4
    assert_allclose(model.predict(table), plain.predict(X))
    assert not hasattr(plain, "feature_names_in_")


@pytest.mark.parametrize("series", [pd.Series, pl.Series])
def test_series_as_targets_weights_and_offsets(series, X, y):
    ones, labels = np.arange(1.0, 61.0), np.where(y > 3, "yes", "no")
    model = mm.Regressor("huber", alpha=0.1).fit(X, series(y), series(ones), series(-ones))
    same(model, mm.Regressor("huber", alpha=0.1).fit(X, y, ones, -ones), rtol=1e-12)
    assert set(mm.Classifier().fit(X, series(labels)).classes_) == {"yes", "no"}


def test_other_names_are_refused_in_predict(X, y):
    model = mm.Regressor().fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pd.DataFrame(X, columns=list("abce")))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


def test_nullable_and_categorical_numbers(X, y):
    table = pd.DataFrame({"a": pd.array(np.arange(60), dtype="Int64"), "b": X[:, 0] > 0})
    model = mm.Regressor().fit(table, pd.Series(np.round(y)).astype("Int64"))
    same(model, mm.Regressor().fit(np.c_[np.arange(60), X[:, 0] > 0], np.round(y)))


# Layouts and types ---------------------------------------------------------------------------


def _memmap(X, folder):
    path = folder / "x.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def _unsorted(X):
    """CSR with the indices of each row in reverse and every number split in two."""
    csr = sparse.csr_matrix(X)
    reverse = [np.arange(a, b)[::-1] for a, b in zip(csr.indptr, csr.indptr[1:])]
    order = np.repeat(np.concatenate(reverse), 2)
    return sparse.csr_matrix((csr.data[order] / 2, csr.indices[order], 2 * csr.indptr), X.shape)


LAYOUTS = {
    "fortran": lambda X, _: np.asfortranarray(X),
    "strided": lambda X, _: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X, _: X[::-1, ::-1][::-1, ::-1],
    "memmap": _memmap,
    "list": lambda X, _: X.tolist(),
    "object": lambda X, _: X.astype(object),
    "csr": lambda X, _: sparse.csr_matrix(X),
    "csc": lambda X, _: sparse.csc_matrix(X),
    "coo": lambda X, _: sparse.coo_matrix(X),
    "csr_array": lambda X, _: sparse.csr_array(X),
    "unsorted": lambda X, _: _unsorted(X),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("model", models(), ids=repr)
def test_the_layout_does_not_matter(layout, model, X, y, tmp_path):
    t = target(model, y)
    X = np.where(np.abs(X) > 0.4, X, 0.0)
    X[7] = 0.0  # an empty sparse row
    expected = model.fit(X, t)
    coef, intercept, score = expected.coef_, expected.intercept_, expected.decision_function(X)
    given = LAYOUTS[layout](X, tmp_path)
    found = model.fit(given, t)
    assert_allclose(found.coef_, coef, rtol=1e-5, atol=1e-6)
    assert_allclose(found.intercept_, intercept, rtol=1e-5, atol=1e-6)
    assert_allclose(found.decision_function(given), score, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int64, np.uint8, bool])
def test_other_numbers_are_exact_floats(dtype, rng, y):
    X = rng.integers(0, 2, size=(60, 4)).astype(dtype)
    model = mm.Regressor("huber", "l1", **TIGHT).fit(X, y)
    same(model, mm.Regressor("huber", "l1", **TIGHT).fit(X.astype(float), y))
    assert model.predict(X).dtype == np.float64


@pytest.mark.parametrize("sparse_format", [None, "csr", "csc"])
def test_nothing_of_the_caller_changes(sparse_format, X, y, rng):
    weights, offset = rng.uniform(1, 2, size=60), rng.normal(size=60)
    X = X if sparse_format is None else sparse.random(60, 4, 0.5, format=sparse_format, rng=rng)
    parts = [X] if sparse_format is None else [X.data, X.indices, X.indptr]
    arrays = [*parts, y, weights, offset]
    copies = [a.copy() for a in arrays]
    for a in arrays:
        a.flags.writeable = False
    for model in models():
        fitted = model.fit(X, target(model, y), weights, offset)
        fitted.predict(X, offset)
        mm.certify(fitted, X, target(model, y), weights, offset)
    for a, copy in zip(arrays, copies):
        assert_array_equal(a, copy)


def test_a_column_vector_is_raveled_with_a_warning(X, y):
    with pytest.warns(UserWarning, match="column-vector y was passed when a 1d array") as caught:
        model = mm.Regressor().fit(X, y[:, None])
    assert caught[0].filename == __file__
    same(model, mm.Regressor().fit(X, y), rtol=1e-12)


# Degenerate problems -------------------------------------------------------------------------


@pytest.mark.parametrize("model", models(), ids=repr)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_constant_and_zero_columns_change_nothing(model, kind, X, y):
    t = target(model, y)
    padded = np.c_[X, np.zeros(60), np.full(60, 3.0)]
    fitted = model.fit(kind(padded), t)
    coef, relative = fitted.coef_.ravel().copy(), fitted.certificate_.relative
    assert_allclose(coef[:4], model.fit(X, t).coef_.ravel(), rtol=1e-4, atol=1e-5)
    assert_allclose(coef[4:], 0.0, atol=1e-6)
    assert relative <= 1e-12


@pytest.mark.parametrize("penalty", ["l1", "l2", "no_penalty"])
@pytest.mark.parametrize("loss", ["squared", "huber", "poisson", "cross_entropy"])
def test_one_sample(loss, penalty):
    model = mm.Regressor(loss, penalty, alpha=0.1).fit([[1.0, 2.0]], [0.5])
    assert_allclose(model.predict([[1.0, 2.0]]), [0.5], rtol=1e-6)
    assert model.certificate_.gap <= 1e-8


@pytest.mark.parametrize("loss", ["squared", "huber", "poisson"])
def test_a_constant_target(loss, X):
    model = mm.Regressor(loss, "l1", alpha=0.1).fit(X, np.full(60, 2.0))
    assert_allclose(model.coef_, 0.0, atol=1e-8)
    assert_allclose(model.predict(X), 2.0)


def test_one_feature_and_many_rows(rng):
    x = rng.normal(size=(200_000, 1))
    model = mm.Regressor("squared", "l2", alpha=0.0).fit(x, 2.0 * x[:, 0] + 1.0)
    assert_allclose([model.coef_[0], model.intercept_], [2.0, 1.0], rtol=1e-6)
    labels = x[:, 0] + rng.logistic(size=200_000) > 0
    clf = mm.Classifier("logistic", "no_penalty").fit(x, labels)
    assert_allclose(clf.coef_, 1.0, atol=0.05)


@pytest.mark.parametrize("model", models(), ids=repr)
def test_wild_scales_still_meet_the_tolerance(model, X, y):
    scaled = X * [1e-6, 1e6, 1.0, 1e3]
    fitted = model.set_params(tol=1e-6).fit(scaled, target(model, y))
    assert fitted.certificate_.relative <= 1e-6
    assert np.isfinite(fitted.coef_).all()


def test_weights_of_a_wild_range(X, y):
    weights = np.logspace(-12, 12, 60)
    model = mm.Regressor(alpha=0.1).fit(X, y, sample_weight=weights)
    assert model.certificate_.relative <= 1e-6
    assert np.isfinite(model.predict(X)).all()


def test_a_field_of_packed_records_is_copied():
    rng = np.random.default_rng(0)
    kinds = [("flag", "i1"), ("x", "f8", (3,)), ("y", "f8"), ("s", "f8")]
    records = np.zeros(30, dtype=kinds)
    records["x"], records["s"] = rng.standard_normal((30, 3)), rng.uniform(1, 2, 30)
    records["y"] = records["x"].sum(axis=1) + rng.standard_normal(30)
    assert not records["x"].flags.aligned
    model = mm.Regressor(alpha=0.1).fit(records["x"], records["y"], sample_weight=records["s"])
    x, y, s = (np.ascontiguousarray(records[name]) for name in "xys")
    plain = mm.Regressor(alpha=0.1).fit(x, y, sample_weight=s)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.predict(records["x"]), plain.predict(x))


def test_a_masked_array_without_masked_entries_is_an_array():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    model = mm.Regressor(alpha=0.1).fit(np.ma.array(X), np.ma.array(y))
    np.testing.assert_array_equal(model.coef_, mm.Regressor(alpha=0.1).fit(X, y).coef_)
    with pytest.raises(ValueError, match="X is a masked array in which 1 of 90 entries"):
        model.predict(np.ma.array(X, mask=np.arange(90).reshape(30, 3) == 4))


def test_dates_are_labels_like_any():
    X = np.random.default_rng(0).standard_normal((20, 2))
    days = np.where(X[:, 0] > 0, np.datetime64("2020-01-01"), np.datetime64("2021-01-01"))
    assert (mm.Classifier(alpha=1e-3).fit(X, days).predict(X) == days).all()
