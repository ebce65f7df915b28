"""Limits of time and Ctrl-C, as long computations hear of them.

A fit opens a `watching` scope; scopes lie inside one another, and a reason to stop that holds for
one holds for all inside it. Computations that may take longer than a moment call `look` between
their pieces: inside a scope that `hears`, that raises `StoppedError`, and whoever opened the scope
hands over what there is. Every thread has scopes of its own; a worker joins those of the thread
that started it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from .. import _core

T = TypeVar("T")
PIECE = 2e8  # nanoseconds between two looks; a safeguard, well below half a second
INTERRUPT = "an interrupt (Ctrl-C)"  # who stopped a fit, as messages say it


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a fit, and here is what it had found.

    The estimator has its attributes and its certificate, with the true gap, before this is raised;
    as a KeyboardInterrupt it also ends the loops around the fit (`cross_val_score`,
    `GridSearchCV`, one's own). An interrupt before there is any model is a plain
    KeyboardInterrupt.

    Attributes
    ----------
    result : estimator or Path
        What ``fit`` or `path` would have returned, as far as it came.

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
    """A computation was given up; ``reason`` says why. Never reaches the user."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Watch:
    """One scope: why it shall stop, and whether computations inside it are told so."""

    __slots__ = ("_above", "_due", "hears", "reason")

    def __init__(self, due: Callable[[], str], above: Watch | None, hears: bool) -> None:
        self._due, self._above, self.hears = due, above, hears
        self.reason = ""

    def why(self) -> str:
        """Why everything inside shall stop; empty while it may go on."""
        watch: Watch | None = self
        while watch is not None:
            if found := watch.reason or watch._due():
                return found
            watch = watch._above
        return ""

    def stop(self, reason: str) -> None:
        """Tell everything inside to stop; the first reason counts."""
        self.reason = self.reason or reason

    def interrupt(self) -> None:
        """Ctrl-C: this scope and all around it stop."""
        self.reason = INTERRUPT
        if self._above is not None:
            self._above.interrupt()

    @property
    def interrupted(self) -> bool:
        """Whether somebody has pressed Ctrl-C."""
        return self.why() == INTERRUPT


class _Scopes(threading.local):
    """The innermost scope of every thread."""

    watch: Watch | None = None


_scopes = _Scopes()


def current() -> Watch | None:
    """The innermost scope of this thread."""
    return _scopes.watch


W = TypeVar("W", bound=Watch | None)


class _Placed(Generic[W]):
    """A watch, or none, in the place of the innermost scope of this thread."""

    __slots__ = ("_before", "_watch")

    def __init__(self, watch: W) -> None:
        self._watch = watch

    def __enter__(self) -> W:
        self._before = _scopes.watch
        _scopes.watch = self._watch
        return self._watch

    def __exit__(self, *raised: object) -> None:
        _scopes.watch = self._before


def watching(
    due: Callable[[], str] = str, *, hears: bool = False, within: Watch | None = None
) -> _Placed[Watch]:
    """A scope inside the current one, or inside that of another thread.

    Parameters
    ----------
    due : why the scope shall stop by now, a limit of time; empty while it may go on.
    hears : whether `look` raises StoppedError in it, which whoever opens it must catch.
    within : the scope around it, where that is not the current one of this thread.
    """
    return _Placed(Watch(due, _scopes.watch if within is None else within, hears))


def undisturbed() -> _Placed[None]:
    """A part that is carried through whatever the scopes around it say."""
    return _Placed(None)


def reason() -> str:
    """Why this thread shall stop what it does; empty while it may go on."""
    watch = _scopes.watch
    return "" if watch is None else watch.why()


def interrupt() -> None:
    """Ctrl-C: tell all scopes of this thread; raise it where there is none."""
    watch = _scopes.watch
    if watch is None:
        raise KeyboardInterrupt
    watch.interrupt()


def carried_through(compute: Callable[[], T]) -> T:
    """What ``compute`` gives, also if Ctrl-C comes meanwhile; whoever asks twice need not wait.

    The scopes are told, and it is begun again: for what is short, and needed for any model at all.
    """
    try:
        return compute()
    except KeyboardInterrupt:
        interrupt()
        return compute()


def look() -> None:
    """Raise StoppedError if the scope hears and shall stop: for pieces of a long computation."""
    watch = _scopes.watch
    if watch is not None and watch.hears:
        why = watch.why()
        if why:
            raise StoppedError(why)


def _shall_stop() -> bool:
    """Asked by compiled kernels that hand over what they have."""
    try:
        return bool(reason())
    except KeyboardInterrupt:
        interrupt()
        return True


def _shall_give_up() -> bool:
    """Asked by compiled kernels that have nothing to hand over before their end; `look` follows."""
    watch = _scopes.watch
    return watch is not None and watch.hears and bool(watch.why())


_core.watch(_shall_stop, _shall_give_up, look)


def pieces(count: int, each: float) -> Iterator[slice]:
    """Items 0 … count as slices of about `PIECE` nanoseconds, as far as nobody says stop.

    ``each`` is about how many nanoseconds an item takes. Between two slices Ctrl-C gets through.
    """
    size = max(1, int(PIECE / max(each, 1e-3)))
    for start in range(0, count, size):
        if start and reason():
            return
        yield slice(start, min(start + size, count))
