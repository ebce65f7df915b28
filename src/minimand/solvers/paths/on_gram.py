"""Blocks of the squared loss on the Gram of the columns used so far, all in compiled code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ... import _core
from ..._base.typing import Array, IntArray
from ..._base.watch import interrupt
from ...certificate import Finding
from ...certificate.gram_models import GramModels
from ...problem.condensed import Sums, sums
from ...problem.objective import Objective
from ...problem.path_gram import PathGram
from ..base import Control
from .blocks import Settler
from .certified_models import NUMBERS, squares_findings
from .gram_kernels import GramKernel, GroupKernel, Lines, Squares
from .trail import Trail

MOST_COLUMNS = 5000  # columns of the Gram of a path; safeguard of memory: 200 MB

EVERYTHING = 1000  # columns, up to which all are used at once; measured at 1500×1200 to 4000×2500:
# twice as many halve the time of lasso paths down to 1e-3 of alpha_max, but those down to 0.1 of
# it, which use few columns, take 3 to 9 times as long
_TOGETHER = 8  # alphas per block while columns are added; measured on 200×3000, 1000×5000 and
# 5000×1500: 4 take up to 15 % more, 16 five times as long on the second
_ROUNDED = 1e-7  # tolerance, from which columns in place of G are rounded to single precision;
# safeguard: models of rounded columns are off by about 1e-8, and the referee sees all digits
SHARE = 0.8  # share of the tolerance that may be left on the columns used; safeguard


class OnGram(Settler):
    """½wᵀG w + qᵀw over the columns used, for every score."""

    def __init__(
        self,
        base: Objective,
        kernel: GramKernel,
        control: Control,
        known: Sums | None = None,
        *,
        summed: bool = False,
    ) -> None:
        """``known`` are the sums over all rows, if they are known.

        If ``summed``, models of few columns are judged from these sums.
        """
        self._base, self._kernel, self._control = base, kernel, control
        self.name = kernel.solver
        n, d = base.design.shape
        self._room = max(1, NUMBERS // (max(n, d) * base.n_scores))
        self._models: GramModels | None = None  # a referee that needs no pass over the data
        self._columns: _core.GroupColumns | None = None  # in place of the Gram
        self._rounded = control.tol >= _ROUNDED  # whether these are in single precision
        if d <= EVERYTHING and summed:
            models = GramModels(base, sums(base) if known is None else known)
            self._models, self._square = models, models.square
            self._gram = PathGram.of_all(base.design, models.gram, models.linear)
            self.most = self.least = max(1, NUMBERS // (d * base.n_scores))
            return
        gradient = base.loss.gradient(base.null.z, base.y)
        self._square = base.row_total_of(np.square, gradient)
        if d <= EVERYTHING:
            order = kernel.arranged(np.arange(d))
            gram = base.hessian(base.mass).matrix[np.ix_(order, order)]
            linear = base.backward(base.weigh(gradient))[order]
            self._gram = PathGram.of_all(base.design, gram, linear, order)
            self.most = self.least = self._room
        else:
            # Beyond n columns, a sweep over the columns themselves reads less than one over G.
            most = n if kernel.takes_lines else None
            self._gram = PathGram(base.design, base.mass, base.intercept, gradient, most)
            self.most = min(_TOGETHER, self._room)

    @property
    def meets_everything(self) -> bool:
        """Whether all columns are met at once, so that none is ever picked."""
        return self._gram.columns.size == self._base.n_features

    def meet(self, columns: IntArray) -> bool:
        """Add their products with each other and with all other columns to the Gram."""
        new = self._kernel.arranged(self._gram.missing(columns))
        self._gram.add(new)
        return bool(new.size)

    def settled(
        self, forms: Sequence[Any], alphas: Sequence[float], trail: Trail, start: Array | None
    ) -> Array:
        """One compiled call, with the last models of the trail as the rows before the first."""
        columns, before = self._gram.columns, len(trail)
        scores = self._base.coef_shape[1:]
        coefs = np.zeros((before + len(forms), columns.size, *scores))
        known = [*trail.coefs, *([] if start is None else [start])]
        for i, w in enumerate(known):
            coefs[i] = w[columns]
        gram = self._gram
        lines = None if gram.has_gram else self._lines()
        model = Squares(gram.gram, gram.linear[: columns.size], self._square, lines)
        values, goal = np.array([*trail.alphas, *alphas]), SHARE * self._control.target
        reached = before
        try:
            reached = self._kernel.solve(
                model, forms, columns, values, coefs, start is not None, goal
            )
        except KeyboardInterrupt:
            interrupt()  # accepted models are kept, and nothing else is begun
        full = np.zeros((reached - before, self._base.n_features, *scores))
        full[:, columns] = coefs[before:reached]
        return full

    def finer(self) -> bool:
        """All digits of the columns, if they were rounded."""
        rounded, self._rounded = self._rounded, False
        return rounded and self._columns is not None

    def _lines(self) -> Lines:
        """The columns used so far."""
        columns, kernel = self._gram.columns, self._kernel
        assert isinstance(kernel, GroupKernel)
        self._columns = kernel.columns_of(
            self._gram.lines, columns, self._base.n_scores, self._columns
        )
        self._columns.round(self._rounded)
        return Lines(self._columns)

    def findings(self, problems: Sequence[Objective], coefs: Array) -> Iterable[Finding]:
        """Judged models, by the Gram if its rounding allows, else by two products with the data."""
        if not len(coefs):
            return
        target = self._control.target
        yield from squares_findings(self._base, self._models, problems, coefs, target)
