"""Output transforms f: from the score z to the space of y.

identity (all numbers), exp (positive numbers), sigmoid (probabilities), tanh (numbers in [−1, 1])
and softmax (probability vectors) are gradients of convex functions, so each has a matching loss,
which is convex in the score. sign and indmax are discontinuous and have none.

Examples
--------
>>> import numpy as np, minimand as mm
>>> mm.transforms.sigmoid(np.array([0.0]))
array([0.5])
>>> mm.transforms.exp.matching_loss()
Poisson()
>>> mm.transforms.sign.matching_loss()
Traceback (most recent call last):
    ...
ValueError: sign has no matching loss: it jumps, so it is not differentiable, nor strictly ...
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.special import expit, logit

from ._base.parameters import Parameterized
from ._base.registry import snake_case
from ._base.typing import Array
from .losses import Composed, CrossEntropy, Loss, MatchingLoss, Poisson, Squared
from .losses.increasing import Function, Increasing

__all__ = [
    "Exp",
    "Identity",
    "IndMax",
    "Sigmoid",
    "Sign",
    "Softmax",
    "Tanh",
    "Transform",
    "compose",
    "exp",
    "identity",
    "indmax",
    "sigmoid",
    "sign",
    "softmax",
    "tanh",
]


class Transform(Parameterized):
    """A function from scores to outputs, with its range, derivatives and matching loss."""

    range: ClassVar[tuple[float, float]] = (-np.inf, np.inf)  # of every number that it returns
    steepest: ClassVar[float] = np.inf  # the largest slope

    def __call__(self, z: Array) -> Array:
        """f(z)."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The name of the instance in this module."""
        return snake_case(type(self).__name__)

    def matching_loss(self) -> Loss:
        """The loss that is convex in the score after this transform."""
        return MatchingLoss(self)


class Identity(Transform):
    """f(z) = z, for y of any sign; matched by the squared loss."""

    steepest = 1.0

    def __call__(self, z: Array) -> Array:
        """z."""
        return np.asarray(z, float)

    def derivative(self, z: Array) -> Array:
        """1."""
        return np.ones(np.shape(z))

    def second_derivative(self, z: Array) -> Array:
        """0."""
        return np.zeros(np.shape(z))

    def inverse(self, y: Array) -> Array:
        """y."""
        return np.asarray(y, float)

    def antiderivative(self, z: Array) -> Array:
        """½z²."""
        return 0.5 * np.square(z)

    def below(self, z: Array) -> Array:
        """∞: the range has no end."""
        return np.full(np.shape(z), np.inf)

    above = below

    def matching_loss(self) -> Loss:
        """½(z − y)²."""
        return Squared()


class Exp(Transform):
    """f(z) = e^z, for y ≥ 0; matched by the un-normalised entropy, `Poisson`."""

    range = (0.0, np.inf)

    def __call__(self, z: Array) -> Array:
        """e^z."""
        with np.errstate(over="ignore"):
            return np.exp(np.asarray(z, float))

    def derivative(self, z: Array) -> Array:
        """e^z."""
        return self(z)

    second_derivative = antiderivative = below = derivative

    def inverse(self, y: Array) -> Array:
        """ln y."""
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(y, float))

    def above(self, z: Array) -> Array:
        """∞: the range has no upper end."""
        return np.full(np.shape(z), np.inf)

    def matching_loss(self) -> Loss:
        """e^z − yz + y ln y − y."""
        return Poisson()


class Sigmoid(Transform):
    """f(z) = 1/(1 + e^−z), for y in [0, 1]; matched by the cross entropy."""

    range = (0.0, 1.0)
    steepest = 0.25

    def __call__(self, z: Array) -> Array:
        """1/(1 + e^−z)."""
        return np.asarray(expit(np.asarray(z, float)))

    def derivative(self, z: Array) -> Array:
        """σ(z)·σ(−z)."""
        return self(z) * self(np.negative(z))

    def second_derivative(self, z: Array) -> Array:
        """σ'(z)·(1 − 2σ(z))."""
        return -self.derivative(z) * np.tanh(0.5 * np.asarray(z))

    def inverse(self, y: Array) -> Array:
        """ln(y/(1 − y))."""
        return np.asarray(logit(np.asarray(y, float)))

    def antiderivative(self, z: Array) -> Array:
        """ln(1 + e^z)."""
        return np.logaddexp(0.0, z)

    below = antiderivative

    def above(self, z: Array) -> Array:
        """ln(1 + e^−z)."""
        return np.logaddexp(0.0, np.negative(z))

    def matching_loss(self) -> Loss:
        """y ln(y/p) + (1 − y) ln((1 − y)/(1 − p)), p = σ(z)."""
        return CrossEntropy()


