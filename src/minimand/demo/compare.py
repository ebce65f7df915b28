"""Fit each problem with both libraries and certify both models by the same referee."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from ..audit.certify import certify
from ..certificate import Certificate
from .problems import PROBLEMS, Data, Problem


@dataclass(frozen=True)
class Row:
    """One fitted model: its objective, its certified gap, its time and its test score."""

    problem: str
    library: str
    objective: str
    value: float
    relative_gap: float
    seconds: float
    nonzeros: int
    features: int
    metric: str
    test_score: float
    convergence_warning: bool
    support_vectors: int | None = None  # None for losses without any


def rows(problems: tuple[Problem, ...] = PROBLEMS) -> Iterator[Row]:
    """All rows, yielded as they are computed.

    Both libraries run on one thread: the data are small, and on a busy machine the times would
    otherwise mostly show threads that wait for each other.
    """
    for problem in problems:
        with threadpool_limits(1):
            found = list(compare(problem))
        yield from found


def compare(problem: Problem) -> Iterator[Row]:
    """Our row, and scikit-learn's where it has the same objective."""
    data = problem.data()
    ours, seconds, warned = _fit(problem.ours, data)
    words = ours.certificate_.objective
    yield _row(problem, "minimand", words, ours, ours.certificate_, data, seconds, warned)
    if problem.theirs is None:
        return
    theirs, seconds, warned = _fit(problem.theirs(len(data.y)), data)
    # Our dual point makes the bound tight: the gap is then scikit-learn's true distance.
    audit = certify(theirs, data.X, data.y, against=ours)
    yield _row(problem, "scikit-learn", words, theirs, audit, data, seconds, warned)


def _fit(estimator: Any, data: Data) -> tuple[Any, float, bool]:
    """A fitted clone, the seconds of its second fit, and whether it warned of no convergence."""
    model = clone(estimator)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(data.X, data.y)  # loads modules and starts threads
        started = time.perf_counter()
        model.fit(data.X, data.y)
        seconds = time.perf_counter() - started
    return model, seconds, any(issubclass(w.category, ConvergenceWarning) for w in caught)


def _row(
    problem: Problem,
    library: str,
    words: str,
    model: Any,
    certificate: Certificate,
    data: Data,
    seconds: float,
    warned: bool,
) -> Row:
    return Row(
        problem=problem.name,
        library=library,
        objective=words,
        value=certificate.primal,
        relative_gap=certificate.relative,
        seconds=seconds,
        nonzeros=int(np.count_nonzero(model.coef_)),
        features=data.X.shape[1],
        metric=problem.metric,
        test_score=float(problem.score(data.y_test, model.predict(data.X_test))),
        convergence_warning=warned,
        support_vectors=_support(model),
    )


def _support(model: Any) -> int | None:
    """The number of support vectors of a model, ours or scikit-learn's; None if it has none."""
    machine = hasattr(model, "margin_") or hasattr(model, "n_support_")
    return len(model.support_) if machine else None
