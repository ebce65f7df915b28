"""Random convex losses of a user's own, with the formulas a user would write."""

import numpy as np
from scipy.special import expit

import minimand as mm


class Scaled(mm.Distance):
    """ψ(r) = height·φ(r/width): a shape φ with its derivatives, at any scale."""

    def __init__(self, shape, width=1.0, height=1.0):
        self.shape = shape
        self.width = width
        self.height = height

    def psi(self, r):
        return self.height * self.shape.value(r / self.width)

    def dpsi(self, r):
        return self.height / self.width * self.shape.slope(r / self.width)

    def ddpsi(self, r):
        return self.height / self.width**2 * self.shape.bend(r / self.width)


class ScaledMargin(mm.Margin):
    """The same of 1 − m: large for a wrong sign."""

    def __init__(self, shape, width=1.0, height=1.0):
        self.shape = shape
        self.width = width
        self.height = height

    def psi(self, m):
        return self.height * self.shape.value((1 - m) / self.width)

    def dpsi(self, m):
        return -self.height / self.width * self.shape.slope((1 - m) / self.width)

    def ddpsi(self, m):
        return self.height / self.width**2 * self.shape.bend((1 - m) / self.width)


class Shape:
    """φ, φ' and φ'' of one number."""

    def __init__(self, name, value, slope, bend):
        self.name, self.value, self.slope, self.bend = name, value, slope, bend

    def __repr__(self):
        return self.name


def linex():
    """e^x − 1 − x, as written by somebody who knows expm1."""
    return Shape("linex", lambda x: np.expm1(x) - x, np.expm1, np.exp)


def naive_linex():
    """The same, as written by somebody who does not: its values carry the rounding of 1."""
    return Shape("naive_linex", lambda x: np.exp(x) - x - 1, lambda x: np.exp(x) - 1, np.exp)


def catenary():
    """2·sinh²(x/2) = cosh x − 1."""
    return Shape("catenary", lambda x: 2 * np.sinh(x / 2) ** 2, np.sinh, np.cosh)


def exponential():
    """e^x, whose infimum is not attained."""
    return Shape("exponential", np.exp, np.exp, np.exp)


def power(p):
    """|x|^p."""
    return Shape(
        f"power({p:.3g})",
        lambda x: np.abs(x) ** p,
        lambda x: p * np.sign(x) * np.abs(x) ** (p - 1),
        lambda x: p * (p - 1) * np.maximum(np.abs(x), 1e-12) ** (p - 2),
    )


def pseudo_huber():
    """√(1 + x²) − 1."""
    return Shape(
        "pseudo_huber",
        lambda x: np.sqrt(1 + x * x) - 1,
        lambda x: x / np.sqrt(1 + x * x),
        lambda x: (1 + x * x) ** -1.5,
    )


def log_cosh():
    """log cosh x."""
    return Shape(
        "log_cosh",
        lambda x: np.abs(x) + np.log1p(np.exp(-2 * np.abs(x))) - np.log(2),
        np.tanh,
        lambda x: 1 - np.tanh(x) ** 2,
    )


def fair():
    """|x| − log(1 + |x|): slopes that never reach ±1, and approach them slowly."""
    return Shape(
        "fair",
        lambda x: np.abs(x) - np.log1p(np.abs(x)),
        lambda x: x / (1 + np.abs(x)),
        lambda x: (1 + np.abs(x)) ** -2.0,
    )


def softplus():
    """log(1 + e^x)."""
    return Shape("softplus", lambda x: np.logaddexp(0, x), expit, lambda x: expit(x) * expit(-x))


def asymmetric(shape, left):
    """The shape, counted ``left`` times where x < 0."""

    def counted(f):
        return lambda x: np.where(x < 0, left, 1.0) * f(x)

    return Shape(
        f"{left:.3g}|{shape.name}", counted(shape.value), counted(shape.slope), counted(shape.bend)
    )


def total(first, second, share):
    """first(x) + share·second(x)."""

    def added(f, g):
        return lambda x: f(x) + share * g(x)

    return Shape(
        f"{first.name}+{share:.3g}{second.name}",
        added(first.value, second.value),
        added(first.slope, second.slope),
        added(first.bend, second.bend),
    )


def random_shape(rng):
    """One of the above."""
    simple = [
        linex(),
        naive_linex(),
        catenary(),
        power(rng.uniform(1.05, 8)),
        power(rng.uniform(1.05, 2.5)),
        pseudo_huber(),
        log_cosh(),
        fair(),
    ]
    kind = rng.integers(10)
    if kind == 0:  # slopes of either sign, so that the sum has a minimum
        return total(softplus(), mirrored(softplus()), rng.uniform(0.1, 5))
    if kind == 1:
        return asymmetric(simple[rng.integers(2, len(simple))], 10 ** rng.uniform(-1, 1))
    if kind == 2:
        first, second = rng.choice(len(simple), 2, replace=False)
        return total(simple[first], simple[second], 10 ** rng.uniform(-2, 2))
    return simple[rng.integers(len(simple))]


def mirrored(shape):
    """φ(−x)."""
    return Shape(
        f"mirrored({shape.name})",
        lambda x: shape.value(-x),
        lambda x: -shape.slope(-x),
        lambda x: shape.bend(-x),
    )


def random_margin_shape(rng):
    """A shape that grows with x = 1 − m; a margin loss need not attain its infimum."""
    return [exponential(), softplus(), linex(), power(rng.uniform(1.2, 4)), catenary()][
        rng.integers(5)
    ]
