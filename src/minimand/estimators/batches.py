"""`fit_stream`: a model that learns from an iterator of batches."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from .._base.typing import ArrayLike
from .._base.watch import INTERRUPT, Interrupted
from .._base.wording import counted
from ..solvers import STOP
from ..solvers.base import CALLBACK
from ..solvers.history import State
from .callbacks import is_sklearn_callback
from .stream import solver_of


def fit_stream(estimator: Any, batches: Iterable[Any], classes: ArrayLike = None) -> Any:
    """Learn from an iterator of batches in one pass; its length need not be known.

    Parameters
    ----------
    estimator : Regressor or Classifier
        Its ``partial_fit`` gets every batch; an estimator that has learnt before learns on.
    batches : iterable of (X, y) or (X, y, sample_weight)
    classes : array-like, optional
        All classes, for a classifier whose first batch may lack some.

    Returns
    -------
    estimator
        The same object, fitted. If ``max_seconds`` (checked between batches) has passed or a
        callback has returned `minimand.STOP`, it is the model of the rows so far, with a warning.
        Callbacks get a state per batch, in which ``iteration`` counts batches and the gap is NaN.

    Raises
    ------
    Interrupted
        After Ctrl-C; its ``result`` is the estimator, which has learnt all batches before.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> def batches(seed):
    ...     rng = np.random.default_rng(seed)
    ...     for _ in range(50):
    ...         X = rng.standard_normal((100, 3))
    ...         yield X, X @ [1.0, 2.0, 0.0] + 0.1 * rng.standard_normal(100)
    >>> model = mm.fit_stream(mm.Regressor("squared", "l1", alpha=0.05), batches(0))
    >>> X, y = next(batches(1))
    >>> model.score(X, y) > 0.98
    True
    >>> mm.certify(model, batches=batches(0)).relative < 0.1   # one more pass, a sound bound
    True
    """
    _check_streamable(estimator, classes)
    extra = {} if classes is None else {"classes": classes}
    begun, count = time.perf_counter(), 0
    stopped_by = ""
    try:
        for number, (X, y, weights) in numbered(batches):
            with naming_batch(number):
                given = extra if weights is None else {**extra, "sample_weight": weights}
                estimator.partial_fit(X, y, **given)
            count = number
            stopped_by = _stopped_by(estimator, count, time.perf_counter() - begun)
            if stopped_by:
                break
    except KeyboardInterrupt:
        if not count:
            raise
        stopped_by = INTERRUPT
    if not count:
        raise ValueError("batches is empty: there is nothing to learn from.")
    words = (
        f"{type(estimator).__name__}: the stream was stopped by {stopped_by} after "
        f"{counted(count, 'batch')}; the model is that of the rows until then, and "
        "partial_fit goes on from it."
    )
    if stopped_by == INTERRUPT:
        raise Interrupted(words, estimator)
    if stopped_by:
        warnings.warn(words, ConvergenceWarning, stacklevel=2)
    return estimator


def _check_streamable(estimator: Any, classes: ArrayLike) -> None:
    """Refuse an estimator that cannot learn from batches, before the first batch is read."""
    try:
        estimator.partial_fit  # noqa: B018  (available_if decides at access)
    except AttributeError as error:
        reason = error.__cause__ or f"{type(estimator).__name__} has none."
        raise TypeError(f"fit_stream needs an estimator with partial_fit: {reason}") from error
    if classes is not None and not is_classifier(estimator):
        raise TypeError(f"classes is for classifiers: leave it out for {type(estimator).__name__}.")
    if hasattr(estimator, "_checked_settings"):
        estimator._checked_settings()
        solver_of(estimator)


def _stopped_by(estimator: Any, count: int, seconds: float) -> str:
    """Why the stream ends before its batches do: a callback or the time limit; else empty."""
    unknown = float("nan")
    state = State(count, float(count), seconds, unknown, unknown, unknown, unknown)
    given = getattr(estimator, "callbacks", None) or ()  # drop-ins have no callbacks and no limit
    own = [c for c in given if not is_sklearn_callback(c)]
    answers = [callback(state) for callback in own]
    if any(answer is STOP for answer in answers):
        return CALLBACK
    limit = getattr(estimator, "max_seconds", None)
    return f"max_seconds={limit}" if limit is not None and seconds >= limit else ""


def numbered(batches: Iterable[Any]) -> Iterator[tuple[int, tuple[Any, Any, Any]]]:
    """Batches as (number, (X, y, weights or None)); batches of total weight zero are skipped."""
    if not isinstance(batches, Iterable):
        raise TypeError(
            "batches must be an iterable of (X, y) or (X, y, sample_weight), not "
            f"{type(batches).__name__}."
        )
    for number, batch in enumerate(batches, 1):
        if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
            raise ValueError(
                "batches must yield tuples (X, y) or (X, y, sample_weight), but batch number "
                f"{number} is a {type(batch).__name__}."
            )
        X, y, *weights = batch
        shape = np.shape(X)
        empty = bool(shape) and shape[0] == 0 and np.shape(y)[:1] == (0,)
        if not empty and not _weighs_nothing(weights, shape):
            yield number, (X, y, weights[0] if weights else None)


def _weighs_nothing(weights: list[Any], shape: tuple[int, ...]) -> bool:
    """Whether every row of a batch has weight zero, so that the batch has no effect."""
    if not weights or weights[0] is None or np.shape(weights[0]) != shape[:1]:
        return False
    return not np.any(weights[0])


@contextmanager
def naming_batch(number: int) -> Iterator[None]:
    """Add the number of the batch to error messages raised inside."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"batch number {number}: {error}") from error
