"""Ctrl-C during a fit: the model is stored first, then the loops around the fit end too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from .._base.watch import INTERRUPT, Interrupted, Watch, watching
from ..certificate import Certificate

T = TypeVar("T")


@contextmanager
def stoppable(estimator: Any) -> Iterator[Watch]:
    """The body of a ``fit``: if Ctrl-C stopped a solver in it, `Interrupted` is raised at its end.

    By then the estimator has its attributes. Interrupts that come before there is any model leave
    the body as they are.
    """
    before = getattr(estimator, "certificate_", None)
    with watching() as watch:
        try:
            yield watch
        except KeyboardInterrupt:
            if getattr(estimator, "certificate_", None) is before:
                raise
            watch.interrupt()  # the model is there, only what is told of its samples is not
    if watch.interrupted:
        certificate = getattr(estimator, "certificate_", None)
        course = getattr(estimator, "_course", "")
        raise interruption(type(estimator).__name__, certificate, estimator, course)


def interruption(
    name: str, certificate: Certificate | None, result: Any, course: str = ""
) -> Interrupted:
    """What to raise for a fit that Ctrl-C has stopped, in a sentence that says the gap.

    ``course`` says how far it came, where there were several fits to be made.
    """
    reached = "; the model so far is valid"
    if certificate is not None:
        within = f", within {certificate.gap:.3g} of the optimum"
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
    """What ``fit`` returns, or what it had when Ctrl-C stopped it: the caller's scope knows."""
    try:
        return fit(*args, **kwargs)
    except Interrupted as stopped:
        return stopped.result
