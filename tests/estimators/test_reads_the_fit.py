"""A fitted model is what its fit left: parameters that are set later are for the next fit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

import minimand as mm

rng = np.random.default_rng(0)
X = rng.standard_normal((80, 3))
Y = X @ [1.0, -2.0, 0.0] + 0.3 * rng.standard_normal(80)
SIGNS = Y > 0
THREE = np.array(["a", "b", "c"])[np.digitize(Y, [-1.0, 1.0])]

CHANGES = {  # each would break or change what is read, if it were read again
    "solver": "nope",
    "loss": "poisson",
    "penalty": "nope",
    "alpha": -1.0,
    "features": StandardScaler(),
    "intercept": "maybe",
    "tol": "nope",
    "max_iter": -3,
    "max_seconds": "nope",
    "memory": "nope",
    "random_state": "nope",
    "callbacks": 3,
    "class_weight": "nope",
}


def readings(model, X, y):
    """All that is read of a fitted model."""
    found = {
        "predict": model.predict(X),
        "decision_function": model.decision_function(X),
        "score": model.score(X, y),
        "gap": mm.certify(model, X, y).gap,
        "objective": mm.certify(model, X, y).objective,
        "batches": mm.certify(model, batches=[(X, y)]).gap,
        "proof": mm.duality(model, X, y).primal,
        "proba": hasattr(model, "predict_proba"),
    }
    if found["proba"]:
        found["probabilities"] = model.predict_proba(X)
    for name in ("support_", "dual_coef_", "support_vectors_", "margin_", "slack_", "features_"):
        found[name] = getattr(model, name, None)
    return {name: value for name, value in found.items() if name != "features_"}


def assert_same(before, after):
    assert before.keys() == after.keys()
    for name, value in before.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(after[name], value, err_msg=name)
        else:
            assert after[name] == value, name


MODELS = {
    "lasso": (mm.Regressor("squared", "l1", alpha=0.1), Y),
    "huber": (mm.Regressor("huber"), Y),
    "mapped": (mm.Regressor("squared", "l2", alpha=0.1, features=mm.Monomials(2)), Y),
    "poisson": (mm.Regressor("poisson", alpha=0.1), np.abs(Y)),
    "logistic": (mm.Classifier("logistic", alpha=0.1), SIGNS),
    "hinge": (mm.Classifier("hinge", alpha=0.1, class_weight={True: 2.0}), SIGNS),
    "three": (mm.Classifier("logistic", "l1", alpha=0.01), THREE),
    "unit": (mm.Classifier("cross_entropy", alpha=0.1), SIGNS),
}


@pytest.mark.parametrize("parameter", CHANGES)
@pytest.mark.parametrize("name", MODELS)
def test_parameters_of_the_next_fit_are_not_read(name: str, parameter: str) -> None:
    estimator, y = MODELS[name]
    if parameter not in estimator.get_params(deep=False):
        pytest.skip("it has no such parameter")
    model = estimator.fit(X, y)
    before, asked = readings(model, X, y), getattr(model, parameter)
    setattr(model, parameter, CHANGES[parameter])
    try:
        assert_same(before, readings(model, X, y))
    finally:
        setattr(model, parameter, asked)


def test_a_feature_map_that_is_taken_away_stays_in_the_model() -> None:
    model = mm.Regressor(alpha=0.1, features=mm.Monomials(2)).fit(X, Y)
    before = readings(model, X, Y)
    model.features = None
    assert_same(before, readings(model, X, Y))
    model.fit(X, Y)
    assert not hasattr(model, "features_")
    assert model.coef_.shape == (3,)


@pytest.mark.parametrize("change", [{"delta": 50.0}, {"delta": "auto"}])
def test_a_loss_that_is_changed_in_place(change: dict) -> None:
    loss = mm.Huber(0.5)
    model = mm.Regressor(loss, alpha=0.1).fit(X, Y)
    before = readings(model, X, Y)
    loss.set_params(**change)
    assert_same(before, readings(model, X, Y))


def test_a_scale_that_was_found_stays_found() -> None:
    model = mm.Regressor(mm.Huber("auto"), alpha=0.1).fit(X, Y)
    before, found = readings(model, X, Y), model.loss_
    model.loss = mm.Huber(100.0)
    assert_same(before, readings(model, X, Y))
    assert model.loss_ == found
    assert not hasattr(model.fit(X, Y), "loss_")


def test_probabilities_are_there_as_the_fit_decides() -> None:
    model = mm.Classifier("logistic", alpha=0.1)
    assert hasattr(model, "predict_proba")
    model.loss = "hinge"
    assert not hasattr(model, "predict_proba")
    model.fit(X, SIGNS)
    model.loss = "logistic"
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError):
        model.predict_proba(X)
    assert hasattr(model.fit(X, SIGNS), "predict_proba")


def test_before_a_fit_there_is_nothing_to_read() -> None:
    for model in (mm.Regressor(), mm.Classifier()):
        with pytest.raises(NotFittedError):
            model.predict(X)
        with pytest.raises(NotFittedError):
            mm.certify(model, X, SIGNS)


def test_a_stream_is_what_it_has_learnt() -> None:
    model = mm.Regressor("poisson", alpha=0.1).partial_fit(X, np.abs(Y))
    before = model.predict(X)
    model.loss, model.solver = "squared", "nope"
    np.testing.assert_array_equal(model.predict(X), before)
    assert (before > 0).all()


def test_models_of_a_path_and_of_a_search() -> None:
    path = mm.path(mm.Regressor("poisson", "l2"), X, np.abs(Y), alphas=[0.1, 0.01])
    for i, alpha in enumerate(path.alphas):
        model = path.model(i)
        alone = mm.Regressor("poisson", "l2", alpha=float(alpha)).fit(X, np.abs(Y))
        np.testing.assert_allclose(model.predict(X), alone.predict(X), rtol=1e-3)
        assert mm.certify(model, X, np.abs(Y)).objective == alone.certificate_.objective
    tuned = mm.Tuned(mm.Classifier("logistic"), cv=3, alphas=5, scoring="neg_log_loss")
    model = tuned.fit(X, SIGNS).best_estimator_
    before = model.predict_proba(X)
    model.loss, model.solver = "hinge", "nope"
    np.testing.assert_array_equal(tuned.predict_proba(X), before)
    score = tuned.score(X, SIGNS)
    tuned.scoring = "nope"
    assert tuned.score(X, SIGNS) == score < 0


def test_the_widest_margin_is_judged_as_it_was_fitted() -> None:
    model = mm.HardMargin(intercept=False).fit(X, X[:, 0] > 0)
    before = mm.certify(model, X, X[:, 0] > 0), mm.duality(model, X, X[:, 0] > 0).primal
    model.intercept, model.solver, model.tol = True, "nope", "nope"
    after = mm.certify(model, X, X[:, 0] > 0), mm.duality(model, X, X[:, 0] > 0).primal
    assert after[0].gap == before[0].gap
    assert after[0].objective == before[0].objective
    assert after[1] == before[1]


def test_coefficients_that_were_set_by_hand() -> None:
    """Weights from elsewhere make a model: the parameters say what they mean."""
    model = mm.Regressor("poisson", alpha=0.1)
    model.coef_, model.intercept_, model.n_features_in_ = np.array([1.0, 0.0, 0.0]), 0.5, 3
    np.testing.assert_allclose(model.predict(X), np.exp(X[:, 0] + 0.5))
    assert mm.certify(model, X, np.abs(Y)).gap > 0
    model = mm.Classifier("logistic")
    model.coef_, model.intercept_, model.n_features_in_ = np.eye(3), np.zeros(3), 3
    model.classes_ = np.array(["a", "b", "c"])
    np.testing.assert_array_equal(model.predict(X), model.classes_[X.argmax(axis=1)])
    assert mm.certify(model, X, THREE).gap > 0
