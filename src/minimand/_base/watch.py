"""Time limits and Ctrl-C: how long computations learn that they shall stop.

A fit opens a `watching` scope. Scopes are nested, and a reason to stop one scope stops all scopes
inside it. Long computations call `look` between their pieces: inside a scope with ``hears=True`` it
raises `StoppedError` if there is a reason to stop, and the code that opened the scope returns the
result so far. Every thread has its own scopes; a worker joins those of the thread that started it.

The ``fit`` of an estimator is the outermost scope, `stoppable`: after Ctrl-C the model is stored,
and then `Interrupted` ends the loops around it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

from .. import _core
from .wording import counted

T = TypeVar("T")
PIECE = 2e8  # nanoseconds between two looks; safeguard: Ctrl-C works within half a second
INTERRUPT = "an interrupt (Ctrl-C)"  # this reason to stop, as messages name it


class Interrupted(KeyboardInterrupt):
    """Raised after Ctrl-C has ended a fit; ``result`` holds what the fit had found.

    The estimator gets its attributes and its certificate, with the true gap, before this is raised.
    As a KeyboardInterrupt it also ends loops around the fit (`cross_val_score`, `GridSearchCV`,
    your own). An interrupt that comes before there is any model is a plain KeyboardInterrupt.

    Attributes
    ----------
    result : estimator or Path
        What ``fit`` or `path` would have returned, with the models found so far.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> def impatient(state):
    ...     raise KeyboardInterrupt
    >>> try:
    ...     mm.Regressor("huber", callbacks=[impatient]).fit(X, y)
    ... except mm.Interrupted as stop:
    ...     model = stop.result
    >>> model.certificate_.gap > 0, model.predict(X).shape
    (True, (442,))
    """

    def __init__(self, message: str = "", result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class StoppedError(Exception):
    """A computation was stopped; ``reason`` says why. Internal: users never see it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _Scopes(threading.local):
    """The innermost scope of every thread."""

    watch: Watch | None = None


_scopes = _Scopes()


class Watch:
    """One scope: why it shall stop, and whether `look` raises inside it.

    It lies inside the current scope, or inside that of another thread.

    Parameters
    ----------
    due : returns a reason to stop, e.g. that a time limit has passed; empty if there is none.
    hears : whether `look` raises StoppedError inside it, which the caller must catch.
    within : the enclosing scope, if it is not the current one of this thread.
    """

    __slots__ = ("_above", "_before", "_due", "hears", "reason")

    def __init__(
        self, due: Callable[[], str] = str, *, hears: bool = False, within: Watch | None = None
    ) -> None:
        self._due, self.hears, self.reason = due, hears, ""
        self._above = _scopes.watch if within is None else within

    def __enter__(self) -> Self:
        self._before, _scopes.watch = _scopes.watch, self
        return self

    def __exit__(self, *raised: object) -> None:
        _scopes.watch = self._before

    def why(self) -> str:
        """The reason to stop everything inside; empty if there is none."""
        watch: Watch | None = self
        while watch is not None:
            if found := watch.reason or watch._due():
                return found
            watch = watch._above
        return ""

    def stop(self, reason: str) -> None:
        """Stop everything inside; the first reason is kept."""
        self.reason = self.reason or reason

    def interrupt(self) -> None:
        """Ctrl-C: this scope and all around it stop."""
        self.reason = INTERRUPT
        if self._above is not None:
            self._above.interrupt()

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self.why() == INTERRUPT


def time_limit(seconds: float | None) -> Callable[[], str]:
    """The ``due`` of a scope that ends so many seconds from now; None: never."""
    if seconds is None:
        return str
    end = time.perf_counter() + seconds
    return lambda: f"max_seconds={seconds}" if time.perf_counter() >= end else ""


watching = Watch  # as in `with watching(…) as watch:`


def current() -> Watch | None:
    """The innermost scope of this thread."""
    return _scopes.watch


