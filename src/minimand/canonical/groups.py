"""Group penalties as compiled kernels take them, and quadratics that are minimised with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _core
from .._base.typing import Array, IntArray
from ..design import Design, kernel_for
from ..losses.curvature import Curvature, Simplex
from ..penalties import Grouped

_ROUNDS = 60  # rounds of sweeps and a Newton step on a Gram; safeguard


@dataclass(frozen=True, eq=False)
class Runs:
    """Σ norm_g‖W_g‖ + Σ l1|W| + ½ Σ l2 W² over some rows of W, every group a run of rows."""

    order: IntArray  # the features of the rows
    starts: IntArray  # the first row of each group, and the end of the last
    norm: Array
    l1: Array  # a row of numbers per feature, one per score
    l2: Array

    @classmethod
    def of(cls, form: Grouped, features: IntArray | None = None) -> Runs:
        """The penalty on these features, which must be whole groups; all by default."""
        groups = form.by_rows
        assert groups is not None
        label = groups.label if features is None else groups.label[features]
        inside = np.argsort(label, kind="stable")
        order = inside if features is None else features[inside]
        found = label[inside]
        firsts = np.flatnonzero(np.diff(found, prepend=-1))
        starts = np.append(firsts, len(found)).astype(np.int64)
        l1, l2 = (part.reshape(len(part), -1)[order] for part in (form.l1, form.l2))
        return cls(order, starts, groups.norm[found[firsts]], l1, l2)

    @classmethod
    def of_numbers(cls, form: Grouped) -> Runs:
        """Runs with every coefficient as a row: ``order`` are places in W.ravel()."""
        label = form.groups.label.ravel()
        order = np.argsort(label, kind="stable")
        firsts = np.flatnonzero(np.diff(label[order], prepend=-1))
        starts = np.append(firsts, label.size).astype(np.int64)
        l1, l2 = (part.reshape(-1, 1)[order] for part in (form.l1, form.l2))
        return cls(order, starts, form.norm[label[order][firsts]], l1, l2)

    @classmethod
    def of_rows(cls, norm: Array, l2: Array, scores: int) -> Runs:
        """Every row of so many numbers a group, with one factor of its squares."""
        squares = np.repeat(l2[:, None], scores, axis=1)
        rows = np.arange(len(norm) + 1)
        return cls(rows[:-1], rows, norm, np.zeros_like(squares), squares)

    @property
    def scores(self) -> int:
        """Numbers in a row."""
        return self.l1.shape[1]


def minimise_groups(
    gram: Array, slope: Array, square: float, runs: Runs, w: Array, gap: float
) -> None:
    """Minimise ½ Σ_c d_cᵀG d_c + slope·d + ½·square + penalties over w + d, in place, to a gap."""
    q, norm, l1, l2 = _rows(slope, runs)
    _core.groups_on_gram(
        np.ascontiguousarray(gram), q, w.copy(), square, np.ones(1), runs.starts, norm, l1, l2, w,
        runs.scores, 0, True, gap, _ROUNDS,
    )  # fmt: skip


def minimise_groups_on_lines(
    lines: Array,
    weights: tuple[Array, bool],
    slope: Array,
    square: float,
    runs: Runs,
    w: Array,
    gap: float,
) -> None:
    """The same for G = AᵀHA of columns A that outnumber their entries; the lines are Aᵀ.

    ``weights`` has the diagonal of H, and whether products are covariances under it.
    """
    columns = _core.GroupColumns(lines, runs.starts, runs.scores)
    q, norm, l1, l2 = _rows(slope, runs)
    columns.solve(
        *weights, q, w.copy(), square, np.ones(1), norm, l1, l2, w, np.zeros(0), 0, True, gap,
        _ROUNDS,
    )  # fmt: skip


def _rows(slope: Array, runs: Runs) -> tuple[Array, Array, Array, Array]:
    """Slopes and penalties as kernels take them."""
    norm, l1, l2 = (np.ascontiguousarray(part) for part in (runs.norm, runs.l1, runs.l2))
    return np.ascontiguousarray(slope).ravel(), norm, l1, l2


@dataclass(eq=False)
class ScoreModel:
    """Σ qᵢ·tᵢ + ½ tᵢᵀHᵢtᵢ over t = X(W − W₀) + b for several scores; `q` is kept up to date."""

    design: Design
    curvature: Curvature  # with the masses
    q: Array
    inverse: Array  # of Σ Hᵢ, for the best b; empty if b is absent

    def descend(
        self, runs: Runs, w: Array, shift: Array, sweeps: int, tol: float
    ) -> tuple[int, float]:
        """Descent over groups of columns, in place over w and shift: sweeps, last decrease."""
        lines, places = self.design.column_lines(np.arange(self.design.shape[1]))
        kernel = kernel_for(lines, _core.groups_columns, _core.groups_columns_dense)
        joint = isinstance(self.curvature, Simplex)
        h, scale = self.curvature.bound, np.zeros(0)
        if isinstance(self.curvature, Simplex):
            h, scale = self.curvature.p, np.zeros(0)
            scale = np.ones(len(h)) if self.curvature.scale is None else self.curvature.scale
        assert joint == bool(scale.size)
        return kernel(
            lines,
            places,
            np.ascontiguousarray(h),
            np.ascontiguousarray(scale),
            self.inverse,
            self.q,
            w,
            shift,
            runs.starts,
            np.ascontiguousarray(runs.norm),
            np.ascontiguousarray(runs.l1),
            np.ascontiguousarray(runs.l2),
            sweeps,
            tol,
        )
