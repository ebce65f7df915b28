"""A loss as kernels that go from row to row see it: ψ of one number, by pieces or by name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._base.typing import Array
from .pieces import Pieces


class Softplus:
    """ψ(t) = log(1 + e^−t): slopes between −1 and 0, none of them reached.

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
