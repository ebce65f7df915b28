"""What Regressor and Classifier share: parameters → Objective → attributes; nothing else."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, ArrayLike
from ..certificate import Certificate
from ..design import as_design
from ..losses import REGISTRY as LOSSES
from ..objective import Objective, Point
from ..parameters import merge_nested
from ..penalties import REGISTRY as PENALTIES
from ..progress import Bar
from ..solvers import SOLVERS, Control, Solution, State, solve, verdicts
from . import data
from .callbacks import CallbackSupportMixin, Relay

_SHORT_NAMES = {"loss": LOSSES, "penalty": PENALTIES}


class Estimator(CallbackSupportMixin, BaseEstimator):
    """Base of the estimators that minimise mean loss + alpha·penalty over a linear score."""

    _accepted_targets: ClassVar[tuple[str, ...]] = ()

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a nested object (``penalty__weights``) is replaced by a changed copy."""
        if any(key.partition("__")[2] for key in params):
            for name, registry in _SHORT_NAMES.items():
                named = params.get(name, getattr(self, name, None))
                if isinstance(named, str) and any(k.startswith(f"{name}__") for k in params):
                    params[name] = registry.get(named)
        for name, value in merge_nested(self, params).items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """Sparse input is welcome; y is required."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    # Features ------------------------------------------------------------------------------

    def _fit_features(self, X: Any, y: Any) -> Any:
        """X through ``features``, a scikit-learn transformer, fitted on a clone."""
        if self.features is None:
            return X
        if not hasattr(self.features, "fit_transform"):
            raise TypeError(f"features must have fit_transform and transform, not {self.features!r}.")
        self.features_ = clone(self.features)
        return _as_float(self.features_.fit_transform(X, y))

    def _map_features(self, X: Any) -> Any:
        return X if self.features is None else _as_float(self.features_.transform(X))

    # Solving -------------------------------------------------------------------------------

    def _control(self, extra: list[Any]) -> Control:
        own = [c for c in self.callbacks or () if not hasattr(c, "on_fit_task_end")]
        return Control(
            tol=float(self.tol),
            max_iter=self.max_iter,
            max_seconds=self.max_seconds,
            callbacks=[*own, *extra],
            memory=np.inf if self.memory is None else float(self.memory),
            random_state=self.random_state,
        )

    def _minimise(
        self, objective: Objective, extra: list[Any], start: tuple[Array, float] | None
    ) -> Solution:
        """Solve one objective, with a bar if asked; warn if it stopped short."""
        bar = Bar(type(self).__name__) if self.verbose else None
        control = self._control([*extra, bar] if bar else extra)
        begin: Point | None = None
        if start is not None:
            begin = objective.point(np.array(start[0], dtype=float), float(start[1]))
        try:
            solution = solve(objective, self.solver, control, begin)
        finally:
            if bar:
                bar.close()
        return solution

    def _warn_if_short(self, objective: Objective, solutions: list[Solution]) -> None:
        short = [s for s in solutions if not s.converged]
        if not short:
            return
        worst = max(short, key=lambda s: s.certificate.gap)
        certificate = worst.certificate
        why = f" ({certificate.infeasibility})" if certificate.infeasibility else ""
        control = self._control([])
        others = [
            name
            for name, verdict in verdicts(objective, control).items()
            if verdict.ok and name != worst.solver
        ]
        advice = f"; solver={others[0]!r} would also accept this problem" if others else ""
        warnings.warn(
            f"{type(self).__name__} stopped by {worst.stopped_by} after {certificate.iterations} "
            f"iterations and {certificate.passes:g} passes with a relative gap of "
            f"{certificate.relative:.1e}{why}, above tol={self.tol:g}; the model is valid and "
            f"within {certificate.gap:.3g} of the optimum. Raise the limit or tol{advice}.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _relay(self, X: Any, y: Any) -> Relay:
        return Relay(self, X, y, self._attributes_at)

    def _attributes_at(self, state: State) -> dict[str, Any]:
        """Fitted attributes as if the fit had stopped at this state."""
        assert state.point is not None
        return {"coef_": state.point.w.copy(), "intercept_": state.point.b}

    # Prediction ----------------------------------------------------------------------------

    def _scores(self, X: ArrayLike, offset: ArrayLike) -> Array:
        """offset + X·coef + intercept, (n,) or (n, k)."""
        check_is_fitted(self)
        X = self._map_features(data.check_x(self, X))
        coef = np.atleast_2d(np.asarray(self.coef_, dtype=float))
        z = as_design(X).matvec(np.ascontiguousarray(coef.T)) + np.atleast_1d(self.intercept_)
        shift = data.check_offset(offset, z.shape[0])
        if shift is not None:
            z = z + shift[:, None]
        return z[:, 0] if z.shape[1] == 1 else z


def combined(certificates: list[Certificate], scales: list[float]) -> Certificate:
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
        objective=f"Σ over {len(certificates)} classes of {certificates[0].objective}",
        rounding=sum(c.rounding for c in certificates),
        iterations=max(c.iterations for c in certificates),
        passes=sum(c.passes for c in certificates),
        seconds=sum(c.seconds for c in certificates),
        infeasibility="; ".join(sorted({c.infeasibility for c in certificates} - {""})),
        dual_point=np.stack(points, axis=1) if points else None,
    )


def _as_float(X: Any) -> Any:
    if hasattr(X, "format") or hasattr(X, "toarray"):
        return X
    X = np.asarray(X)
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def known_solvers() -> list[str]:
    """Names accepted by ``solver=``."""
    return ["auto", *sorted(SOLVERS)]
