"""What Regressor and Classifier share: parameters → Objective → attributes; nothing else."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from .._base.parameters import NamesParameters, merge_nested
from .._base.registry import Registry
from .._base.typing import Array, ArrayLike
from .._base.wording import counted
from ..certificate import Certificate
from ..design import as_design
from ..losses import REGISTRY as LOSSES
from ..penalties import REGISTRY as PENALTIES
from ..problem.objective import Objective, Point
from ..solvers import REGISTRY as SOLVERS
from ..solvers import Control, Solution, solve, verdicts
from ..solvers.base import CALLBACK
from ..solvers.kinked.clear_multipliers import settled
from .callbacks import CallbackSupportMixin, is_sklearn_callback
from .inputs import data
from .inputs.columns import columns_from
from .problem import one_sample
from .settings import Settings
from .summary import Summarised
from .support_vectors import SupportVectors

if TYPE_CHECKING:
    from .stream import Batch, Stream

_SHORT_NAMES: dict[str, Registry[Any]] = {
    "loss": LOSSES,
    "penalty": PENALTIES,
    "solver": SOLVERS,
}


_MIXED = "penalty=l1_ratio * minimand.L1() + (1 - l1_ratio) * minimand.L2()"
_STEPS = "solver=minimand.solvers.Sgd(…), which has the options of stochastic steps"
_ELSEWHERE = {  # what other libraries call parameters, and what to write here
    **dict.fromkeys(("C", "c"), "alpha=1/(C*n_samples), since alpha multiplies the penalty here"),
    **dict.fromkeys(
        ("lambda_", "lam", "reg", "reg_lambda", "reg_param", "regularization"), "alpha=…"
    ),
    "fit_intercept": "intercept=…",
    "l1_ratio": _MIXED,
    "positive": "penalty=minimand.NonNegative(), or a sum such as L1() + NonNegative()",
    **dict.fromkeys(
        ("epsilon", "eps"), "loss=minimand.EpsilonInsensitive(eps=…) or Huber(delta=…)"
    ),
    "delta": "loss=minimand.Huber(delta=…)",
    "quantile": "loss=minimand.Quantile(q=…)",
    "power": "loss=minimand.Tweedie(power=…)",
    **dict.fromkeys(("eta0", "learning_rate", "batch_size", "early_stopping"), _STEPS),
    "n_jobs": "threadpoolctl.threadpool_limits(…) around fit, as threads are used where they help",
    "max_epochs": "max_iter=…",
}


class Estimator(NamesParameters, SupportVectors, CallbackSupportMixin, Summarised):
    """Base of the estimators that minimise mean loss + alpha·penalty over a linear score."""

    alpha_: float
    _elsewhere = _ELSEWHERE

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
        """Sparse input is welcome, unless ``features`` cannot take it; y is required."""
        tags = super().__sklearn_tags__()
        mapped = isinstance(self.features, BaseEstimator)
        tags.input_tags.sparse = get_tags(self.features).input_tags.sparse if mapped else True
        tags.target_tags.required = True
        return tags

    # Alpha ---------------------------------------------------------------------------------

    def _with_alpha(
        self, settings: Settings, n_samples: int, weights: Array | None, fitted: bool = False
    ) -> Settings:
        """Settings whose alpha is a number: 1/Σs if none was given; kept as ``alpha_``.

        A model that is fitted has its alpha already, whatever the data that it is judged on.
        """
        if fitted and settings.alpha is None and hasattr(self, "alpha_"):
            return settings.at(self.alpha_)
        if settings.alpha is None:
            settings = settings.at(one_sample(n_samples, weights))
        if not fitted:
            self.alpha_ = settings.factor
        return settings

    # Features ------------------------------------------------------------------------------

    def _fit_features(self, X: Any, y: Any) -> Any:
        """X through ``features``, a scikit-learn transformer, fitted on a clone."""
        if self.features is None:
            return X
        self.features_ = clone(self.features)
        return _mapped(self.features_.fit_transform(X, y), len(y))

    def _learn_features(
        self, X: Any, weights: Array | None, objectives: list[Objective]
    ) -> list[Objective]:
        """Learn what ``features`` leaves to the estimator; the objectives on what they give then.

        ``objectives`` have the rows of X whose weight is not zero.
        """
        if not self._features_are_learnt:
            return objectives
        from ..solvers.nested.variable_projection import learn  # maps load half of scikit-learn

        X = self.features_.checked(X)
        kept = X if weights is None or weights.all() else X[np.flatnonzero(weights)]
        control = replace(self._control([]), callbacks=())
        if control.max_seconds is not None:
            control.max_seconds *= 0.5  # the other half is for the output weights
        learnt = learn(self.features_, kept, objectives, control, self.solver)
        self.features_.alpha_ = self.alpha_
        return self._described(learnt)

    def _described(self, objectives: list[Objective]) -> list[Objective]:
        """Objectives that say that their features were learnt, and at which alpha."""
        if not self._features_are_learnt:
            return objectives
        units = f"[X, {self.features_.activation}(X A + c)]"
        note = ", A and c to be learnt"
        if hasattr(self.features_, "alpha_"):
            to = f"alpha={self.features_.alpha_:g} to slopes of {self.features_.stationarity_:.1e}"
            note = f", given A and c learnt at {to}"
        return [replace(o, words=o.words.replace("X w", f"{units} w") + note) for o in objectives]

    @property
    def _features_are_learnt(self) -> bool:
        return self.features is not None and getattr(self.features_, "learnt", False) is True

    def _qualified(self, certificate: Certificate) -> Certificate:
        """A fit whose features were learnt is stationary as a whole.

        The gap is that of the output weights given the features; at another alpha than theirs (on a
        path) it is no more than that.
        """
        if not self._features_are_learnt:
            return certificate
        alpha = self.alpha_ if self.alpha is None else self.alpha
        if alpha != self.features_.alpha_:
            return certificate
        return replace(certificate, kind="stationary")

    def _map_features(self, X: Any) -> Any:
        if self.features is None:
            return X
        known = np.shape(self.coef_)[-1] if hasattr(self, "coef_") else None
        return _mapped(self.features_.transform(X), _num_samples(X), known)

    # Solving -------------------------------------------------------------------------------

    def _control(self, extra: list[Any], started: float | None = None) -> Control:
        own = [c for c in self.callbacks or () if not is_sklearn_callback(c)]
        return Control(
            tol=float(self.tol),
            max_iter=self.max_iter,
            max_seconds=self.max_seconds,
            callbacks=[*own, *extra],
            memory=np.inf if self.memory is None else float(self.memory),
            random_state=self.random_state,
            started=time.perf_counter() if started is None else started,
        )

    def _minimise(
        self,
        objective: Objective,
        control: Control,
        start: tuple[Array, float] | None,
        solver: Any = None,
    ) -> Solution:
        """Solve one objective, with a bar if asked; by the estimator's solver if none is given."""
        self.__dict__.pop("_stream", None)  # what a stream has learnt is over
        bar = None
        if self.verbose:
            from ..report.progress import Bar

            bar = Bar(type(self).__name__)
            control.callbacks = [*control.callbacks, bar]
        begin: Point | None = None
        if start is not None:
            begin = objective.point(np.array(start[0], dtype=float), float(start[1]))
        try:
            solution = solve(objective, solver or self.solver, control, begin)
            return settled(objective, solution, control.tol)
        finally:
            if bar:
                bar.close()

    def _learn(self, batch: Batch) -> tuple[Array, Array]:
        """The next batch of a stream, which begins here unless there was one before."""
        from ..solvers import Sgd
        from .stream import begin, solver_of

        current: Stream | None = getattr(self, "_stream", None)
        if current is None:
            start = None
            if hasattr(self, "coef_"):  # a model that was fitted learns on from where it is
                start = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
            current = begin(self, batch, start)
        current.check_same(solver_of(self))
        learnt = current.learn(batch)
        self._stream = current
        alpha = batch.settings.alpha
        self.alpha_ = 1.0 / current.total if alpha is None else alpha
        self.solver_, self.n_iter_ = Sgd.name, 1
        for name in ("certificate_", "history_", "_training"):  # of an earlier fit
            self.__dict__.pop(name, None)
        return learnt

    def _warn_if_short(self, objective: Objective, solutions: list[Solution]) -> None:
        """Warn, at the line that called fit, if a solution misses the tolerance."""
        short = [s for s in solutions if not s.converged]
        if not short:
            return
        worst = max(short, key=lambda s: s.certificate.gap)
        text = shortfall(worst, self.tol, _alternatives(objective, self._control([]), worst))
        warnings.warn(f"{type(self).__name__}: {text}", ConvergenceWarning, stacklevel=4)

    # Prediction ----------------------------------------------------------------------------

    def _scores(self, X: ArrayLike, offset: ArrayLike) -> Array:
        """Z = offset + X·coef + intercept, (n,) or (n, k)."""
        check_is_fitted(self)
        X = self._map_features(data.check_x(self, X))
        coef = np.atleast_2d(np.asarray(self.coef_, dtype=float))
        z = as_design(X).matvec(np.ascontiguousarray(coef.T)) + np.atleast_1d(self.intercept_)
        shift = data.check_offset(offset, z.shape[0])
        if shift is not None:
            z = z + shift[:, None]
        return z[:, 0] if z.shape[1] == 1 else z


