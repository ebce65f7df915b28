"""Learning from a stream: what `partial_fit` keeps from one batch to the next."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from .._base.typing import AnyArray, Array, ArrayLike
from .._base.watch import INTERRUPT, Interrupted
from .._base.wording import counted
from ..problem.objective import Objective
from ..solvers import STOP, Control, Sgd
from ..solvers.base import CALLBACK
from ..solvers.history import State
from ..solvers.stochastic.learner import Learner
from ..solvers.stochastic.learning_rate import SAMPLE
from .callbacks import is_sklearn_callback
from .inputs.stream_order import Order
from .problem import build, one_sample
from .settings import Settings


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a stream: φ(X), one target per score, and what goes with every row.

    The objectives do not know the weights: a batch has no mean of its own.
    """

    settings: Settings
    X: Any
    targets: list[Array]
    weights: Array | None
    offset: Array | None
    intercept: bool
    classes: Any = None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.X.shape[0])

    @cached_property
    def objectives(self) -> list[Objective]:
        """The problem of every score on these rows; alpha=None counts these rows alone."""
        settings = self.settings.at(one_sample(self.n_rows, self.weights))
        rest = (None, self.offset, self.intercept)
        return [build(settings, self.X, target, *rest) for target in self.targets]

    def under(self, alpha: float) -> list[Objective]:
        """The same under this alpha where none was given."""
        if self.settings.alpha is not None:
            return self.objectives
        return replace(self, settings=self.settings.at(alpha)).objectives

    @property
    def weight(self) -> Array:
        """The weight of every row."""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    def __getstate__(self) -> dict[str, Any]:
        """Arrays and settings; objectives are built from these again."""
        return {name: value for name, value in vars(self).items() if name != "objectives"}

    def after(self, before: list[Batch]) -> Batch:
        """These rows and those that came before them."""
        parts = [*before, self]
        matrices = [part.X for part in parts]
        some = any(map(sparse.issparse, matrices))
        X = sparse.vstack(matrices, format="csr") if some else np.vstack(matrices)
        targets = [np.concatenate(columns) for columns in zip(*(part.targets for part in parts))]
        weights = _joined([(part.weights, part.n_rows) for part in parts], 1.0)
        offset = _joined([(part.offset, part.n_rows) for part in parts], 0.0)
        return replace(self, X=X, targets=targets, weights=weights, offset=offset)


def _joined(parts: list[tuple[Array | None, int]], missing: float) -> Array | None:
    """Vectors one after the other, where some of them may be left out."""
    if all(values is None for values, _ in parts):
        return None
    return np.concatenate([np.full(n, missing) if v is None else v for v, n in parts])


@dataclass
class Stream:
    """The learner of all scores and its schedule, kept on the estimator between batches.

    Steps that are not given are found on the first rows. Until there are enough of these, they are
    kept, and learnt anew with better steps whenever there are twice as many.
    """

    solver: Sgd
    start: tuple[Array, Array]
    opening: list[Batch] | None = field(default_factory=list)  # None: steps are known
    chosen_on: int = 0  # rows
    fitted_on: int = 0  # rows that the start was fitted on
    fitted_weight: float = 0.0  # their Σs, where alpha=None has to know it
    total: float = 0.0  # Σs of all rows so far, those of the fit included
    order: Order = field(default_factory=Order)

    def check_same(self, solver: Sgd) -> None:
        """Refuse other options than those the stream began with."""
        if solver != self.solver:
            raise ValueError(
                f"solver={solver!r} is not what this stream began with, {self.solver!r}: set it "
                "back, or call fit, or take a clone, to begin anew."
            )

    def learn(self, batch: Batch) -> tuple[Array, Array]:
        """One step per row, in order; the coefficients (k, d) and intercepts (k,) it leads to."""
        if batch.classes is not None:
            self.order.watch(batch.targets, batch.classes)
        if self.opening is not None:
            batch = self._open(batch, self.opening)
        order = np.flatnonzero(batch.weight).astype(np.uint32)
        problems: list[Objective] = []
        for rows, alpha in self._in_parts(batch, order):
            problems = batch.under(alpha)
            self.learner.learn(problems, batch.weight, rows, self.steps)
        return self.learner.models(problems[0], bool(self.solver.average))

    def _in_parts(self, batch: Batch, order: AnyArray) -> Iterator[tuple[AnyArray, float]]:
        """Rows between the places where Σs passes a power of two, and 1/that power.

        This is what alpha=None stands for while the end of a stream is not known: wherever batches
        are cut, it is the same at every row. With an alpha there is nothing to divide.
        """
        sums = np.cumsum(np.append(self.total, batch.weight[order]))
        self.total = float(sums[-1])
        if batch.settings.alpha is not None:
            yield order, batch.settings.alpha
            return
        level = np.floor(np.log2(sums[1:]))
        cuts = np.flatnonzero(np.diff(level)) + 1
        for first, rows in zip([0, *cuts], np.split(order, cuts)):
            if rows.size:
                yield rows, float(np.exp2(-level[first]))

    def _open(self, batch: Batch, before: list[Batch]) -> Batch:
        """What is to be learnt: the batch, or all rows again."""
        known = sum(part.n_rows for part in before) + batch.n_rows
        if known < min(2 * self.chosen_on, SAMPLE):
            before.append(batch)
            return batch
        whole = batch.after(before) if before else batch
        self.chosen_on = known
        enough = known >= SAMPLE or self.solver.knows_its_steps
        self.opening = None if enough else [whole]
        rows = np.arange(known, dtype=np.uint32)
        start = np.array(self.start[0], dtype=float), np.array(self.start[1], dtype=float)
        sampled = whole.weight[whole.weight > 0][:SAMPLE]
        problems = whole.under(one_sample(sampled.size, sampled))
        self.steps = self.solver.steps_for(problems, rows, None, start)
        self.total = self.fitted_weight
        self.learner = Learner.start(*start, self.steps.adaptive, steps=self._steps_before)
        self._remember_fit(whole, rows)
        return whole

    @property
    def _steps_before(self) -> float:
        """Where a schedule begins; rates that adapt count by themselves."""
        return 0.0 if self.steps.adaptive else float(self.fitted_on)

    def _remember_fit(self, batch: Batch, rows: AnyArray) -> None:
        """As many rows as the start was fitted on shorten steps that adapt, and move nothing.

        They are not here any more: those of the batch stand for them.
        """
        if not self.fitted_on or not self.steps.adaptive:
            return
        self.steps = self.steps._replace(rescale=False)  # they were not learnt in other units
        standing = self.steps._replace(eta=0.0, average_from=np.inf)
        weight = np.full(rows.size, self.fitted_on / rows.size)
        self.learner.learn(batch.objectives, weight, rows, standing)


