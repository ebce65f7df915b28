"""`certify(thorough=True)` under a time limit and after Ctrl-C: the best bound so far is valid."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import minimand as mm
from minimand.reverse.proof import splitting


@pytest.fixture(scope="module")
def clustered():
    X = StandardScaler().fit_transform(load_wine().data)
    return mm.KMeans(3, random_state=0).fit(X), X


def test_a_limit_ends_the_search_with_a_valid_bound(clustered):
    model, X = clustered
    with pytest.warns(ConvergenceWarning, match="stopped by max_seconds=0"):
        short = mm.certify(model, X, thorough=True, max_seconds=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = mm.certify(model, X, thorough=True, max_seconds=1000)
    assert model.certificate_.dual - 1e-9 <= short.dual <= whole.dual + 1e-9 <= whole.primal + 1e-9


def test_ctrl_c_keeps_the_best_bound(clustered, monkeypatch):
    model, X = clustered
    rounds = []

    def pressed(*args):
        rounds.append(1)
        if len(rounds) > 1:
            raise KeyboardInterrupt
        return splitting_bound(*args)

    splitting_bound = splitting.lower_bound
    monkeypatch.setattr(splitting, "lower_bound", pressed)
    with pytest.raises(mm.Interrupted, match="certify") as stopped:
        mm.certify(model, X, thorough=True)
    found = stopped.value.result
    assert model.certificate_.dual - 1e-9 <= found.dual <= found.primal


def test_equal_rows_have_a_relative_gap_of_zero():
    X = np.ones((6, 2))
    for model in (mm.KernelKMeans(2, kernel="rbf"), mm.KernelPCA(1, kernel="rbf"), mm.PCA(1)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X)
        assert model.certificate_.relative == 0.0
        assert mm.certify(model, X).relative == 0.0
