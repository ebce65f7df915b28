"""`certify` of labelers on other data than those of the fit: the model's own pairs and weights."""

import numpy as np
import pytest

import minimand as mm
from minimand.solvers.structured import judged

A, B = np.eye(2)
X = [np.array([A, B]), np.array([B, A]), np.array([A, A])]
Y = [["a", "b"], ["b", "a"], ["a", "a"]]
EDGES = [[(0, 1)]] * 3


def _fitted(kind, loss="crf", **options):
    """A fitted labeler, and what turns sequences into the arguments of `certify`."""
    if kind == "graph":
        model = mm.GraphLabeler(loss, alpha=0.1, **options).fit(X, Y, EDGES)
        return model, lambda n: {"edges": EDGES[:n]}
    return mm.SequenceLabeler(loss, alpha=0.1, **options).fit(X, Y), lambda n: {}


@pytest.mark.parametrize("kind", ["graph", "sequence"])
@pytest.mark.parametrize("options", [{"transitions": "observed"}, {"weights": "observed"}, {}])
def test_the_objective_is_that_of_the_model_on_a_part_of_its_data(kind, options):
    model, extra = _fitted(kind, **options)
    found = mm.certify(model, X[:1], Y[:1], **extra(1))
    size = sum(float(np.sum(t[np.isfinite(t)] ** 2)) for t in [model.coef_, *_tables(model)])
    truth = -model.log_likelihood(X[:1], Y[:1], **extra(1)).mean() + 0.05 * size
    np.testing.assert_allclose(found.primal, truth, rtol=1e-9)
    assert found.gap >= 0


def _tables(model):
    if isinstance(model, mm.GraphLabeler):
        return [model.pairs_]
    return [model.transitions_, model.start_, model.stop_]


@pytest.mark.parametrize("kind", ["graph", "sequence"])
@pytest.mark.parametrize("loss", ["crf", "max_margin"])
def test_labels_that_the_model_forbids_are_refused(kind, loss):
    model, extra = _fitted(kind, loss, transitions="observed")
    with pytest.raises(ValueError, match=r"'b' → 'b'.*infinite"):
        mm.certify(model, [np.array([B, B]), np.eye(2)], [["b", "b"], ["a", "b"]], **extra(2))


def test_first_and_last_labels_that_the_model_forbids_are_refused():
    still = mm.SequenceLabeler("crf", "l1", alpha=9.0, transitions="observed")
    still.fit([np.eye(2)] * 4, [["a", "b"]] * 4)
    assert not still.coef_.any()
    with pytest.raises(ValueError, match=r"'b' → 'a'.*infinite"):
        mm.certify(still, [np.eye(2)], [["b", "a"]])
    with pytest.raises(ValueError, match=r"begins with 'b'.*infinite"):
        mm.certify(still, [np.eye(2)[:1]], [["b"]])
    with pytest.raises(ValueError, match=r"ends with 'a'.*infinite"):
        mm.certify(still, [np.eye(2)[:1]], [["a"]])


def _noisy():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) for _ in range(30)]
    return X, [np.where(x[:, 0] + rng.normal(size=4) > 0, "a", "b").tolist() for x in X]


@pytest.mark.parametrize("kind", ["graph", "sequence"])
@pytest.mark.parametrize("loss", ["crf", "max_margin"])
def test_a_time_limit_leaves_a_looser_bound(kind, loss):
    X, y = _noisy()
    edges = [[(0, 1), (1, 2), (2, 3)]] * len(X)
    extra = {"edges": edges} if kind == "graph" else {}
    labeler = mm.GraphLabeler if kind == "graph" else mm.SequenceLabeler
    model = labeler(loss, alpha=0.01).fit(X, y, *extra.values())
    model.coef_ = 0.2 * model.coef_
    whole = mm.certify(model, X, y, **extra)
    hasty = mm.certify(model, X, y, max_seconds=0, **extra)
    assert hasty.primal == whole.primal
    assert hasty.gap >= whole.gap > 0.01
    assert hasty.dual <= model.certificate_.primal
    with pytest.raises(ValueError, match="max_seconds"):
        mm.certify(model, X, y, max_seconds=-1, **extra)


def test_an_interrupted_audit_has_its_certificate_as_result(monkeypatch):
    X, y = _noisy()
    model = mm.SequenceLabeler(alpha=0.01).fit(X, y)
    model.coef_ = 0.2 * model.coef_
    real = judged.train_crf

    def pressed(state):
        raise KeyboardInterrupt

    def impatient(problem, control, start):
        control.callbacks = [pressed]
        return real(problem, control, start)

    monkeypatch.setattr(judged, "train_crf", impatient)
    with pytest.raises(mm.Interrupted, match="result") as stopped:
        mm.certify(model, X, y)
    assert stopped.value.result.gap > 0
    assert stopped.value.result.primal > model.certificate_.primal
