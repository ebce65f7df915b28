"""The scores of cross-validation by alpha, and the rules that choose an alpha."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from .._base.typing import Array, BoolArray, IntArray
from .folds import Outcome

RULES = ("min", "1se")


class Scores:
    """Scores of folds at every alpha (greater is better) and their averages.

    Parameters
    ----------
    alphas : decreasing.
    by_fold : (n_folds, n_alphas).
    weights : weights of the folds in the average.
    reached : the number of alphas that each fold reached; by default all.
    """

    def __init__(
        self, alphas: Array, by_fold: Array, weights: Array, reached: IntArray | None = None
    ) -> None:
        self.alphas = alphas
        whole = np.full(len(by_fold), len(alphas))
        self.folds, self.known = _known(whole if reached is None else reached, len(alphas))
        if not self.folds.any():
            self.mean = self.std = self.error = np.full(len(alphas), np.nan)
            return
        part = weights[self.folds] / weights[self.folds].sum()
        inside = by_fold[self.folds]
        with np.errstate(invalid="ignore", over="ignore"):
            self.mean = part @ inside
            self.std = np.sqrt(part @ (inside - self.mean) ** 2)
            # As in glmnet: the standard error of a mean over a sample of folds.
            self.error = self.std / np.sqrt(max(len(inside) - 1, 1))

    def best(self, rule: str) -> int:
        """The index that a rule chooses; of equal scores, that of the largest alpha.

        "1se" is the largest alpha whose score is within one standard error of the best. If no fold
        was scored before a stop, the index is that of the largest alpha.
        """
        if not self.folds.any():
            return 0
        usable = self._usable
        if not np.isfinite(usable).any():
            raise ValueError(
                "no alpha has a finite score: choose another scoring, or larger folds and alphas."
            )
        top = int(np.argmax(usable))
        if rule == "min" or not np.isfinite(self.error[top]):
            return top
        return int(np.argmax(usable >= usable[top] - self.error[top]))

    @property
    def _usable(self) -> Array:
        """Mean scores, −inf if unknown."""
        return np.where(np.isfinite(self.mean) & self.known, self.mean, -np.inf)

    @property
    def highest(self) -> float:
        """The best mean score, −inf if there is none."""
        return float(self._usable.max())

    def table(self, outcomes: list[Outcome]) -> dict[str, Any]:
        """Columns as in GridSearchCV, one entry per alpha."""
        found: dict[str, Any] = {
            "param_alpha": self.alphas,
            "params": [{"alpha": float(alpha)} for alpha in self.alphas],
            "mean_test_score": self.mean,
            "std_test_score": self.std,
            "sem_test_score": self.error,
            "rank_test_score": ranks(self.mean, self.known),
        }
        for i, outcome in enumerate(outcomes):
            found[f"split{i}_test_score"] = outcome.scores
        if outcomes:
            counts = np.stack([outcome.n_nonzero for outcome in outcomes])
            gaps = np.stack([outcome.relative_gaps for outcome in outcomes])
            counting = self.folds if self.folds.any() else slice(None)
            found["mean_n_nonzero"] = counts[counting].mean(axis=0)
            found["max_relative_gap"] = gaps[counting].max(axis=0)
        return found


def ranks(mean: Array, known: BoolArray) -> IntArray:
    """Ranks of mean scores, 1 for the best; unknown ones come last."""
    order = np.where(np.isfinite(mean) & known, -mean, np.inf)
    return rankdata(order, method="min").astype(np.int32)


def _known(reached: IntArray, length: int) -> tuple[BoolArray, BoolArray]:
    """Folds that count, and the alphas that all of them reached.

    A fold that was stopped has only reached the first alphas. If some folds are complete, these
    count, at every alpha; otherwise all folds that were begun count, at the alphas that all of them
    reached.
    """
    complete = reached == length
    folds = complete if complete.any() else reached > 0
    return folds, np.arange(length) < reached[folds].min(initial=length if folds.any() else 0)