class undisturbed:  # noqa: N801
    """A block in which `look` never raises, whatever the scopes around it say."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before, _scopes.watch = _scopes.watch, None

    def __exit__(self, *raised: object) -> None:
        _scopes.watch = self._before


def reason() -> str:
    """The reason to stop this thread; empty if there is none."""
    watch = _scopes.watch
    return "" if watch is None else watch.why()


def interrupt() -> None:
    """Ctrl-C: stop all scopes of this thread; raise KeyboardInterrupt if there are none."""
    watch = _scopes.watch
    if watch is None:
        raise KeyboardInterrupt
    watch.interrupt()


def carried_through(compute: Callable[[], T]) -> T:
    """The result of ``compute``, also if Ctrl-C comes meanwhile; a second Ctrl-C ends it.

    After the first Ctrl-C the scopes are stopped and ``compute`` runs again. For short computations
    without which there is no model at all.
    """
    try:
        return compute()
    except KeyboardInterrupt:
        interrupt()
        return compute()


def look() -> None:
    """Raise StoppedError if there is a reason to stop and the scope hears."""
    watch = _scopes.watch
    if watch is not None and watch.hears:
        why = watch.why()
        if why:
            raise StoppedError(why)


def _shall_stop() -> bool:
    """Called by compiled kernels that can return a result so far."""
    try:
        return bool(reason())
    except KeyboardInterrupt:
        interrupt()
        return True


def _shall_give_up() -> bool:
    """Called by compiled kernels that have no result before their end; `look` follows."""
    watch = _scopes.watch
    return watch is not None and watch.hears and bool(watch.why())


_core.watch(_shall_stop, _shall_give_up, look)


def pieces(count: int, each: float) -> Iterator[slice]:
    """Items 0 … count as slices of about `PIECE` nanoseconds, until there is a reason to stop.

    ``each`` is the approximate time of an item in nanoseconds. Ctrl-C works between two slices.
    """
    size = max(1, int(PIECE / max(each, 1e-3)))  # 1e-3 nanoseconds: safeguard
    for start in range(0, count, size):
        if start and reason():
            return
        yield slice(start, min(start + size, count))


# Fits --------------------------------------------------------------------------------------------


@contextmanager
def stoppable(estimator: Any) -> Iterator[Watch]:
    """The body of a ``fit``: if Ctrl-C stopped a solver in it, `Interrupted` is raised at its end.

    By then the estimator has its attributes. A KeyboardInterrupt that comes before there is any
    model is passed on unchanged.
    """
    before = getattr(estimator, "certificate_", None)
    with watching() as watch:
        try:
            yield watch
        except KeyboardInterrupt:
            if getattr(estimator, "certificate_", None) is before:
                raise
            watch.interrupt()  # the model is stored, only attributes of its samples are missing
    if watch.interrupted:
        certificate = getattr(estimator, "certificate_", None)
        course = getattr(estimator, "_course", "")
        raise interruption(type(estimator).__name__, certificate, estimator, course)


def interruption(name: str, certificate: Any, result: Any, course: str = "") -> Interrupted:
    """The `Interrupted` for a fit that Ctrl-C has stopped; its message says the gap.

    ``course`` says how many fits were done, if there were several.
    """
    reached = "; the model so far is valid"
    if certificate is not None:
        within = f", within {certificate.gap:.3g} of the optimum" + (" at its alpha" * bool(course))
        if certificate.kind != "global":
            within = f", with a gap of {certificate.gap:.3g} ({certificate.kind})"
        if not math.isfinite(certificate.gap):
            within = ", without a bound"
        reached = f" with a relative gap of {certificate.relative:.1e}; the model is valid{within}"
    text = (
        f"{name}: stopped by {INTERRUPT}{course}{reached}, and is the `result` of this exception."
    )
    return Interrupted(text, result)


def chosen_so_far(known: int, alphas: int, detail: str = "") -> str:
    """The ``course`` of `interruption` for a search among alphas, of which so many were compared.

    The ``detail`` says what else was left undone: folds, or combinations of other parameters.
    """
    if not known:
        return f" before any of {counted(alphas, 'alpha')} was compared, at the largest of them,"
    return f" with alpha chosen among {known} of {counted(alphas, 'alpha')}{detail},"


def as_far_as_it_came(fit: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """The result of ``fit``, also after Ctrl-C: the caller's scope has noted the interrupt."""
    try:
        return fit(*args, **kwargs)
    except Interrupted as stopped:
        return stopped.result
