"""Laws of `SequenceLabeler`: enumeration, invariances, and the classifiers it contains."""

from __future__ import annotations

import pickle
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
import skops.io
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_extraction import FeatureHasher
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import minimand as mm

K, D = 3, 4
LABELS = ["a", "b", "c"]


def made(seed=0, count=12, longest=5, labels=LABELS, sparse=False):
    """Sequences whose labels depend on their tokens and on the label before."""
    rng = np.random.default_rng(seed)
    w, T = rng.normal(size=(D, len(labels))), 2.0 * rng.normal(size=(len(labels), len(labels)))
    X, y = [], []
    for _ in range(count):
        x = rng.normal(size=(rng.integers(1, longest + 1), D))
        own, before = [], np.zeros(len(labels))
        for row in x:
            code = int(np.argmax(row @ w + before + rng.gumbel(size=len(labels))))
            own.append(labels[code])
            before = T[code]
        X.append(x)
        y.append(own)
    return X, y


X, Y = made()


def enumerated(model, x):
    """(score, labels) of all allowed labellings, the best first."""
    found = []
    classes = model.classes_.tolist()
    for c in product(range(len(classes)), repeat=len(x)):
        score = model.start_[c[0]] + model.stop_[c[-1]]
        score += sum(x[t] @ model.coef_[c[t]] for t in range(len(x)))
        score += sum(model.transitions_[a, b] for a, b in pairwise(c))
        if getattr(model, "edge_coef_", None) is not None:
            score += sum(x[t] @ model.edge_coef_[:, c[t - 1], c[t]] for t in range(1, len(x)))
        if np.isfinite(score):
            found.append((score, [classes[i] for i in c]))
    return sorted(found, key=lambda pair: -pair[0])


MODELS = {
    "crf": mm.SequenceLabeler("crf", alpha=0.1),
    "l1": mm.SequenceLabeler("crf", "l1", alpha=0.05),
    "elastic_net": mm.SequenceLabeler("crf", "elastic_net", alpha=0.05),
    "observed": mm.SequenceLabeler("crf", alpha=0.1, transitions="observed"),
    "edges": mm.SequenceLabeler("crf", alpha=0.1, edge_features="later"),
    "no_ends": mm.SequenceLabeler("crf", alpha=0.1, ends=False),
    "observed_weights": mm.SequenceLabeler("crf", alpha=0.1, weights="observed"),
    "max_margin": mm.SequenceLabeler("max_margin", alpha=0.1),
    "perceptron": mm.SequenceLabeler("perceptron", random_state=0),
}


@cache
def fitted(name):
    return clone(MODELS[name]).fit(X, Y)


@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_those_of_enumeration(name):
    model = fitted(name)
    new = [x for x in made(1)[0] if len(x) <= 4]
    if name == "observed":
        new = new[:6]
    predicted, decoded = model.predict(new), model.decode(new, k=4)
    for x, labels, best in zip(new, predicted, decoded):
        all_of_them = enumerated(model, x)
        assert labels == all_of_them[0][1]
        assert [b.labels for b in best] == [labels for _, labels in all_of_them[:4]]
        np.testing.assert_allclose([b.score for b in best], [s for s, _ in all_of_them[:4]])
    if model.loss_ == "crf":
        _probabilities_are_enumerated(model, new, decoded)


def _probabilities_are_enumerated(model, new, decoded):
    classes = model.classes_.tolist()
    for x, table, best, whole in zip(
        new, model.predict_marginals(new), decoded, model.predict_proba(new)
    ):
        scores = np.array([score for score, _ in enumerated(model, x)])
        p = np.exp(scores - np.logaddexp.reduce(scores))
        expected = np.zeros((len(x), len(classes)))
        for share, (_, labels) in zip(p, enumerated(model, x)):
            expected[np.arange(len(x)), [classes.index(label) for label in labels]] += share
        np.testing.assert_allclose(table, expected, atol=1e-10)
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
        np.testing.assert_allclose([whole, best[0].probability], p[0])
        labels = best[-1].labels
        np.testing.assert_allclose(model.predict_proba([x], [labels]), best[-1].probability)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "perceptron"])