def solver_of(estimator: Any) -> Sgd:
    """The options of the steps; refuses solvers that cannot learn from a stream."""
    solver = estimator.solver
    if isinstance(solver, str) and solver in ("auto", "sgd"):
        solver = Sgd()
    if not isinstance(solver, Sgd):
        raise ValueError(
            "partial_fit takes stochastic steps: solver must be 'auto', 'sgd' or a "
            f"minimand.solvers.Sgd object, not {solver!r}."
        )
    if getattr(estimator.features, "learnt", False) is True and not hasattr(estimator, "features_"):
        raise ValueError(
            f"features={estimator.features!r} are learnt along with the model, which takes all "
            "data at once: call fit first, on some of them, and partial_fit goes on from there."
        )
    _check_options(solver)
    return solver


def _check_options(solver: Sgd) -> None:
    """Refuse options that are about all rows at once, which a stream never has."""
    refused = {
        "early_stopping": (solver.early_stopping, False, "cannot hold rows out of a stream"),
        "balanced": (solver.balanced, False, "takes rows as they come, in no order of its own"),
        "epochs": (solver.epochs not in (None, 1), 1, "goes over every batch once"),
    }
    for name, (asked, default, words) in refused.items():
        if asked:
            raise ValueError(
                f"partial_fit {words}: {name}={getattr(solver, name)!r} of Sgd is for fit, use "
                f"Sgd({name}={default}), or set_params(solver__{name}={default}) after a fit."
            )


def begin(estimator: Any, batch: Batch, start: tuple[Array, Array] | None) -> Stream:
    """A stream from zero, or from the model of a fit."""
    solver, first = solver_of(estimator), batch.objectives[0]
    verdict = solver.verdict(first, Control())
    if not verdict.ok:
        raise ValueError(f"partial_fit does not accept this problem: {verdict.reason}.")
    scores = len(batch.targets)
    if start is None:
        return Stream(solver, (np.zeros((scores, first.n_features)), np.zeros(scores)))
    evidence = getattr(getattr(estimator, "certificate_", None), "dual_point", None)
    alpha = getattr(estimator, "alpha_", 0.0)
    weight = 1.0 / alpha if estimator.alpha is None and alpha > 0 else 0.0
    rows = 0 if evidence is None else len(evidence)
    return Stream(solver, start, fitted_on=rows, fitted_weight=weight)


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
        At ``max_seconds`` (looked at between batches) or where a callback has returned
        `minimand.STOP`, the model of the rows until then, with a warning. Callbacks get a state
        per batch, in which ``iteration`` counts batches and the gap is NaN.

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
    """Refuse what cannot learn batch by batch, before the first batch is asked for."""
    try:
        estimator.partial_fit  # noqa: B018  (some know only when asked whether they have it)
    except AttributeError as error:
        reason = error.__cause__ or f"{type(estimator).__name__} has none."
        raise TypeError(f"fit_stream needs an estimator with partial_fit: {reason}") from error
    if classes is not None and not is_classifier(estimator):
        raise TypeError(f"classes is for classifiers: leave it out for {type(estimator).__name__}.")
    if hasattr(estimator, "_checked_settings"):
        estimator._checked_settings()
        solver_of(estimator)


def _stopped_by(estimator: Any, count: int, seconds: float) -> str:
    """Why a stream is to end before its batches do: a callback, or the estimator's limit."""
    unknown = float("nan")
    state = State(count, float(count), seconds, unknown, unknown, unknown, unknown)
    given = getattr(estimator, "callbacks", None) or ()  # drop-ins have neither these nor a limit
    own = [c for c in given if not is_sklearn_callback(c)]
    answers = [callback(state) for callback in own]
    if any(answer is STOP for answer in answers):
        return CALLBACK
    limit = getattr(estimator, "max_seconds", None)
    return f"max_seconds={limit}" if limit is not None and seconds >= limit else ""


def numbered(batches: Iterable[Any]) -> Iterator[tuple[int, tuple[Any, Any, Any]]]:
    """Batches as (X, y, weights or None) with their number; without those where nothing weighs."""
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
    """Whether every row of a batch has weight zero, which is as if it were not there."""
    if not weights or weights[0] is None or np.shape(weights[0]) != shape[:1]:
        return False
    return not np.any(weights[0])


@contextmanager
def naming_batch(number: int) -> Iterator[None]:
    """Refusals say which batch they are about."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"batch number {number}: {error}") from error
