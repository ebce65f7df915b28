"""What estimators without given outputs share: limits, the record of a fit, the certificate."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any, Self, TypedDict, TypeVar

from sklearn.exceptions import ConvergenceWarning

from .._base.parameters import NamesParameters, extend_constructor
from .._base.typing import ArrayLike
from .._base.watch import (
    StoppedError,
    Watch,
    carried_through,
    interrupt,
    reason,
    stoppable,
    watching,
)
from ..certificate import Certificate, Kind, bounded
from ..estimators.callbacks import CallbackSupportMixin, Relay, is_sklearn_callback, with_callbacks
from ..estimators.settings import check_callbacks, check_limits, check_seed
from ..estimators.summary import Summarised
from ..solvers import STOP, State
from ..solvers.base import CALLBACK
from ..solvers.history import History

T = TypeVar("T")


class Limits(TypedDict, total=False):
    """Keywords of every constructor: what ends a fit, who watches it, and its random numbers."""

    max_seconds: float | None
    random_state: Any
    callbacks: Any
    verbose: bool


LIMITS = Limits(max_seconds=None, random_state=None, callbacks=None, verbose=False)


class Reverse(NamesParameters, CallbackSupportMixin, Summarised):
    """Base of the estimators that find the outputs themselves: clusters, components, cuts.

    A subclass writes ``fit``, decorated with `estimators.callbacks.with_callbacks`: it calls
    `_check_limits`, checks its input, and works inside ``with Course(self, formula) as course``.
    """

    tol: float
    max_iter: int | None
    max_seconds: float | None
    random_state: Any
    callbacks: Any
    verbose: bool

    certificate_: Certificate
    history_: History
    n_iter_: int

    def _check_limits(self) -> None:
        """Refuse limits, callbacks and seeds outside their range, each in one sentence."""
        check_limits(self)
        if getattr(self, "callbacks", None) is not None:
            check_callbacks(self.callbacks)
        check_seed(getattr(self, "random_state", None))

    def _facts(self) -> dict[str, str]:
        """Objective, lower bound and iterations of the fitted model."""
        certificate = vars(self).get("certificate_")
        if certificate is None:
            return {}
        facts = {"objective": f"{certificate.primal:.6g}"}
        if math.isfinite(certificate.dual):
            share = certificate.dual / certificate.primal if certificate.primal > 0 else 1.0
            words = f"{certificate.kind}, {share:.0%} of the objective"
            facts["lower bound"] = f"{certificate.dual:.6g} ({words})"
        if "n_iter_" in vars(self):
            facts["iterations"] = f"{self.n_iter_}"
        return facts

    def __sklearn_tags__(self) -> Any:
        """Sparse input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class FitsRows(Reverse):
    """Base of those that need nothing but rows and their weights: a subclass writes ``_find``.

    Its constructor ends in ``**limits`` and has no body: `Limits` join its arguments, and all of
    them are stored.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            extend_constructor(cls, LIMITS)

    @with_callbacks
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike = None) -> Self:
        """Fit the model to rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or a `Design` (`PCA`)
            With a kernel, rows as it takes them: a matrix, a frame, a list of strings; or
            affinities. Numbers in float32 stay so, and a sparse matrix is not made dense.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight k counts as k copies of it, and a row of weight 0 has no say. The
            neighbours of a `NeighborGraph` do not depend on it.

        Raises
        ------
        Interrupted
            After Ctrl-C; its ``result`` is this estimator with the model found so far.
        """
        self._find(X, sample_weight)
        return self

    def _find(self, X: Any, sample_weight: ArrayLike) -> None:
        """The body of `fit`: it sets the attributes."""
        raise NotImplementedError(f"{type(self).__name__} must define _find(X, sample_weight)")


class Course:
    """The record of one fit: what it has reached, what it has cost, and what stops it.

    A context manager around the body of ``fit``. Inside it the time limit of the estimator holds,
    also for compiled kernels. At its end a fit that was stopped short warns, and after Ctrl-C
    `Interrupted` is raised: by then the estimator must have its attributes.

    >>> with Course(self, "Σ ‖x − c‖²", X) as course:                             # doctest: +SKIP
    ...     for labels, primal in steps:
    ...         if course.record(primal, bound):
    ...             break
    ...     self.labels_, self.history_ = labels, course.history
    ...     self.certificate_ = course.certificate(primal, bound, "relaxation", rounding, scale)

    Work that must be done after a stop too (a final pass) belongs into ``with undisturbed():``,
    inside which nothing is told to stop but a bound that is computed by `within_limits`.

    Parameters
    ----------
    estimator : Reverse
        Its ``max_seconds``, ``callbacks`` and ``verbose`` are read.
    formula : str
        The objective in words, for the history and the certificate.
    X : array-like
        The data of the fit, which callbacks of scikit-learn get.
    solver : str
        The algorithm, as the history names it.
    stacklevel : int
        Frames between the warning of a short fit and the line that called ``fit``, which it names:
        4 if the context is opened by a ``fit`` with the decorator, one more for every call between.
        By default 4, or 5 for `FitsRows._find`.

    Attributes
    ----------
    history : History
        One record for every call of `record` since the last `restart`.
    stopped_by : str
        The reason why the fit ended before its own end; empty if it did not.
    """

    def __init__(
        self, estimator: Any, formula: str, X: Any = None, *, solver: str = "", stacklevel: int = 0
    ) -> None:
        self._estimator, self.formula, self._X = estimator, formula, X
        self._solver = solver
        self._stacklevel = stacklevel or (5 if isinstance(estimator, FitsRows) else 4)
        self._limit: float | None = getattr(estimator, "max_seconds", None)
        self._started = time.perf_counter()
        self._callbacks: list[Callable[[State], Any]] = []
        self.history = History(solver, formula)
        self.stopped_by, self._advice = "", "more iterations would improve it"
        self._scopes = ExitStack()
        self._watch: Watch | None = None

    def __enter__(self) -> Self:
        estimator = self._estimator
        given = getattr(estimator, "callbacks", None) or ()
        self._callbacks = [c for c in given if not is_sklearn_callback(c)]
        with ExitStack() as scopes:
            scopes.enter_context(stoppable(estimator))
            relay = scopes.enter_context(Relay(estimator, self._X, None))
            self._callbacks += relay.to(lambda state: {})
            if getattr(estimator, "verbose", False):
                from ..report.progress import Bar

                bar = Bar(type(estimator).__name__, shows="primal")
                scopes.callback(bar.close)
                self._callbacks.append(bar)
            self._watch = scopes.enter_context(watching(self._late))
            self._scopes = scopes.pop_all()
        return self

    def __exit__(self, *raised: Any) -> Any:
        """Close the scopes; `stoppable` raises Interrupted, or swallows Ctrl-C after the model."""
        swallowed = self._scopes.__exit__(*raised)
        if raised[0] is None and self.stopped_by:
            warnings.warn(
                f"{type(self._estimator).__name__}: stopped by {self.stopped_by} after "
                f"{self.iterations} iterations at an objective of {self._last_primal():.6g}; the "
                f"model is valid, and {self._advice}.",
                ConvergenceWarning,
                stacklevel=self._stacklevel,
            )
        return swallowed

    def restart(self) -> None:
        """Begin a new history, for another start of the algorithm."""
        self.history = History(self._solver, self.formula)

    def record(self, primal: float, bound: float = -math.inf, passes: float | None = None) -> bool:
        """Record a point and call the callbacks; whether the fit shall stop.

        It shall after ``max_seconds``, after a callback returned `minimand.STOP`, and after Ctrl-C.
        ``bound`` is a lower bound of the optimum, if one is known by now; ``passes`` are those over
        the data, by default as many as there were records before.
        """
        iteration = len(self.history)
        state = State(
            iteration,
            iteration if passes is None else passes,
            self.seconds,
            primal,
            bound,
            primal - bound,
            0.0,
        )
        self.history.append(state)
        try:
            answers = [callback(state) for callback in self._callbacks]
        except KeyboardInterrupt:
            interrupt()
        else:
            if any(answer is STOP for answer in answers):
                assert self._watch is not None
                self._watch.stop(CALLBACK)
        return self.stops()

    def stops(self) -> bool:
        """Whether there is a reason to stop by now, which is kept as `stopped_by`."""
        self.stopped_by = self.stopped_by or reason()
        return bool(self.stopped_by)

    def leave_time_for(self, seconds: float) -> None:
        """Stop before a computation of so many seconds, which nothing could stop, is too long."""
        if self._limit is not None and self.seconds + seconds > self._limit:
            assert self._watch is not None
            why = f"max_seconds={self._limit}"
            self._watch.stop(why)
            raise StoppedError(why)

    def ends_at(self, limit: str, advice: str = "") -> None:
        """Note a limit of the algorithm itself that has ended it, such as "max_iter=10"."""
        if not self.stopped_by:
            self.stopped_by, self._advice = limit, advice or self._advice

    def follow(
        self,
        points: Iterable[tuple[T, float, float]],
        passes: Callable[[], float] | None = None,
    ) -> T:
        """The last of some points (point, primal, bound), each of which is recorded.

        Ctrl-C and `_base.watch.look` end it too, while the next point is being computed. There
        must be a first point: Ctrl-C before it is passed on as a plain KeyboardInterrupt.
        ``passes`` tells the passes over the data so far.
        """
        last: list[T] = []
        with watching(hears=True):
            try:
                for point, primal, bound in points:
                    last = [point]
                    if self.record(primal, bound, passes and passes()):
                        break
            except KeyboardInterrupt:
                if not last:
                    raise
                interrupt()
            except StoppedError:
                if not last:
                    raise
        self.stops()
        return last[0]

    def within_limits(self, bound: Callable[[], T]) -> T:
        """The result of ``bound``, which the limits of the fit and Ctrl-C tell to end early.

        Also inside ``undisturbed``: eigenvalues of large matrices may take longer than the search.
        """
        with watching(within=self._watch):
            return carried_through(bound)

    def certificate(
        self,
        primal: float,
        bound: float,
        kind: Kind,
        rounding: float = 0.0,
        scale: float | None = None,
        **details: Any,
    ) -> Certificate:
        """The certificate of an objective value and a lower bound of the optimum.

        ``scale`` is the objective of the trivial model (one cluster, no component), above its
        infimum; without it, the relative gap refers to the objective itself. ``details`` are
        further fields of `Certificate`, such as ``infeasibility`` where there is no bound.
        """
        return bounded(
            primal,
            bound,
            abs(primal) if scale is None else scale,
            rounding,
            kind=kind,
            objective=self.formula,
            iterations=self.iterations,
            passes=self.history[-1].passes if len(self.history) else 0.0,
            seconds=self.seconds,
            **details,
        )

    @property
    def iterations(self) -> int:
        """Records after the first, which is the starting point."""
        return max(len(self.history) - 1, 0)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    def _late(self) -> str:
        """The time limit that has passed, in words; empty if none has."""
        if self._limit is None or self.seconds < self._limit:
            return ""
        return f"max_seconds={self._limit}"

    def _last_primal(self) -> float:
        return self.history[-1].primal if len(self.history) else math.nan


def warn_of_duplicates(found: int, asked: int) -> None:
    """Say that there are fewer different clusters than asked for, from ``_find``."""
    warnings.warn(
        f"Number of distinct clusters ({found}) found smaller than n_clusters ({asked}). Possibly "
        "due to duplicate points in X.",
        ConvergenceWarning,
        stacklevel=5,
    )
