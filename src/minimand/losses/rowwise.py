"""A loss for kernels that visit single rows: ψ of one number, by pieces or by name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._base.typing import Array
from .pieces import Pieces


class Softplus:
    """ψ(t) = log(1 + e^−t), with slopes in the open interval (−1, 0).

    Examples
    --------
    >>> import numpy as np
    >>> from minimand.losses.rowwise import Softplus
    >>> Softplus().slope(np.zeros(1))
    array([-0.5])
    """

    parts = "softplus"  # the name that compiled kernels know it by
    middle = 0.0  # where it bends most

    def slope(self, t: Array) -> Array:
        """−σ(−t)."""
        from scipy.special import expit

        return np.asarray(-expit(-t))

    def clip(self, v: Array) -> Array:
        """The point of the domain of ψ* nearest to v."""
        return np.clip(v, -1.0, 0.0)


class Rowwise(NamedTuple):
    """A loss on given targets: ψ(t), t = sign·z − shift, sign = ±1."""

    psi: Pieces | Softplus
    sign: Array
    shift: Array

    def at(self, z: Array) -> Array:
        """t."""
        return self.sign * z - self.shift
