"""Settings and data in numbers, and the objectives that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ..._base.typing import Array
from ...design import Reach, as_design
from ...losses import OverScores
from ...losses.analysis.probe_scores import check_formulas
from ...outputs import Output, PairsOutput, QueriesOutput, columns_of
from ...penalties.checked import check_bound
from ...problem.objective import Objective
from ..settings import Settings
from .pair_problems import PairProblems
from .query_problem import query_problem


def one_sample(n_samples: int, weights: Array | None) -> float:
    """1/Σs, the alpha at which the penalty weighs as much as one sample of weight 1."""
    if weights is None:
        return 1.0 / n_samples
    with np.errstate(over="ignore", divide="ignore"):
        alpha = 1.0 / weights.sum()
    if alpha == 0.0:  # the sum has overflowed
        alpha = 1.0 / weights.max() / (weights / weights.max()).sum()
    if not np.isfinite(alpha):
        raise ValueError(
            "alpha=None stands for 1/Σs, which overflows as the sample weights are all but zero: "
            "multiply them by a number, or pass an alpha."
        )
    return float(alpha)


def build(
    settings: Settings,
    X: Any,
    y: Array,
    sample_weight: Array | None,
    offset: Array | None,
    intercept: bool,
    n_scores: int = 1,
    note: str = "",
) -> Objective:
    """The objective of the settings on the data; rows of weight zero are left out.

    The alpha of the settings must be a number: `one_sample` of the weights, if none was given.
    ``note`` is added to the words.
    """
    design = as_design(X, to_fit=True)
    if sample_weight is not None and not sample_weight.all():
        kept = np.flatnonzero(sample_weight)
        design, y, sample_weight = design.rows(kept), y[kept], sample_weight[kept]
        offset = None if offset is None else offset[kept]
    n = design.shape[0]
    d = n if design.access.columns is Reach.NONE else design.shape[1]
    alpha, free = settings.factor, bool(intercept)
    loss = settings.loss
    if not loss.proved:
        check_formulas(loss, y, n_scores)
    mass = loss.equal_masses(n) if sample_weight is None else loss.masses(sample_weight)
    penalty, shape = settings.penalty, d if n_scores == 1 else (d, n_scores)
    bound = penalty.bind(shape, alpha)
    if not penalty.proved:
        check_bound(penalty, bound, shape)
    return Objective(
        loss=loss,
        penalty=bound,
        design=design,
        y=y,
        mass=mass,
        offset=offset,
        intercept=free,
        n_scores=n_scores,
        words=settings.words_with_score(alpha, offset=offset is not None, intercept=free) + note,
    )


@dataclass(frozen=True, eq=False)
class Coded:
    """The settings, and y, weights and offset as checked numbers: a problem without φ(X)."""

    settings: Settings
    output: Output
    target: Array  # (n,) or (n, scores), as the output codes y
    weights: Array | None  # of the samples, times their class weights; None: all equal
    offset: Array | None
    by_label: Array | None = None  # for every label the factors without it and with it, (2, k)

    @property
    def n_samples(self) -> int:
        """Rows, those of weight zero included."""
        return int(self.target.shape[0])

    @property
    def targets(self) -> list[Array]:
        """One contiguous vector per score."""
        return columns_of(self.target)

    def at_one_sample(self) -> Coded:
        """The same problem with a number for alpha: 1/Σs if none was given."""
        if self.settings.alpha is not None:
            return self
        if isinstance(self.output, QueriesOutput):
            alpha = 1.0 / self.output.weight
        else:
            alpha = one_sample(self.n_samples, self.weights)
        return replace(self, settings=self.settings.at(alpha))

    @property
    def coupled(self) -> bool:
        """Whether all scores are one problem, because the loss or the penalty couples them."""
        loss, penalty = self.settings.loss, self.settings.penalty
        return self.output.scores > 1 and (loss.joint or penalty.couples_scores)

    def objectives(self, X: Any) -> Sequence[Objective]:
        """The problems on φ(X): one per score, or one of all scores if these are coupled."""
        if isinstance(self.output, QueriesOutput):
            return [query_problem(self.settings, X, self.target, self.weights, self.offset)]
        if self.output.scores == 1:
            if self.settings.loss.by_score is not None:
                self.settings.loss.refuse_score_weights()
            weights = self._weights_of(self.target)
            return [self._problem(self._of_one_score, X, self.target, self.offset, weights)]
        return [self._coupled(X)] if self.coupled else self.separate(X)

    def separate(self, X: Any) -> Sequence[Objective]:
        """One objective per score; they share the design."""
        if isinstance(self.output, PairsOutput):
            return self._pairs(X, self.output)
        target, *others = self.targets
        offsets = self._offsets(len(others) + 1)
        shares = self.settings.loss.score_weights(len(others) + 1)
        weights = self._weights_of(target)
        first = self._problem(self._of_one_score, X, target, offsets[0], weights)
        kept = slice(None) if self.weights is None else np.flatnonzero(self.weights)
        found = [first, *(first.with_target(other[kept]) for other in others)]
        if weights is not self.weights:  # they depend on the target
            masses = [
                first.loss.masses(cast(Array, self._weights_of(t, c))[kept])
                for c, t in enumerate(self.targets)
            ]
            found = [replace(o, mass=mass) for o, mass in zip(found, masses)]
        if self.offset is not None and self.offset.ndim > 1:
            found = [replace(o, offset=cast(Array, s)[kept]) for o, s in zip(found, offsets)]
        if shares is None:
            return found
        unit, alpha = self.settings.penalty, self.settings.factor
        problems = [replace(o, share=float(share)) for o, share in zip(found, shares)]
        return [replace(o, penalty=o.bound(unit, alpha)) for o in problems]

    def _pairs(self, X: Any, output: PairsOutput) -> PairProblems:
        """One objective per pair of classes, on the rows of these classes."""
        settings, offset = self._of_one_score, self.offset
        if settings.loss.undecided:
            raise ValueError(f"{self.settings.loss!r} needs a number in place of 'auto'.")
        by_pair = None
        if offset is not None and offset.ndim > 1:
            by_pair, offset = offset, None
            if self.weights is not None:
                by_pair = by_pair[np.flatnonzero(self.weights)]
        whole = self._problem(settings, X, self.target, offset, self.weights)
        whole = replace(whole, words=f"{whole.words}; samples of other classes cost nothing")
        return PairProblems(whole, output, settings.penalty, settings.factor, by_pair)

    def _coupled(self, X: Any) -> Objective:
        """The problem of all scores."""
        settings, k = self.settings, self.output.scores
        loss = settings.loss
        if self.by_label is not None:
            raise ValueError(
                "class_weight of several labels needs a problem for every label by itself, but the "
                "penalty couples them: take L1() or L2(), or leave out class_weight."
            )
        if loss.in_pairs or loss.target_weights(self.target[:1]) is not None:
            part = "pair" if loss.in_pairs else "class"
            other = "take another loss" if loss.in_pairs else "leave out balance"
            raise ValueError(
                f"{loss!r} needs a problem for every {part} by itself, but the penalty couples the "
                f"classes: take L1() or L2(), or {other}."
            )
        if not loss.joint and loss.by_score is None:
            settings = replace(settings, loss=OverScores(loss))
        offset = self.offset
        if offset is not None and offset.ndim == 1:
            offset = np.repeat(offset[:, None], k, axis=1)
        target = np.ascontiguousarray(self.target)
        return self._problem(settings, X, target, offset, self.weights, k)

    def _problem(
        self,
        settings: Settings,
        X: Any,
        y: Array,
        offset: Array | None,
        weights: Array | None,
        n_scores: int = 1,
    ) -> Objective:
        found = build(settings, X, y, weights, offset, settings.intercept, n_scores)
        words = self.settings.loss.weighing
        return replace(found, words=f"{found.words}; {words}") if words else found

    def _weights_of(self, target: Array, c: int = 0) -> Array | None:
        """The weights of the samples in the problem of one score."""
        heavy = self.settings.loss.target_weights(target)
        if self.by_label is not None:
            factors = self.by_label[(target > 0).astype(int), c]
            heavy = factors if heavy is None else heavy * factors
        if heavy is None:
            return self.weights
        return heavy if self.weights is None else self.weights * heavy

    @property
    def _of_one_score(self) -> Settings:
        """The settings of a problem of one score."""
        loss = self.output.loss
        return self.settings if loss is self.settings.loss else replace(self.settings, loss=loss)

    def _offsets(self, count: int) -> list[Array | None]:
        """The offset of every score."""
        if self.offset is None or self.offset.ndim == 1:
            return [self.offset] * count
        return [np.ascontiguousarray(column) for column in self.offset.T]
