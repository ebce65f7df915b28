"""What a fitted labeler has learnt: its heaviest features and transitions, and a picture."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._base.typing import AnyArray, Array
from .tokens import names


class FeatureWeight(NamedTuple):
    """A feature and its weight for a label."""

    feature: str
    weight: float


class TransitionWeight(NamedTuple):
    """Two labels that follow each other, and the weight of that."""

    before: Any
    after: Any
    weight: float


class Neighbours(NamedTuple):
    """Scores of labels of neighbours; of first and last labels too if they have any."""

    transitions: Array
    start: Array | None = None
    stop: Array | None = None


class Inspected:
    """Methods that list and draw what a labeler has learnt."""

    classes_: AnyArray
    coef_: Array
    features_: Any

    def _neighbours(self) -> Neighbours:
        """The scores of labels of neighbours."""
        raise NotImplementedError

    def top_features(self, label: Any, n: int = 10, *, lowest: bool = False) -> list[FeatureWeight]:
        """The features that speak most for a label, the heaviest first.

        Parameters
        ----------
        label : one of ``classes_``
        n : int, default=10
            How many; features of weight 0 are left out.
        lowest : bool, default=False
            Those that speak most against the label instead, the most negative weight first.

        Examples
        --------
        >>> import minimand as mm
        >>> X = [[{"word": "the"}, {"word": "dog"}], [{"word": "the"}, {"word": "cat"}]]
        >>> model = mm.SequenceLabeler(alpha=0.1).fit(X, [["D", "N"], ["D", "N"]])
        >>> [feature for feature, weight in model.top_features("D")]
        ['word:the']
        """
        check_is_fitted(self, "coef_")
        known = self.classes_.tolist()
        if label not in known:
            raise ValueError(f"label must be one of {known}, not {label!r}.")
        weights = self.coef_[known.index(label)]
        titles = names(self.features_, weights.size, vars(self).get("feature_names_in_"))
        return [FeatureWeight(titles[i], float(weights[i])) for i in _heaviest(weights, n, lowest)]

    def top_transitions(self, n: int = 10, *, lowest: bool = False) -> list[TransitionWeight]:
        """The labels of neighbours with the largest weights, the heaviest first.

        Parameters
        ----------
        n : int, default=10
            How many; pairs of weight 0 and those that are not allowed are left out.
        lowest : bool, default=False
            Those with the most negative weights instead.

        Examples
        --------
        >>> import minimand as mm
        >>> X = [[{"word": "the"}, {"word": "dog"}], [{"word": "the"}, {"word": "cat"}]]
        >>> model = mm.SequenceLabeler(alpha=0.1).fit(X, [["D", "N"], ["D", "N"]])
        >>> before, after, weight = model.top_transitions(1)[0]
        >>> before, after
        ('D', 'N')
        """
        check_is_fitted(self, "coef_")
        known, k = self.classes_.tolist(), self.classes_.size
        table = self._neighbours().transitions
        flat = np.where(np.isfinite(table), table, 0.0).ravel()
        return [
            TransitionWeight(known[i // k], known[i % k], float(flat[i]))
            for i in _heaviest(flat, n, lowest)
        ]

    def plot(self, ax: Any = None) -> Any:
        """Draw the scores of labels of neighbours as a table of colours, with start and stop.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        check_is_fitted(self, "coef_")
        from ...report.transitions import plot_transitions

        return plot_transitions(self.classes_, *self._neighbours(), ax)


def _heaviest(weights: Array, n: int, lowest: bool) -> list[int]:
    """The places of the n largest positive weights, or of the n most negative ones."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n must be an integer ≥ 1, not {n!r}.")
    signed = -weights if lowest else weights
    order = np.argsort(-signed, kind="stable")[:n]
    return [int(i) for i in order if signed[i] > 0]
