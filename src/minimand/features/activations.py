"""Activation functions of hidden units, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from .._base.typing import Array


class Activation(NamedTuple):
    """σ(t), and σ'(t) given t and σ(t)."""

    value: Callable[[Array], Array]
    slope: Callable[[Array, Array], Array]


ACTIVATIONS = {
    "tanh": Activation(np.tanh, lambda t, s: 1.0 - s * s),
    "sigmoid": Activation(expit, lambda t, s: s * (1.0 - s)),
    "relu": Activation(lambda t: np.maximum(t, 0.0), lambda t, s: (t > 0).astype(float)),
    "softplus": Activation(lambda t: np.logaddexp(0.0, t), lambda t, s: expit(t)),
}
