"""Ritz pairs of growing block Krylov spaces {Ω, AΩ, A²Ω, …}.

A block of b columns reaches the degree m/b with m columns. Where a pass over the data costs about
the same for one column as for many, blocks are wide; where a column costs its share, as of sparse
matrices, narrow ones reach the same accuracy with fewer columns.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._base.threads import one_blas_thread
from ..._base.typing import Array
from .ritz import Operator, Ritz, orthonormal, rayleigh_ritz

_EXTRA = 8  # columns of a block beyond those wanted; safeguard: eigenvalues that lie close together
_BLOCKS = 8  # blocks of a basis before it is restarted; safeguard: memory
_STAY = 3  # one column in so many stays in a narrow space; measured: a fifth less (flat spectra)
NARROW = 4  # columns of a narrow block; safeguard: an eigenvalue may have that many eigenvectors
_ANY = 2000  # for the degree in an invariant space, which has every one; safeguard: rounding grows
_WIDER = 4  # times the pairs of a step, for a proof at most; safeguard: they are projected off


class Krylov:
    """Ritz pairs of a block Krylov space, step by step; each step multiplies about k + 8 columns.

    Ω is random, or ``start``. All blocks are kept orthonormal to each other. When there are too
    many, the space is restarted with the best Ritz vectors (a thick restart). It ends when the
    space is invariant, so that the Ritz values are eigenvalues; a narrow space finds at most
    ``width`` of the eigenvectors of one eigenvalue.

    Parameters
    ----------
    operator : Operator
    k : int
        Pairs that are wanted.
    rng : RandomState
    start : ndarray of shape (size, any), optional
        Columns close to the eigenvectors.
    width : int, optional
        Columns of a block, by default k + 8.
    """

    def __init__(
        self,
        operator: Operator,
        k: int,
        rng: np.random.RandomState,
        start: Array | None = None,
        *,
        width: int | None = None,
    ) -> None:
        self._operator, self._rng = operator, rng
        size = operator.size
        self._kept = kept = min(size, k + _EXTRA)
        self._width = kept if width is None else min(width, kept)
        self._enough = 1 if width is None else kept  # new columns of a step
        self._room = min(size, max(_BLOCKS * kept, 2 * kept))
        self._stays = kept if width is None else max(kept, self._room // _STAY)
        self._start = self._random() if start is None else start
        self._used, self._invariant = 0, False

    def __iter__(self) -> Iterator[Ritz]:
        block, new = self._begun(), 0
        while block.size:
            image = self._operator.product(block)
            # NumPy and SciPy have a BLAS each, whose threads would wait for each other, spinning.
            with one_blas_thread():
                self._add(block, image)
                new += block.shape[1]
                if new >= self._enough:
                    found = self.pairs(self._kept)
            if new >= self._enough:
                new = 0
                yield found
            with one_blas_thread():
                block = self._next(image)
                full = self._used + max(block.shape[1], self._width) > self._room
                if full and block.size:
                    self._restart(self.pairs(self._stays))
        if new:
            yield self.pairs(self._kept)

    def pairs(self, most: int) -> Ritz:
        """The best Ritz pairs of the space so far."""
        m = self._used
        return rayleigh_ritz(self._basis[:, :m], self._images[:, :m], most, self._square[:m, :m])

    def grown(self, steps: int) -> tuple[Ritz, int]:
        """The pairs of the space of so many blocks, and a degree of the polynomials p(A)Ω in it.

        An invariant space has those of any degree.
        """
        with one_blas_thread():
            block = self._begun(steps * self._width)
        for degree in range(steps):
            image = self._operator.product(block)
            with one_blas_thread():
                self._add(block, image)
                if degree + 1 < steps:
                    block = self._next(image)
            if not block.size:
                break
        with one_blas_thread():
            return self.pairs(self._kept), _ANY if self._invariant else degree

    def _begun(self, least: int = 0) -> Array:
        """The first block, and room for what follows."""
        block = orthonormal(self._start)
        most = max(self._room, block.shape[1]) + max(self._kept, block.shape[1])
        most = max(most, least)
        self._basis, self._images = (
            np.empty((self._operator.size, most), order="F") for _ in range(2)
        )
        self._square = np.zeros((most, most))
        return block

    def for_a_proof(self) -> Ritz:
        """More Ritz pairs than a step gives, if there are: what is left has smaller eigenvalues."""
        with one_blas_thread():
            return self.pairs(_WIDER * self._kept)

    def _random(self) -> Array:
        return self._rng.standard_normal((self._operator.size, self._width))

    def _add(self, block: Array, image: Array) -> None:
        own = slice(self._used, self._used + block.shape[1])
        self._used = m = own.stop
        self._basis[:, own], self._images[:, own] = block, image
        self._square[:m, own] = self._basis[:, :m].T @ image
        self._square[own, :m] = self._square[:m, own].T

    def _next(self, image: Array) -> Array:
        """What the image of the last block has outside the space; of a small one, a new Ω."""
        basis = self._basis[:, : self._used]
        block = orthonormal(image, basis)
        self._invariant |= not block.size
        if not block.size and self._width < self._kept and self._used < self._kept:
            block = orthonormal(self._random(), basis)
        return block

    def _restart(self, found: Ritz) -> None:
        self._used = m = found.values.size
        self._basis[:, :m], self._images[:, :m] = found.vectors, found.images
        self._square[:m, :m] = np.diag(found.values)
