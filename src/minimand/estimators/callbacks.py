"""Callbacks of scikit-learn ≥ 1.9, adapted to ours; older versions have none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..solvers import STOP, State

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """The method itself."""
        return method


__all__ = ["CallbackSupportMixin", "Relay", "with_callbacks"]


class Relay:
    """Turns every iteration into a task of scikit-learn's callback tree."""

    def __init__(self, estimator: Any, X: Any, y: Any, attributes: Callable[[State], dict[str, Any]]):
        self._estimator, self._X, self._y, self._attributes = estimator, X, y, attributes
        own = [c for c in estimator.callbacks or () if hasattr(c, "on_fit_task_end")]
        inherited = list(getattr(estimator, "_skl_callbacks", ()))
        self.active = bool(own or inherited) and hasattr(estimator, "_init_callback_context")
        if self.active:
            self._before = inherited
            estimator._skl_callbacks = inherited + [c for c in own if c not in inherited]
            self._context = estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def __call__(self, state: State) -> Any:
        """One iteration: a task that begins and ends at once, with the gap as metadata."""
        task = self._context.subcontext(task_name="iteration")
        facts = {"primal": state.primal, "dual": state.dual, "gap": state.gap}
        task.call_on_fit_task_begin(estimator=self._estimator, X=self._X, y=self._y, metadata=facts)
        stop = task.call_on_fit_task_end(
            estimator=self._estimator,
            X=self._X,
            y=self._y,
            metadata=facts,
            reconstruction_attributes=lambda: self._attributes(state),
        )
        return STOP if stop else None

    def close(self) -> None:
        """End the fit's own task, and leave the estimator's callbacks as they were."""
        if not self.active:
            return
        self._context.call_on_fit_task_end(
            estimator=self._estimator, X=self._X, y=self._y, reconstruction_attributes=dict
        )
        if self._before:
            self._estimator._skl_callbacks = self._before
        else:
            self._estimator.__dict__.pop("_skl_callbacks", None)
