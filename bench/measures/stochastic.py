"""Stochastic training: what an epoch costs, and how good a model is at default settings.

Such training stops early by design, so nothing is run to a common gap. An epoch is the difference
between a fit of several epochs and one of one epoch, divided by their number: what is paid once
(the choice of a first step, the certificate) does not count. CPU time, because both are sequential.
The held-out accuracy is that of defaults, hinge loss and alpha = 1e-4 for everybody, mean of three
seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn import linear_model

from ..pages.report import Epochs
from ..problems import real, synthetic
from ..problems.base import Array
from ..problems.single import SEED, labelled_documents
from .timing import clock

_EPOCHS = 4
_SEEDS = (0, 1, 2)
_ALPHA = 1e-4
SKLEARN = "sklearn SGDClassifier"
VOWPAL = "Vowpal Wabbit"


class Case(NamedTuple):
    """Rows to learn from, and rows to be predicted if there are such."""

    X: Any
    y: Array
    test: tuple[Any, Array] | None = None


def dense(quick: bool) -> Case:
    """10⁶ × 50, float64."""
    rng = np.random.default_rng(SEED + 60)
    X = synthetic.correlated(20_000 if quick else 1_000_000, 50, rng)
    z = X @ rng.standard_normal(50)
    return Case(X, synthetic.noisy_labels(2 * z / z.std(), rng))


def text(quick: bool) -> Case:
    """50,000 documents of 80 words, of 50,000 words by Zipf's law."""
    return Case(*labelled_documents(quick, zipf=True))


def _a9a(folder: Path) -> Case:
    X, y, *test = real.a9a(folder)
    return Case(X, y, (test[0], test[1]))


def _newsgroups(folder: Path) -> Case:
    X, y, *test = real.newsgroups(folder)
    return Case(X, y, (test[0], test[1]))


def _mnist(folder: Path) -> Case:
    X, y, *test = real.mnist(folder)
    return Case(X, y, (test[0], test[1]))


SYNTHETIC: dict[str, Callable[[bool], Case]] = {"sgd_dense": dense, "sgd_text": text}
REAL: dict[str, Callable[[Path], Case]] = {
    "sgd_a9a": _a9a,
    "sgd_newsgroups": _newsgroups,
    "sgd_mnist": _mnist,
}


def _theirs(epochs: int | None, seed: int) -> Any:
    options = {} if epochs is None else {"max_iter": epochs, "tol": None}
    return linear_model.SGDClassifier(alpha=_ALPHA, random_state=seed, **options)


def _drop_in(epochs: int | None, seed: int) -> Any:
    from minimand.sklearn import SGDClassifier

    options = {} if epochs is None else {"max_iter": epochs, "tol": None}
    return SGDClassifier(alpha=_ALPHA, random_state=seed, **options)


def _ours(epochs: int | None, seed: int) -> Any:
    import minimand as mm

    solver = mm.solvers.Sgd(epochs=epochs)
    return mm.Classifier("hinge", alpha=_ALPHA, solver=solver, random_state=seed)


MAKERS: dict[str, Callable[[int | None, int], Any]] = {
    "minimand Classifier(solver='sgd')": _ours,
    "minimand.sklearn SGDClassifier": _drop_in,
    SKLEARN: _theirs,
}
try:
    from ..peers.vowpal import VowpalWabbit

    MAKERS[VOWPAL] = VowpalWabbit
except ImportError:
    pass  # the table is without it


def measure(name: str, case: Case, repeats: int, say: Callable[[str], None]) -> list[Epochs]:
    """Everybody on one case."""
    two = np.unique(case.y).size == 2
    makers = [who for who in MAKERS if two or who != VOWPAL]  # its hinge loss is of two classes
    fits = {(who, count): np.inf for who in makers for count in (1, 1 + _EPOCHS)}
    for _ in range(repeats + 1):  # interleaved, the first of them to warm up
        for (who, count), best in fits.items():
            lap, _ = clock(partial(MAKERS[who](count, 0).fit, case.X, case.y))
            fits[who, count] = min(best, lap.cpu)
    rows = []
    for who in makers:
        epoch = (fits[who, 1 + _EPOCHS] - fits[who, 1]) / _EPOCHS
        rows.append(_at_defaults(name, who, max(epoch, 0.0), case))
        say(f"  {who}: {epoch:.3g} s per epoch, {rows[-1].words}")
    return rows


def _at_defaults(name: str, who: str, epoch: float, case: Case) -> Epochs:
    """The row of a solver: fits at default settings, predicted on rows that it has not seen."""
    if case.test is None:
        return Epochs(name, who, epoch)
    found = [clock(partial(MAKERS[who](None, seed).fit, case.X, case.y)) for seed in _SEEDS]
    accuracy = float(np.mean([model.score(*case.test) for _, model in found]))
    passes = float(np.mean([model.n_iter_ for _, model in found]))
    return Epochs(name, who, epoch, min(lap.cpu for lap, _ in found), passes, accuracy)