def test_fits_are_certified(name):
    certificate = fitted(name).certificate_
    assert certificate.kind == "global"
    assert certificate.relative <= 1e-4
    assert fitted(name).history_[-1].gap == certificate.gap
    assert fitted(name).n_iter_ >= 1


def objective(model, X, Y, l1=0.0, l2=0.0):
    parts = [model.coef_, model.transitions_, model.start_, model.stop_]
    w = np.concatenate([np.ravel(part) for part in parts])
    loss = -model.log_likelihood(X, Y).mean()
    return loss + l1 * np.abs(w).sum() + 0.5 * l2 * w @ w


def test_the_certificate_is_about_the_model():
    for name, (l1, l2) in {"crf": (0, 0.1), "l1": (0.05, 0), "elastic_net": (0.025, 0.025)}.items():
        value = objective(fitted(name), X, Y, l1, l2)
        np.testing.assert_allclose(fitted(name).certificate_.primal, value, rtol=1e-9)
    assert np.mean(fitted("l1").coef_ == 0) > 0.2


def close(a, b):
    """Whether two fits of one problem agree: their objectives within the sum of their gaps."""
    slack = a.certificate_.gap + b.certificate_.gap + 1e-12
    return abs(a.certificate_.primal - b.certificate_.primal) <= slack


LOSSES = ["crf", "max_margin"]
SPARSE = [("max_margin", "l1"), ("max_margin", "elastic_net")]


@pytest.mark.parametrize(("loss", "penalty"), [*((one, "l2") for one in LOSSES), *SPARSE])
def test_weights_are_copies_and_orders_do_not_matter(loss, penalty):
    model = mm.SequenceLabeler(loss, penalty, alpha=0.05, tol=1e-6)
    s = np.array([2, 0, 1, 3] * 3)
    weighted = clone(model).fit(X, Y, sample_weight=s)
    rows = np.repeat(np.arange(len(X)), s)
    copied = clone(model).fit([X[i] for i in rows], [Y[i] for i in rows])
    assert close(weighted, copied)
    back = rows[::-1]
    assert close(copied, clone(model).fit([X[i] for i in back], [Y[i] for i in back]))
    other = {"a": 7, "b": 5, "c": 6}  # the order of the labels changes
    renamed = clone(model).fit(X, [[other[c] for c in own] for own in Y])
    plain = clone(model).fit(X, Y)
    assert close(plain, renamed)
    assert plain.certificate_.relative <= 1e-6
    if loss == "crf":  # strictly convex: the weights agree, too
        order = [plain.classes_.tolist().index(c) for c in ("b", "c", "a")]
        np.testing.assert_allclose(renamed.coef_, plain.coef_[order], atol=2e-2)
        np.testing.assert_allclose(weighted.coef_, copied.coef_, atol=2e-2)


def test_features_of_sequences_of_weight_zero_are_not_there():
    dicts = [[{"w": "x"}], [{"w": "y"}], [{"w": "z"}]]
    model = mm.SequenceLabeler(alpha=0.1)
    model.fit(dicts, [["a"], ["b"], ["c"]], sample_weight=[1, 1, 0])
    assert model.classes_.tolist() == ["a", "b"]
    assert model.coef_.shape == (2, 2)


@pytest.mark.parametrize(
    ("loss", "same"), [("crf", "multinomial"), ("max_margin", "crammer_singer")]
)
def test_sequences_of_one_token_are_a_classifier(loss, same):
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(60, D))
    y = np.array(LABELS)[
        np.argmax(rows @ rng.normal(size=(D, K)) + rng.gumbel(size=(60, K)), axis=1)
    ]
    chain = mm.SequenceLabeler(loss, alpha=0.02, ends=False, tol=1e-6)
    chain.fit([row[None, :] for row in rows], [[label] for label in y])
    single = mm.Classifier(same, "l2", alpha=0.02, intercept=False).fit(rows, y)
    assert close(chain, single)
    assert not chain.transitions_.any()
    # The objective is strongly convex: two models within gaps g of the optimum are near each other.
    reach = sum(np.sqrt(2 * model.certificate_.gap / 0.02) for model in (chain, single))
    assert np.linalg.norm(chain.coef_ - single.coef_) <= reach + 1e-9


