"""What small problems cost: warm fits, the first fit of a process, and the import."""

from __future__ import annotations

import gc
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from sklearn.linear_model import Lasso, LogisticRegression
from threadpoolctl import ThreadpoolController

from ..pages.report import Check
from ..peers.minimand import estimator
from ..problems.base import TARGET, Array, Problem
from ..problems.single import alpha_max
from .fresh import fresh
from .judge import Judge, Model, judge_of
from .timing import clock

_RATIO, _FIRST, _IMPORT = 2.0, 0.1, 0.2
Say = Callable[[str], None]


def checks(repeats: int, rounds: int, say: Say) -> list[Check]:
    """All of them; medians of ``repeats`` warm fits, ``rounds`` fresh processes of every kind."""
    # The clock collects garbage before every fit: that must not look through all of the peers.
    gc.collect()
    gc.freeze()
    found = [_warm(_lasso(), Lasso, repeats), _warm(_logistic(), LogisticRegression, repeats)]
    found += _processes(rounds)
    for check in found:
        say(f"  {check.what}: {check.ours} against {check.theirs}, {check.value:.2f} {check.unit}")
    return found


# Warm fits --------------------------------------------------------------------------------------


def _lasso() -> Problem:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 10))
    y = X @ rng.standard_normal(10) + rng.standard_normal(100)
    alpha = alpha_max("squared", X, y, True) / 10
    return Problem("small_lasso", X, y, "squared", "l1", alpha, True, ())


def _logistic() -> Problem:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 10))
    y = np.where(X @ rng.standard_normal(10) + rng.standard_normal(100) > 0, 1.0, -1.0)
    return Problem("small_logistic", X, y, "logistic", "l2", 0.01, True, ())


def _warm(problem: Problem, kind: type, repeats: int) -> Check:
    """Median of many interleaved fits, scikit-learn at the loosest tol that meets our gap."""
    judge = judge_of(problem)
    peer = next(
        (
            model
            for power in range(2, 13)
            if _gap(model := _peer(kind, problem, 10.0**-power), problem, judge) <= TARGET
        ),
        None,
    )
    if peer is None:
        raise RuntimeError(f"{kind.__name__} did not reach the gap on {problem.name}")
    ours, pools = estimator(problem, TARGET), ThreadpoolController()
    times: list[tuple[float, float, float]] = []
    for _ in range(repeats):
        mine = clock(lambda: ours.fit(problem.X, problem.y))[0].wall
        default = clock(lambda: peer.fit(problem.X, problem.y))[0].wall
        with pools.limit(limits=1):
            alone = clock(lambda: peer.fit(problem.X, problem.y))[0].wall
        times.append((mine, default, alone))
    mine, *others = (median(column) for column in zip(*times, strict=True))
    theirs = min(others)
    least = [min(column) for column in zip(*times, strict=True)]
    name = f"sklearn {kind.__name__} (tol {peer.tol:.0e})"
    return Check(
        f"warm 100×10 {problem.name.removeprefix('small_')} fit",
        f"{mine * 1e3:.2f} ms",
        f"{name} {theirs * 1e3:.2f} ms",
        mine / theirs,
        _RATIO,
        remark=f"median of {repeats}; sklearn on one or all threads, the better; "
        f"ratio of the best times {least[0] / min(least[1:]):.2f}",
    )


def _peer(kind: type, problem: Problem, tol: float) -> Any:
    strength = {"alpha": problem.alpha} if kind is Lasso else {"C": problem.C}
    return kind(**strength, tol=tol, max_iter=10000)


def _gap(peer: Any, problem: Problem, judge: Judge) -> float:
    peer.fit(problem.X, problem.y)
    return judge.relative(Model(np.atleast_2d(peer.coef_), np.atleast_1d(peer.intercept_)))


# Fresh processes --------------------------------------------------------------------------------

_CHILD = """
import json, time
clock, start = time.perf_counter, time.perf_counter()
import {package}
bare = clock() - start
from {module} import {names}
ready = clock() - start
import numpy as np
rng = np.random.default_rng(0)
X = rng.standard_normal((100, 50)); y = X[:, :5].sum(axis=1) + rng.standard_normal(100)
{label}
start = clock(); {fit}.fit(X, y); print(json.dumps([bare, ready, clock() - start]))
"""
_OURS = {"package": "minimand", "module": "minimand", "names": "Classifier, Regressor"}
_THEIRS = {
    "package": "sklearn",
    "module": "sklearn.linear_model",
    "names": "Lasso, LogisticRegression",
}
_FITS = {  # label, then the estimators of minimand and of scikit-learn
    "lasso": ("", "Regressor('squared', 'l1', alpha=.05)", "Lasso(alpha=.05, tol=1e-6)"),
    "logistic": (
        "y = np.sign(y)",
        "Classifier('logistic', 'l2', alpha=.01)",
        "LogisticRegression(C=1.0, tol=1e-6)",
    ),
}


def _processes(rounds: int) -> list[Check]:
    """First fits and the import, the best of some processes taken in turn."""
    codes = [
        _CHILD.format(label=label, fit=fit, **library)
        for label, ours, theirs in _FITS.values()
        for fit, library in ((ours, _OURS), (theirs, _THEIRS))
    ]
    times = np.array([[fresh(["-c", code]) for code in codes] for _ in range(rounds)])
    # rounds, kinds of fit, libraries, (bare import, import of the estimators, first fit)
    times = times.reshape(rounds, len(_FITS), 2, 3)
    firsts = [
        _first(kind, *_pair(times[:, k, :, 2].min(axis=0)), rounds) for k, kind in enumerate(_FITS)
    ]
    imports = _pair(times[..., 1].min(axis=(0, 1)))
    return [*firsts, _import(*imports, float(times[:, :, 0, 0].min()), rounds)]


def _pair(values: Array) -> tuple[float, float]:
    ours, theirs = values
    return float(ours), float(theirs)


def _first(kind: str, ours: float, theirs: float, rounds: int) -> Check:
    return Check(
        f"first 100×50 {kind} fit of a process",
        f"{ours:.3f} s",
        f"sklearn {theirs:.3f} s",
        ours - theirs,
        _FIRST,
        "s more",
        f"after the imports, best of {rounds} processes",
    )


def _import(ours: float, theirs: float, bare: float, rounds: int) -> Check:
    """To an estimator in hand: minimand loads its parts at first use, so `import` alone is free."""
    return Check(
        "import of the estimators",
        f"{ours:.3f} s",
        f"sklearn.linear_model {theirs:.3f} s",
        ours - theirs,
        _IMPORT,
        "s more",
        f"best of {len(_FITS) * rounds} processes; `import minimand` alone, which is lazy: "
        f"{bare:.3f} s",
    )
