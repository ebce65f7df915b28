"""What Regressor and Classifier share: parameters → Objective → attributes; nothing else."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base.parameters import NamesParameters, merge_nested
from .._base.registry import Registry
from .._base.typing import AnyArray, Array, ArrayLike
from .._base.watch import stoppable
from ..certificate import Certificate
from ..design import as_design
from ..features.low_rank import LowRank, PivotedCholesky
from ..features.support_rows import SupportRows
from ..kernels import REGISTRY as KERNELS
from ..kernels import Kernel
from ..losses import REGISTRY as LOSSES
from ..losses import Loss
from ..penalties import REGISTRY as PENALTIES
from ..problem.objective import Objective, Point
from ..solvers import REGISTRY as SOLVERS
from ..solvers import Control, Solution, State, choose_solver, history, shared, solve
from ..solvers.in_parallel import solve_each
from ..solvers.kinked.clear_multipliers import settled
from .callbacks import CallbackSupportMixin, Relay, is_sklearn_callback, with_callbacks
from .inputs import data
from .kernel_machines.expansion import Remainder, represented
from .kernel_machines.rows import expansion, starts_on_rows
from .outcome import (
    Part,
    combined,
    warn_if_cut,
    warn_if_isolated,
    warn_if_short,
    warn_if_zero_is_perfect,
)
from .problem import Fitted, Posed, PosesProblems, score_count, split, stacked
from .settings import ELSEWHERE
from .summary import Summarised
from .support_vectors import SupportVectors, Training

_SHORT_NAMES: dict[str, Registry[Any]] = {
    "loss": LOSSES,
    "features": KERNELS,
    "penalty": PENALTIES,
    "solver": SOLVERS,
}


class Estimator(NamesParameters, PosesProblems, SupportVectors, CallbackSupportMixin, Summarised):
    """Base of the estimators that minimise mean loss + alpha·penalty over a linear score.

    Parameters are read by ``fit``, by ``partial_fit`` and by what describes a future fit. A fitted
    model reads only its attributes and ``_fitted``, which ``fit`` has set.
    """

    loss: Any
    penalty: Any
    alpha: float | None
    features: Any
    intercept: bool
    solver: Any
    tol: float
    max_iter: int | None
    max_seconds: float | None
    memory: float | None
    warm_start: bool
    random_state: Any
    verbose: bool
    callbacks: Any

    intercept_: Any
    alpha_: float
    certificate_: Certificate
    loss_: Loss
    _elsewhere = ELSEWHERE

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a nested object (``penalty__weights``) is replaced by a changed copy."""
        if any(key.partition("__")[2] for key in params):
            for name, registry in _SHORT_NAMES.items():
                named = params.get(name, getattr(self, name, None))
                if not isinstance(named, str) or named == registry.special:
                    continue
                if any(key.startswith(f"{name}__") for key in params):
                    params[name] = registry.get(named)
        for name, value in merge_nested(self, params).items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """Sparse input is accepted, unless ``features`` does not accept it; y is required."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if isinstance(self.features, BaseEstimator):
            inner = get_tags(self.features).input_tags
            tags.input_tags.sparse, tags.input_tags.pairwise = inner.sparse, inner.pairwise
        known = isinstance(self.features, str) and self.features in KERNELS.classes
        kernel = KERNELS.get(self.features) if known else self.features
        if isinstance(kernel, Kernel):
            tags.input_tags.sparse, tags.input_tags.pairwise = kernel.takes_sparse, kernel.pairwise
        tags.target_tags.required = True
        return tags

    # Fitting -----------------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None, offset: ArrayLike = None
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), a `minimand.design.Design`
            or whatever the transformer ``features`` takes
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Numbers; for a classifier labels of any kind, of at least two classes, or a column of
            zeros and ones for each of several labels.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight k counts like k copies of it, and a row of weight 0 is ignored.
        offset : array-like of shape (n_samples,) or (n_samples, n_scores), optional
            Added to the scores with coefficient 1, e.g. the log of an exposure.

        Raises
        ------
        Interrupted
            After Ctrl-C; its ``result`` is this estimator with the model found so far.
        """
        return self._solved(self._posed(X, y, sample_weight, offset, rows=True), y)

    def _solved(self, posed: Posed, y: Any) -> Self:
        """The work of ``fit`` on a problem, one call below it."""
        with stoppable(self):
            posed = self._completed(posed)
            heard = self.callbacks or getattr(self, "_skl_callbacks", None)
            with Relay(self, posed.X, y) if heard else nullcontext() as relay:
                solutions = self._solve_all(posed, relay)
                self._store(posed, solutions)
        for solution in solutions:
            if not solution.converged:
                warn_if_short(self, posed.objectives[0], solutions)
                break
        else:
            if isinstance(self.__dict__.get("features_"), PivotedCholesky):
                warn_if_cut(self, posed.objectives)
        if posed.objectives[0].scale == 0:
            warn_if_zero_is_perfect(self, posed.objectives[0])
        if isinstance(self.__dict__.get("features_"), PivotedCholesky):
            warn_if_isolated(self, posed.X)
        return self

    def _solve_all(self, posed: Posed, relay: Relay | None) -> list[Solution]:
        """One solution per score, all within one limit of time.

        After a stop (time limit, callback, Ctrl-C) the scores that are left are not solved: each
        gets its starting point, with a certificate of that point.
        """
        self.__dict__.pop("_stream", None)  # a new fit discards the state of partial_fit
        begun, objectives = posed.begun, posed.objectives
        starts = self._starts(posed) if self.warm_start else [None] * len(objectives)

        if relay is None and len(objectives) == 1:
            return [self._minimise(objectives[0], self._control([], begun), starts[0], self.solver)]
        solver = shared(self.solver, objectives, starts, self._control([], begun))

        def solve_one(i: int, solved: list[Solution]) -> Solution:
            extra = relay.to(partial(self._attributes_at, posed, solved)) if relay else []
            return self._minimise(objectives[i], self._control(extra, begun), starts[i], solver)

        chosen = None
        if len(objectives) > 1:
            chosen = choose_solver(objectives[0], self._control([], begun), solver)
        watched = bool(self.verbose or self.callbacks or (relay and relay.active))
        return solve_each(solve_one, len(objectives), chosen, watched)

    def _starts(self, posed: Posed) -> Sequence[tuple[Array, Any] | None]:
        """The coefficients of the last fit per problem, where their shape still matches."""
        objectives, coded = posed.objectives, posed.coded
        nothing = [None] * len(objectives)
        known: Any = getattr(self, "classes_", None)
        classes: Any = getattr(coded.output, "classes", None)
        if not np.array_equal(known, classes):
            return nothing
        if not objectives[0].has_columns:
            facts = map(self.__dict__.get, ("_expansion", "_training", "intercept_"))
            return starts_on_rows(posed, *facts)
        if getattr(self, "coef_", None) is None:
            return nothing
        coefs, intercepts = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        if coefs.shape != (score_count(objectives), objectives[0].n_features):
            return nothing
        # An intercept of the last fit must not stay in a model that has none.
        kept = intercepts if coded.settings.intercept else np.zeros_like(intercepts)
        return split(objectives, coefs, kept)

    def _control(self, extra: list[Any], started: float | None = None) -> Control:
        callbacks = extra
        if self.callbacks:
            callbacks = [*(c for c in self.callbacks if not is_sklearn_callback(c)), *extra]
        return Control(
            tol=float(self.tol),
            max_iter=self.max_iter,
            max_seconds=self.max_seconds,
            callbacks=callbacks,
            memory=np.inf if self.memory is None else float(self.memory),
            random_state=self.random_state,
            started=time.perf_counter() if started is None else started,
        )

    def _minimise(
        self,
        objective: Objective,
        control: Control,
        start: tuple[Array, Any] | None,
        solver: Any,
    ) -> Solution:
        """Solve one objective, with a progress bar if ``verbose``."""
        bar = None
        if self.verbose:
            from ..report.progress import Bar

            bar = Bar(type(self).__name__)
            control.callbacks = [*control.callbacks, bar]
        begin: Point | None = None
        if start is not None:
            begin = objective.point(*start)
        try:
            solution = solve(objective, solver, control, begin)
            return (
                solution if objective.kinks is None else settled(objective, solution, control.tol)
            )
        finally:
            if bar:
                bar.close()

    def _store(self, posed: Posed, solutions: list[Solution]) -> None:
        """Set the attributes of a fit."""
        rest = self._remainder(posed)
        by_sample = None
        if rest is not None:
            tol = float(self.tol)
            solutions, by_sample = represented(
                posed.objectives, solutions, rest, tol, self._refined
            )
        first = solutions[0]
        certificate, course = first.certificate, first.history
        if len(solutions) > 1:
            parts = [s.certificate for s in solutions]
            problems = list(map(Part.of, posed.objectives))
            certificate = combined(parts, problems, posed.coded.output.parts)
            course = history.combined([s.history for s in solutions])
        self._fitted = Fitted.of(posed.coded)
        self.__dict__.update(self._modelled(posed, [s.point[:2] for s in solutions]))
        if "features_" in self.__dict__:
            certificate = self._qualified(certificate)
        self.certificate_ = certificate
        self.n_iter_ = max(certificate.iterations, 1)
        self.solver_ = first.solver
        self.history_ = course
        if rest is not None:
            self._expansion = rest.expansion(by_sample, self.coef_)
        self._training = Training.of(
            posed.objectives, solutions, posed.coded.weights, vectors=self._expansion is None
        )

    def _modelled(self, posed: Posed, models: Sequence[tuple[Array, Any]]) -> dict[str, Any]:
        """The attributes of a model (w, b) of every problem."""
        mapped, output = self.__dict__.get("features_"), posed.coded.output
        if not isinstance(mapped, SupportRows):
            return {**self._attributes(output, *stacked(models)), "_expansion": None}
        known = self._attributes(output, *stacked((w[:0], b) for w, b in models))
        del known["coef_"]  # computed when it is asked for
        return {**known, "_expansion": expansion(posed, mapped, [w for w, _ in models])}

    @cached_property
    def coef_(self) -> Array:
        """What a fit leaves here; of a kernel machine on rows, its coordinates in ``features_``."""
        known, mapped = self.__dict__.get("_expansion"), self.__dict__.get("features_")
        if known is None or not isinstance(mapped, SupportRows):
            raise AttributeError(f"{type(self).__name__} has no coef_ before fit.")
        coef, intercept = mapped.coordinates(known.coefficients), np.atleast_1d(self.intercept_)
        found: Array = self._attributes(self._fitted.output, coef, intercept)["coef_"]
        self._expansion = replace(known, coef=found)
        return found

    def _refined(self, objective: Objective, solution: Solution) -> Solution:
        """A more accurate solution by some more Newton steps, if it was found by such."""
        last = solution.solver.split()[-1]  # the name of the solver, after those before it
        if not solution.converged or last not in ("newton", "run_newton") or self.max_seconds:
            return solution
        control = replace(self._control([]), callbacks=(), max_iter=None)
        control.tol *= 1e-4  # share of tol; safeguard: steps converge quadratically by now
        again = solve(objective, last, control, solution.point)
        return replace(again, history=solution.history, solver=solution.solver)

    def _remainder(self, posed: Posed) -> Remainder | None:
        """What the factor of a kernel matrix leaves out; None if the features are no kernel."""
        mapped = self.__dict__.get("features_")
        if not isinstance(mapped, PivotedCholesky) or isinstance(mapped, SupportRows):
            return None
        return Remainder.of(mapped, posed.X, posed.coded.weights, known=True)

    def _attributes_at(self, posed: Posed, solved: list[Solution], state: State) -> dict[str, Any]:
        """Attributes as if the fit had stopped at this state; scores not yet solved are zero."""
        assert state.point is not None
        known = [*((s.w, s.b) for s in solved), (state.point.w, state.point.b)]
        nulls = [(np.zeros(o.coef_shape), o.no_shift) for o in posed.objectives[len(known) :]]
        return {"_fitted": Fitted.of(posed.coded), **self._modelled(posed, [*known, *nulls])}

    # Prediction --------------------------------------------------------------------------------

    def decision_function(self, X: ArrayLike, offset: ArrayLike = None) -> Array:
        """Scores z = offset + X w + b: (n,), or (n, k) for k > 2 classes or k outputs."""
        z = self._scores(X, offset)
        return self._fitted.output.decision(z)

    def _scores(self, X: ArrayLike, offset: ArrayLike) -> Array:
        """z as the loss takes it: (n,) or (n, scores)."""
        check_is_fitted(self)
        z = self._linear_scores(data.check_x(self, X)) + np.atleast_1d(self.intercept_)
        shift = data.check_offset(offset, *z.shape)
        if shift is not None:
            z = z + (shift[:, None] if shift.ndim == 1 else shift)
        return z[:, 0] if z.shape[1] == 1 else z

    def _linear_scores(self, X: Any) -> Array:
        """φ(X)·w of checked rows, (n, scores)."""
        mapped = self.__dict__.get("features_")
        if isinstance(mapped, LowRank) and not mapped.kernel_.of_objects:
            validate_data(self, X, reset=False, skip_check_array=True)  # names this estimator
        if isinstance(mapped, LowRank) and (known := self._expanded()) is not None:
            return known.scores(mapped, X)
        coef = np.atleast_2d(np.asarray(self.coef_, dtype=float))
        if isinstance(mapped, LowRank):
            return mapped.scores(X, coef)
        return as_design(self._map_features(X)).matvec(np.ascontiguousarray(coef.T))

    def predict(self, X: ArrayLike, offset: ArrayLike = None) -> AnyArray:
        """The label of the largest score, or the score on the scale of y."""
        z = self._scores(X, offset)
        return self._fitted.output.decode(z)
