"""The kernel of gapped subsequences."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ... import _core
from ..._base.parameters import check_count, check_number
from ..._base.typing import AnyArray, Array, IntArray
from ..base import Kernel
from .inputs import finite
from .keys import signed
from .objects import Objects, concatenated
from .sequences import Sequences


class Subsequence(Kernel):
    r"""Common subsequences, gaps allowed: the longer they are stretched, the less they count.

    .. math:: k(x, z) = \sum_{u} \; \sum_{i:\, x_i = u} \; \sum_{j:\, z_j = u} \lambda^{l(i) + l(j)}

    over all sequences u of k symbols and all places i₁ < … < i_k at which x holds u, likewise j for
    z; l(i) = i_k − i₁ + 1 is the number of places that u spans, and λ is the decay.

    Parameters
    ----------
    k : int, default=3
        The number of symbols of a subsequence.
    decay : float, default=0.5
        λ, above 0 and at most 1. With a small decay gaps hardly count, and k(x, z)/λ^(2k) tends to
        `Spectrum`.

    Notes
    -----
    Samples are strings, or lists of tokens. A pair takes O(k·|x|·|z|) operations, by dynamic
    programming. There are as many features as sequences of k symbols, so this is a kernel only.
    Long strings have larger values than short ones: ``normalize()`` takes that out.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.Subsequence(2, decay=0.5)(["cat"], ["car", "cart"])   # λ⁴, and λ⁴ + λ⁷ + λ⁵
    array([[0.0625   , 0.1015625]])
    """

    of_objects = True
    definite = True

    def __init__(self, k: int = 3, decay: float = 0.5) -> None:
        self.k = k
        self.decay = decay

    def check_parameters(self) -> None:
        """K ≥ 1 and 0 < decay ≤ 1."""
        check_count(self, "k")
        check_number(self, "decay", "above 0 and at most 1", lambda decay: 0 < decay <= 1)

    def rows(self, X: Any, *, training: bool = False) -> Any:
        """The keys of the symbols of every sequence."""
        sequences = Sequences.read(X)
        return _Symbols(
            np.split(signed(sequences.keys()), sequences.starts[1:-1])[: len(sequences)]
        )

    def block(self, x: Any, z: Any) -> Array:
        """All pairs."""
        other = None if x is z else (x.numbers(z), x.starts)
        own = (z.numbers(z), z.starts)
        left, right = (own, None) if other is None else (other, own)
        return finite(self, _core.subsequences(left, right, int(self.k), float(self.decay)))

    def diagonal(self, x: Any) -> Array:
        """Every sequence with itself."""
        own = (x.numbers(x), x.starts)
        return finite(self, _core.own_subsequences(own, int(self.k), float(self.decay)))


class _Symbols(Objects[IntArray]):
    """The keys of the symbols of some sequences."""

    @cached_property
    def keys(self) -> IntArray:
        """All symbols, one sequence after another."""
        return concatenated(self.samples, np.int64)

    @cached_property
    def alphabet(self) -> IntArray:
        """The different symbols."""
        return np.unique(self.keys)

    def numbers(self, other: _Symbols) -> AnyArray:
        """The numbers of the symbols in the alphabet of other sequences."""
        return _core.key_numbers(other.alphabet, self.keys)
