"""Several labels per sample: class weights and calibrated probabilities, label by label."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import minimand as mm


@pytest.fixture(scope="module")
def tagged():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    labels = np.column_stack([y == 0, y > 0, (X[:, 0] > 6.5)]).astype(int)
    return X[order], labels[order]


@pytest.mark.parametrize("weights", ["balanced", {0: 1.0, 1: 4.0}, {1: 0.5}], ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_class_weights_are_those_of_every_label_by_itself(tagged, weights, weighted):
    X, labels = tagged
    heavy = np.random.default_rng(1).integers(0, 3, len(X)).astype(float) if weighted else None
    model = mm.Classifier("logistic", alpha=0.05, class_weight=weights, tol=1e-10)
    whole = mm.Classifier(**model.get_params(deep=False)).fit(X, labels, heavy)
    for c in range(3):
        alone = model.fit(X, labels[:, c], heavy)
        np.testing.assert_allclose(whole.coef_[c], alone.coef_[0], atol=1e-4)
        np.testing.assert_allclose(whole.intercept_[c], alone.intercept_[0], atol=1e-4)
    assert mm.certify(whole, X, labels, heavy).relative <= 1e-6


def test_one_entry_per_label(tagged):
    X, labels = tagged
    given = [{1: 3.0}, "balanced", None]
    whole = mm.Classifier("hinge", alpha=0.05, class_weight=given).fit(X, labels)
    for c, weights in enumerate(given):
        alone = mm.Classifier("hinge", alpha=0.05, class_weight=weights).fit(X, labels[:, c])
        np.testing.assert_allclose(whole.coef_[c], alone.coef_[0], atol=1e-3)
        rows, values = np.zeros(150), np.zeros(150)
        rows[whole.support_], values[alone.support_] = whole.dual_coef_[c], alone.dual_coef_[0]
        assert rows @ X == pytest.approx(values @ X, abs=1e-2)
    tuned = mm.Tuned(mm.Classifier(class_weight=given), alphas=3, cv=3).fit(X, labels)
    assert tuned.predict(X).shape == labels.shape


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"class_weight": [{1: 2.0}]}, "3 labels"),
        ({"class_weight": {1: 0.0}}, "above 0"),
        ({"class_weight": {2: 1.0}}, "names the class 2"),
        ({"class_weight": "rare"}, "one entry per label"),
        ({"class_weight": "balanced", "penalty": mm.TraceNorm()}, "couples them"),
    ],
)
def test_refusals(tagged, change, words):
    X, labels = tagged
    with pytest.raises(ValueError, match=words):
        mm.Classifier(**change).fit(X, labels)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibrated_labels(tagged, method):
    X, labels = tagged
    svm = mm.Classifier("hinge", alpha=0.05, class_weight=[None, {1: 2.0}, None])
    model = mm.Calibrated(svm, method=method, cv=3).fit(X, labels)
    plain = mm.Classifier("hinge", alpha=0.05, class_weight={1: 2.0})
    alone = mm.Calibrated(plain, method=method, cv=3).fit(X, labels[:, 1])
    np.testing.assert_array_equal(model.predict_proba(X)[:, 1], alone.predict_proba(X)[:, 1])
    assert (model.predict(X) == (model.predict_proba(X) > 0.5)).all()
    assert model.score(X, labels) > 0.8
    assert len(model.certificates_) == 9
    again = model.set_params(estimator=plain).fit(X, labels[:, 0])  # one label after several
    assert again.predict_proba(X).shape == (150, 2)
    with pytest.raises(ValueError, match="column 1 of y holds one value"):
        model.fit(X, np.column_stack([labels[:, 0], np.zeros(150, dtype=int)]))
