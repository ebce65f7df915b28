"""`certify` of labelers: the bound holds for any weights, and the fit's own objective is judged."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

import minimand as mm

rng = np.random.default_rng(0)
X = [rng.normal(size=(rng.integers(1, 5), 3)) for _ in range(20)]
Y = [np.where(x[:, 0] + 0.7 * rng.normal(size=len(x)) > 0, "a", "b").tolist() for x in X]
EDGES = [[(t, t + 1) for t in range(len(x) - 1)] for x in X]
DICTS = [[{"w": str(round(v[0])), "size": float(v[1])} for v in x] for x in X]

MODELS = {
    "l2": mm.SequenceLabeler("crf", alpha=0.1),
    "l1": mm.SequenceLabeler("crf", "l1", alpha=0.02),
    "elastic_net": mm.SequenceLabeler("crf", "elastic_net", alpha=0.02),
    "edges": mm.SequenceLabeler("crf", alpha=0.1, edge_features="both"),
    "observed": mm.SequenceLabeler("crf", alpha=0.1, weights="observed", transitions="observed"),
    "max_margin": mm.SequenceLabeler("max_margin", alpha=0.1),
    "max_margin, l1": mm.SequenceLabeler("max_margin", "l1", alpha=0.05),
    "max_margin, both": mm.SequenceLabeler("max_margin", "elastic_net", alpha=0.05),
    "max_margin, edges": mm.SequenceLabeler("max_margin", alpha=0.1, edge_features="later"),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_gap_is_the_distance_of_the_model_from_the_optimum(name):
    model = clone(MODELS[name]).fit(X, Y)
    audited = mm.certify(model, X, Y)
    np.testing.assert_allclose(audited.primal, model.certificate_.primal, rtol=1e-9)
    assert audited.relative <= 1e-4
    assert audited.objective == model.certificate_.objective
    best = clone(MODELS[name]).set_params(tol=1e-7).fit(X, Y).certificate_
    moved = pickle.loads(pickle.dumps(model))
    moved.coef_ = 0.5 * moved.coef_
    found = mm.certify(moved, X, Y)
    assert found.dual <= best.primal + 1e-12
    assert found.gap >= found.primal - best.primal - 1e-12
    assert found.gap <= found.primal - best.dual + 2e-4 * best.primal  # the fit behind it is tight
    model.set_params(loss="perceptron", penalty="l1", alpha=5.0, edge_features=None, ends=False)
    np.testing.assert_allclose(mm.certify(model, X, Y).primal, audited.primal, rtol=1e-12)


def test_weights_are_copies_and_another_model_gives_the_bound():
    s = np.array([2, 1, 0, 3] * 5)
    model = mm.SequenceLabeler("crf", alpha=0.1).fit(X, Y, sample_weight=s)
    rows = np.repeat(np.arange(len(X)), s)
    weighted = mm.certify(model, X, Y, sample_weight=s)
    copied = mm.certify(model, [X[i] for i in rows], [Y[i] for i in rows])
    np.testing.assert_allclose([weighted.primal, weighted.gap], [copied.primal, copied.gap])
    rough = clone(model).set_params(max_iter=1, tol=1e-12)
    with pytest.warns(UserWarning, match="max_iter"):
        rough.fit(X, Y, sample_weight=s)
    against = mm.certify(rough, X, Y, sample_weight=s, against=model)
    alone = mm.certify(rough, X, Y, sample_weight=s)
    assert abs(against.gap - alone.gap) <= 2e-4 * alone.primal


def test_a_perceptron_is_judged_by_its_mistakes():
    model = mm.SequenceLabeler("perceptron", random_state=0).fit(X, Y)
    found = mm.certify(model, X, Y)
    assert found.primal == model.certificate_.primal
    assert found.kind == model.certificate_.kind


@pytest.mark.parametrize(
    ("loss", "penalty"), [("crf", "l2"), ("crf", "l1"), ("max_margin", "l2"), ("max_margin", "l1")]
)
def test_graphs_are_certified(loss, penalty):
    model = mm.GraphLabeler(loss, penalty, alpha=0.05, directed=False).fit(X, Y, EDGES)
    found = mm.certify(model, X, Y, edges=EDGES)
    np.testing.assert_allclose(found.primal, model.certificate_.primal, rtol=1e-9)
    assert found.relative <= 1e-4
    assert mm.certify(model, list(zip(X, EDGES)), Y).primal == found.primal


def test_what_cannot_be_certified_is_refused_in_one_sentence():
    model = mm.SequenceLabeler(alpha=0.1, weights="observed").fit(DICTS, Y)
    assert mm.certify(model, DICTS[:3], Y[:3]).gap >= 0
    with pytest.raises(ValueError, match="takes no offset"):
        mm.certify(model, DICTS, Y, offset=[0.0])
    with pytest.raises(TypeError, match="edges are for a GraphLabeler"):
        mm.certify(model, DICTS, Y, edges=EDGES)
    for call in (
        lambda: mm.path(model, DICTS, Y),
        lambda: mm.Tuned(model).fit(DICTS, Y),
        lambda: mm.explain(model, DICTS, Y),
    ):
        with pytest.raises(TypeError, match=r"not SequenceLabeler.* GridSearchCV") as refused:
            call()
        assert "\n" not in str(refused.value)


def _crfsuite_like(model, n):
    """What sklearn-crfsuite keeps of a fit, with the weights of one of our models."""
    names = model.features_.get_feature_names_out().tolist()
    labels = model.classes_.tolist()
    states = {
        (names[j], labels[c]): model.coef_[c, j] for c, j in np.argwhere(model.coef_ != 0).tolist()
    }
    steps = {
        (labels[a], labels[b]): model.transitions_[a, b]
        for a, b in np.argwhere(model.transitions_ != 0).tolist()
    }
    attributes = {
        "__module__": "sklearn_crfsuite.estimator",
        "fit": lambda self, X, y: self,
        "algorithm": "lbfgs", "min_freq": None, "c1": None, "c2": model.alpha_ * n / 2,
        "all_possible_states": None, "all_possible_transitions": None, "tagger_": True,
        "state_features_": states, "transition_features_": steps,
    }  # fmt: skip
    crf = type("CRF", (BaseEstimator,), attributes)()
    crf.tagger_ = True
    return crf


def test_a_model_of_crfsuite_has_its_own_scales():
    model = mm.SequenceLabeler(alpha=0.1, ends=False, weights="observed").fit(DICTS, Y)
    crf = _crfsuite_like(model, len(X))
    found = mm.certify(crf, DICTS, Y)
    np.testing.assert_allclose(found.primal, model.certificate_.primal, rtol=1e-9)
    assert found.relative <= 1e-4
    crf.state_features_ = {**crf.state_features_, ("w:no", "a"): 1.0}
    with pytest.raises(ValueError, match="'w:no', which does not occur"):
        mm.certify(crf, DICTS, Y)
    crf.algorithm = "ap"
    with pytest.raises(ValueError, match="'lbfgs' and 'l2sgd'"):
        mm.certify(crf, DICTS, Y)


def test_a_fit_of_crfsuite_is_not_better_than_ours():
    library = pytest.importorskip("sklearn_crfsuite")
    labels = [list(map(str, own)) for own in Y]
    with pytest.raises(NotFittedError, match="not fitted"):
        mm.certify(library.CRF(c2=1.0), DICTS, labels)
    crf = library.CRF(c2=1.0).fit(DICTS, labels)
    found = mm.certify(crf, DICTS, labels)
    alpha = 2.0 / len(X)
    ours = mm.SequenceLabeler(alpha=alpha, ends=False, weights="observed", tol=1e-6)
    ours.fit(DICTS, labels)
    assert ours.certificate_.primal <= found.primal + 1e-6
    assert found.gap >= found.primal - ours.certificate_.primal - 1e-9
    tagged = mm.certify(crf.tagger_, DICTS, labels, against=ours)
    np.testing.assert_allclose(tagged.primal, found.primal)
