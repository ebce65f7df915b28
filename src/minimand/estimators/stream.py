"""Learning from a stream: what `partial_fit` keeps from one batch to the next."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._typing import AnyArray, Array, ArrayLike
from ..history import State
from ..objective import Objective
from ..solvers import STOP, Control, Sgd
from ..solvers.base import CALLBACK, INTERRUPT
from ..solvers.learner import Learner, Steps
from .callbacks import is_sklearn_callback
from .problem import build
from .settings import Settings


@dataclass
class Stream:
    """The learner of all scores and its schedule, kept on the estimator between batches."""

    learner: Learner
    steps: Steps
    average: bool

    def learn(self, objectives: list[Objective], weights: Array | None) -> tuple[Array, Array]:
        """One step per row, in order; the coefficients (k, d) and intercepts (k,) it leads to."""
        n = objectives[0].n_samples
        weight = np.ones(n) if weights is None else weights
        order = np.flatnonzero(weight).astype(np.uint32)
        self.learner.learn(objectives, weight, order, self.steps)
        return self.learner.models(objectives[0], self.average)


class Batch(NamedTuple):
    """The problem of every score on some rows of a stream, and what the rows weigh beside others.

    The objectives do not know the weights: a batch has no mean of its own.
    """

    objectives: list[Objective]
    weights: Array | None
    classes: Any = None

    @classmethod
    def of(
        cls,
        settings: Settings,
        X: Any,
        targets: list[Array],
        weights: Array | None,
        offset: Array | None,
        intercept: bool,
    ) -> Batch:
        """One objective per target."""
        objectives = [build(settings, X, t, None, offset, intercept) for t in targets]
        return cls(objectives, weights)


def solver_of(estimator: Any) -> Sgd:
    """The options of the steps; refuses solvers that cannot learn from a stream."""
    solver = estimator.solver
    if isinstance(solver, str) and solver in ("auto", "sgd"):
        return Sgd()
    if not isinstance(solver, Sgd):
        raise ValueError(
            "partial_fit takes stochastic steps: solver must be 'auto', 'sgd' or a "
            f"minimand.solvers.Sgd object, not {solver!r}."
        )
    if solver.early_stopping:
        raise ValueError(
            "partial_fit cannot hold rows out of a stream: use Sgd(early_stopping=False)."
        )
    return solver


def begin(estimator: Any, objectives: list[Objective], start: tuple[Array, Array] | None) -> Stream:
    """A stream from zero, or from the model of a fit; steps are chosen on the first batch."""
    solver = solver_of(estimator)
    verdict = solver.verdict(objectives[0], Control())
    if not verdict.ok:
        raise ValueError(f"partial_fit does not accept this problem: {verdict.reason}.")
    d = objectives[0].n_features
    coefs, intercepts = start or (np.zeros((len(objectives), d)), np.zeros(len(objectives)))
    rows = np.arange(objectives[0].n_samples, dtype=np.uint32)
    steps = solver.steps_for(objectives, rows, None)
    learner = Learner.start(np.array(coefs, dtype=float), intercepts, steps.adaptive)
    return Stream(learner, steps, bool(solver.average))


def known_classes(estimator: Any, y: AnyArray, classes: ArrayLike) -> AnyArray:
    """The classes of a stream: those of the model, those declared, or those of the first batch."""
    before = getattr(estimator, "classes_", None)
    declared = None if classes is None else np.unique(np.asarray(classes))
    if before is not None and declared is not None and not np.array_equal(before, declared):
        raise ValueError(
            f"classes={declared.tolist()} is not the same as on last call to partial_fit, was: "
            f"{before.tolist()}; pass the same ones, or None."
        )
    known: AnyArray = (
        before if before is not None else declared if declared is not None else (np.unique(y))
    )
    if known.size < 2:
        raise ValueError(
            f"the first batch holds one class only ({known.tolist()}): a classifier needs at least "
            "2 classes, so declare them all in the first call, as partial_fit(X, y, classes=…)."
        )
    new = np.setdiff1d(y, known)
    if new.size:
        raise ValueError(
            f"y holds the class {new.tolist()[0]!r}, but this stream began with {known.tolist()}: "
            "declare all classes in the first call, as partial_fit(X, y, classes=…)."
        )
    return known


def fit_stream(estimator: Any, batches: Iterable[Any], classes: ArrayLike = None) -> Any:
    """Learn from an iterator of batches, of any and unknown length, one pass over it.

    Parameters
    ----------
    estimator : Regressor or Classifier
        Its ``partial_fit`` takes every batch; what it has learnt before is kept.
    batches : iterable of (X, y) or (X, y, sample_weight)
    classes : array-like, optional
        All classes, for a classifier whose first batch may lack some.

    Returns
    -------
    estimator
        After Ctrl-C, at ``max_seconds`` (looked at between batches) or where a callback has
        returned `minimand.STOP`, the model of the rows until then, with a warning. Callbacks get a
        state per batch, in which ``iteration`` counts batches and the gap is NaN.

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
    extra = {} if classes is None else {"classes": classes}
    begun, count = time.perf_counter(), 0
    stopped_by = ""
    try:
        for number, (X, y, weights) in numbered(batches):
            with naming_batch(number):
                estimator.partial_fit(X, y, sample_weight=weights, **extra)
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
    if stopped_by:
        warnings.warn(
            f"{type(estimator).__name__}: the stream was stopped by {stopped_by} after {count} "
            "batches; the model is that of the rows until then, and partial_fit goes on from it.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return estimator


def _stopped_by(estimator: Any, count: int, seconds: float) -> str:
    """Why a stream is to end before its batches do: a callback, or the estimator's limit."""
    unknown = float("nan")
    state = State(count, float(count), seconds, unknown, unknown, unknown, unknown)
    own = [c for c in estimator.callbacks or () if not is_sklearn_callback(c)]
    answers = [callback(state) for callback in own]
    if any(answer is STOP for answer in answers):
        return CALLBACK
    limit = estimator.max_seconds
    return f"max_seconds={limit}" if limit is not None and seconds >= limit else ""


def numbered(batches: Iterable[Any]) -> Iterator[tuple[int, tuple[Any, Any, Any]]]:
    """Batches as (X, y, weights or None) with their number; those without a row are left out."""
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
        if not (shape and shape[0] == 0 and np.shape(y)[:1] == (0,)):
            yield number, (X, y, weights[0] if weights else None)


@contextmanager
def naming_batch(number: int) -> Iterator[None]:
    """Refusals say which batch they are about."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"batch number {number}: {error}") from error
