"""Surrogates of the zero-one loss: conformance, facts, calibration, the table."""

import numpy as np
import pytest

import minimand as mm
from minimand.testing import check_loss

RNG = np.random.default_rng(1)
X = RNG.standard_normal((80, 4))
LABELS = np.where(X[:, 0] - X[:, 1] + RNG.standard_normal(80) > 0, "b", "a")


@pytest.mark.parametrize("loss", [mm.Exponential(), mm.SquaredMargin()], ids=repr)
def test_conformance(loss):
    check_loss(loss)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("loss", ["exponential", "squared_margin"])
def test_certified_fits(loss, penalty):
    model = mm.Classifier(loss, penalty, alpha=0.02).fit(X, LABELS)
    assert model.certificate_.relative <= 1e-6
    assert model.score(X, LABELS) > 0.7


def test_squared_margin_is_least_squares_on_the_labels():
    y = np.where(LABELS == "b", 1.0, -1.0)
    margin = mm.Classifier("squared_margin", "l2", alpha=0.2, tol=1e-12).fit(X, LABELS)
    squared = mm.Regressor("squared", "l2", alpha=0.1, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(margin.coef_[0], squared.coef_, atol=1e-8)


def test_exponential_of_separable_classes_has_no_minimiser():
    x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    with pytest.warns(Warning, match="perfectly"):
        model = mm.Classifier("exponential", "no_penalty", alpha=0.0).fit(x, [0, 0, 1, 1])
    assert model.certificate_.gap == np.inf


def test_zero_one_counts_mistakes_and_is_not_fitted():
    z, y = np.array([2.0, -1.0, 0.0]), np.array([1.0, 1.0, 1.0])
    np.testing.assert_array_equal(mm.ZeroOne().value(z, y), [0.0, 1.0, 1.0])
    with pytest.raises(ValueError, match=r"ZeroOne\(\) cannot be minimised.*Logistic\(\)"):
        mm.Classifier(mm.ZeroOne()).fit(X, LABELS)


def test_the_drawback_of_the_squared_margin():
    """It also punishes being too right; the squared hinge does not."""
    far = np.array([5.0])
    assert mm.SquaredMargin().psi(far)[0] == 16.0
    assert mm.SquaredHinge().psi(far)[0] == 0.0


# Facts -------------------------------------------------------------------------------------


def facts(loss):
    return loss.convex, loss.smooth, loss.bounded, loss.robust


@pytest.mark.parametrize(
    ("loss", "want"),
    [
        (mm.Squared(), (True, True, False, False)),
        (mm.Huber(), (True, True, False, True)),
        (mm.Absolute(), (True, False, False, True)),
        (mm.Quantile(0.9), (True, False, False, True)),
        (mm.Lp(1.001), (True, True, False, False)),
        (mm.Lp(0.5), (False, False, False, True)),
        (mm.Lp(0), (False, False, True, True)),
        (mm.Logistic(), (True, True, False, True)),
        (mm.Exponential(), (True, True, False, False)),
        (mm.SquaredHinge(), (True, True, False, False)),
        (mm.Hinge(), (True, False, False, True)),
        (mm.ZeroOne(), (False, False, True, True)),
        (mm.Poisson(), (True, True, False, False)),
        (mm.CrossEntropy(), (True, True, False, True)),
        (mm.MatchingLoss(np.arctan), (True, True, False, True)),
        (mm.MatchingLoss(np.arcsinh), (True, True, False, False)),
    ],
    ids=repr,
)
def test_facts(loss, want):
    assert facts(loss) == want


class Deviance2(mm.Margin):
    """The deviance on the scale where it meets the zero-one loss at 0."""

    def psi(self, m):
        return np.logaddexp(0.0, -m) / np.log(2)

    def dpsi(self, m):
        return -0.5 * (1 - np.tanh(m / 2)) / np.log(2)

    def ddpsi(self, m):
        return 0.25 * (1 - np.tanh(m / 2) ** 2) / np.log(2)


class Ramp(mm.Margin):
    """Bounded, not convex, calibrated."""

    convex = False

    def psi(self, m):
        return 1 - np.tanh(m)


class Flat(Ramp):
    """Cannot tell a mistake from the right answer."""

    def psi(self, m):
        return np.minimum(1.0, m * m)


def test_who_is_an_upper_bound_of_the_zero_one_loss():
    above = [mm.Hinge(), mm.SquaredHinge(), mm.Exponential(), mm.SquaredMargin(), Deviance2()]
    assert all(loss.upper_bounds_zero_one for loss in above)
    below = [mm.Logistic(), mm.PerceptronLoss(), mm.CrossEntropy(), mm.Squared()]
    assert not any(loss.upper_bounds_zero_one for loss in below)


def test_who_is_calibrated():
    good = [mm.Logistic(), mm.Hinge(), mm.SquaredHinge(), mm.Exponential(), mm.SquaredMargin()]
    assert all(mm.is_calibrated(loss) for loss in [*good, Deviance2(), Ramp(), mm.ZeroOne()])
    assert mm.is_calibrated(mm.CrossEntropy())
    assert "kink at m = 0" in mm.is_calibrated(mm.PerceptronLoss()).reason
    assert "wrong sign" in mm.is_calibrated(Flat()).reason
    assert "numbers, not labels" in mm.is_calibrated(mm.Huber()).reason
    for loss in (mm.PerceptronLoss(), Flat(), mm.Huber()):
        assert not mm.is_calibrated(loss)
        assert not loss.calibrated
    assert mm.is_calibrated("hinge")
    with pytest.raises(ValueError, match=r"loss='hing' is not known.*did you mean 'hinge'"):
        mm.is_calibrated("hing")


def test_the_slope_criterion_agrees_with_the_risk():
    """Two ways to find out, the theorem and the definition."""
    from minimand.losses.analysis.calibration import _by_risk, _by_slope

    for loss in (
        mm.Logistic(),
        mm.Hinge(),
        mm.Exponential(),
        mm.SquaredHinge(),
        mm.SquaredMargin(),
    ):
        assert _by_slope(loss).calibrated
        assert _by_risk(loss).calibrated
    assert not _by_slope(mm.PerceptronLoss()).calibrated
    assert not _by_risk(mm.PerceptronLoss()).calibrated


def test_the_table():
    table = mm.losses.table()
    text = str(table)
    assert max(map(len, text.splitlines())) < 100
    assert len(text.splitlines()) == len(table.rows) + 2
    names = {type(row.loss).__name__ for row in table.rows}
    assert {"Squared", "Hinge", "Logistic", "ZeroOne", "Exponential", "Lp", "Huber"} <= names
    row = mm.losses.table(mm.Hinge()).rows[0]
    assert row[1:] == (True, False, False, True, True, True)
    assert mm.losses.table(Deviance2()).rows[0].upper_bounds_zero_one
