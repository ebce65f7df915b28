"""Where k-means begins: k-means++, random rows, a random partition, or given centres."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from ... import _core
from ..._base.typing import Array, IntArray
from ..._base.wording import brief
from ...estimators.settings import check_whole
from .distances import medians
from .rows import Rows

Start = Callable[[Rows, int, np.random.RandomState], Array]
AGAIN = 10  # starts of a random kind, of which the best is kept; convention: scikit-learn's


def plus_plus(rows: Rows, k: int, random: np.random.RandomState) -> Array:
    """Greedy k-means++: rows drawn with probabilities proportional to weight · cost.

    Of 2 + ⌊ln k⌋ rows drawn for every centre, the one that lowers the objective most is kept. The
    draws are those of scikit-learn, so that the same seed gives the same rows up to rounding.
    """
    return rows.points(plus_plus_rows(rows, k, random))


def plus_plus_rows(rows: Rows, k: int, random: np.random.RandomState) -> IntArray:
    """The numbers of the rows that k-means++ chooses."""
    first = int(random.choice(rows.shape[0], p=_shares(rows)))
    trials = 2 + int(math.log(k))
    uniforms = random.uniform(size=(k - 1, trials))
    return _core.seed_rows(rows.compiled, k, rows.facts, first, uniforms)


def random_rows(rows: Rows, k: int, random: np.random.RandomState) -> Array:
    """Different rows, drawn with probabilities proportional to their weights."""
    return rows.points(random.choice(rows.shape[0], size=k, replace=False, p=_shares(rows)))


def random_partition(rows: Rows, k: int, random: np.random.RandomState) -> Array:
    """The best centres of clusters of equal size, into which the rows are dealt at random."""
    n = rows.shape[0]
    dealt = np.arange(n) if rows.weights is None else np.flatnonzero(rows.weights)
    labels = np.full(n, -1)
    labels[random.permutation(dealt)] = np.arange(dealt.size) % k
    before = rows.points(dealt[:k])
    if not rows.distance.by_sums:
        return medians(rows.X, labels, rows.weights, before, np.arange(k))
    spread = sparse.csr_matrix((rows.masses[dealt], (labels[dealt], dealt)), shape=(k, n))
    scaled = spread if not rows.factors.size else spread.multiply(rows.factors).tocsr()
    sums = np.asarray((scaled @ rows.X).toarray() if sparse.issparse(rows.X) else scaled @ rows.X)
    masses = np.asarray(spread.sum(axis=1)).ravel()
    return rows.distance.centers(sums.astype(float), masses, before)


STARTS: dict[str, Start] = {
    "k-means++": plus_plus,
    "random": random_rows,
    "partition": random_partition,
}


def check_init(init: Any, k: int, n_features: int | None = None) -> None:
    """Refuse an ``init`` that is neither a name, nor a function, nor an array of centres."""
    if isinstance(init, str):
        if init not in STARTS:
            raise ValueError(
                f"init={init!r} is not known: pass one of {sorted(STARTS)}, an array of shape "
                "(n_clusters, n_features), or a function init(X, n_clusters, random_state)."
            )
        return
    if not callable(init):
        _given(init, k, n_features)


def check_n_init(n_init: Any, init: Any) -> int:
    """The number of starts; "auto" is 1 for k-means++ and given centres, else `AGAIN`."""
    if isinstance(n_init, str) and n_init == "auto":
        drawn = isinstance(init, str) and init != "k-means++"
        return AGAIN if callable(init) or drawn else 1
    return check_whole("n_init", n_init) if isinstance(init, str) or callable(init) else 1


def start_of(init: Any, k: int, n_features: int) -> Start:
    """The function that gives the centres to begin with."""
    if isinstance(init, str):
        return STARTS[init]
    if callable(init):
        return lambda rows, k, random: rows.admitted(
            _given(init(rows.as_passed, k, random_state=random), k, n_features)
        )
    centers = _given(init, k, n_features)
    return lambda rows, k, random: rows.admitted(centers.copy())


def _given(init: Any, k: int, n_features: int | None) -> Array:
    """Centres that were passed, as an array of their own."""
    try:
        centers = check_array(init, dtype=np.float64, accept_sparse="csr", input_name="init")
    except (TypeError, ValueError) as error:
        raise ValueError(
            "init must be a name, a function or an array of finite numbers of shape (n_clusters, "
            f"n_features), not {brief(init)}{_not_finite(init)}."
        ) from error
    centers = np.array(centers.toarray() if sparse.issparse(centers) else centers)
    if centers.shape[0] != k or n_features not in (None, centers.shape[1]):
        columns = "n_features" if n_features is None else n_features
        raise ValueError(
            f"The shape of the initial centers {centers.shape} does not match ({k}, {columns}): "
            "init must have a row for every cluster and a column for every feature."
        )
    return centers


def _not_finite(init: Any) -> str:
    """Which entries of centres are no finite numbers, in words; empty if all are, or none."""
    try:
        values = np.asarray(init.data if sparse.issparse(init) else init, dtype=float)
    except (TypeError, ValueError):
        return ""
    if np.isnan(values).any():
        return " with NaN"
    return " with infinity" if np.isinf(values).any() else ""


def _shares(rows: Rows) -> Array | None:
    """The weights as probabilities."""
    n = rows.shape[0]
    return np.full(n, 1.0 / n) if rows.weights is None else rows.weights / rows.weights.sum()