def _alternatives(objective: Objective, control: Control, solution: Solution) -> list[str]:
    """Other solvers that accept the problem, cheapest first; none that is for teaching only."""
    found = verdicts(objective, control)
    known = {name: SOLVERS.get(name) for name in found}
    ranked = sorted((v.cost, name) for name, v in found.items() if v.ok)
    ran = solution.solver.split(" → ")
    return [n for _, n in ranked if n not in ran and not known[n].by_name_only]


def combined(
    certificates: list[Certificate], scales: list[float], parts: str = "classes"
) -> Certificate:
    """One certificate for several problems solved side by side: everything adds up."""
    if len(certificates) == 1:
        return certificates[0]
    gap = sum(c.gap for c in certificates)
    scale = sum(scales)
    points = [c.dual_point for c in certificates if c.dual_point is not None]
    return replace(
        certificates[0],
        primal=sum(c.primal for c in certificates),
        dual=sum(c.dual for c in certificates),
        gap=gap,
        relative=0.0 if gap == 0 else (gap / scale if scale > 0 else np.inf),
        objective=f"Σ over {len(certificates)} {parts} of {certificates[0].objective}",
        rounding=sum(c.rounding for c in certificates),
        iterations=max(c.iterations for c in certificates),
        passes=sum(c.passes for c in certificates),
        seconds=sum(c.seconds for c in certificates),
        infeasibility="; ".join(sorted({c.infeasibility for c in certificates} - {""})),
        dual_point=np.stack(points, axis=1) if points else None,
    )


