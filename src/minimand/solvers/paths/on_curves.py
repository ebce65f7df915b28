"""Blocks of a smooth loss: one weighted Gram per block, new slopes at every step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import _core
from ..._base.typing import Array, IntArray
from ..._base.watch import interrupt
from ...certificate import Finding
from ...certificate.smooth_models import smooth_findings
from ...design import DenseDesign, Design
from ...losses.pieces import Softplus
from ...problem.intercept import best_shift
from ...problem.objective import Objective, Point, dot
from ...problem.path_gram import lines_of
from ..base import Control
from ..steps.line_search import line_search
from .blocks import Settler
from .gram_kernels import FeatureKernel, Form, GramKernel, GroupKernel, Lines, Squares
from .trail import Trail

_NUMBERS = 1 << 22  # scores or slopes held at a time; safeguard of memory
_TOGETHER = 5  # alphas per block; measured on six paths of 200×3000 to 20000×3000: 3 take a tenth
# more on most, 10 half more on 1000×5000
_MOST_COLUMNS = 1500  # columns of a Gram that every block makes anew; safeguard
_SHARE = 0.3  # share of the tolerance that may be left on the columns used; safeguard
_EARLY = 8  # steps of one alpha that are short ones, see `_step`; safeguard
_PER_ROW = 0.25  # columns per row, from which they take the place of their Gram; measured on
# 1000×5000: up to 1 takes a tenth more
_FORCING = 0.01  # share of the gap before a step, which that may leave of its model; safeguard
_MODEL_SHARE = 0.1  # share of that, which the solution of a quadratic model may leave; safeguard
_STEPS = 15  # steps with one Gram at one alpha; measured: with 8, twice as many Grams are made
_ROUNDS = 50  # rounds of a sweep and a Newton step for one model; safeguard
_GRAMS = 4  # Grams for one alpha, before it is left to other solvers; safeguard


class _Weighted(NamedTuple):
    """The quadratic part of the model: gathered columns, and their Gram under the weights h."""

    design: Design
    gram: Array  # empty if there are ``lines`` instead
    mean: Array  # means of the columns under h, or what the lines lack; zero without an intercept
    h: Array
    total: float  # Σ h
    lines: _core.GroupColumns | None = None

    @property
    def whole(self) -> bool:
        """Whether the Gram has all columns, or there are lines instead."""
        return self.lines is not None or len(self.gram) == self.design.shape[1]

    def growth(self, h: Array) -> float:
        """The factor by which newer weights have grown as a whole."""
        factor = float(h.sum()) / self.total if self.total > 0 else 1.0
        return factor if 0 < factor < np.inf else 1.0


class _Way:
    """Alphas with a row of coefficients each; the first rows hold the last models of the path."""

    def __init__(self, alphas: Array, before: int, size: int) -> None:
        self.alphas, self.before = alphas, before
        self.coefs = np.zeros((len(alphas), size))


class OnCurves(Settler):
    """Quadratic models with the curvature at the block's start and the slopes at the current point.

    A Gram costs more than many steps, so one serves a block, times the growth of the weights as a
    whole since then; a line search compensates for the rest. Its Cholesky factor is kept as long.
    Compiled blocks begin with the Gram of the likely columns; others come in as they are needed.
    """

    def __init__(self, base: Objective, kernel: GramKernel, control: Control) -> None:
        self._base, self._kernel, self._control = base, kernel, control
        self.name = kernel.solver
        self._columns = np.zeros(0, dtype=np.int64)
        self._likely = 0  # the first columns, which are likely to be in a model
        self._model: _Weighted | None = None
        rows = base.loss.rowwise(base.y) if isinstance(kernel, FeatureKernel) else None
        self._has_twin = (
            rows is not None and isinstance(rows.psi, Softplus) and not rows.shift.any()
        )
        self._twin = _core.PathOnCurves()
        self.most = max(1, min(_TOGETHER, _NUMBERS // max(base.design.shape)))

    def expect(self, columns: IntArray) -> None:
        """Only these columns; the weights are those at the start of the block."""
        self._columns, self._model = self._kernel.arranged(columns), None

    def meet(self, columns: IntArray) -> bool:
        """More columns; a new Gram, unless it takes columns one by one."""
        new = np.setdiff1d(columns, self._columns)
        if not new.size:
            return False
        self._columns = self._kernel.arranged(np.append(self._columns, new))
        model, self._model = self._model, None
        if model is not None and not model.whole:
            design = self._base.design.columns(self._columns)
            self._model = model._replace(design=design, mean=self._means(design, model.h))
        return True

    def settled(
        self, forms: Sequence[Any], alphas: Sequence[float], trail: Trail, start: Array | None
    ) -> Array:
        """One alpha after the other, each started from the line through the last two."""
        base, columns, before = self._base, self._columns, len(trail)
        if columns.size > _MOST_COLUMNS and not self._outnumbered:
            return np.zeros((0, base.n_features))
        if self._has_twin and self._model is None:
            middle = len(forms) // 2
            columns = self._likely_first(forms[middle], alphas[middle], trail)
        inner = [form.take(columns) for form in forms]
        way = _Way(np.array([*trail.alphas, *alphas]), before, columns.size)
        for i, w in enumerate([*trail.coefs, *([] if start is None else [start])]):
            way.coefs[i] = w[columns]
        k = before
        while k < len(way.alphas) and columns.size:
            if k > before or start is None:
                way.coefs[k] = self._begun(inner[k - before], way, k)
            k = self._by_twin(inner, way, k)
            if k == len(way.alphas):
                break
            found = self._minimiser(inner[k - before], way.coefs[k])
            if found is None:
                break
            way.coefs[k] = found
            k += 1
        done = k if columns.size else len(way.alphas)
        full = np.zeros((done - before, base.n_features))
        full[:, columns] = way.coefs[before:done]
        return full

    def _begun(self, form: Form, way: _Way, k: int) -> Array:
        """Where an alpha begins: on the line through the two models before.

        Models of curved losses follow the logarithm of alpha more closely than alpha: measured on
        1000×5000, where the scores are up to eight times as close.
        """
        if k < 2:
            return way.coefs[k - 1] if k else way.coefs[k]
        ahead = _core.steps_ahead(*np.log(way.alphas[k - 2 : k + 1]).tolist())
        return self._kernel.drawn_on(form, way.coefs[k - 2], way.coefs[k - 1], ahead)

    def _by_twin(self, forms: Sequence[Any], way: _Way, k: int) -> int:
        """What `_minimiser` does, compiled, from alpha k on; the first alpha that does not settle.

        For the logistic loss, which the core knows, with one Gram for all of them.
        """
        base = self._base
        if not self._has_twin or self._outnumbered:
            return k
        model = self._model or self._weighted(way.coefs[k], self._likely)
        if not isinstance(model.design, DenseDesign):
            return k
        l1, l2 = np.ones_like(way.coefs), np.zeros_like(way.coefs)
        for i, form in enumerate(forms, way.before):
            l1[i], l2[i] = form.l1, form.l2
        goal = _SHARE * self._control.target
        try:
            return self._twin.solve(
                model.design.x,
                (base.mass, base.y, base.offset, base.intercept),
                (model.gram, model.h, model.mean, model.total),
                (way.alphas, l1, l2, way.coefs),
                k,
                True,
                (goal, _MODEL_SHARE * goal, base.scale, _STEPS, _ROUNDS),
            )
        except KeyboardInterrupt:
            interrupt()  # accepted models are kept, and nothing else is begun
            return k

    def findings(self, problems: Sequence[Objective], coefs: Array) -> Iterable[Finding]:
        """Scores and slopes of all models, by two products with the data."""
        return smooth_findings(self._base, problems, coefs) if len(coefs) else ()

    def _minimiser(self, form: Form, w: Array) -> Array | None:
        """Coefficients with a small gap on the columns used; None if it stays large."""
        base, control = self._base, self._control
        if not w.size:
            return w
        known = self._model
        model = known if known is not None and known.whole else self._weighted(w)
        point = self._point(model.design, w)
        for grams in range(_GRAMS):
            if grams:
                model = self._weighted(point.w)
            for steps in range(_STEPS):
                gradient = base.loss.gradient(point.z, base.y)
                slope = model.design.rmatvec(base.mass * gradient)
                left = self._kernel.shortfall(form, point.w, slope, base.scale)
                if left <= _SHARE * control.target:
                    return point.w
                if control.expired:
                    return None
                moved = self._step(form, model, point, slope, left, steps < _EARLY)
                if moved is None:
                    break
                point = moved
        return None

    @property
    def _outnumbered(self) -> bool:
        """Whether columns are used instead of their Gram, since they are many."""
        return self._kernel.takes_lines and self._columns.size > _PER_ROW * self._base.n_samples

    def _likely_first(self, form: Form, alpha: float, trail: Trail) -> IntArray:
        """The columns used, in an order: first those in the model at that alpha by the forecast."""
        likely = np.zeros(self._columns.size, dtype=bool)
        if len(trail):
            likely = form.reached(trail.slope(alpha), trail.coefs[-1], 1.0)[self._columns]
        self._columns = np.append(self._columns[likely], self._columns[~likely])
        self._likely = int(likely.sum())
        return self._columns

    def _weighted(self, w: Array, first: int | None = None) -> _Weighted:
        """The Gram with the curvature at these coefficients of the columns used, or the first."""
        base = self._base
        design = base.design.columns(self._columns) if self._model is None else self._model.design
        z = self._point(design, w).z
        h = base.mass * base.loss.curvature(z, base.y)
        total = float(h.sum())
        centred, lines, gram = base.intercept and total > 0, None, np.zeros((0, 0))
        if self._outnumbered:
            assert isinstance(self._kernel, GroupKernel)
            numbers, mean = lines_of(design, base.mass, centred)
            lines = self._kernel.columns_of(numbers, self._columns, 1)
        else:
            some = design
            if first is not None and isinstance(design, DenseDesign):
                some = DenseDesign(design.x[:, :first])
            gram = some.covariance(h).matrix if centred else some.gram(h)
            mean = self._means(design, h)
        base.meter.passes += self._columns.size / base.n_features
        self._kernel.forget()
        self._twin.forget()
        self._model = _Weighted(design, np.ascontiguousarray(gram), mean, h, total, lines)
        return self._model

    def _means(self, design: Design, h: Array) -> Array:
        """The means of the columns under h if there is an intercept, else zero."""
        total = float(h.sum())
        centred = self._base.intercept and total > 0
        return design.rmatvec(h) / total if centred else np.zeros(design.shape[1])

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
        self, form: Form, model: _Weighted, point: Point, slope: Array, left: float, early: bool
    ) -> Point | None:
        """The minimiser of the quadratic model and a line search towards it; None: no descent."""
        base, w = self._base, point.w
        # The model is divided by the growth of the weights, so that its Gram and factor are kept.
        h = base.mass * base.loss.curvature(point.z, base.y)
        grown = model.growth(h) if model.lines is None else 1.0
        slope, own = slope / grown, form.times(1.0 / grown)
        coefs, image, lines = w[None].copy(), np.zeros(h.size), None
        if model.lines is not None:
            # One round at a time, because new slopes cost no more than those of the model.
            lines = Lines(model.lines, h, base.intercept, image, 1 if early else _ROUNDS)
        # The model's own gap is that of a mean of squares; here it is scaled to the objective's.
        goal = max(_MODEL_SHARE * _SHARE * self._control.target, _FORCING * left) / grown
        squares = Squares(model.gram, slope, base.scale / grown, lines, w)
        places = np.arange(w.size)
        self._kernel.on(own).solve(squares, [own], places, np.ones(1), coefs, True, goal)
        new = coefs[0]
        step = new - w
        if not step.any() or not np.isfinite(step).all():
            return None
        shift = -float(model.mean @ step)
        if lines is None:
            image = model.design.matvec(step) + shift
        elif base.intercept:
            ahead = dot(h, image) / float(h.sum())
            image, shift = image - ahead, shift - ahead
        scores = image
        t, moved = line_search(base, form, point, step, scores, shift)
        if t <= 0:
            return None
        # Zeros of the model are kept exactly: with rounding, w + 1·(new − w) may differ from new.
        end = Point(new, moved.b, moved.z) if t == 1.0 else moved
        if not base.intercept:
            return end
        more = best_shift(base, end.z)
        return Point(end.w, end.b + more, end.z + more)
