"""A hidden layer learnt with the output weights: slopes, never worse than linear, honest words."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import minimand as mm
from minimand.estimators.prepare import posed
from minimand.features.activations import ACTIVATIONS
from minimand.solvers import Control
from minimand.solvers.nested.variable_projection import _Search

XOR, SIDES = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, -1.0]
    return X, np.sin(X[:, 0]) + np.tanh(X[:, 1] - 5) + 0.1 * rng.normal(size=50)


def layer(width=3, **options):
    return mm.HiddenLayer(width, **{"random_state": 0, "restarts": 1, "max_iter": 30, **options})


def quietly(fit, *args, **kwargs):
    """A fit that may stop short; what it says then is tested once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(*args, **kwargs)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_xor_is_solved(activation):
    phi = mm.HiddenLayer(3, activation, random_state=0, max_iter=100)
    model = quietly(mm.Classifier(alpha=1e-3, features=phi).fit, XOR, SIDES)
    assert (model.predict(XOR) == SIDES).all()


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_slopes_of_activations(activation):
    t = np.linspace(-3, 3, 20)
    value, slope = ACTIVATIONS[activation]
    expected = (value(t + 1e-6) - value(t - 1e-6)) / 2e-6
    np.testing.assert_allclose(slope(t, value(t)), expected, atol=1e-8)


CASES = {
    "squared": mm.Regressor(alpha=0.01),
    "lasso": mm.Regressor("squared", "l1", alpha=0.01),
    "huber": mm.Regressor("huber", "l2", alpha=0.01),
    "absolute": mm.Regressor("absolute", "l2", alpha=0.01),
    "non-negative": mm.Regressor("squared", mm.L2() + mm.NonNegative(), alpha=0.01),
    "no intercept": mm.Regressor(alpha=0.01, intercept=False),
    "no penalty": mm.Regressor(alpha=0),
    "hinge": mm.Classifier("hinge", alpha=0.01),
    "logistic": mm.Classifier(alpha=0.01, class_weight="balanced"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_the_slope_of_the_projected_objective(case, activation, data):
    """Of kinked losses too: the dual point is the slope of the value."""
    X, y = data
    model = clone(CASES[case]).set_params(features=layer(activation=activation, tol=1e9))
    y = y > 0 if isinstance(model, mm.Classifier) else y
    phi = model.features.bind(X)
    objectives = posed(model, X, y).objectives
    search = _Search(phi, X, objectives, Control(tol=1e-10), "auto")
    phi.draw(np.random.default_rng(1))
    x = search.pack()
    _, slope = search.value_and_slope(x)
    direction = np.random.default_rng(2).normal(size=x.size)
    step = 1e-4
    ahead, behind = (search.value_and_slope(x + s * direction)[0] for s in (step, -step))
    tolerance = 1e-2 if case in ("absolute", "hinge") else 1e-4
    assert (ahead - behind) / (2 * step) == pytest.approx(
        slope @ direction, rel=tolerance, abs=1e-4
    )


@pytest.mark.parametrize("case", CASES)
def test_never_worse_than_the_linear_model_and_certified_given_the_units(case, data):
    X, y = data
    linear = clone(CASES[case])
    y = np.digitize(y, [-0.5, 0.5]) if isinstance(linear, mm.Classifier) else y
    linear.fit(X, y)
    model = quietly(clone(linear).set_params(features=layer()).fit, X, y)
    found = model.certificate_
    assert found.primal <= linear.certificate_.primal
    assert found.kind == "stationary"
    assert "given A and c learnt at alpha=" in found.objective
    assert found.relative <= 1e-6
    given = clone(linear).set_params(tol=1e-9).fit(model.features_.transform(X), y)
    assert given.certificate_.kind == "global"
    assert given.certificate_.primal == pytest.approx(found.primal, rel=1e-4)
    again = mm.certify(model, X, y)
    assert (again.kind, again.objective) == (found.kind, found.objective)
    assert again.relative <= 1e-6
    assert mm.duality(model, X, y).certificate.kind == "stationary"


def test_units_learn_what_no_line_can(data):
    X, y = data
    linear = mm.Regressor(alpha=1e-3).fit(X, y)
    model = mm.Regressor(alpha=1e-3, features=mm.HiddenLayer(4, random_state=0)).fit(X, y)
    assert model.certificate_.primal < 0.3 * linear.certificate_.primal
    phi = model.features_
    assert phi.stationarity_ <= 1e-4
    # The value with its penalty on A, and that no direction leads down from there.
    scale = posed(clone(linear), X, y).objectives[0].scale
    decay = 0.5 * phi.decay * scale * (phi.weights_**2).sum()
    assert phi.value_ == pytest.approx(model.certificate_.primal + decay, rel=1e-6)
    assert phi.value_ <= linear.certificate_.primal
    rng = np.random.default_rng(0)
    for _ in range(5):
        moved = clone(model).set_params(features=None)
        near = clone(phi).bind(X)
        near.weights_ = phi.weights_ + 1e-3 * rng.normal(size=phi.weights_.shape)
        near.biases_ = phi.biases_ + 1e-3 * rng.normal(size=phi.biases_.shape)
        primal = moved.fit(near.transform(X), y).certificate_.primal
        value = primal + 0.5 * phi.decay * scale * (near.weights_**2).sum()
        assert value >= phi.value_ - 1e-6 * scale


def test_a_line_stays_a_line(data):
    X, _ = data
    y = X @ [1.0, -2.0, 3.0] + 1
    model = mm.Regressor(alpha=1e-8, features=layer()).fit(X, y)
    assert not model.features_.weights_.any()
    assert model.features_.stationarity_ <= 1e-6
    linear = mm.Regressor(alpha=1e-8).fit(X, y)
    np.testing.assert_allclose(model.predict(X), linear.predict(X), atol=1e-3)


def test_a_constant_y_needs_no_units(data):
    model = mm.Regressor(features=layer()).fit(data[0], np.ones(50))
    np.testing.assert_allclose(model.predict(data[0]), 1.0)
    assert not model.features_.weights_.any()


def test_the_units_of_y_do_not_matter(data):
    X, y = data
    one = quietly(mm.Regressor(alpha=0.01, features=layer()).fit, X, y)
    ten = quietly(mm.Regressor(alpha=0.01, features=layer()).fit, X, 10 * y)
    np.testing.assert_allclose(ten.predict(X), 10 * one.predict(X), atol=1e-2)


def test_weights_are_copies_and_zero_is_absence(data):
    X, y = data
    counts = np.arange(50) % 3
    phi = layer(2, max_iter=10)
    weighted = quietly(mm.Regressor(alpha=0.1, features=phi).fit, X, y, sample_weight=counts)
    rows = np.repeat(np.arange(50), counts)
    copied = quietly(mm.Regressor(alpha=0.1, features=phi).fit, X[rows], y[rows])
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), atol=1e-5)
    assert mm.certify(weighted, X, y, sample_weight=counts).relative <= 1e-6


