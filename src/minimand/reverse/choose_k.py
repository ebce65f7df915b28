"""`choose_k`: the number of clusters by the gap statistic, silhouettes, eigenvalues or proofs."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._base.threads import get_num_threads, one_core_thread
from .._base.typing import Array, ArrayLike, IntArray
from .._base.watch import INTERRUPT, Interrupted, interrupt, reason, time_limit, watching
from .._base.wording import brief, counted
from ..estimators.settings import check_real, check_seed, check_whole
from ..kernels.rows import count
from ..solvers.in_parallel import in_threads
from .criteria import CRITERIA, Criterion

_LABELS = {
    "gap": "gap statistic  E log W − log W",
    "silhouette": "mean silhouette",
    "eigengap": "eigengap  λₖ − λₖ₊₁",
    "certificate": "lower bound / objective",
}


@dataclass(frozen=True, eq=False, repr=False)
class KChoice:
    """The number of clusters that a criterion chooses, and what it is based on.

    Attributes
    ----------
    k : int
        The choice.
    ks : ndarray of int
        The numbers that were compared.
    values : ndarray
        The criterion for each; NaN where it is not defined.
    errors : ndarray or None
        The standard errors of the gap statistic.
    criterion : str
    model : estimator
        The clusterer fitted to the data with ``k`` clusters.

    ``plot()`` draws the values.
    """

    k: int
    ks: IntArray
    values: Array
    errors: Array | None
    criterion: str
    model: Any = field(default=None)

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}: {v:.3g}" for k, v in zip(self.ks, self.values))
        return f"KChoice(k={self.k} by {self.criterion}; {shown})"

    def plot(self, ax: Any = None) -> Any:
        """Draw the criterion against k, with the chosen k marked; returns matplotlib Axes."""
        from ..report.number_of_clusters import plot_choice

        label = _LABELS[self.criterion]
        return plot_choice(self.ks, self.values, self.errors, self.k, label, ax)


def choose_k(
    X: ArrayLike,
    k: Iterable[int] = range(1, 11),
    criterion: str = "gap",
    *,
    estimator: Any = None,
    n_references: int = 20,
    rule: str = "first",
    random_state: Any = None,
    max_seconds: float | None = None,
    verbose: bool = False,
) -> KChoice:
    r"""Choose the number of clusters.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Or what the estimator takes.
    k : iterable of int, default=range(1, 11)
        The numbers to compare.
    criterion : {"gap", "silhouette", "eigengap", "certificate"}, default="gap"
        "gap" compares log W, W the sum of squares within clusters, with its mean over
        ``n_references`` sets of uniform points in the box of the data along its principal axes, and
        takes the least k with :math:`\text{gap}(k) \ge \text{gap}(k + 1) - s_{k+1}`, where
        :math:`s_k` is the standard deviation times :math:`\sqrt{1 + 1/B}` (Tibshirani, Walther and
        Hastie). It can say k = 1, as "eigengap" can. "silhouette" takes the largest mean
        silhouette. "eigengap" takes the largest fall :math:`\lambda_k - \lambda_{k+1}` of the
        eigenvalues of the normalised affinities, and needs no clustering. "certificate" takes the
        largest k ≥ 2 whose clustering is proved optimal, as well-separated clusters are; if none is
        proved, the largest lower bound divided by the objective.
    estimator : clusterer, optional
        With ``n_clusters`` and ``labels_``; by default ``KMeans(n_init=5)``, or ``NormalizedCut()``
        for the eigengap, whose affinities are used.
    n_references : int, default=20
        B, for "gap".
    rule : {"first", "global"}, default="first"
        For "gap": the rule above, or the least k whose gap is within one standard error of the
        largest gap. With clusters of clusters the gap may fall before it rises, which ends the
        first rule too early; the picture shows it.
    random_state : int or RandomState, optional
    max_seconds : float, optional
        Stop after so many seconds; the choice is among the numbers that are done.
    verbose : bool, default=False
        Say what was found for every k.

    Returns
    -------
    KChoice

    Raises
    ------
    Interrupted
        After Ctrl-C; its ``result`` is the choice among the numbers that were done.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(200, centers=4, n_features=3, random_state=0)
    >>> choice = mm.choose_k(X, range(1, 6), n_references=5, random_state=0)
    >>> choice.k, choice.model.n_clusters
    (4, 4)
    """
    if X is None:
        raise ValueError("X is None: pass a matrix with one row per sample.")
    ks = _checked_numbers(k, criterion, count(X) if hasattr(X, "shape") else len(X))
    check_whole("n_references", n_references)
    check_seed(random_state)
    if rule not in ("first", "global"):
        raise ValueError(f"rule must be 'first' or 'global', not {brief(rule)}.")
    limit = None if max_seconds is None else check_real("max_seconds", max_seconds, low=0.0)
    criteria: Criterion = CRITERIA[criterion](X, estimator, ks, n_references, rule, random_state)
    with watching(time_limit(limit)) as watch:
        results = _computed(criteria, ks, bool(verbose))
        stopped = watch.why()
    done = [place for place, found in enumerate(results) if None not in found]
    if not done:
        if stopped == INTERRUPT:
            raise KeyboardInterrupt
        raise ValueError(f"{stopped} passed before any k was done: allow more time.")
    choice = _chosen(criteria, ks[done], [results[place] for place in done], criterion)
    if stopped == INTERRUPT:
        text = f"choose_k: stopped by {INTERRUPT} after {len(done)} of {counted(len(ks), 'k')}"
        raise Interrupted(f"{text}; the choice among these is the `result`.", choice)
    if stopped:
        warnings.warn(
            f"choose_k: stopped by {stopped} after {len(done)} of {len(ks)} numbers of clusters; "
            "the choice is among these.",
            ConvergenceWarning,
            stacklevel=2,
        )
    elif end := _end_of_range(choice, CRITERIA[criterion].least):
        warnings.warn(f"choose_k: {end}", UserWarning, stacklevel=2)
    return choice


def _end_of_range(choice: KChoice, least: int) -> str:
    """What to compare besides, if the choice is the first or the last of the numbers."""
    if choice.k == choice.ks[-1]:
        return f"k={choice.k} is the largest that was compared: compare larger numbers, too."
    if choice.k == choice.ks[0] > least:
        return f"k={choice.k} is the smallest that was compared: compare smaller numbers, too."
    return ""


def _checked_numbers(k: Any, criterion: Any, n_samples: int) -> IntArray:
    """The numbers of clusters in increasing order; each bad argument gets a sentence."""
    if not isinstance(criterion, str) or criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {sorted(CRITERIA)}, not {brief(criterion)}.")
    if not isinstance(k, Iterable) or isinstance(k, str):
        raise ValueError(f"k must hold the numbers to compare, such as range(1, 11), not {k!r}.")
    numbers = sorted({check_whole("every k", number) for number in k})
    if numbers and numbers[-1] > n_samples:
        raise ValueError(
            f"k={numbers[-1]} is more than the n_samples={n_samples} rows of X: compare smaller k."
        )
    least = CRITERIA[criterion].least
    found = np.array([number for number in numbers if number >= least], dtype=np.int64)
    if len(found) < 2:
        raise ValueError(
            f"criterion={criterion!r} needs at least two different k ≥ {least} to compare, but k "
            f"is {brief(list(numbers))}."
        )
    return found


def _computed(rule: Criterion, ks: IntArray, verbose: bool) -> list[list[Any]]:
    """The results for every k; None where a computation was stopped or not begun.

    Each computation uses one thread of the compiled core, and as many run at a time as there are
    threads, so that results do not depend on the number of threads.
    """

    def work(task: int) -> Any:
        k, part = int(ks[task // rule.parts]), task % rule.parts
        if reason():
            return None
        try:
            found = rule.compute(k, part)
        except KeyboardInterrupt:
            interrupt()
            return None
        if reason():
            return None
        if verbose and part == 0:
            print(f"choose_k: k={k}", file=sys.stderr)
        return (found,)

    tasks = len(ks) * rule.parts
    with one_core_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of fits that are stopped short
        found = in_threads(work, tasks, min(get_num_threads(), tasks))
    return [found[i : i + rule.parts] for i in range(0, tasks, rule.parts)]


def _chosen(rule: Criterion, ks: IntArray, results: list[list[Any]], criterion: str) -> KChoice:
    """The values, and the choice among them."""
    plain = [[part for (part,) in found] for found in results]
    pairs = [rule.value(int(k), found) for k, found in zip(ks, plain)]
    values, errors = (np.array(numbers) for numbers in zip(*pairs))
    if not np.isfinite(values).any():
        raise ValueError(
            f"criterion={criterion!r} has no value for any k of {ks.tolist()}: every cluster "
            "consists of equal samples, or there is no lower bound."
        )
    place = rule.choice(values, errors)
    model = rule.model(int(ks[place]), plain[place])
    known = errors if np.isfinite(errors).any() else None
    return KChoice(int(ks[place]), ks, values, known, criterion, model)
