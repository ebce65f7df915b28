"""Minimisers on a Gram matrix, for sums over features and for sums over groups of features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import _core
from ..._base.typing import Array, IntArray
from ...canonical import Runs
from ...penalties import Grouped, Separable, Strengths
from ..sparse.group_models import price

_ROUNDS = 50  # rounds of sweeps and a Newton step for one alpha; safeguard, two are usual

Form = Separable | Grouped
_NOTHING = np.zeros(0)


class Lines(NamedTuple):
    """Columns A in place of their Gram, which is AᵀHA: weights of rows, or none if these are 1."""

    columns: _core.GroupColumns
    h: Array = _NOTHING
    centred: bool = False  # whether products are covariances under the weights
    image: Array = _NOTHING  # if not empty, A d is written to it
    rounds: int = _ROUNDS  # the slopes are not looked at after the last one


class Squares(NamedTuple):
    """½ dᵀG d + q·d + ½·square over the columns met so far, for each score; G may be larger.

    d is w, or its way from an ``origin``. Kernels that can do without G get ``lines`` instead.
    """

    gram: Array
    linear: Array
    square: float
    lines: Lines | None = None
    origin: Array = _NOTHING


class GramKernel(ABC):
    """Compiled minimisers of a mean of squares with the penalties of a path."""

    solver = "working_set"  # does the same at one alpha
    takes_lines = False  # whether it can do without the Gram

    def arranged(self, columns: IntArray) -> IntArray:
        """The columns in the order in which the Gram must hold them."""
        return columns

    def forget(self) -> None:  # noqa: B027 - few have something to forget
        """To be called when the Gram is not the same one with more columns."""

    def on(self, form: Any) -> GramKernel:
        """The kernel for a penalty that was taken to some columns, in their order."""
        return self

    @abstractmethod
    def solve(
        self,
        model: Squares,
        forms: Sequence[Any],
        columns: IntArray,
        alphas: Array,
        coefs: Array,
        started: bool,
        gap: float,
    ) -> int:
        """Minimise the last rows of ``coefs`` in place, one per form; the first that is not solved.

        The rows before hold models of the path at the first alphas.
        """

    @abstractmethod
    def drawn_on(self, form: Any, before: Array, last: Array, ahead: float) -> Array:
        """The line through two models of some columns, so many steps ahead."""

    @abstractmethod
    def shortfall(self, form: Any, w: Array, slope: Array, scale: float) -> float:
        """An estimate of the gap of a model on these columns, in a problem of that scale.

        Slopes beyond l1 or the norms shrink the dual point, which costs that share of Ω; a slope on
        the support that does not balance the penalty costs its product with the coefficients.
        """


class FeatureKernel(GramKernel):
    """Sums over features; a Cholesky factor of the support is kept."""

    def __init__(self) -> None:
        self._path = _core.PathOnGram()

    def forget(self) -> None:
        """Drop the factor."""
        self._path.forget()

    def solve(
        self,
        model: Squares,
        forms: Sequence[Separable],
        columns: IntArray,
        alphas: Array,
        coefs: Array,
        started: bool,
        gap: float,
    ) -> int:
        """Sweeps and Newton steps on the support."""
        before = len(coefs) - len(forms)
        l1, l2 = np.ones(coefs.shape), np.zeros(coefs.shape)
        for i, form in enumerate(forms, before):
            l1[i], l2[i] = form.l1[columns], form.l2[columns]
        gram, linear, square, _, origin = model
        if origin.size:
            image = _core.dense_matvec(gram, origin)
            square -= float(origin @ (2.0 * linear - image))
            linear = linear - image
        return self._path.solve(
            gram, linear, square, alphas, l1, l2, coefs, before, started, gap, _ROUNDS
        )

    def drawn_on(self, form: Separable, before: Array, last: Array, ahead: float) -> Array:
        """Zero where the line would change sign."""
        return _core.drawn_on(before, last, ahead)

    def shortfall(self, form: Separable, w: Array, slope: Array, scale: float) -> float:
        """The gap that a mean of squares with these slopes would have."""
        return _core.gap_of_squares(2.0 * scale, slope, w, form.l1, form.l2)[0]


class GroupKernel(GramKernel):
    """Sums over groups of features, with all their scores."""

    solver = "working_groups"
    takes_lines = True

    def __init__(self, form: Grouped) -> None:
        assert form.by_rows is not None
        self._label = form.by_rows.label

    def on(self, form: Grouped) -> GroupKernel:
        """Another one, since the groups have other numbers."""
        return GroupKernel(form)

    def arranged(self, columns: IntArray) -> IntArray:
        """Group by group."""
        return columns[np.argsort(self._label[columns], kind="stable")]

    def solve(
        self,
        model: Squares,
        forms: Sequence[Grouped],
        columns: IntArray,
        alphas: Array,
        coefs: Array,
        started: bool,
        gap: float,
    ) -> int:
        """Sweeps over groups and Newton steps on those that are not zero."""
        before = len(coefs) - len(forms)
        shape = (len(coefs), len(columns), model.linear[:1].size)
        if not columns.size:
            return len(coefs)
        starts = self._starts(columns)
        l1, l2 = np.zeros(shape), np.zeros(shape)
        norm = np.zeros((len(coefs), starts.size - 1))
        for i, form in enumerate(forms, before):
            assert form.by_rows is not None
            l1[i] = form.l1.reshape(len(form.l1), -1)[columns]
            l2[i] = form.l2.reshape(len(form.l2), -1)[columns]
            norm[i] = form.by_rows.norm[form.by_rows.label[columns[starts[:-1]]]]
        gram, linear, square, lines, origin = model
        linear = np.ascontiguousarray(linear).ravel()
        if lines is None:
            return _core.groups_on_gram(
                gram, linear, origin, square, alphas, starts, norm, l1, l2, coefs,
                shape[2], before, started, gap, _ROUNDS,
            )  # fmt: skip
        return lines.columns.solve(
            lines.h, lines.centred, linear, origin, square, alphas, norm, l1, l2, coefs,
            lines.image, before, started, gap, lines.rounds,
        )  # fmt: skip

    def columns_of(
        self,
        lines: Array,
        columns: IntArray,
        scores: int,
        known: _core.GroupColumns | None = None,
    ) -> _core.GroupColumns:
        """These columns, as lines, in their groups; ``known`` has the first of them."""
        starts = self._starts(columns)
        if known is None:
            return _core.GroupColumns(lines, starts, scores)
        known.grow(lines, starts)
        return known

    def _starts(self, columns: IntArray) -> IntArray:
        """The places where a new group begins, and the end."""
        firsts = np.flatnonzero(np.diff(self._label[columns], prepend=-1))
        return np.append(firsts, columns.size).astype(np.int64)

    def drawn_on(self, form: Grouped, before: Array, last: Array, ahead: float) -> Array:
        """Groups that are zero stay zero."""
        line = last + ahead * (last - before)
        stays = form.groups.to_members(form.groups.norms(last) == 0)
        crosses = (form.l1 > 0) & (last * line <= 0)
        return np.where(stays | crosses, 0.0, line)

    def shortfall(self, form: Grouped, w: Array, slope: Array, scale: float) -> float:
        """The same estimate for groups of columns."""
        runs = Runs.of(form)
        shape = runs.l1.shape
        return price(runs, w.reshape(shape)[runs.order], slope.reshape(shape)[runs.order])


def minimised(model: Squares, strengths: Strengths, alphas: Array, gap: float) -> Array | None:
    """The minimisers on a Gram under each of these penalties, or None if one is not solved."""
    gram, linear, square, _, origin = model
    coefs = np.zeros((len(alphas), *linear.shape))
    if linear.ndim == 1:
        solved = _core.PathOnGram().solve(
            gram, linear, square, alphas, *strengths, coefs, 0, False, gap, _ROUNDS
        )
    else:
        d, scores = linear.shape
        l2 = np.repeat(strengths.l2, scores, axis=1)
        solved = _core.groups_on_gram(
            gram, linear.ravel(), origin, square, alphas, np.arange(d + 1), strengths.kink,
            np.zeros_like(l2), l2, coefs, scores, 0, False, gap, _ROUNDS,
        )  # fmt: skip
    return coefs if solved == len(alphas) else None
