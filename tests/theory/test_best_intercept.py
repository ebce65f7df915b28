"""The best intercept of a steep loss: `scale` refers to it, so it must be the best indeed."""

import numpy as np
import pytest
from random_losses import Scaled, ScaledMargin, linex, random_margin_shape, random_shape
from scipy.optimize import minimize_scalar

import minimand as mm
from minimand.problem.intercept import best_shift


class Risk:
    """As much of an objective as an intercept depends on."""

    kinks = None

    def __init__(self, loss, y, mass):
        self.loss, self.y, self.mass = loss, y, mass

    def mean(self, values):
        return float(self.mass @ values)


def random_risk(rng):
    n = int(rng.integers(2, 60))
    mass = rng.random(n)
    mass /= mass.sum()
    if rng.random() < 0.25:
        y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
        y[:2] = -1, 1
        loss = ScaledMargin(random_margin_shape(rng), 10 ** rng.uniform(-1, 1))
        return Risk(loss, y, mass), rng.choice([0, 1, 10]) * rng.standard_normal(n), (-200, 200)
    width = 10 ** rng.uniform(-3, 3)
    y = width * 10 ** rng.uniform(-2, 2.3) * rng.standard_normal(n)
    z = rng.choice([0, 1, 10]) * width * rng.standard_normal(n)
    ends = (y - z).min() - width, (y - z).max() + width
    return Risk(Scaled(random_shape(rng), width), y, mass), z, ends


@pytest.mark.parametrize("seed", range(80))
def test_no_shift_is_better(seed):
    rng = np.random.default_rng(seed)
    risk, z, ends = random_risk(rng)

    def height(b):
        with np.errstate(all="ignore"):
            return risk.mean(risk.loss.value(z + b, risk.y))

    found = height(best_shift(risk, z))
    grid = np.linspace(*ends, 401)
    heights = np.array([height(b) for b in grid])
    least = int(np.argmin(np.where(np.isfinite(heights), heights, np.inf)))
    around = grid[max(least - 1, 0)], grid[min(least + 1, 400)]
    best = minimize_scalar(height, bounds=around, method="bounded").fun
    assert found <= min(best, heights[least]) * (1 + 1e-9)


@pytest.mark.parametrize("scale", [1, 30, 100, 300, 1000])
def test_the_null_model_of_an_exponential_loss_is_the_best_constant(scale):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 5)), scale * rng.standard_normal(200)
    model = mm.Regressor(Scaled(linex()), "l2", alpha=0.1).fit(X, y)
    found = model.certificate_
    assert found.relative <= 1e-6
    with np.errstate(over="ignore"):
        constants = [np.mean(model.loss.psi(b - y)) for b in np.linspace(y.min(), y.max(), 2001)]
    if found.relative > 0:
        assert found.gap / found.relative <= np.nanmin(constants) * (1 + 1e-6)


LOG_LINKS = [mm.Poisson(), mm.Gamma(), mm.Tweedie(1.3)]


@pytest.mark.parametrize("loss", LOG_LINKS)
@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0, 400.0])
def test_the_slope_of_a_log_link_vanishes_at_the_best_intercept(loss, spread):
    """Σ mass·ℓ'(z + b) = 0, by the formula and, where it overflows, by the search."""
    rng = np.random.default_rng(0)
    y, mass = np.exp(rng.standard_normal(300)), rng.random(300)
    y[:20] = 1.0 if isinstance(loss, mm.Gamma) else 0.0
    z = spread * rng.standard_normal(300)
    risk = Risk(loss, y, mass / mass.sum())
    with np.errstate(over="ignore"):
        slopes = risk.mass * loss.gradient(z + best_shift(risk, z), y)
    assert abs(slopes.sum()) <= 1e-12 * (1 + spread) * np.abs(slopes).sum()


@pytest.mark.parametrize("loss", [mm.Poisson(), mm.Tweedie(1.3)])
def test_a_log_link_without_a_best_intercept_has_no_formula(loss):
    """The best mean of zeros is 0, which no intercept gives."""
    assert loss.best_shift(np.zeros(5), np.zeros(5), np.full(5, 0.2)) is None


@pytest.mark.parametrize("score", [0.0, -3.0, 700.0])
def test_equal_scores_of_a_logistic_model_get_the_log_odds(score):
    rng = np.random.default_rng(1)
    mass, y = rng.dirichlet(np.ones(30)), np.where(np.arange(30) < 7, -1.0, 1.0)
    risk = Risk(mm.Logistic(), y, mass)
    odds = mass[7:].sum() / mass[:7].sum()
    assert best_shift(risk, np.full(30, score)) + score == pytest.approx(np.log(odds), rel=1e-12)


@pytest.mark.parametrize("loss", [mm.Huber(0.3), mm.SquaredHinge(), mm.SquaredEpsilonInsensitive()])
def test_smooth_pieces_are_balanced_to_the_last_digits(loss):
    """However far the scores are from the best ones."""
    rng = np.random.default_rng(2)
    n, mass = 500, rng.dirichlet(np.ones(500))
    y = np.where(rng.random(n) < 0.3, -1.0, 1.0)
    z = 100.0 + rng.standard_normal(n)
    b = best_shift(Risk(loss, y, mass), z)
    gradient = loss.gradient(z + b, y)
    assert abs(mass @ gradient) <= 1e-13 * (mass @ np.abs(gradient))
