"""The second derivative of a loss in its scores: a matrix H, known by its products.

    Diagonal    Hᵢ = hᵢ, or diag(hᵢ) for k scores       losses of one number, sums over scores
    Simplex     Hᵢ = sᵢ·(diag(pᵢ) − pᵢpᵢᵀ)              the softmax: pᵢ are probabilities
    Coupled     Hᵢ = diag(gᵢ) + a Laplacian             interior points of losses of class margins
    WithinSets  differences of scores (`within_sets`)   class margins with rounded kinks
    Operator    a product and nothing else              losses over runs of rows (sequences)

A row has k scores; the first three kinds have one block per row. Coefficients are numbered as in
W.ravel(): those of one feature are adjacent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .. import _core
from .._base.row_blocks import in_parts
from .._base.typing import AnyArray, Array, IntArray

_EPS = float(np.finfo(float).eps)


class Columns(Protocol):
    """The methods of a design that are used here."""

    shape: tuple[int, int]

    def gram(self, h: Array, columns: IntArray | None = None) -> Array:
        """X_cᵀ diag(h) X_c."""

    def columns(self, columns: IntArray) -> Any:
        """The matrix of some columns."""

    def matvec(self, w: Array) -> Array:
        """X w."""

    def rmatvec(self, u: Array) -> Array:
        """Xᵀu."""

    def map_rows(self, f: Callable[..., Array]) -> Array:
        """f of every block of rows, stacked."""

    def simplex_product(self, table: Array, p: Array, scale: Array) -> Array:
        """[X 1]ᵀu, u = scale∘(diag(p) − ppᵀ)[X 1]·table."""


class Curvature:
    """A positive semidefinite matrix H over the scores of all rows."""

    shape: tuple[int, ...]  # that of z

    def times(self, t: Array) -> Array:
        """H t, for t in the shape of z."""
        raise NotImplementedError(f"{type(self).__name__} must define times(t)")

    def weighted(self, weights: Array) -> Curvature:
        """H with a weight for every row, which is the same for the rows of one unit."""
        raise NotImplementedError(f"{type(self).__name__} must define weighted(weights)")

    @property
    def bound(self) -> Array:
        """Numbers in the shape of z whose diagonal matrix minus H is positive semidefinite."""
        raise NotImplementedError(f"{type(self).__name__} must define bound")

    @property
    def max(self) -> float:
        """An upper bound of the eigenvalues of H."""
        return float(self.bound.max(initial=0.0))

    @property
    def any(self) -> bool:
        """Whether H is not zero."""
        return bool(self.bound.any())

    @property
    def shifts_freely(self) -> bool:
        """Whether a shift of all scores of a row has no curvature."""
        return False

    def image(self, design: Columns, table: Array) -> Array:
        """[X 1]ᵀH[X 1]·table: the second derivative times a step, whose last row is for b."""
        u = self.times(design.matvec(np.ascontiguousarray(table[:-1])) + table[-1])
        return np.vstack([design.rmatvec(u), u.sum(axis=0)])

    def over_scores(self) -> Array:
        """The k×k matrix 1ᵀH1: the second derivative in the intercepts."""
        k = self.shape[1] if len(self.shape) > 1 else 1
        found = np.empty((k, k))
        for c in range(k):
            t = np.zeros((self.shape[0], k))
            t[:, c] = 1.0
            found[:, c] = self.times(t.reshape(self.shape)).reshape(-1, k).sum(axis=0)
        return found

    def bordered_gram(self, design: Columns) -> Array:
        """[X 1]ᵀH[X 1]: the second derivative in W and then in the intercepts, by products."""
        k = self.shape[1]
        inner, crossed = self.gram(design), np.zeros((k, design.shape[1] * k))
        for c in range(k):
            shift = np.zeros((design.shape[1] + 1, k))
            shift[-1, c] = 1.0
            crossed[c] = self.image(design, shift)[:-1].ravel()
        return np.block([[inner, crossed.T], [crossed, self.over_scores()]])

    def gram(self, design: Columns, columns: IntArray | None = None) -> Array:
        """XᵀHX in the coefficients of some columns (all by default), by products with H."""
        part = design if columns is None else design.columns(columns)
        d, scores = part.shape[1], self.shape[1:]
        size = d * int(np.prod(scores))
        found = np.empty((size, size))
        for i in range(size):
            w = np.zeros(size)
            w[i] = 1.0
            image = self.times(part.matvec(w.reshape(d, *scores)))
            found[:, i] = part.rmatvec(image).ravel()
        return found


@dataclass(frozen=True, eq=False)
class Diagonal(Curvature):
    """diag(h), h in the shape of z."""

    h: Array

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The shape of h."""
        return self.h.shape

    def times(self, t: Array) -> Array:
        """h∘t."""
        return self.h * t

    def weighted(self, weights: Array) -> Diagonal:
        """weights∘h."""
        return Diagonal(beside(weights, self.h) * self.h)

    @property
    def bound(self) -> Array:
        """H itself."""
        return self.h

    def over_scores(self) -> Array:
        """Diag of Σ h."""
        return np.diag(np.atleast_1d(self.h.sum(axis=0)))

    def gram(self, design: Columns, columns: IntArray | None = None) -> Array:
        """X_cᵀ diag(h) X_c for every score."""
        if self.h.ndim == 1:
            return design.gram(self.h, columns)
        k = self.h.shape[1]
        blocks = [design.gram(np.ascontiguousarray(h), columns) for h in self.h.T]
        found = np.zeros((len(blocks[0]), k, len(blocks[0]), k))
        for c, block in enumerate(blocks):
            found[:, c, :, c] = block
        return found.reshape(found.shape[0] * k, -1)


