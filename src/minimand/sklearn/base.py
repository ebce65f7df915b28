"""What the drop-ins share: scikit-learn's parameters → Objective → scikit-learn's attributes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import FunctionType
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import get_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from .._base.typing import AnyArray, Array, ArrayLike
from .._base.watch import stoppable
from ..audit.foreign.objectives import Problem, problem_of
from ..certificate import Certificate, judge
from ..estimators.callbacks import CallbackSupportMixin, Relay, with_callbacks
from ..estimators.inputs.data import check_weights, in_order
from ..estimators.inputs.kinds import refuse_texts
from ..estimators.inputs.matrix import learn_width
from ..estimators.outcome import Part, combined, shortfall
from ..estimators.problem import score_count, split, stacked
from ..problem.objective import Objective, Point
from ..report.progress import Bar
from ..solvers import Control, Solution, Solver, State, choose_solver, shared, solve
from ..solvers.in_parallel import solve_each
from .parameters import ReadsParameters

TOL = 1e-6  # relative gap; convention: the default of Regressor and Classifier


def own_tolerance(parent: type) -> Callable[..., None]:
    """The constructor of a scikit-learn class, with our default of ``tol``.

    It is a copy of that function, so the signature is that of the installed version, with its new
    and deprecated parameters.
    """
    original: Any = parent.__init__  # type: ignore[misc]
    twin = FunctionType(
        original.__code__,
        original.__globals__,
        original.__name__,
        original.__defaults__,
        original.__closure__,
    )
    twin.__kwdefaults__ = {**original.__kwdefaults__, "tol": TOL}
    return twin


@dataclass(frozen=True, eq=False)
class Fit:
    """A problem, its solutions and where they began, one per output; ``dtype`` is that of X."""

    problem: Problem
    solutions: list[Solution]
    dtype: Any
    starts: Sequence[Point | None] = ()

    @property
    def coef(self) -> AnyArray:
        """(k, d), in the precision of X."""
        return self._attributes[0].astype(self.dtype, copy=False)

    @property
    def intercept(self) -> AnyArray:
        """(k,), in the precision of X."""
        return self._attributes[1].astype(self.dtype, copy=False)

    @cached_property
    def _attributes(self) -> tuple[Array, Array]:
        return self.problem.attributes(*stacked((s.w, s.b) for s in self.solutions))

    @property
    def certificate(self) -> Certificate:
        """The certificate of all outputs together."""
        return combined(
            [s.certificate for s in self.solutions],
            list(map(Part.of, self.problem.objectives)),
            "outputs",
        )

    @property
    def iterations(self) -> list[int]:
        """The iterations of every output; at least one, unless none was allowed."""
        return [
            max(s.certificate.iterations, 0 if s.stopped_by == "max_iter=0" else 1)
            for s in self.solutions
        ]


class DropIn(ReadsParameters, CallbackSupportMixin):
    """Mixin in front of a scikit-learn class, which keeps its parameters and attributes.

    Parameters that select an algorithm are checked as scikit-learn checks them, and have no effect
    on the optimum; those that define the problem are read in `minimand.audit.foreign`.
    """

    certificate_: Certificate
    _NUMERIC: ClassVar[bool] = True  # whether y holds numbers
    _MANY: ClassVar[bool] = False  # whether y may have several columns
    _DOUBLE: ClassVar[bool] = False  # whether scikit-learn's attributes are float64 whatever X is

    def __sklearn_tags__(self) -> Any:
        """Sparse X is accepted whatever ``solver`` is; arrays are NumPy's."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = False
        return tags

    # Checks ----------------------------------------------------------------------------------

    def _check_parameters(self: Any) -> None:
        """Check parameters with scikit-learn's own checks and messages."""
        if not get_config()["skip_parameter_validation"]:
            self._validate_params()

    def _check_data(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike
    ) -> tuple[Any, AnyArray, Array | None]:
        """X, y and the weights, checked by scikit-learn's rules; float32 stays float32."""
        if in_order(X, y, many=self._MANY):
            learn_width(self, X)
        else:
            refuse_texts(X, "X")
            X, y = validate_data(
                self,
                X,
                y,
                accept_sparse=("csr", "csc"),
                dtype=[np.float64, np.float32],
                multi_output=self._MANY,
                y_numeric=self._NUMERIC,
            )
        return X, y, check_weights(sample_weight, X.shape[0])

    # Solving ---------------------------------------------------------------------------------

    def _fit_problem(self, X: Any, y: AnyArray, weights: Array | None) -> Fit:
        """Solve the problem of every output to the same tolerance."""
        problem = self._problem(X, y, weights)
        objectives, starts = problem.objectives, self._starts(problem)
        solver: str | Solver = self._named_solver()
        known: Solver | None = None
        with Relay(self, X, y) as relay:
            if len(objectives) > 1:
                solver = shared(solver, objectives, starts, self._control([]))
                known = choose_solver(objectives[0], self._control([]), solver)

            def solve_one(i: int, solved: list[Solution]) -> Solution:
                attributes = partial(self._attributes_at, problem, solved)
                control = self._control(relay.to(attributes))
                return self._solve(objectives[i], solver, control, starts[i])

            watched = bool(relay.active or getattr(self, "verbose", False))
            solutions = solve_each(solve_one, len(objectives), known, watched)
        dtype = self._precision(X)
        if dtype == np.float32:
            rounded = [in_single(o, s) for o, s in zip(objectives, solutions)]
            if all(keeps_tolerance(*models, self.tol) for models in zip(solutions, rounded)):
                solutions = rounded
            else:  # huge coefficients that cancel, which float32 has no digits for
                dtype = np.dtype(np.float64)
        return Fit(problem, solutions, dtype, starts)

    def _problem(self, X: Any, y: AnyArray, weights: Array | None) -> Problem:
        """What is minimised."""
        return problem_of(self, X, y, weights)

    def _precision(self, X: Any) -> Any:
        """The dtype of the attributes: that of X, or float64 where scikit-learn always has that."""
        return np.dtype(np.float64) if self._DOUBLE else X.dtype

    def _named_solver(self) -> str:
        """The solver by its name here; drop-ins whose ``solver`` has a counterpart give that."""
        return "auto"

    def _solve(
        self, objective: Objective, solver: str | Solver, control: Control, start: Point | None
    ) -> Solution:
        """Solve one output, with a bar if ``verbose``."""
        bar = Bar(type(self).__name__) if getattr(self, "verbose", False) else None
        if bar is None:
            return solve(objective, solver, control, start)
        control.callbacks = [*control.callbacks, bar]
        try:
            return solve(objective, solver, control, start)
        finally:
            bar.close()

    def _control(self: Any, callbacks: list[Any]) -> Control:
        return Control(
            tol=float(self.tol),
            max_iter=getattr(self, "max_iter", None),
            callbacks=callbacks,
            random_state=getattr(self, "random_state", None),
        )

    def _starts(self: Any, problem: Problem) -> list[Point | None]:
        """The last fit's model per output, if ``warm_start`` and its shape still matches."""
        objectives = problem.objectives
        cold: list[Point | None] = [None] * len(objectives)
        if not getattr(self, "warm_start", False) or not hasattr(self, "coef_"):
            return cold
        w, b = problem.points(self.coef_, getattr(self, "intercept_", 0.0))
        if w.shape != (score_count(objectives), objectives[0].n_features):
            return cold
        # An intercept of the last fit must not stay in a model that has none.
        b = b if objectives[0].intercept else np.zeros_like(b)
        return [o.point(*model) for o, model in zip(objectives, split(objectives, w, b))]

    def _attributes_at(
        self, problem: Problem, solved: list[Solution], state: State
    ) -> dict[str, Any]:
        """Attributes as if the fit had stopped at this state; outputs not yet solved are 0."""
        assert state.point is not None
        w = np.zeros((score_count(problem.objectives), state.point.w.shape[0]))
        b = np.zeros(w.shape[0])
        known, shifts = stacked([*((s.w, s.b) for s in solved), state.point[:2]])
        w[: len(known)], b[: len(known)] = known, shifts
        coef, intercept = problem.attributes(w, b)
        return {"coef_": coef, "intercept_": intercept}


