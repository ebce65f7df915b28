"""A fitted model says solver, gap and nonzeros when it is printed; one that is not, what it was."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import minimand as mm

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 5))
Y = X @ [3.0, 0.0, 0.0, 0.0, -2.0] + 0.1 * RNG.standard_normal(40)
LONG = {"max_seconds": 100.0, "memory": 1e9, "warm_start": True, "random_state": 7, "tol": 1e-7}

MODELS = {
    "regressor": (mm.Regressor("squared", "l1", alpha=0.5), Y),
    "classifier": (mm.Classifier("hinge", alpha=0.1), Y > 0),
    "many parameters": (mm.Regressor(mm.Huber(2.0), mm.L1() + 0.5 * mm.L2(), 0.1, **LONG), Y),
    "tuned": (mm.Tuned(mm.Regressor("squared", "l1"), cv=3), Y),
    "perceptron": (mm.Perceptron(), X[:, 0] > 0),
    "hard margin": (mm.HardMargin(), X[:, 0] > 0),
}


@pytest.mark.parametrize("name", MODELS)
def test_print_and_html_show_the_facts(name):
    model, y = MODELS[name]
    before = repr(model)
    assert "#" not in before
    assert "minimand-facts" not in model._repr_html_()
    model = clone(model).fit(X, y)
    fitted = getattr(model, "best_estimator_", model)
    words = [
        f"relative gap {fitted.certificate_.relative:.1e}",
        f"nonzeros {np.count_nonzero(fitted.coef_)} of {fitted.coef_.size}",
    ]
    if hasattr(fitted, "solver_"):
        words.append(f"solver {fitted.solver_}")
    text = str(model)
    assert text.startswith(before)
    assert all(word in text for word in words)
    assert max(map(len, text.splitlines())) <= 100
    page = model._repr_html_().partition("minimand-facts")[2]
    assert f"{fitted.certificate_.relative:.1e}" in page
    assert f"{np.count_nonzero(fitted.coef_)} of {fitted.coef_.size}" in page


def test_what_the_facts_look_like():
    model = mm.Regressor("squared", "l1", alpha=0.5).fit(X, Y)
    certificate = model.certificate_
    assert repr(model) == (
        f"Regressor(alpha=0.5, penalty='l1')\n# fitted: solver {model.solver_}, "
        f"relative gap {certificate.relative:.1e}, nonzeros 2 of 5"
    )


def test_a_stationary_point_says_so():
    model = mm.Regressor("squared", "mcp", alpha=0.5).fit(X, Y)
    assert "(stationary)" in repr(model)


def test_a_stream_has_no_gap():
    model = mm.Regressor(alpha=0.1).partial_fit(X, Y)
    assert "solver sgd, gap unknown, nonzeros 5 of 5" in repr(model)


def test_tuned_names_its_alpha():
    tuned = mm.Tuned(mm.Regressor("squared", "l1"), cv=3).fit(X, Y)
    assert f"# fitted: alpha {tuned.alpha_:.3g}, solver" in repr(tuned)
    alone = mm.Tuned(mm.Regressor("squared", "l1"), cv=3, refit=False).fit(X, Y)
    assert repr(alone).endswith(f"# fitted: alpha {alone.alpha_:.3g}")


def test_others_print_it_by_its_parameters():
    inner = mm.Regressor("squared", "l1", alpha=0.5).fit(X, Y)
    for outer in (make_pipeline(StandardScaler(), inner), GridSearchCV(inner, {"alpha": [1.0]})):
        assert "alpha=0.5" in repr(outer)
        assert "fitted" not in repr(outer)
        assert "alpha" in outer._repr_html_()


def test_lines_break_as_those_of_scikit_learn():
    model = mm.Regressor(mm.Huber(2.0), **LONG)
    assert max(map(len, repr(model).splitlines())) <= 80
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
