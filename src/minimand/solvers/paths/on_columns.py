"""The squared loss on sparse columns, one alpha at a time: descent on the columns themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..._base.typing import Array, IntArray
from ...canonical import Weighted
from ...certificate import Finding
from ...certificate.least_squares import Models
from ...penalties import Separable
from ...problem.objective import Objective
from ..base import Control
from ..sparse.support_newton import polish_on_columns
from .blocks import Settler
from .trail import Trail

_SWEEPS = 20  # sweeps before Newton steps on the support; safeguard
_FINE = 1e-7  # share of its energy that such a step may leave; safeguard
_STEPS = 10  # Newton steps in a round; safeguard
_SHARE = 1e-4  # share of the tolerance that descent may leave; safeguard
_FINER = 0.03  # factor of that share after it was too large; safeguard
_FINEST = 1e-20  # least share of the tolerance; safeguard


class OnColumns(Settler):
    """Columns in the model or expected to enter it, whose Gram would cost more than descent."""

    most = 1

    def __init__(self, base: Objective, control: Control) -> None:
        self._base, self._control = base, control
        self._columns = np.zeros(0, dtype=np.int64)
        self._share = _SHARE

    def expect(self, columns: IntArray) -> None:
        """Only these columns, since a sweep costs their stored numbers."""
        self._columns, self._share = columns, _SHARE

    def meet(self, columns: IntArray) -> bool:
        """More columns to sweep over."""
        before = self._columns.size
        self._columns = np.union1d(self._columns, columns)
        return self._columns.size > before

    def finer(self) -> bool:
        """A smaller share of the tolerance."""
        self._share *= _FINER
        return self._share >= _FINEST

    def settled(
        self, forms: Sequence[Separable], alphas: Sequence[float], trail: Trail, start: Array | None
    ) -> Array:
        """Coordinate descent on the columns, with Newton steps on the support where it is slow."""
        if start is None:
            forecast = trail.forecast(alphas[0])
            last = np.zeros(self._base.n_features) if trail.last is None else trail.last.w
            start = last if forecast is None else forecast.w
        return self._descend(forms[0], start, self._share * self._control.target)[None]

    def findings(self, problems: Sequence[Objective], coefs: Array) -> Iterable[Finding]:
        """One model."""
        yield Models(self._base, coefs, np.zeros(1)).finding(0, problems[0])

    def _descend(self, form: Separable, w: Array, tol: float) -> Array:
        base, columns = self._base, self._columns
        if not columns.size:
            return w
        residual = base.scores(w, 0.0) - base.y
        if base.intercept:
            residual -= base.mean(residual)
        inner, values = form.take(columns), w[columns]
        model = Weighted(base.design, columns, base.mass, base.mass * residual, base.intercept)
        done = model.descend(inner, values, _SWEEPS, tol)
        if done.decrease > tol:
            gathered = base.design.columns(columns)
            model = Weighted(gathered, np.arange(columns.size), model.h, model.q, model.centre)
        for _ in range(_STEPS):
            if not done.decrease > tol or self._control.expired:
                break
            polish_on_columns(model, inner, values, base.spread[columns], model.slope, tol, _FINE)
            done = model.descend(inner, values, _SWEEPS, tol)
        full = np.zeros_like(w)
        full[columns] = values
        return full
