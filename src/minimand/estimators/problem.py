"""From an estimator and data to its problems, and from their models to the arrays that users see.

Separate problems have one score each, a coupled problem has all k of them; either way coefficients
are (k, d) and intercepts (k,).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.typing import AnyArray, Array, ArrayLike
from ..losses import Loss
from ..outputs import Output
from ..problem.objective import Objective
from .feature_map import MapsFeatures
from .inputs import data
from .inputs.class_weights import label_factors, weighted_by_class
from .kernel_machines.rows import rows_of_kernel
from .posing.coded import Coded
from .settings import Settings


class Posed(NamedTuple):
    """A problem that is ready to be solved."""

    X: Any  # checked
    mapped: Any  # φ(X)
    coded: Coded
    objectives: Sequence[Objective]
    begun: float | None = None  # when the fit began; None where time does not matter

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
        settings, output = coded.settings, coded.output
        loss, penalty = settings.loss.snapshot(), settings.penalty.snapshot()
        of_score = loss if output.loss is settings.loss else output.loss.snapshot()
        return cls(
            replace(settings, loss=loss, penalty=penalty),
            replace(output, loss=of_score),
        )

    def at(self, alpha: float) -> Fitted:
        """The same fit at another alpha, as on a path."""
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
        factors = None
        if settings.class_weight is not None and y.ndim > 1:
            factors = label_factors(settings.class_weight, y, weights)
        return Coded(settings, output, output.encode(y), weights, shift, factors)

    def _posed(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike = None,
        offset: ArrayLike = None,
        *,
        rows: bool = False,
    ) -> Posed:
        """The problem of a fit, before steps that need an optimisation of their own.

        Sets the fitted features, the feature names and ``alpha_`` on the estimator. With ``rows``
        a kernel machine may be posed on rows of the kernel matrix.
        """
        begun = time.perf_counter()
        settings = self._checked_settings()
        many = self._takes_many(settings.loss, y)
        X, y = data.check_xy(self, X, y, many=many)
        # Everything is checked before features are fitted, which may take long.
        coded = self._coded(settings, y, sample_weight, offset)
        if settings.alpha is None:
            coded = coded.at_one_sample()
        self.alpha_ = coded.settings.factor
        found = rows_of_kernel(self, X, coded) if rows and self.features is not None else None
        if found is not None:
            self.features_, mapped = found
            self.__dict__.pop("coef_", None)  # of an earlier fit
        else:
            mapped = X if self.features is None else self._fit_features(X, y, coded.weights)
        if self.features is None:
            self.__dict__.pop("features_", None)  # of an earlier fit
        return Posed(X, mapped, coded, coded.objectives(mapped), begun)

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
            from .posing.noise import with_scale_found  # imported here: few losses need it

            posed = with_scale_found(posed, self._first_half())
            self.loss_ = posed.coded.settings.loss
        else:
            self.__dict__.pop("loss_", None)  # of an earlier fit with another loss
        if self.features is None:
            return posed
        if not learn:
            return posed._replace(objectives=self._described(posed.objectives))
        return self._on_learnt_features(posed)


def stacked(models: Iterable[tuple[Array, Any]]) -> tuple[Array, Array]:
    """Coefficients (k, d) and intercepts (k,) of models (w, b), with w of shape (d,) or (d, k)."""
    coefs, intercepts = [], []
    for w, b in models:
        coefs.append(w[None] if w.ndim == 1 else w.T)
        intercepts.append(np.atleast_1d(np.asarray(b, dtype=float)))
    if len(coefs) == 1:
        return np.ascontiguousarray(coefs[0]), intercepts[0]
    return np.concatenate(coefs), np.concatenate(intercepts)


def split(objectives: Sequence[Objective], coef: Any, intercept: Array) -> list[tuple[Array, Any]]:
    """The (w, b) of every problem, from coefficients (k, d) and intercepts (k,).

    Problems on different samples of a kernel have coefficients of different lengths, in a list.
    """
    if objectives[0].n_scores > 1:
        return [(np.array(coef.T, dtype=float, order="C"), np.array(intercept, dtype=float))]
    return [(np.array(w, dtype=float), float(b)) for w, b in zip(coef, intercept)]


def score_count(objectives: Sequence[Objective]) -> int:
    """The number of scores per row in all problems."""
    return len(objectives) * objectives[0].n_scores
