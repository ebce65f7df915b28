"""scikit-learn's kernel machines are audited against the problem that they solve."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR

import minimand as mm
import minimand.sklearn as drop_ins

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=120)
LABELS = np.where(X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=120) > 0, "same", "other")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.4 * RNG.normal(size=120), [-0.6, 0.5])]
WEIGHTS = RNG.integers(0, 3, 120).astype(float)
KERNEL = mm.RBF(1.0)  # gamma = 0.5


def pairs(total):
    """Models of scikit-learn, ours of the same problem, and their targets."""
    one_vs_one = mm.OneVsOne(mm.Hinge())
    return [
        (SVC(gamma=0.5, C=2.0), mm.Classifier("hinge", features=KERNEL, alpha=0.5 / total), LABELS),
        (SVC(gamma=0.5), mm.Classifier(one_vs_one, features=KERNEL, alpha=1 / total), THREE),
        (
            SVC(kernel="linear"),
            mm.Classifier(one_vs_one, features=mm.Linear(), alpha=1 / total),
            THREE,
        ),
        (
            SVR(gamma=0.5, C=2.0, epsilon=0.2),
            mm.Regressor(mm.EpsilonInsensitive(0.2), features=KERNEL, alpha=0.5 / total),
            Y,
        ),
        (
            KernelRidge(kernel="rbf", gamma=0.5, alpha=0.3),
            mm.Regressor(features=KERNEL, alpha=0.3 / total, intercept=False),
            Y,
        ),
    ]


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_audit_names_the_optimum_of_our_own_fit(weights):
    for peer, ours, y in pairs(120 if weights is None else weights.sum()):
        ours.set_params(tol=1e-9).fit(X, y, weights)
        audit = mm.certify(peer.fit(X, y, sample_weight=weights), X, y, sample_weight=weights)
        assert audit.relative <= 1e-3
        assert audit.dual == pytest.approx(ours.certificate_.primal, rel=1e-6)
        assert audit.primal >= ours.certificate_.dual - 1e-12


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_drop_ins_are_audited_too(weights):
    for peer, _, y in pairs(120):
        model = getattr(drop_ins, type(peer).__name__)(**peer.get_params())
        if not isinstance(peer, KernelRidge):
            model.set_params(tol=1e-8)
        audit = mm.certify(model.fit(X, y, sample_weight=weights), X, y, sample_weight=weights)
        assert audit.relative <= 1e-7
        assert audit.by_feature is None or peer.kernel == "linear"
        assert audit.by_sample.sum() == pytest.approx(audit.gap, rel=1e-6, abs=1e-15)


def test_class_weights_and_sparse_rows():
    thin = sparse.csr_matrix(X * (X > 0))
    for y, weights in ((LABELS, None), (THREE, WEIGHTS)):
        model = SVC(gamma=0.5, class_weight="balanced", tol=1e-8).fit(thin, y, weights)
        assert mm.certify(model, thin, y, sample_weight=weights).relative <= 1e-6


def test_a_poor_model_has_the_gap_that_it_leaves():
    poor = SVC(gamma=0.5, tol=1.0).fit(X, LABELS)
    best = mm.certify(SVC(gamma=0.5, tol=1e-9).fit(X, LABELS), X, LABELS)
    found = mm.certify(poor, X, LABELS)
    assert found.gap == pytest.approx(found.primal - best.primal, abs=1e-6)
    assert found.gap > 10 * best.gap


def test_several_targets_and_other_data():
    peer = KernelRidge(kernel="laplacian", alpha=[0.1, 1.0]).fit(X, np.column_stack([Y, X[:, 1]]))
    assert mm.certify(peer, X, np.column_stack([Y, X[:, 1]])).relative <= 1e-9
    model = SVC().fit(X, LABELS)
    with pytest.raises(ValueError, match="fitted on 120 samples, but X has 100"):
        mm.certify(model, X[:100], LABELS[:100])
    with pytest.raises(ValueError, match="are not the rows of X with the numbers support_"):
        mm.certify(model, X[::-1], LABELS[::-1])
    with pytest.raises(ValueError, match="in batches"):
        mm.certify(model, batches=[(X, LABELS)])
    with pytest.raises(ValueError, match="never seen"):
        mm.certify(model, X, np.where(LABELS == "same", "new", LABELS))
