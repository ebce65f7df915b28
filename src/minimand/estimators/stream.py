"""Learning from a stream: what `partial_fit` keeps from one batch to the next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import AnyArray, Array, ArrayLike
from ..objective import Objective
from ..solvers import Control, Sgd
from ..solvers.learner import Learner, Steps
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


def objectives_of(
    settings: Settings, X: Any, targets: list[Array], offset: Array | None, intercept: bool
) -> list[Objective]:
    """The problem of every score on one batch; weights are left to the learners."""
    first = build(settings, X, targets[0], None, offset, intercept)
    return [first, *(build(settings, X, t, None, offset, intercept) for t in targets[1:])]


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
    >>> mm.certify(model, X, y).gap >= 0.0                 # two more passes, a sound bound
    True
    """
    extra = {} if classes is None else {"classes": classes}
    count = 0
    for count, batch in enumerate(batches, 1):
        if not isinstance(batch, tuple) or len(batch) not in (2, 3):
            raise ValueError(
                "batches must yield tuples (X, y) or (X, y, sample_weight), but batch number "
                f"{count} is a {type(batch).__name__}."
            )
        weights = {"sample_weight": batch[2]} if len(batch) == 3 else {}
        estimator.partial_fit(batch[0], batch[1], **weights, **extra)
    if not count:
        raise ValueError("batches is empty: there is nothing to learn from.")
    return estimator