def test_sparse_rows_give_the_same_layer(data):
    X, y = data
    X = np.where(np.abs(X) > 1, X, 0.0)
    thick = quietly(mm.Regressor(alpha=0.1, features=layer(2, max_iter=10)).fit, X, y)
    thin = quietly(clone(thick).fit, sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.predict(sparse.csc_array(X)), thick.predict(X), atol=1e-5)


def test_all_classes_share_the_units():
    X, y = load_iris(return_X_y=True)
    model = quietly(mm.Classifier(alpha=0.01, features=layer(2)).fit, X, y)
    assert model.coef_.shape == (3, 6)
    assert model.score(X, y) > 0.97
    linear = mm.Classifier(alpha=0.01).fit(X, y)
    assert model.certificate_.primal < 0.8 * linear.certificate_.primal


def test_a_path_keeps_the_units_and_says_so(data):
    X, y = data
    model = mm.Regressor(alpha=0.1, features=layer(2))
    found = quietly(mm.path, model, X, y, alphas=[1.0, 0.1, 0.01])
    assert [c.kind for c in found.certificates] == ["global"] * 3
    assert all("learnt at alpha=0.1 " in c.objective for c in found.certificates)
    assert found._names()[-2:] == ["unit0", "unit1"]
    same = found.model(0)
    assert mm.certify(same, X, y).objective == found.certificates[0].objective
    assert mm.certify(same, X, y).kind == "global"
    tuned = quietly(mm.Tuned(model, alphas=[1.0, 0.1, 0.01], cv=3).fit, X, y)
    assert tuned.predict(X).shape == (50,)


def test_searches_reach_into_the_layer(data):
    X, y = data
    search = GridSearchCV(mm.Regressor(alpha=0.1, features=layer()), {"features__width": [1, 2]})
    model = quietly(search.fit, X, y).best_estimator_
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_it_is_explained_before_it_is_learnt(data):
    words = mm.explain(mm.Regressor(features=layer()), *data).objective
    assert words.endswith("z = [X, tanh(X A + c)] w + b, A and c to be learnt")


def test_alone_it_is_a_random_layer(data):
    X, y = data
    phi = layer(5)
    drawn = phi.fit_transform(X)
    np.testing.assert_array_equal(drawn[:, :3], X)
    assert np.ptp(drawn[:, 3:], axis=0).min() > 0.1
    model = make_pipeline(phi, mm.Regressor(alpha=0.1)).fit(X, y)
    assert model[-1].certificate_.kind == "global"


def test_what_is_not_convex_is_refused(data):
    X, y = data
    for model in (mm.Regressor("squared", "mcp"), mm.Regressor(mm.GemanMcClure())):
        with pytest.raises(ValueError, match="needs a convex problem for the output weights"):
            model.set_params(features=layer()).fit(X, y)


def test_a_search_that_stops_short_says_so(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="search for its units ended with a slope of"):
        short = mm.Regressor(alpha=1e-3, features=layer(max_iter=1)).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_seconds stopped it|stopped by max_seconds=0"):
        late = mm.Regressor(alpha=1e-3, features=layer(), max_seconds=0).fit(X, y)
    linear = mm.Regressor(alpha=1e-3).fit(X, y).certificate_.primal
    assert short.certificate_.primal <= linear
    assert late.features_.stationarity_ == np.inf
    assert not late.features_.weights_.any()
