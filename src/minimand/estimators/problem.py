"""From settings and data to objectives, and what a fitted model keeps of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.typing import AnyArray, Array, ArrayLike
from ..design import as_design
from ..losses import Loss, OverScores
from ..outputs import Output, PairsOutput, QueriesOutput, columns_of
from ..problem.objective import Objective
from .feature_map import MapsFeatures
from .inputs import data
from .inputs.class_weights import weighted_by_class
from .pair_problems import PairProblems
from .query_problem import query_problem
from .settings import Settings


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
) -> Objective:
    """The objective of the settings on the data; rows of weight zero are left out.

    The alpha of the settings must be a number: `one_sample` of the weights, if none was given.
    """
    design = as_design(X)
    if sample_weight is not None and not sample_weight.all():
        kept = np.flatnonzero(sample_weight)
        design, y, sample_weight = design.rows(kept), y[kept], sample_weight[kept]
        offset = None if offset is None else offset[kept]
    n, d = design.shape
    alpha, free = settings.factor, bool(intercept)
    loss = settings.loss
    mass = loss.equal_masses(n) if sample_weight is None else loss.masses(sample_weight)
    return Objective(
        loss=loss,
        penalty=settings.penalty.bind(d if n_scores == 1 else (d, n_scores), alpha),
        design=design,
        y=y,
        mass=mass,
        offset=offset,
        intercept=free,
        n_scores=n_scores,
        words=settings.words_with_score(alpha, offset=offset is not None, intercept=free),
    )


@dataclass(frozen=True, eq=False)
class Coded:
    """The settings, and y, weights and offset as checked numbers: a problem without φ(X)."""

    settings: Settings
    output: Output
    target: Array  # (n,) or (n, scores), as the output codes y
    weights: Array | None  # of the samples, times their class weights; None: all equal
    offset: Array | None

    @property
    def n_samples(self) -> int:
        """Rows, those of weight zero included."""
        return int(self.target.shape[0])

    @property
    def targets(self) -> list[Array]:
        """One contiguous vector per score."""
        return columns_of(self.target)

    def at_one_sample(self) -> Coded:
        """The same with a number for alpha: 1/Σs if none was given."""
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
                first.loss.masses(cast(Array, self._weights_of(t))[kept]) for t in self.targets
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

    def _weights_of(self, target: Array) -> Array | None:
        """The weights of the samples in the problem of one score."""
        heavy = self.settings.loss.target_weights(target)
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


class Posed(NamedTuple):
    """A problem that is ready to be solved."""

    X: Any  # checked
    mapped: Any  # φ(X)
    coded: Coded
    objectives: Sequence[Objective]

    @property
    def each_score(self) -> Sequence[Objective]:
        """One problem per score, also where the objective couples them."""
        return self.coded.separate(self.mapped) if self.coded.coupled else self.objectives


@dataclass(frozen=True, eq=False)
class Fitted:
    """The settings and output of a fit: all that a fitted model reads beside its attributes.

    The parameters of the estimator may have been changed for the next fit.
    """

    settings: Settings  # their alpha is a number, and so is every scale of the loss
    output: Output

    @classmethod
    def of(cls, coded: Coded) -> Fitted:
        """Copies of what the user could change in place."""
        settings = coded.settings
        loss, penalty = settings.loss.snapshot(), settings.penalty.snapshot()
        output = coded.output.under(loss)
        return cls(replace(settings, loss=loss, penalty=penalty), output)

    def at(self, alpha: float) -> Fitted:
        """The same at another alpha, as on a path."""
        return replace(self, settings=replace(self.settings, alpha=alpha))


class PosesProblems(MapsFeatures):
    """The part of an estimator that turns data into objectives."""

    alpha_: float
    loss_: Loss

    @cached_property
    def _fitted(self) -> Fitted:
        """What a fit leaves here; for coefficients that were set by hand, the parameters."""
        settings = self._checked_settings()
        classes: Any = getattr(self, "classes_", None)
        return Fitted(settings, self._output_of(classes, None, settings.loss))

    # What differs between numbers and labels -------------------------------------------------

    def _checked_settings(self) -> Settings:
        """The parameters, checked; a loss that is not for this kind of y is refused."""
        raise NotImplementedError

    def _takes_many(self, loss: Loss, y: Any) -> bool:
        """Whether y has several columns, and may have them; one column is taken as a vector."""
        return (not loss.joint or loss.target == "vector") and data.n_columns(y) > 1

    def _checked_target(self, y: AnyArray) -> AnyArray:
        """y, refused if it is not of the right kind."""
        raise NotImplementedError

    def _output_of(self, y: AnyArray, weights: Array | None, loss: Loss) -> Output:
        """The output space of the samples of positive weight."""
        raise NotImplementedError

    def _output_of_stream(self, y: AnyArray, loss: Loss, classes: ArrayLike) -> Output:
        """The output space of a stream, of which y is some part."""
        return self._output_of(y, None, loss)

    in_queries: ClassVar[bool] = False  # whether samples are items of queries, named by ``groups``

    def _with_groups(self, y: Any, groups: Any) -> Any:
        """y with the query of every sample, where the estimator has queries."""
        if groups is not None:
            raise TypeError(
                f"groups names the queries of a minimand.Ranker: {type(self).__name__} has none."
            )
        return y

    def _check_same(self, output: Output) -> None:
        """Refuse data of another output space than those of the fit."""

    def _attributes(self, output: Output, coef: Array, intercept: Array) -> dict[str, Any]:
        """Coefficients (k, d) and intercepts (k,) in the shapes that users see."""
        raise NotImplementedError

    # From data to objectives -----------------------------------------------------------------

    def _coded(
        self,
        settings: Settings,
        y: AnyArray,
        sample_weight: ArrayLike,
        offset: ArrayLike,
        *,
        stream: bool = False,
        classes: ArrayLike = None,
    ) -> Coded:
        """y, the weights and the offset in numbers.

        The output space is that of y, without samples of weight zero. In a ``stream`` y is one
        batch, and ``classes`` may name classes that it lacks.
        """
        y = self._checked_target(y)
        if stream and settings.loss.in_pairs:
            raise ValueError(
                f"{settings.loss!r} is for fit, path and certify with X and y: for a stream take "
                "the loss itself, which is one class against the rest."
            )
        if stream and settings.loss.target_weights(np.ones(1)) is not None:
            raise ValueError(
                f"{settings.loss!r} is for fit alone: give a stream sample_weight instead of "
                "balance."
            )
        output = self._output_of_stream(y, settings.loss, classes) if stream else None
        n = y.shape[0]
        weights = None if sample_weight is None else data.check_weights(sample_weight, n)
        if settings.class_weight is not None:
            known = getattr(output, "classes", None)
            weights = weighted_by_class(settings.class_weight, y, weights, known)
        if output is None:
            output = self._output_of(y, weights, settings.loss)
        shift = None if offset is None else data.check_offset(offset, n, output.scores)
        return Coded(settings, output, output.encode(y), weights, shift)

    def _posed(
        self, X: Any, y: Any, sample_weight: ArrayLike = None, offset: ArrayLike = None
    ) -> Posed:
        """The problem of a fit, before steps that need an optimisation of their own.

        Sets the fitted features, the feature names and ``alpha_`` on the estimator.
        """
        settings = self._checked_settings()
        many = self._takes_many(settings.loss, y)
        X, y = data.check_xy(self, X, y, many=many)
        # Everything is checked before features are fitted, which may take long.
        coded = self._coded(settings, y, sample_weight, offset)
        if settings.alpha is None:
            coded = coded.at_one_sample()
        self.alpha_ = coded.settings.factor
        mapped = X if self.features is None else self._fit_features(X, y)
        if self.features is None:
            self.__dict__.pop("features_", None)  # of an earlier fit
        return Posed(X, mapped, coded, coded.objectives(mapped))

    def _posed_again(
        self, X: Any, y: Any, sample_weight: ArrayLike = None, offset: ArrayLike = None
    ) -> Posed:
        """The problem that the model was fitted to, on the data given now."""
        check_is_fitted(self)
        fitted = self._fitted
        many = self._takes_many(fitted.settings.loss, y)
        X, y = data.check_xy(self, X, y, fitted=True, many=many)
        mapped = self._map_features(X)
        coded = self._coded(fitted.settings, y, sample_weight, offset).at_one_sample()
        self._check_same(coded.output)
        return Posed(X, mapped, coded, self._described(coded.objectives(mapped)))

    def _completed(self, posed: Posed, *, learn: bool = True) -> Posed:
        """The problem with "auto" in its loss replaced by a number, and with learnt features."""
        loss = posed.coded.settings.loss
        if loss.auto and loss.undecided:
            from .noise import with_scale_found  # imported here: few losses need it

            posed = with_scale_found(posed, self._first_half())
            self.loss_ = posed.coded.settings.loss
        else:
            self.__dict__.pop("loss_", None)  # of an earlier fit with another loss
        if self.features is None:
            return posed
        if not learn:
            return posed._replace(objectives=self._described(posed.objectives))
        return self._on_learnt_features(posed)