def shortfall(solution: Solution, tol: float, others: list[str]) -> str:
    """What a fit that stopped short has reached, and what may help."""
    found = solution.certificate
    optimum = "the optimum" if found.kind != "stationary" else "the least of its convex tangent"
    if np.isfinite(found.gap):
        reached = f"within {found.gap:.3g} of {optimum}"
    else:
        reached = f"without a bound ({found.infeasibility or 'the gap is infinite'})"
    missed = f"above tol={tol:g}" if found.relative > tol else "before its search was over"
    return (
        f"solver={solution.solver!r} was stopped by {solution.stopped_by} after "
        f"{counted(found.iterations, 'iteration')} and {counted(found.passes, 'pass')} with a "
        f"relative gap of {found.relative:.1e}, {missed}; the model is valid and {reached}; "
        f"{_advice(solution, others)}."
    )


def _advice(solution: Solution, others: list[str]) -> str:
    """What may help, by what stopped the fit."""
    from ..solvers import Sgd
    from ..solvers.stochastic.training import HELD_OUT

    if not np.isfinite(solution.certificate.gap):
        advice = "add a penalty"  # neither patience nor another tol can help
    elif solution.stopped_by == CALLBACK:
        advice = "fit again with warm_start=True to go on from here"
    elif solution.stopped_by == HELD_OUT:
        advice = "set early_stopping=False to train for all epochs"
    elif solution.solver == Sgd.name:
        advice = "raise epochs for more of the same"
    elif solution.stopped_by.startswith("max_"):
        advice = "raise the limit or tol"
    else:
        advice = "raise tol or add a penalty"
    return advice + (
        f", or try solver={others[0]!r}, which accepts this problem too" if others else ""
    )


def _mapped(X: Any, n_samples: int, n_columns: int | None = None) -> Any:
    """What ``features`` gives, as a finite float matrix."""
    X = columns_from(X, n_samples, n_columns)
    data.check_finite(X, "the output of features=")
    return X
