"""Adapts callbacks of scikit-learn ≥ 1.9 to ours; older versions have none."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Self

from ..solvers import STOP, State

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """An empty stand-in."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """The method, one call deeper as in ≥ 1.9: the ``stacklevel`` of warnings is the same."""

        @wraps(method)
        def same(*args: Any, **kwargs: Any) -> Any:
            return method(*args, **kwargs)

        return same


__all__ = ["CallbackSupportMixin", "Relay", "is_sklearn_callback", "with_callbacks"]


def is_sklearn_callback(callback: Any) -> bool:
    """Whether the callback follows scikit-learn's FitCallback protocol (else it is a function)."""
    return hasattr(callback, "on_fit_task_end")


_FACTS = ("iteration", "passes", "seconds", "primal", "dual", "gap")


class Relay:
    """Turns every iteration into a task of scikit-learn's callback tree.

    A context manager: on exit, also after an error, the estimator's callbacks are what they were
    before.
    """

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self._estimator, self._X, self._y = estimator, X, y
        # Drop-ins have no parameter ``callbacks``: they get callbacks from set_callbacks alone.
        given = getattr(estimator, "callbacks", None) or ()
        self._own = [c for c in given if is_sklearn_callback(c)]
        self._inherited = list(getattr(estimator, "_skl_callbacks", ()))
        self.active = bool(self._own or self._inherited) and hasattr(
            estimator, "_init_callback_context"
        )

    def __enter__(self) -> Self:
        if not self.active:
            return self
        estimator = self._estimator
        estimator._skl_callbacks = [
            *self._inherited,
            *(c for c in self._own if c not in self._inherited),
        ]
        try:
            self._context = estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(estimator=estimator, X=self._X, y=self._y)
        except BaseException:
            self._restore()
            raise
        return self

    def to(self, attributes: Callable[[State], dict[str, Any]]) -> list[Callable[[State], Any]]:
        """A list of one callback that calls scikit-learn's; empty if there are none of those.

        ``attributes`` gives the fitted attributes of a model that stops at a state.
        """
        return [lambda state: self._report(state, attributes)] if self.active else []

    def _report(self, state: State, attributes: Callable[[State], dict[str, Any]]) -> Any:
        """One iteration: a task that begins and ends at once, with the gap as metadata."""
        task = self._context.subcontext(task_name="iteration")
        facts = {name: getattr(state, name) for name in _FACTS}
        task.call_on_fit_task_begin(estimator=self._estimator, X=self._X, y=self._y, metadata=facts)
        stop = task.call_on_fit_task_end(
            estimator=self._estimator,
            X=self._X,
            y=self._y,
            metadata=facts,
            reconstruction_attributes=lambda: attributes(state),
        )
        return STOP if stop else None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if not self.active:
            return
        try:
            if error is None:
                self._context.call_on_fit_task_end(
                    estimator=self._estimator, X=self._X, y=self._y, reconstruction_attributes=dict
                )
        finally:
            self._restore()

    def _restore(self) -> None:
        if self._inherited:
            self._estimator._skl_callbacks = self._inherited
        else:
            self._estimator.__dict__.pop("_skl_callbacks", None)