class Minimiser(DropIn):
    """A drop-in whose fit is one optimisation; subclasses override the methods that fit calls."""

    n_iter_: Any

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Or of shape (n_samples, n_targets), in classes that accept several targets.
        sample_weight : float or array-like of shape (n_samples,), optional
        """
        return self._minimise(X, y, sample_weight)

    def _minimise(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike) -> Self:
        """The body of fit; the ``stacklevel`` of warnings below counts from fit's caller."""
        self._check_parameters()
        X, y, weights = self._check_data(X, y, sample_weight)
        return self._minimise_checked(X, self._read_target(y, weights), weights)

    def _minimise_checked(self, X: Any, y: AnyArray, weights: Array | None) -> Self:
        """The same for data that have been checked."""
        with stoppable(self):
            fit = self._fit_problem(X, y, weights)
            self._store(fit, X, y)
            self.certificate_ = fit.certificate
        self._warn_if_short(fit)
        return self

    def _read_target(self, y: AnyArray, weights: Array | None) -> AnyArray:
        """y as the problem takes it; classifiers set their classes here."""
        return y

    def _store(self: Any, fit: Fit, X: Any, y: AnyArray) -> None:
        """Set the attributes of a regressor with one target."""
        self.coef_ = fit.coef[0]
        self.intercept_ = self._intercept(fit, y)
        self.n_iter_ = fit.iterations[0]

    def _intercept(self: Any, fit: Fit, y: AnyArray) -> Any:
        """One per column of y, or a number; 0.0 without an intercept, as in scikit-learn."""
        if not self.fit_intercept:
            return 0.0
        return fit.intercept if y.ndim == 2 else fit.intercept[0]

    def _warn_if_short(self: Any, fit: Fit) -> None:
        """Warn, at the line that called fit, if a solution misses the tolerance."""
        short = [s for s in fit.solutions if not s.converged]
        if short:
            worst = max(short, key=lambda s: s.certificate.gap)
            text = f"{type(self).__name__}: {shortfall(worst, self.tol, [])}"
            warnings.warn(text, ConvergenceWarning, stacklevel=6)


def moved(objective: Objective, solution: Solution, w: Array, b: Any) -> Solution:
    """A solution at another point, judged there with the same dual point."""
    old = solution.certificate
    duals = [] if old.dual_point is None else [old.dual_point]
    point = objective.point(w, b)
    found = judge(objective, point, duals, thorough=True)
    certificate = found.certificate(objective, old.iterations, old.seconds)
    return replace(solution, point=point, slope=found.slope, certificate=certificate)


def in_single(objective: Objective, solution: Solution) -> Solution:
    """The model rounded to float32 and judged again, so that the certificate holds for it."""
    w = solution.w.astype(np.float32).astype(np.float64)
    b = np.asarray(solution.b).astype(np.float32).astype(np.float64)
    return moved(objective, solution, w, b if b.ndim else float(b))


def keeps_tolerance(solution: Solution, rounded: Solution, tol: float) -> bool:
    """Whether a rounded model meets the tolerance, unless the model did not meet it either."""
    met, still = solution.certificate.relative <= tol, rounded.certificate.relative <= tol
    return still or not met