def test_a_cost_changes_the_margin():
    severe = np.array([[0, 1, 9], [1, 0, 9], [1, 1, 0]])
    plain = mm.SequenceLabeler("max_margin", alpha=0.1).fit(X, Y)
    costly = mm.SequenceLabeler("max_margin", alpha=0.1, cost=severe).fit(X, Y)
    assert costly.certificate_.relative <= 1e-4
    assert costly.certificate_.primal > plain.certificate_.primal
    unit = mm.SequenceLabeler("max_margin", alpha=0.1, cost=1 - np.eye(3)).fit(X, Y)
    assert close(unit, plain)


def test_transitions_that_are_not_allowed_are_never_predicted():
    banned = [(a, b) for a in LABELS for b in LABELS if (a, b) not in {("a", "a"), ("b", "a")}]
    Z = [[c if i % 2 else "c" for i, c in enumerate(own)] for own in Y]
    pairs = mm.SequenceLabeler(alpha=0.1, transitions=banned).fit(X, Z)
    table = np.array([[0, 1, 1], [0, 1, 1], [1, 1, 1]], bool)
    same = mm.SequenceLabeler(alpha=0.1, transitions=table).fit(X, Z)
    np.testing.assert_allclose(pairs.transitions_, same.transitions_)
    assert np.isneginf(pairs.transitions_[:2, 0]).all()
    predicted = pairs.predict(made(4, count=30)[0])
    assert not {("a", "a"), ("b", "a")} & {p for own in predicted for p in pairwise(own)}
    with pytest.raises(ValueError, match="forbids"):
        mm.SequenceLabeler(transitions=[("a", "b")]).fit(X, Y)


def test_a_length_without_an_allowed_labelling_is_named():
    two = [np.ones((2, 1)), np.zeros((2, 1))]
    model = mm.SequenceLabeler(alpha=0.1, transitions="observed").fit(two, [["a", "b"], ["a", "b"]])
    with pytest.raises(ValueError, match=r"X\[1\] has 3 tokens"):
        model.predict([np.ones((2, 1)), np.ones((3, 1))])


# Interoperation ---------------------------------------------------------------------------------

WORDS = [["the", "dog", "sees", "a", "cat"], ["a", "bird", "sleeps"], ["dogs", "bark"]] * 3
TAGS = [["B-NP", "I-NP", "O", "B-NP", "I-NP"], ["B-NP", "I-NP", "O"], ["B-NP", "O"]] * 3


def token_features(sentences):
    return [
        [{"word": w, "first": i == 0, "parts": [w[:2], w[-2:]], "near": {"left": s[i - 1]}}
         for i, w in enumerate(s)]
        for s in sentences
    ]  # fmt: skip


def test_dicts_in_pipelines_searches_and_files():
    labeler = mm.SequenceLabeler(alpha=0.05)
    pipeline = make_pipeline(FunctionTransformer(token_features), labeler).fit(WORDS, TAGS)
    assert pipeline.predict(WORDS) == TAGS
    dicts = token_features(WORDS)
    search = GridSearchCV(
        labeler, {"alpha": [0.01, 10.0]}, cv=3, scoring=make_scorer(mm.metrics.span_f1)
    )
    search.fit(dicts, TAGS)
    assert search.best_params_ == {"alpha": 0.01}
    assert search.predict(dicts) == TAGS
    assert cross_val_score(labeler, dicts, TAGS, cv=3).mean() == 1.0
    model = pipeline[-1]
    saved = skops.io.dumps(model)
    again = skops.io.loads(saved, trusted=skops.io.get_untrusted_types(data=saved))
    for copy in (pickle.loads(pickle.dumps(model)), again):
        assert copy.predict(dicts) == TAGS
        np.testing.assert_array_equal(copy.predict_proba(dicts), model.predict_proba(dicts))
    assert clone(model).get_params() == model.get_params()


