"""Blocks of a smooth loss: one weighted Gram for the block, fresh slopes at every step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ... import _core
from ..._base.typing import Array, IntArray
from ...certificate import Finding
from ...certificate.smooth_models import smooth_findings
from ...design import Design
from ...penalties import Separable
from ...problem.intercept import best_shift
from ...problem.objective import Objective, Point
from ..base import Control
from ..steps.line_search import line_search
from .blocks import Settler
from .trail import Trail

_NUMBERS = 1 << 22  # scores or slopes held at a time; a safeguard
_TOGETHER = 5  # alphas at a time; measured on 1000×5000: 8 take nearly twice as long
_MOST_COLUMNS = 1500  # of a Gram that is made anew for every block; a safeguard
_SHARE = 0.3  # of the tolerance that may be left on the columns met
_MODEL_SHARE = 0.1  # of that, which the solution of a quadratic model may leave
_STEPS = (
    15  # with one Gram at one alpha, before another is made there; measured: 8 make twice as many
)
_GRAMS = 4  # for one alpha, before it is left to other solvers
_ROUNDS = 50  # of a sweep and a Newton step for one quadratic model; a safeguard


class _Weighted(NamedTuple):
    """The quadratic part of the model: columns gathered, their Gram under the weights h."""

    design: Design
    gram: Array
    mean: Array  # of the columns under h; zero without an intercept
    total: float  # Σ h


class OnCurves(Settler):
    """Quadratic models with the curvature of the block's start and the slopes of where they are.

    A Gram costs more than many steps, so one serves a whole block, and a line search makes up
    for weights that have grown old. Its Cholesky factor is kept as long.
    """

    near = 0.9  # measured: 0.95 is a tenth faster on 1000×5000, a third slower on 442×10

    def __init__(self, base: Objective, control: Control) -> None:
        self._base, self._control = base, control
        self._columns = np.zeros(0, dtype=np.int64)
        self._path = _core.PathOnGram()
        self._model: _Weighted | None = None
        self.most = max(1, min(_TOGETHER, _NUMBERS // max(base.design.shape)))

    def expect(self, columns: IntArray) -> None:
        """These and no others; the weights are those of where the block begins."""
        self._columns, self._model = columns, None

    def meet(self, columns: IntArray) -> bool:
        """More columns, and a new Gram."""
        before = self._columns.size
        self._columns = np.union1d(self._columns, columns)
        if self._columns.size > before:
            self._model = None
        return self._columns.size > before

    def settled(
        self, forms: Sequence[Separable], alphas: Sequence[float], trail: Trail, start: Array | None
    ) -> Array:
        """One alpha after the other, each from where the line through the last two leads."""
        base, columns = self._base, self._columns
        rows: list[Array] = []
        if columns.size > _MOST_COLUMNS:
            return np.zeros((0, base.n_features))
        way = [(alpha, w[columns]) for alpha, w in zip(trail.alphas, trail.coefs)]
        for form, alpha in zip(forms, alphas):
            w = way[-1][1] if way else np.zeros(columns.size)
            if start is not None and not rows:
                w = start[columns]
            elif len(way) == 2:
                (older, before), (old, last) = way
                w = _core.drawn_on(before, last, _core.steps_ahead(older, old, alpha))
            found = self._minimiser(form.take(columns), w)
            if found is None:
                break
            way = [*way[-1:], (alpha, found)]
            full = np.zeros(base.n_features)
            full[columns] = found
            rows.append(full)
        return np.stack(rows) if rows else np.zeros((0, base.n_features))

    def findings(self, problems: Sequence[Objective], coefs: Array) -> Iterable[Finding]:
        """Scores and slopes of all models are two products with the data."""
        return smooth_findings(self._base, problems, coefs) if len(coefs) else ()

    def _minimiser(self, form: Separable, w: Array) -> Array | None:
        """Coefficients of the columns met, with a small gap on these; None if it stays large."""
        base, control = self._base, self._control
        if not w.size:
            return w
        model = self._model or self._weighted(w)
        point = self._point(model.design, w)
        for grams in range(_GRAMS):
            if grams:
                model = self._weighted(point.w)
            for _ in range(_STEPS):
                gradient = base.loss.gradient(point.z, base.y)
                slope = model.design.rmatvec(base.mass * gradient)
                if _shortfall(form, point.w, slope) <= _SHARE * control.target:
                    return point.w
                if control.expired:
                    return None
                moved = self._step(form, model, point, gradient, slope)
                if moved is None:
                    break
                point = moved
        return None

    def _weighted(self, w: Array) -> _Weighted:
        """The Gram with the curvature at these coefficients of the columns met."""
        base = self._base
        design = base.design.columns(self._columns) if self._model is None else self._model.design
        z = self._point(design, w).z
        h = base.mass * base.loss.curvature(z, base.y)
        total = float(h.sum()) if base.intercept else 0.0
        if total > 0:
            gram, mean = design.covariance(h)
        else:
            gram, mean = design.gram(h), np.zeros(w.size)
        base.meter.passes += self._columns.size / base.n_features
        self._path.forget()
        self._model = _Weighted(design, np.ascontiguousarray(gram), mean, total)
        return self._model

    def _point(self, design: Design, w: Array) -> Point:
        """The model of the gathered columns with its best intercept."""
        base = self._base
        z = design.matvec(w)
        if base.offset is not None:
            z += base.offset
        shift = best_shift(base, z) if base.intercept else 0.0
        z += shift
        return Point(w, float(shift), z)

    def _step(
        self, form: Separable, model: _Weighted, point: Point, gradient: Array, slope: Array
    ) -> Point | None:
        """The minimiser of the quadratic model, and a line search towards it; None: no way down."""
        base, w = self._base, point.w
        linear = slope - model.gram @ w
        coefs = w[None].copy()
        # The model's own gap takes it for a mean of squares; here they shall add up to the scale.
        square = base.scale - float(w @ (slope + linear))
        goal = _MODEL_SHARE * _SHARE * self._control.target
        self._path.solve(
            model.gram, linear, square, np.ones(1), form.l1[None], form.l2[None], coefs, 0, True,
            goal, _ROUNDS,
        )  # fmt: skip
        new = coefs[0]
        step = new - w
        if not step.any() or not np.isfinite(step).all():
            return None
        scores = model.design.matvec(step)
        shift = -float(model.mean @ step)
        scores += shift
        t, moved = line_search(base, form, point, step, scores, shift)
        if t <= 0:
            return None
        # The model's own zeros are kept: w + 1·(new − w) need not be new in floating point.
        end = Point(new, moved.b, moved.z) if t == 1.0 else moved
        if not base.intercept:
            return end
        more = best_shift(base, end.z)
        return Point(end.w, end.b + more, end.z + more)


def _shortfall(form: Separable, w: Array, slope: Array) -> float:
    """About what the gap of a model is on these columns.

    Slopes beyond l1 make the dual point shrink, which costs that share of Ω; a slope on the
    support that does not balance the penalty costs its product with the coefficient.
    """
    rest = slope + form.l2 * w
    bounded = form.l1 > 0
    excess = np.max(np.abs(rest[bounded]) / form.l1[bounded], initial=1.0) - 1.0
    return float(excess * form.value(w) + np.abs((rest + form.l1 * np.sign(w)) * w).sum())
