"""Labels of any kind, class weights, one-versus-rest."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning

import minimand as mm

LOSSES = ["logistic", "squared_hinge", "cross_entropy", "squared", "huber"]


@pytest.fixture(scope="module")
def five():
    return make_classification(
        300, 8, n_informative=6, n_classes=5, n_clusters_per_class=1, random_state=0
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_every_class_meets_the_tolerance_and_the_certificate_is_the_sum(loss, five):
    X, y = five
    model = mm.Classifier(loss, "l2", alpha=0.01).fit(X, y)
    assert model.coef_.shape == (5, 8)
    assert model.intercept_.shape == (5,)
    assert model.decision_function(X).shape == (300, 5)
    parts = []
    for c in range(5):
        part = mm.Classifier(loss, "l2", alpha=0.01).fit(X, y == c)
        assert_allclose(model.coef_[c], part.coef_[0], rtol=1e-8, atol=1e-10)
        assert part.certificate_.relative <= 1e-6
        parts.append(part.certificate_)
    whole = model.certificate_
    assert_allclose(whole.primal, sum(p.primal for p in parts), rtol=1e-10)
    assert_allclose(whole.gap, sum(p.gap for p in parts), rtol=1e-4, atol=1e-14)
    assert whole.relative <= 1e-6
    assert whole.dual_point.shape == (300, 5)
    assert "5 classes" in whole.objective
    again = mm.certify(model, X, y)
    assert_allclose(again.primal, whole.primal, rtol=1e-10)
    assert again.by_sample.shape == (300,)
    assert again.by_feature.shape == (8,)


@pytest.mark.parametrize("loss", ["hinge", "multinomial", "crammer_singer"])
def test_gaps_by_class_add_up(loss):
    X, y = load_iris(return_X_y=True)
    model = mm.Classifier(loss, alpha=0.1).fit(X, y)
    for certificate in (model.certificate_, mm.certify(model, X, y)):
        if certificate.by_score is None:
            assert loss != "hinge"  # one problem of all classes: an audit divides its gap
            continue
        assert certificate.by_score.shape == (3,)
        assert (certificate.by_score >= 0).all()
        assert certificate.by_score.sum() == pytest.approx(certificate.gap, rel=1e-9)
    assert mm.certify(model, X, y).by_score is not None


@pytest.mark.parametrize("loss", ["logistic", "cross_entropy"])
def test_probabilities(loss, five):
    X, y = five
    model = mm.Classifier(loss, alpha=0.01).fit(X, y)
    p = model.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0)
    assert (p >= 0).all()
    assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    assert_allclose(model.predict_log_proba(X), np.log(p))


@pytest.mark.parametrize("loss", ["squared_hinge", "squared", "huber"])
def test_no_probabilities_where_the_loss_gives_none(loss):
    assert not hasattr(mm.Classifier(loss), "predict_proba")
    assert not hasattr(mm.Classifier(loss), "predict_log_proba")


LABELS = {
    "strings": np.array(["ant", "bee"]),
    "objects": np.array(["ant", "bee"], dtype=object),
    "booleans": np.array([False, True]),
    "plus and minus": np.array([-1, 1]),
    "floats": np.array([2.0, 7.0]),
    "unsigned": np.array([3, 250], dtype=np.uint8),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("loss", LOSSES)
def test_labels_of_any_kind(kind, loss):
    X, y = make_classification(100, 5, random_state=1)
    labels = LABELS[kind]
    model = mm.Classifier(loss, alpha=0.01).fit(X, labels[y])
    assert_array_equal(model.classes_, labels)
    assert model.classes_.dtype == labels.dtype
    predicted = model.predict(X)
    assert predicted.dtype == labels.dtype
    assert (predicted == labels[y]).mean() > 0.85
    assert model.score(X, labels[y]) > 0.85
    assert model.coef_.shape == (1, 5)
    assert model.intercept_.shape == (1,)
    assert model.decision_function(X).shape == (100,)


def test_the_second_class_is_the_positive_one():
    model = mm.Classifier(alpha=0.1).fit([[0.0], [1.0], [0.1], [0.9]], ["a", "b", "a", "b"])
    assert model.coef_[0, 0] > 0
    assert_array_equal(model.predict([[-5.0], [5.0]]), ["a", "b"])


def test_balanced_class_weights_are_sample_weights():
    X, y = load_iris(return_X_y=True)
    X, y = X[30:], y[30:]
    share = np.bincount(y) / y.size
    balanced = mm.Classifier(alpha=0.01, class_weight="balanced", tol=1e-10).fit(X, y)
    by_hand = mm.Classifier(alpha=0.01, tol=1e-10).fit(X, y, sample_weight=1 / share[y])
    assert_allclose(balanced.coef_, by_hand.coef_, rtol=1e-5, atol=1e-7)


def test_a_dict_of_class_weights_multiplies_sample_weights():
    X, y = make_classification(100, 5, random_state=1)
    s = np.linspace(1, 2, 100)
    given = mm.Classifier(alpha=0.01, class_weight={1: 3.0}, tol=1e-10).fit(X, y, s)
    by_hand = mm.Classifier(alpha=0.01, tol=1e-10).fit(X, y, s * np.where(y == 1, 3.0, 1.0))
    assert_allclose(given.coef_, by_hand.coef_, rtol=1e-6)


def test_balancing_counts_a_weight_as_copies():
    X, y = make_classification(60, 4, random_state=2)
    s = np.random.default_rng(0).integers(0, 4, size=60)
    model = mm.Classifier(alpha=0.01, class_weight="balanced", tol=1e-10)
    weighted = model.fit(X, y, s).coef_.copy()
    repeated = model.fit(np.repeat(X, s, axis=0), np.repeat(y, s)).coef_
    assert_allclose(weighted, repeated, rtol=1e-5, atol=1e-7)


def test_a_complete_dict_may_name_classes_a_fold_lacks():
    X, y = make_classification(60, 4, random_state=2)
    mm.Classifier(class_weight={0: 1.0, 1: 2.0, 2: 3.0}).fit(X, y)


def test_a_class_whose_samples_all_have_weight_zero_does_not_exist():
    X, y = load_iris(return_X_y=True)
    model = mm.Classifier(alpha=0.01).fit(X, y, sample_weight=(y != 1).astype(float))
    assert_array_equal(model.classes_, [0, 2])
    assert model.coef_.shape == (1, 4)
    three = mm.Classifier(alpha=0.01).fit(np.r_[X, X[:1]], np.r_[y, 9], np.r_[np.ones(150), 0])
    assert_array_equal(three.classes_, [0, 1, 2])


def test_limits_hold_for_all_classes_together(five):
    X, y = five
    calls = []
    model = mm.Classifier(tol=0.0, max_seconds=0.0, callbacks=[calls.append])
    with pytest.warns(ConvergenceWarning, match="max_seconds=0"):
        model.fit(X, y)
    assert len(calls) == 5  # every class is judged once
    assert model.coef_.shape == (5, 8)


@pytest.mark.parametrize("how", ["stop", "interrupt"])
def test_who_says_stop_stops_every_class(how, five):
    X, y = five
    calls = []

    def callback(state):
        calls.append(state)
        if len(calls) == 2:
            if how == "interrupt":
                raise KeyboardInterrupt
            return mm.STOP
        return None

    model = mm.Classifier(tol=0.0, alpha=1e-3, callbacks=[callback])
    if how == "stop":
        with pytest.warns(ConvergenceWarning, match="a callback"):
            model.fit(X, y)
    else:
        with pytest.raises(mm.Interrupted) as stopped:
            model.fit(X, y)
        assert stopped.value.result is model
    assert len(calls) == 2
    assert model.predict_proba(X).shape == (300, 5)
    best = mm.Classifier(tol=1e-10, alpha=1e-3).fit(X, y).certificate_.primal
    assert model.certificate_.primal - best <= model.certificate_.gap


def test_labels_are_found_in_long_vectors():
    from minimand.outputs.classes import distinct

    rng = np.random.default_rng(0)
    for y in (rng.integers(-3, 9, 400_000), rng.integers(0, 5000, 400_000), np.arange(300_000) > 9):
        np.testing.assert_array_equal(distinct(y), np.unique(y))
    late = np.zeros(400_000)
    late[-1] = -1.0
    assert distinct(late).tolist() == [-1.0, 0.0]
    assert distinct(np.array(["b", "a", "b"])).tolist() == ["a", "b"]


def test_a_loss_without_a_margin_is_told():
    """max(0, −m) is zero at w = 0, so nothing is learnt; an offset can make it a problem."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = (X @ [1.0, 2.0, 3.0] > 0).astype(int)
    loss = mm.PerceptronLoss()
    with pytest.warns(UserWarning, match=r"no model is better than w = 0.*Hinge\(\)"):
        model = mm.Classifier(loss, alpha=0.1).fit(X, y)
    assert not model.coef_.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mm.Classifier(loss, alpha=0.1).fit(X, y, offset=1.0 - 3.0 * y).coef_.any()
        mm.Classifier("hinge", alpha=0.1).fit(X, y)
        mm.Regressor("squared", alpha=0.1).fit(X, np.ones(20))  # here w = 0 is perfect, and right