class Pairs(Curvature):
    """A sum over pairs of scores, of h·(1_c − 1_e)(1_c − 1_e)ᵀ, and of single ones, of h·1_c1_cᵀ.

    No digits cancel in it, however different the weights h ≥ 0 are.
    """

    def _pairs(self) -> Iterator[tuple[int, int, Array]]:
        """c, e and the weights of all rows; e = c for single scores."""
        raise NotImplementedError

    def over_scores(self) -> Array:
        """1ᵀH1."""
        k = self.shape[1]
        return _laplacian(((c, e, np.array([[h.sum()]])) for c, e, h in self._pairs()), 1, k)

    def gram(self, design: Columns, columns: IntArray | None = None) -> Array:
        """A Gram for every pair of scores."""
        d = design.shape[1] if columns is None else columns.size
        blocks = ((c, e, design.gram(h, columns)) for c, e, h in self._pairs())
        return _laplacian(blocks, d, self.shape[1])

    def bordered_gram(self, design: Columns) -> Array:
        """The Gram of the columns of X followed by a column of ones."""
        blocks = ((c, e, _bordered(design, h)) for c, e, h in self._pairs())
        return _laplacian(blocks, design.shape[1] + 1, self.shape[1])


@dataclass(frozen=True, eq=False)
class Simplex(Pairs):
    """scaleᵢ·(diag(pᵢ) − pᵢpᵢᵀ) for every row; the pᵢ are ≥ 0 and add up to at most 1."""

    p: Array
    scale: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The shape of p."""
        return self.p.shape

    def times(self, t: Array) -> Array:
        """p∘(t − p·t) by row."""
        return _core.simplex_times(self.p, self.scales, np.ascontiguousarray(t))

    @property
    def scales(self) -> Array:
        """The scale of every row."""
        return np.ones(len(self.p)) if self.scale is None else self.scale

    def image(self, design: Columns, table: Array) -> Array:
        """In one pass over the rows."""
        return design.simplex_product(table, self.p, self.scales)

    @property
    def any(self) -> bool:
        """Whether some row is not certain of its class."""
        scale = self.scales
        return any((s[:, None] * p * (1.0 - p)).any() for p, s in in_parts(self.p, scale))

    def weighted(self, weights: Array) -> Simplex:
        """Weights times the scale."""
        return Simplex(self.p, weights if self.scale is None else weights * self.scale)

    @property
    def bound(self) -> Array:
        """P, or in rows with a p above ½ the smaller 2p(1 − p).

        Both are bounds of diag(p) − ppᵀ: the second because every row of that matrix has p(1 − p)
        on its diagonal and as much beside it.
        """
        p = self.p if float(self.p.max(initial=0.0)) <= 0.5 else self._doubled()
        return p if self.scale is None else self.scale[:, None] * p

    def _doubled(self) -> Array:
        """2p(1 − p) in rows with a p above ½, else p."""
        high = self.p.max(axis=1, keepdims=True) > 0.5
        return np.where(high, 2.0 * self.p * (1.0 - self.p), self.p)

    def over_scores(self) -> Array:
        """−Σ s·p_c·p_e beside the diagonal, in one product; the diagonal is what a row lacks."""
        scale = self.scales
        root = np.sqrt(scale)[:, None] * self.p
        found = -(root.T @ root)  # BLAS computes half of it
        np.fill_diagonal(found, 0.0)
        np.fill_diagonal(found, (self._rest() * scale) @ self.p - found.sum(axis=1))
        return found

    def _rest(self) -> Array:  # 1 − Σp of every row
        rest = 1.0 - self.p.sum(axis=1)
        rest[np.abs(rest) <= _EPS * (self.p.shape[1] + 4)] = 0.0  # rounding of a 1; safeguard
        return rest

    def _pairs(self) -> Iterator[tuple[int, int, Array]]:
        """Weights s·p_c·p_e of pairs of scores, and s·p_c·(1 − Σp) of single ones, if not 0.

        diag(p) − ppᵀ is the sum of p_c·p_e·(1_c − 1_e)(1_c − 1_e)ᵀ over pairs and of
        p_c·(1 − Σp)·1_c1_cᵀ: no digits cancel, even if one p is all but 1 and the scale is large.
        """
        scale, k = self.scales, self.p.shape[1]
        p = np.asfortranarray(self.p)
        rest = self._rest()
        for c in range(k):
            weighted = scale * p[:, c]
            if rest.any():
                yield c, c, weighted * rest
            for e in range(c):
                yield c, e, weighted * p[:, e]

    @property
    def shifts_freely(self) -> bool:
        """Whether all p add up to 1, up to rounding (safeguard)."""
        return bool((np.abs(self.p.sum(axis=1) - 1.0) <= 1e-8).all())


@dataclass(frozen=True, eq=False)
class Coupled(Pairs):
    """diag(groundᵢ) plus the Laplacian of the edgesᵢ between the scores of every row.

    Parameters
    ----------
    edges : array of shape (k, k, n), symmetric and ≥ 0; what is on its diagonal does not count
    ground : array of shape (k, n), ≥ 0, or None
    """

    edges: Array
    ground: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """(n, k)."""
        return self.edges.shape[2], self.edges.shape[0]

    def times(self, t: Array) -> Array:
        """Σ_e edge·(t_c − t_e) + ground·t_c."""
        columns = t.T
        found = np.zeros_like(columns)
        for c, e, h in self._pairs():
            if c == e:
                found[c] += h * columns[c]
                continue
            flow = h * (columns[c] - columns[e])
            found[c] += flow
            found[e] -= flow
        return np.ascontiguousarray(found.T)

    def weighted(self, weights: Array) -> Coupled:
        """Both times the weights."""
        ground = None if self.ground is None else weights * self.ground
        return Coupled(weights * self.edges, ground)

    @property
    def bound(self) -> Array:
        """Twice the sum of the edges of a score, and its ground."""
        degrees = self.edges.sum(axis=1) - np.einsum("ccn->cn", self.edges)
        found = 2.0 * degrees if self.ground is None else 2.0 * degrees + self.ground
        return np.ascontiguousarray(found.T)

    def _pairs(self) -> Iterator[tuple[int, int, Array]]:
        for c in range(len(self.edges)):
            if self.ground is not None:
                yield c, c, self.ground[c]
            for e in range(c):
                if self.edges[c, e].any():
                    yield c, e, self.edges[c, e]

    @property
    def shifts_freely(self) -> bool:
        """Whether nothing but differences of scores counts."""
        return self.ground is None


def _bordered(design: Columns, h: Array) -> Array:
    """[X 1]ᵀdiag(h)[X 1]."""
    d = design.shape[1]
    found = np.empty((d + 1, d + 1))
    found[:d, :d] = design.gram(h)
    found[d, :d] = found[:d, d] = design.rmatvec(h)
    found[d, d] = h.sum()
    return found


def _laplacian(blocks: Iterable[tuple[int, int, Array]], d: int, k: int) -> Array:
    """Σ block ⊗ (1_c − 1_e)(1_c − 1_e)ᵀ over pairs of scores; a pair (c, c) stands for 1_c1_cᵀ."""
    found = np.zeros((d, k, d, k))
    for c, e, block in blocks:
        found[:, c, :, c] += block
        if e != c:
            found[:, e, :, e] += block
            found[:, c, :, e] -= block
            found[:, e, :, c] -= block
    return found.reshape(d * k, d * k)


@dataclass(frozen=True, eq=False)
class Operator(Curvature):
    """A matrix that is known by its products.

    Parameters
    ----------
    product : function of t, H t in the shape of z
    upper : numbers in the shape of z whose diagonal matrix minus H is positive semidefinite
    scale : weights of the rows, which are the same for the rows of one unit
    """

    product: Callable[[Array], Array]
    upper: Array
    scale: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The shape of z."""
        return self.upper.shape

    def times(self, t: Array) -> Array:
        """Scale∘(H t)."""
        image = self.product(t)
        return image if self.scale is None else beside(self.scale, image) * image

    def weighted(self, weights: Array) -> Operator:
        """Weights times the scale."""
        scale = weights if self.scale is None else weights * self.scale
        return Operator(self.product, self.upper, scale)

    @property
    def bound(self) -> Array:
        """scale∘upper."""
        return self.upper if self.scale is None else beside(self.scale, self.upper) * self.upper


def as_curvature(found: Any) -> Curvature:
    """The curvature of a loss as a `Curvature`; an array is the diagonal of one."""
    return found if isinstance(found, Curvature) else Diagonal(found)


def beside(by_row: Array, like: AnyArray) -> Array:
    """One number per row, in a shape that multiplies rows of one or several scores."""
    return by_row if like.ndim == 1 else by_row[:, None]