class Tanh(Transform):
    """f(z) = tanh z, for y in [−1, 1]: a soft sign; matched by the loss of F = ln cosh."""

    range = (-1.0, 1.0)
    steepest = 1.0

    def __call__(self, z: Array) -> Array:
        """tanh z."""
        return np.tanh(np.asarray(z, float))

    def derivative(self, z: Array) -> Array:
        """4·σ(2z)·σ(−2z), which is 1 − tanh²z without its cancellation."""
        return 4.0 * expit(2.0 * np.asarray(z)) * expit(-2.0 * np.asarray(z))

    def second_derivative(self, z: Array) -> Array:
        """−2·tanh z·tanh'z."""
        return -2.0 * self(z) * self.derivative(z)

    def inverse(self, y: Array) -> Array:
        """artanh y."""
        with np.errstate(divide="ignore"):
            return np.arctanh(np.asarray(y, float))

    def antiderivative(self, z: Array) -> Array:
        """ln cosh z."""
        return np.logaddexp(z, np.negative(z)) - np.log(2.0)

    def below(self, z: Array) -> Array:
        """ln(1 + e^2z)."""
        return np.logaddexp(0.0, 2.0 * np.asarray(z))

    def above(self, z: Array) -> Array:
        """ln(1 + e^−2z)."""
        return np.logaddexp(0.0, -2.0 * np.asarray(z))


class Softmax(Transform):
    """f(z)_c = e^{z_c}/Σ e^{z_k} along the last axis, for y a probability vector."""

    range = (0.0, 1.0)
    steepest = 0.5  # the largest eigenvalue that diag(p) − ppᵀ can have

    def __call__(self, z: Array) -> Array:
        """e^{z_c}/Σ e^{z_k}."""
        from scipy.special import softmax as of

        return np.asarray(of(np.asarray(z, float), axis=-1))

    def derivative(self, z: Array) -> Array:
        """The Jacobian diag(p) − ppᵀ, of shape (…, k, k)."""
        p = self(z)
        return p[..., None] * (np.eye(p.shape[-1]) - p[..., None, :])

    def inverse(self, y: Array) -> Array:
        """ln y minus its mean: scores are determined up to a constant."""
        with np.errstate(divide="ignore"):
            z = np.log(np.asarray(y, float))
        finite = np.isfinite(z)
        count = np.maximum(finite.sum(axis=-1, keepdims=True), 1)
        return np.asarray(z - np.where(finite, z, 0.0).sum(axis=-1, keepdims=True) / count)

    def matching_loss(self) -> Loss:
        """The divergence KL(y ‖ p) needs several scores per sample at once."""
        raise ValueError(
            "the matching loss of softmax is the multinomial one, ln Σ e^{z_k} − z_y, of several "
            "scores per sample; losses here take one: use Classifier with Logistic(), which fits "
            "one score per class, or sigmoid.matching_loss() for two."
        )


class Sign(Transform):
    """f(z) = +1 for z > 0, else −1: a decision, without a matching loss."""

    range = (-1.0, 1.0)

    def __call__(self, z: Array) -> Array:
        """±1; a tie is −1."""
        return np.where(np.asarray(z) > 0, 1.0, -1.0)

    def matching_loss(self) -> Loss:
        """There is none."""
        raise ValueError(
            "sign has no matching loss: it jumps, so it is not differentiable, nor strictly "
            "increasing; use tanh.matching_loss(), or a surrogate of the zero-one loss such as "
            "Logistic() or SquaredHinge()."
        )


class IndMax(Transform):
    """f(z) = 1 at the largest score of the last axis, else 0: a decision among classes."""

    range = (0.0, 1.0)

    def __call__(self, z: Array) -> Array:
        """One-hot; of equal scores the first."""
        z = np.asarray(z)
        return (np.arange(z.shape[-1]) == np.argmax(z, axis=-1)[..., None]).astype(float)

    @property
    def name(self) -> str:
        """indmax."""
        return "indmax"

    def matching_loss(self) -> Loss:
        """There is none."""
        raise ValueError(
            "indmax has no matching loss: it jumps, so it is not the gradient of a convex "
            "function; use softmax, or one score per class with a surrogate such as Logistic()."
        )


identity, exp, sigmoid, tanh = Identity(), Exp(), Sigmoid(), Tanh()
softmax, sign, indmax = Softmax(), Sign(), IndMax()


def compose(loss: Loss, f: Transform | Function) -> Loss:
    """The loss ℓ(f(z), y) of a transformed score, if it is convex.

    Few pairs are convex: unless the loss matches the transform, there may be many local minima. So
    the pair is probed over scores and targets, and refused if it has negative curvature somewhere.

    Parameters
    ----------
    loss : Loss
        ℓ, of the transformed score.
    f : Transform or callable
        Vectorised and twice differentiable.

    Raises
    ------
    ValueError
        If the pair is not convex; the message names a witness and the loss that matches f.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.transforms.compose(mm.Squared(), mm.transforms.sigmoid)
    Traceback (most recent call last):
        ...
    ValueError: Squared() of sigmoid is not convex: for y = ... it bends downwards at z = ...;
    the loss that matches sigmoid is CrossEntropy().
    >>> celsius = lambda z: (z - 32) / 1.8
    >>> mm.transforms.compose(mm.Squared(), celsius).convex
    True
    """
    if isinstance(f, Transform) and not isinstance(f, Increasing):
        raise ValueError(
            f"a loss of one score cannot be composed with {f.name}, which is not differentiable "
            "or takes several scores; use identity, exp, sigmoid or tanh."
        )
    pair = Composed(loss, f)
    pair.check_parameters()
    return pair
