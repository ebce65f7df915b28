"""Certificates of random losses of a user's own: no dual lies above what some model attains.

``MINIMAND_FUZZ=3000 pytest …`` looks at so many problems, with seven certificates each.
"""

import os

import numpy as np
import pytest
from certificates_of_losses import false_certificates
from random_losses import Scaled, catenary, linex, log_cosh, naive_linex

import minimand as mm

PROBLEMS = int(os.environ.get("MINIMAND_FUZZ", "60"))


@pytest.mark.parametrize("seed", range(PROBLEMS))
def test_no_certificate_is_false(seed):
    try:
        _, wrong = false_certificates(seed)
    except ValueError as refusal:
        assert "kink" in str(refusal) or "overflows" in str(refusal)  # noqa: PT017
        return
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("shape", [linex(), catenary()], ids=repr)
@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("moved", [-100.0, -30.0, 5.0, 100.0])
def test_a_moved_intercept(shape, scale, moved):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 5)), scale * rng.standard_normal(200)
    model = mm.Regressor(Scaled(shape), "l2", alpha=0.1).fit(X, y)
    attained = model.certificate_.primal
    model.intercept_ += moved
    found = mm.certify(model, X, y)
    assert found.dual <= attained + found.rounding


@pytest.mark.parametrize("width", [50.0, 1.0, 1 / 30, 1e-3, 1e3])
@pytest.mark.parametrize("shape", [naive_linex(), log_cosh()], ids=repr)
def test_rounding_of_psi_is_no_bend(shape, width):
    loss = Scaled(shape, width)
    loss.check_parameters()
    loss.check_target(np.array([0.3, -7.0]))


def test_what_was_probed_is_forgotten_with_its_parameters():
    class Bent(mm.Distance):
        def __init__(self, bend=0.0):
            self.bend = bend

        def psi(self, r):
            return 0.5 * r * r + self.bend * np.cos(2 * r)

        def dpsi(self, r):
            return r - 2 * self.bend * np.sin(2 * r)

        def ddpsi(self, r):
            return 1 - 4 * self.bend * np.cos(2 * r)

    loss = Bent()
    assert loss.convex
    assert not loss.set_params(bend=0.5).convex


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-160])
@pytest.mark.parametrize("loss", [mm.Absolute(), mm.Quantile(0.3), mm.Lp(1.5)], ids=repr)
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_tiny_targets_give_numbers(loss, penalty, size):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = size * (X @ rng.standard_normal(4) + rng.standard_normal(60))
    model = mm.Regressor(loss, penalty, alpha=0.1).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.certificate_.primal)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_words_about_a_tangent_problem_say_so():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 2))
    y = np.where(X[:, 0] + rng.standard_normal(60) > 0, 1, -1)
    assert not mm.separable(X, y)
    model = mm.Classifier(mm.TanhMargin(), "no_penalty").fit(X, y)
    words = model.certificate_.infeasibility
    assert "tangent" in words