def test_hashed_and_indexed_features_are_one_model():
    dicts = token_features(WORDS)
    indexed = mm.SequenceLabeler(alpha=0.05, tol=1e-8).fit(dicts, TAGS)
    hashed = mm.SequenceLabeler(alpha=0.05, tol=1e-8, features="hash").fit(dicts, TAGS)
    assert np.count_nonzero(hashed.coef_.any(axis=0)) == indexed.coef_.shape[1]  # no collision
    assert close(indexed, hashed)
    own = mm.SequenceLabeler(alpha=0.05, tol=1e-8, features=FeatureHasher(2**19)).fit(dicts, TAGS)
    assert close(indexed, own)
    np.testing.assert_allclose(indexed.predict_proba(dicts), hashed.predict_proba(dicts), atol=1e-4)


def test_a_map_of_rows_is_applied_to_tokens():
    scaler = StandardScaler().fit(np.vstack(X))
    mapped = mm.SequenceLabeler(alpha=0.1, features=StandardScaler()).fit(X, Y)
    by_hand = mm.SequenceLabeler(alpha=0.1).fit([scaler.transform(x) for x in X], Y)
    assert close(mapped, by_hand)
    assert mapped.predict(X) == by_hand.predict([scaler.transform(x) for x in X])


def test_inspection_and_picture():
    model = mm.SequenceLabeler(alpha=0.05).fit(token_features(WORDS), TAGS)
    assert len(model.top_features("B-NP", 3)) == 3
    weights = [weight for _, weight in model.top_features("I-NP", 5)]
    assert weights == sorted(weights, reverse=True)
    assert all(w > 0 for w in weights)
    assert all(weight < 0 for _, weight in model.top_features("I-NP", 5, lowest=True))
    assert model.top_transitions(1)[0][:2] == ("B-NP", "I-NP")
    with pytest.raises(ValueError, match="label must be one of"):
        model.top_features("NP")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = model.plot()
    assert [t.get_text() for t in ax.get_xticklabels()] == ["B-NP", "I-NP", "O", "stop"]


def test_the_fit_is_read_and_not_the_parameters():
    model = mm.SequenceLabeler("crf", alpha=0.1, edge_features="both").fit(X, Y)
    before = model.predict(X), model.predict_proba(X), model.score(X, Y)
    model.set_params(loss="perceptron", features="hash", transitions="nope", edge_features=None)
    after = model.predict(X), model.predict_proba(X), model.score(X, Y)
    assert before[0] == after[0]
    np.testing.assert_array_equal(before[1], after[1])
    assert before[2] == after[2]


def test_a_warm_start_needs_less_work():
    model = mm.SequenceLabeler(alpha=0.1, warm_start=True).fit(X, Y)
    passes = model.certificate_.passes
    assert model.fit(X, Y).certificate_.passes < passes
    model.fit(X[:6], [["a" if c == "c" else c for c in own] for own in Y[:6]])  # other labels
    assert model.classes_.tolist() == ["a", "b"]


def test_probabilities_need_a_crf():
    for name in ("max_margin", "perceptron"):
        assert not hasattr(fitted(name), "predict_proba")
        with pytest.raises(AttributeError, match="has scores and no probabilities"):
            fitted(name).predict_marginals(X)
    assert hasattr(mm.SequenceLabeler(), "predict_marginals")
    with pytest.raises(NotFittedError):
        mm.SequenceLabeler().predict(X)


