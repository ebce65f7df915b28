"""A loss of three one-liners gets every solver and a valid certificate."""

import numpy as np
import oracle
import pytest
from scipy.special import expit

import minimand as mm
import problems
from own_models import Exponential, LogCosh, SmoothHinge

LD = np.longdouble


class PseudoHuber(mm.Distance):
    def psi(self, r):
        return np.sqrt(1 + r * r) - 1

    def dpsi(self, r):
        return r / np.sqrt(1 + r * r)

    def ddpsi(self, r):
        return (1 + r * r) ** -1.5


class MyLogistic(mm.Margin):
    """A twin of a built-in loss, so that both can be compared."""

    def psi(self, m):
        return np.logaddexp(0, -m)

    def dpsi(self, m):
        return -expit(-m)

    def ddpsi(self, m):
        return expit(m) * expit(-m)


class ClippedLogistic(MyLogistic):
    """The usual guard against overflow: its slope ends at −1e-304 instead of 0."""

    def dpsi(self, m):
        return -1 / (1 + np.exp(np.minimum(m, 700)))

    def ddpsi(self, m):
        return 1 / (2 + np.exp(np.minimum(m, 700)) + np.exp(np.minimum(-m, 700)))


def formula(loss):
    """The oracle's view of a user's loss: value, slope and bend only."""
    if isinstance(loss, mm.Margin):
        return oracle.Formula(
            lambda z, y: loss.psi(y * z),
            lambda z, y: y * loss.dpsi(y * z),
            lambda z, y: loss.ddpsi(y * z),
            None,
            None,
        )
    return oracle.Formula(
        lambda z, y: loss.psi(z - y),
        lambda z, y: loss.dpsi(z - y),
        lambda z, y: loss.ddpsi(z - y),
        None,
        None,
    )


def best_value(p, start):
    """Newton in extended precision from minimand's own answer: an upper bound of the optimum."""
    w, b = oracle.polish(p, *start, np.ones(p.X.shape[1]))
    return p.primal(w, b)


LOSSES = [Exponential(), SmoothHinge(), LogCosh(), PseudoHuber(), MyLogistic()]


@pytest.mark.parametrize("kind", ["tall", "wide", "scales"])
@pytest.mark.parametrize("penalty", ["l1", "l2", "weighted_l2"])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_gap_and_bounds(loss, penalty, kind):
    task = "C" if isinstance(loss, mm.Margin) else "R"
    base = problems.problem(task, "logistic" if task == "C" else "squared", penalty, kind, 0.05)
    p = oracle.Problem(
        formula(loss), base.X, base.y, base.l1, base.l2, base.intercept, base.weight, base.offset
    )
    d = p.X.shape[1]

    def run(**limits):
        model = problems.estimator(
            task, loss, penalty, d, alpha=0.05, intercept=p.intercept, **limits
        )
        return problems.fit(model, p.X, p.y, p.weight, p.offset)

    model, warned = run()
    w, b = model.coef_.ravel(), float(np.ravel(model.intercept_)[0])
    best = best_value(p, (w, b))
    oracle.check_certificate(p, w, b, model.certificate_, value=best)
    if not (penalty == "weighted_l2" and kind == "wide"):  # a free column may separate 8 samples
        assert not warned
        assert model.certificate_.relative <= 1e-6
    for limits in ({"max_iter": 1}, {"max_iter": 3}):
        early, _ = run(**limits)
        oracle.check_certificate(p, early.coef_, early.intercept_, early.certificate_, value=best)
    # any point may be audited against any dual point, and the bound must hold
    found = model.certificate_
    for factor in (0.0, 3.0, 8.0):
        model.coef_ = factor * w.reshape(model.coef_.shape)
        c = mm.certify(model, p.X, p.y, p.weight, p.offset, against=found)
        assert c.dual <= float(best) + 1e-9 * abs(float(best)) + 4 * c.rounding


@pytest.mark.parametrize("twin", [MyLogistic(), ClippedLogistic()], ids=repr)
def test_a_twin_of_the_logistic_loss_gives_the_same_model(twin):
    p = problems.problem("C", "logistic", "mixed", "tall", 0.02)
    models = [
        mm.Classifier(loss, mm.L1() + 0.5 * mm.L2(), alpha=0.02, tol=1e-10).fit(p.X, p.y)
        for loss in (mm.Logistic(), twin)
    ]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, atol=1e-5)
    assert models[0].certificate_.primal == pytest.approx(models[1].certificate_.primal, rel=1e-9)
