"""Ctrl-C during a fit: the model is stored first, then `Interrupted` ends the loops around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from .._base.watch import INTERRUPT, Interrupted, Watch, watching
from .._base.wording import counted
from ..certificate import Certificate

T = TypeVar("T")


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


def chosen_so_far(known: int, alphas: int, detail: str = "") -> str:
    """The part of that message for a search among alphas, of which so many were compared.

    The ``detail`` says what else was left undone: folds, or combinations of other parameters.
    """
    if not known:
        return f" before any of {counted(alphas, 'alpha')} was compared, at the largest of them,"
    return f" with alpha chosen among {known} of {counted(alphas, 'alpha')}{detail},"


def interruption(
    name: str, certificate: Certificate | None, result: Any, course: str = ""
) -> Interrupted:
    """The `Interrupted` for a fit that Ctrl-C has stopped; its message says the gap.

    ``course`` says how many fits were done, if there were several.
    """
    reached = "; the model so far is valid"
    if certificate is not None:
        within = f", within {certificate.gap:.3g} of the optimum" + (" at its alpha" * bool(course))
        if certificate.kind != "global":
            within = f", with a gap of {certificate.gap:.3g} ({certificate.kind})"
        if not np.isfinite(certificate.gap):
            within = ", without a bound"
        reached = f" with a relative gap of {certificate.relative:.1e}; the model is valid{within}"
    text = (
        f"{name}: stopped by {INTERRUPT}{course}{reached}, and is the `result` of this exception."
    )
    return Interrupted(text, result)


def as_far_as_it_came(fit: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """The result of ``fit``, also after Ctrl-C: the caller's scope has noted the interrupt."""
    try:
        return fit(*args, **kwargs)
    except Interrupted as stopped:
        return stopped.result
