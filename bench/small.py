"""What small problems cost: warm fits, the first fit of a process, and the import."""

from __future__ import annotations

import gc
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from sklearn.linear_model import Lasso, LogisticRegression
from threadpoolctl import ThreadpoolController

from .fresh import fresh
from .judge import TARGET, Judge, Model, judge_of
from .peers.minimand import estimator
from .problem import Problem
from .problems import alpha_max
from .report import Check
from .timing import clock

_RATIO, _FIRST, _IMPORT = 2.0, 0.1, 0.2
_FRESH = 5
Say = Callable[[str], None]


def checks(repeats: int, say: Say) -> list[Check]:
    """All of them; ``repeats`` is how many warm fits the median is taken of."""
    # The clock collects garbage before every fit: that must not look through all of the peers.
    gc.collect()
    gc.freeze()
    found = [_warm(_lasso(), Lasso, repeats), _warm(_logistic(), LogisticRegression, repeats)]
    found += [_first("lasso"), _first("logistic"), _import()]
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

_MAKE = """
import time, numpy as np
rng = np.random.default_rng(0)
X = rng.standard_normal((100, 50)); y = X[:, :5].sum(axis=1) + rng.standard_normal(100)
{label}
start = time.perf_counter(); {fit}; print(time.perf_counter() - start)
"""
_FITS = {  # label, then import and fit of minimand, then of scikit-learn
    "lasso": (
        "",
        "from minimand import Regressor",
        "Regressor('squared', 'l1', alpha=.05).fit(X, y)",
        "from sklearn.linear_model import Lasso",
        "Lasso(alpha=.05, tol=1e-6).fit(X, y)",
    ),
    "logistic": (
        "y = np.sign(y)",
        "from minimand import Classifier",
        "Classifier('logistic', 'l2', alpha=.01).fit(X, y)",
        "from sklearn.linear_model import LogisticRegression",
        "LogisticRegression(C=1.0, tol=1e-6).fit(X, y)",
    ),
}


def _best(*codes: str) -> list[float]:
    """The smallest number each piece of code prints, over processes taken in turn."""
    rounds = [[float(fresh(["-c", code])) for code in codes] for _ in range(_FRESH)]
    return [min(column) for column in zip(*rounds, strict=True)]


def _first(kind: str) -> Check:
    label, import_ours, fit_ours, import_theirs, fit_theirs = _FITS[kind]
    ours, theirs = _best(
        f"{import_ours}\n" + _MAKE.format(label=label, fit=fit_ours),
        f"{import_theirs}\n" + _MAKE.format(label=label, fit=fit_theirs),
    )
    return Check(
        f"first 100×50 {kind} fit of a process",
        f"{ours:.3f} s",
        f"sklearn {theirs:.3f} s",
        ours - theirs,
        _FIRST,
        "s more",
        f"after the imports, best of {_FRESH} processes",
    )


def _import() -> Check:
    """To an estimator in hand: minimand loads its parts at first use, so `import` alone is free."""
    line = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
    ours, theirs, bare = _best(
        line.format("from minimand import Classifier, Regressor"),
        line.format("from sklearn.linear_model import Lasso, LogisticRegression"),
        line.format("import minimand"),
    )
    return Check(
        "import of the estimators",
        f"{ours:.3f} s",
        f"sklearn.linear_model {theirs:.3f} s",
        ours - theirs,
        _IMPORT,
        "s more",
        f"best of {_FRESH} processes; `import minimand` alone, which is lazy: {bare:.3f} s",
    )