def test_stops_are_heard():
    seen = []

    def impatient(state):
        seen.append(state)
        return mm.STOP

    with pytest.warns(ConvergenceWarning, match="callback"):
        model = mm.SequenceLabeler(alpha=1e-4, callbacks=[impatient]).fit(X, Y)
    assert seen
    assert model.certificate_.relative > 1e-4
    assert len(model.predict(X)) == len(X)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        mm.SequenceLabeler(alpha=1e-4, max_seconds=0.0).fit(X, Y)

    def interrupted(state):
        raise KeyboardInterrupt

    with pytest.raises(mm.Interrupted) as stopped:
        mm.SequenceLabeler(alpha=1e-4, callbacks=[interrupted]).fit(X, Y)
    assert len(stopped.value.result.predict(X)) == len(X)


# Perceptron and streams -------------------------------------------------------------------------


def separable(seed=0):
    """Sequences that some weights label right, with a margin."""
    rng = np.random.default_rng(seed)
    w, T = rng.normal(size=(D, K)), rng.normal(size=(K, K))
    found = []
    while len(found) < 15:
        x = rng.normal(size=(3, D))
        scores = {
            c: sum(x[t] @ w[:, c[t]] for t in range(3)) + T[c[0], c[1]] + T[c[1], c[2]]
            for c in product(range(K), repeat=3)
        }
        ranked = sorted(scores.items(), key=lambda item: -item[1])
        if ranked[0][1] - ranked[1][1] > 0.5:
            found.append((x, list(ranked[0][0])))
    return [x for x, _ in found], [c for _, c in found]


@pytest.mark.parametrize("seed", range(3))
def test_mistakes_of_a_perceptron_stay_below_their_bound(seed):
    S, C = separable(seed)
    model = mm.SequenceLabeler("perceptron", max_iter=500, random_state=seed).fit(S, C)
    assert model.history_.primal[-1] <= 0.2
    assert np.isfinite(model.bound_)
    assert 0 < model.mistakes_ <= model.bound_
    assert len(model.history_) <= 501


def test_a_perceptron_counts_its_errors():
    model = fitted("perceptron")
    wrong = np.mean([own != found for own, found in zip(Y, model.predict(X))])
    assert model.certificate_.primal == pytest.approx(wrong)
    assert model.certificate_.kind in ("relaxation", "global")
    with pytest.raises(ValueError, match="alpha has no meaning"):
        mm.SequenceLabeler("perceptron", alpha=0.1).fit(X, Y)


@pytest.mark.parametrize("loss", ["crf", "max_margin", "perceptron"])
def test_batches_are_learnt(loss):
    S, C = made(3, count=120, longest=4)
    model = mm.SequenceLabeler(loss)
    for _ in range(5):
        for begin in range(0, 120, 30):
            batch = slice(begin, begin + 30)
            model.partial_fit(S[batch], C[batch], classes=LABELS)
    whole = mm.SequenceLabeler(loss, random_state=0).fit(S, C)
    assert model.score(S, C) > whole.score(S, C) - 0.08
    with pytest.raises(ValueError, match="classes must be those"):
        model.partial_fit(S, C, classes=["a", "b"])
    with pytest.raises(ValueError, match="not among"):
        model.partial_fit(S[:1], [["z"] * len(S[0])])


@pytest.mark.parametrize("loss", ["crf", "max_margin"])
def test_batches_of_sparse_rows_are_those_of_dense_ones(loss):
    rng = np.random.default_rng(7)
    wide = [np.where(rng.random((len(x), 30)) < 0.1, 1.0, 0.0) for x in X]  # columns are missing
    dense, thin = mm.SequenceLabeler(loss, alpha=0.1), mm.SequenceLabeler(loss, alpha=0.1)
    for batch in (slice(0, 6), slice(6, 12)):
        dense.partial_fit(wide[batch], Y[batch], classes=LABELS)
        thin.partial_fit([csr_array(x) for x in wide[batch]], Y[batch], classes=LABELS)
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-12)
    np.testing.assert_allclose(thin.transitions_, dense.transitions_, atol=1e-12)
