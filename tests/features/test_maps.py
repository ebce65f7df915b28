"""What the maps are: closed forms, interpolation, invariances, and how they join."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import minimand as mm

XOR, SIDES = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2]


# Monomials -----------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10**6))
def test_a_polynomial_of_degree_t_minus_1_passes_through_t_points(t, seed):
    rng = np.random.default_rng(seed)
    x, y = np.linspace(-1, 1, t)[:, None], rng.normal(size=t)
    model = mm.Regressor(alpha=0, tol=1e-12, features=mm.Monomials(t - 1)).fit(x, y)
    assert model.coef_.shape == (t - 1,)
    np.testing.assert_allclose(model.predict(x), y, atol=1e-6)
    w = np.linalg.solve(np.vander(x[:, 0], increasing=True), y)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), w, atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(
    hnp.arrays(float, (4, 3), elements=st.floats(-3, 3)),
    st.integers(1, 4),
    st.sampled_from([True, False, "only"]),
)
def test_every_column_is_the_product_of_its_powers(X, degree, interactions):
    found = mm.Monomials(degree, interactions).fit(X)
    expected = np.stack([np.prod(X**row, axis=1) for row in found.powers_], axis=1)
    np.testing.assert_allclose(found.transform(X), expected, atol=1e-9)
    sizes = found.powers_.sum(axis=1)
    assert (np.diff(sizes) >= 0).all()
    assert sizes.min() == 1
    assert sizes.max() == (min(degree, 3) if interactions == "only" else degree)
    assert len(np.unique(found.powers_, axis=0)) == len(found.powers_)


@pytest.mark.parametrize(
    "features",
    [
        mm.Monomials(8),
        mm.Monomials(10**400),
        mm.Monomials(10**12, interactions=False),
        mm.Monomials(50, interactions="only"),
        mm.Centers(n=2) + mm.Monomials(8),
    ],
    ids=lambda f: repr(f)[:30],
)
def test_columns_that_cannot_fit_are_counted_and_refused(features):
    X = np.random.default_rng(0).normal(size=(20, 100))
    words = r"makes .* columns of 100 columns of X, which take about .* GB.*: lower degree"
    with pytest.raises(ValueError, match=words):
        mm.Regressor(features=features).fit(X, X[:, 0])


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 5), st.integers(1, 4), st.sampled_from([True, False, "only"]), st.booleans())
def test_columns_are_refused_by_what_they_take(d, degree, interactions, stored):
    X = (
        sparse.random(7, d, density=0.5, format="csr", random_state=0)
        if stored
        else np.ones((7, d))
    )
    features = mm.Monomials(degree, interactions).fit(X)
    found = features.transform(X)
    least = found.nnz * 12 if stored else found.nbytes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("minimand.features.monomials.memory_of_machine", lambda: least - 1)
        with pytest.raises(ValueError, match=r"Monomials.* makes"):
            features.transform(X)
        patch.setattr(
            "minimand.features.monomials.memory_of_machine", lambda: least + 80 * found.shape[1]
        )
        assert features.transform(X).shape == found.shape


@pytest.mark.parametrize(("interactions", "count"), [(True, 19), (False, 9), ("only", 7)], ids=str)
def test_how_many_monomials_there_are(interactions, count, data):
    assert mm.Monomials(3, interactions).fit_transform(data[0]).shape == (60, count)


@pytest.mark.parametrize("interactions", [True, False, "only"])
@pytest.mark.parametrize("layout", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_rows_stay_sparse(interactions, layout):
    X = sparse.random_array((30, 6), density=0.2, rng=np.random.default_rng(0))
    phi = mm.Monomials(3, interactions)
    found = phi.fit_transform(layout(X))
    assert sparse.issparse(found)
    np.testing.assert_allclose(found.toarray(), phi.fit_transform(X.toarray()))
    assert found.nnz == np.count_nonzero(found.toarray())


def test_names_of_monomials():
    names = mm.Monomials(3).fit(np.ones((2, 2))).get_feature_names_out()
    expected = ["x0", "x1", "x0²", "x0·x1", "x1²", "x0³", "x0²·x1", "x0·x1²", "x1³"]
    assert names.tolist() == expected
    frame = pd.DataFrame({"age": [1.0, 2.0], "dose": [3.0, 5.0]})
    only = mm.Monomials(2, interactions="only").fit(frame)
    assert only.get_feature_names_out().tolist() == ["age", "dose", "age·dose"]


def test_xor_is_solved_by_the_quadratic_map():
    assert mm.Classifier(alpha=1e-3).fit(XOR, SIDES).score(XOR, SIDES) < 1
    model = mm.Classifier(alpha=1e-3, features=mm.Monomials(2)).fit(XOR, SIDES)
    assert (model.predict(XOR) == SIDES).all()
    assert model.certificate_.kind == "global"


# Centers -------------------------------------------------------------------------------------


def test_centres_on_the_rows_give_w_by_the_inverse():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    phi = mm.Centers(X, tau=0.5)
    matrix = phi.fit_transform(X)
    np.testing.assert_allclose(matrix, matrix.T, atol=0)
    assert np.linalg.eigvalsh(matrix)[0] > 0
    model = mm.Regressor(alpha=0, intercept=False, features=phi, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linalg.solve(matrix, y), rtol=1e-6)


def test_centres_by_the_formula(data):
    X, _ = data
    mu = X[:4]
    found = mm.Centers(mu, tau=0.7).fit_transform(X)
    squares = ((X[:, None] - mu[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(found, np.exp(-squares / (2 * 0.7**2)), rtol=1e-12)
    np.testing.assert_allclose(
        mm.Centers(mu, tau=0.7).fit_transform(sparse.csr_array(X)), found, rtol=1e-9
    )


def test_centres_far_from_the_origin_lose_no_digits(data):
    X, _ = data
    near = mm.Centers(X[:5], tau=0.1).fit_transform(X)
    far = mm.Centers(X[:5] + 1e6, tau=0.1).fit_transform(X + 1e6)
    np.testing.assert_allclose(far, near, atol=1e-7)


def test_chosen_centres_are_different_rows(data):
    X, _ = data
    found = mm.Centers(n=20, random_state=0).fit(X)
    assert found.mu_.shape == (20, 3)
    assert len(np.unique(found.mu_, axis=0)) == 20
    assert (found.mu_[:, None] == X[None]).all(axis=2).any(axis=1).all()
    again = mm.Centers(n=20, random_state=0).fit(X)
    np.testing.assert_array_equal(found.mu_, again.mu_)
    assert mm.Centers().fit(X).mu_.shape == (60, 3)
    assert mm.Centers().fit(np.tile(X, (3, 1))).mu_.shape == (100, 3)


# Neighbors -----------------------------------------------------------------------------------


def test_neighbours_by_enumeration(data):
    X, _ = data
    new = np.random.default_rng(1).normal(size=(25, 3))
    k = 4
    phi = mm.Neighbors(k).fit(X)
    distance = np.linalg.norm(X[:, None] - X[None], axis=2)
    radius = np.sort(distance, axis=0)[k - 1]  # the row itself is the first
    matrix = phi.transform(X)
    assert sparse.issparse(matrix)
    np.testing.assert_array_equal(matrix.toarray(), distance <= radius)
    np.testing.assert_array_equal(matrix.sum(axis=0), np.full((1, 60), k))
    assert (matrix != matrix.T).nnz > 0  # no kernel
    away = np.linalg.norm(new[:, None] - X[None], axis=2)
    np.testing.assert_array_equal(phi.transform(new).toarray(), away <= radius)


def test_one_neighbour_is_the_identity_and_remembers_y(data):
    X, y = data
    np.testing.assert_array_equal(mm.Neighbors(1).fit_transform(X).toarray(), np.eye(60))
    model = mm.Regressor(alpha=0, intercept=False, features=mm.Neighbors(1)).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-8)
    np.testing.assert_allclose(model.coef_, y, atol=1e-8)


def test_neighbours_see_two_moons():
    X, y = make_moons(300, noise=0.15, random_state=0)
    flat = mm.Classifier(alpha=0.01).fit(X[:200], y[:200])
    near = clone(flat).set_params(features=mm.Neighbors(20)).fit(X[:200], y[:200])
    assert near.score(X[200:], y[200:]) > flat.score(X[200:], y[200:]) + 0.05


# Maps together, and in the house ---------------------------------------------------------------


def test_maps_add_up_to_their_columns_side_by_side(data):
    X, _ = data
    parts = [mm.Monomials(2), mm.Centers(n=5, random_state=0), mm.Centers(n=3, random_state=1)]
    both = parts[0] + parts[1] + parts[2]
    assert [name for name, _ in both.transformer_list] == ["monomials", "centers", "centers3"]
    expected = np.hstack([clone(part).fit_transform(X) for part in parts])
    np.testing.assert_array_equal(both.fit_transform(X), expected)
    assert len((parts[0] + both).transformer_list) == 4
    assert len((both + both).transformer_list) == 6
    assert isinstance(both + FeatureUnion([("same", StandardScaler())]), FeatureUnion)
    assert sparse.issparse((parts[0] + mm.Neighbors()).fit_transform(X))
    with pytest.raises(TypeError):
        parts[0] + 1


def test_maps_cannot_be_added_to_a_layer_that_is_learnt():
    with pytest.raises(TypeError, match="features= alone"):
        mm.Monomials() + mm.HiddenLayer()


@pytest.mark.parametrize(
    "phi",
    [mm.Monomials(2), mm.Centers(n=8), mm.Neighbors(3), mm.HiddenLayer(2, tol=10.0)],
    ids=lambda phi: type(phi).__name__,
)
def test_binding_leaves_the_object_as_it_is(phi, data):
    X, y = data
    before = set(vars(phi))
    bound = phi.bind(X)
    model = mm.Regressor(alpha=0.1, features=phi).fit(X, y)
    assert set(vars(phi)) == before
    assert model.features_.transform(X).shape == bound.transform(X).shape
    assert len(bound.get_feature_names_out()) == model.coef_.size


@pytest.mark.parametrize(
    "phi",
    [mm.Monomials(2), mm.Centers(n=8, random_state=0), mm.Neighbors(3)],
    ids=lambda phi: type(phi).__name__,
)
def test_a_map_inside_is_a_pipeline(phi, data):
    X, y = data
    inside = mm.Regressor("huber", "l1", alpha=0.01, features=phi).fit(X, y)
    outside = make_pipeline(clone(phi), mm.Regressor("huber", "l1", alpha=0.01)).fit(X, y)
    np.testing.assert_allclose(inside.predict(X), outside.predict(X), atol=1e-8)
    assert mm.certify(inside, X, y).relative <= 1e-6
    assert mm.explain(inside, X, y).chosen == inside.solver_


def test_paths_and_searches_reach_into_maps(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abc"))
    lasso = mm.Regressor("squared", "l1", features=mm.Monomials(2))
    found = mm.path(lasso, frame, y, alphas=10)
    assert found.coefs.shape == (10, 9)
    assert found._names()[3:6] == ["a²", "a·b", "a·c"]
    tuned = mm.Tuned(lasso, cv=3, alphas=10).fit(X, y)
    assert tuned.best_estimator_.coef_[7] != 0  # b·c, which is there
    grid = {"features__tau": [0.1, 1.0, 10.0], "alpha": [1e-3]}
    bumps = mm.Regressor(features=mm.Centers(n=20, random_state=0))
    assert GridSearchCV(bumps, grid, cv=3).fit(X, y).best_params_["features__tau"] != 0.1
    both = mm.Regressor(features=mm.Monomials(2) + mm.Centers(n=5, random_state=0))
    assert both.set_params(features__centers__tau=3.0).features.transformer_list[1][1].tau == 3.0
    assert both.fit(X, y).coef_.size == 14


def test_quadratic_features_of_sparse_text_like_data_stay_sparse():
    rng = np.random.default_rng(0)
    X = sparse.random_array((100, 40), density=0.05, rng=rng, format="csr")
    y = np.asarray(X.sum(axis=1)).ravel() + 0.1 * rng.normal(size=100)
    thin = mm.Regressor("squared", "l1", alpha=1e-3, features=mm.Monomials(2)).fit(X, y)
    full = clone(thin).fit(X.toarray(), y)
    np.testing.assert_allclose(thin.predict(X), full.predict(X.toarray()), atol=1e-3)


BAD = {
    "degree of Monomials must be an integer ≥ 1, not 0": mm.Monomials(0),
    "degree of Monomials must be an integer ≥ 1, not True": mm.Monomials(True),
    "interactions of Monomials must be True, False or 'only', not 'all'": mm.Monomials(2, "all"),
    "tau of Centers must be a positive number, not 0": mm.Centers(tau=0),
    "mu and n of Centers exclude each other": mm.Centers([[1.0]], n=2),
    "n of Centers must be an integer ≥ 1, not 0.5": mm.Centers(n=0.5),
    "n=1000 of Centers is more than X has rows, 442": mm.Centers(n=1000),
    "mu of Centers must have one row per centre and 10 columns": mm.Centers([[1.0]]),
    "mu of Centers must be a matrix of numbers": mm.Centers([["a"]]),
    "mu of Centers must be finite": mm.Centers(np.full((2, 10), np.nan)),
    "k of Neighbors must be an integer ≥ 1, not -1": mm.Neighbors(-1),
    "k=500 of Neighbors is more than the n_samples=442 rows": mm.Neighbors(500),
    "width of HiddenLayer must be an integer ≥ 1, not 0": mm.HiddenLayer(0),
    "decay of HiddenLayer must be a number ≥ 0, not -1": mm.HiddenLayer(decay=-1),
    "tol of HiddenLayer must be a positive number": mm.HiddenLayer(tol=0),
    "activation of HiddenLayer must be one of": mm.HiddenLayer(activation="step"),
}


@pytest.mark.parametrize("words", BAD)
def test_bad_parameters_get_one_sentence(words):
    X, y = load_diabetes(return_X_y=True)
    for call in (BAD[words].fit, mm.Regressor(features=BAD[words]).fit):
        with pytest.raises(ValueError, match=words):
            call(X, y)


def test_features_of_other_makes_still_work(data):
    X, y = data
    model = mm.Regressor(features=mm.Monomials(2) + FeatureUnion([("abs", _absolute())]))
    assert model.fit(X, y).coef_.size == 12


def _absolute():
    return FunctionTransformer(np.abs)


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (mm.Monomials(3), "Monomials(degree=3)"),
        (mm.Monomials(3) + mm.Neighbors(2), "Monomials(degree=3) + Neighbors(k=2)"),
        (StandardScaler(), "StandardScaler()"),
        (mm.Centers(np.arange(300.0).reshape(100, 3)), "Centers(mu=array([["),
    ],
    ids=lambda x: str(x)[:20],
)
def test_the_objective_names_the_map(data, features, words):
    X, y = data
    model = mm.Regressor(alpha=0.1, features=features).fit(X, y)
    found = model.certificate_.objective
    assert f"z = φ(X) w + b, φ = {words}" in found
    assert "\n" not in found
    assert len(found) < 250
    assert mm.certify(model, X, y).objective == mm.explain(model, X, y).objective == found
    along = mm.path(model, X, y, alphas=[0.1]).certificates[0].objective
    assert along == found


def test_a_sum_of_maps_is_shown_as_it_was_written():
    both = mm.Monomials(3) + mm.Neighbors(2)
    assert str(both) == "Monomials(degree=3) + Neighbors(k=2)"
    assert str(both + FeatureUnion([("a", StandardScaler())])).startswith("Joined(")
    assert str(both.set_params(transformer_weights={"monomials": 2.0})).startswith("Joined(")
