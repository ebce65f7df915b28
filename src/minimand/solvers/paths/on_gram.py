"""Blocks of the squared loss on the Gram of the columns met so far: all of it in compiled code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ... import _core
from ..._base.typing import Array, IntArray
from ..._base.watch import interrupt
from ...certificate import Finding
from ...certificate.least_squares import Models
from ...penalties import Separable
from ...problem.objective import Objective
from ...problem.path_gram import RememberedGram
from ..base import Control
from .blocks import Settler
from .trail import Trail

MOST_COLUMNS = 5000  # of a Gram that a path grows; a safeguard, its square is 200 MB

_EVERYTHING = 1000  # columns that are met all at once; a guess, not swept
_NUMBERS = 1 << 22  # scores or slopes held at a time, beside the solutions themselves; safeguard
_TOGETHER = 8  # alphas at a time while columns are met; from a prototype, not swept here
_SHARE = 0.5  # of the tolerance that may be left on the Gram; a Newton step leaves far less
_ROUNDS = 50  # of a sweep and a Newton step for one alpha; a safeguard, two are usual


class OnGram(Settler):
    """½wᵀG w + qᵀw over the columns met; a Cholesky factor of the support is kept all along."""

    near = 0.95  # from a prototype on a wide path, not swept here

    def __init__(self, base: Objective, control: Control) -> None:
        gradient = base.loss.gradient(base.null.z, base.y)
        self._base, self._control = base, control
        self._gram = RememberedGram(base.design, base.mass, base.intercept, gradient)
        self._square = base.mean(gradient * gradient)
        self._path = _core.PathOnGram()
        n, d = base.design.shape
        room = max(1, _NUMBERS // max(n, d))
        if d <= _EVERYTHING:
            self._gram.add(np.arange(d))
            self.most = self.least = room
        else:
            self.most = min(_TOGETHER, room)

    def meet(self, columns: IntArray) -> bool:
        """Their products with one another and with all others join the Gram."""
        new = self._gram.missing(columns)
        self._gram.add(new)
        return bool(new.size)

    def settled(
        self, forms: Sequence[Separable], alphas: Sequence[float], trail: Trail, start: Array | None
    ) -> Array:
        """One compiled call, with the last models of the trail as the rows before the first."""
        columns, before = self._gram.columns, len(trail)
        shape = before + len(forms), columns.size
        l1, l2, coefs = np.ones(shape), np.zeros(shape), np.zeros(shape)
        for i, form in enumerate(forms, before):
            l1[i], l2[i] = form.l1[columns], form.l2[columns]
        known = [*trail.coefs, *([] if start is None else [start])]
        for i, w in enumerate(known):
            coefs[i] = w[columns]
        reached = before
        try:
            reached = self._path.solve(
                self._gram.gram,
                self._gram.linear[: columns.size],
                self._square,
                np.array([*trail.alphas, *alphas]),
                l1,
                l2,
                coefs,
                before,
                start is not None,
                _SHARE * self._control.target,
                _ROUNDS,
            )
        except KeyboardInterrupt:
            interrupt()  # what has been accepted stays, and nothing else is begun
        full = np.zeros((reached - before, self._base.n_features))
        full[:, columns] = coefs[before:reached]
        return full

    def findings(self, problems: Sequence[Objective], coefs: Array) -> Iterable[Finding]:
        """Scores and slopes of all models are two products with the data."""
        if not len(coefs):
            return
        models = Models(self._base, coefs, np.zeros(len(coefs)))
        for i, problem in enumerate(problems):
            yield models.finding(i, problem)
