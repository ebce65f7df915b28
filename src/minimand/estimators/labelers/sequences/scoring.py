"""Sequences with the scores that a fitted labeler gives them, ready for the dynamic programs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...._base.typing import Array, IntArray
from ....design import as_design
from ....outputs.chain import Chains, viterbi
from ..structure import edge_width
from ..tokens import read, sequences
from .edges import edge_rows


class Scored(NamedTuple):
    """Scores of the sequences that have tokens; the offsets are those of all sequences."""

    chains: Chains | None  # None if no sequence has a token
    offsets: IntArray

    def nothing(self) -> list[list[Any]]:
        """An empty list for each sequence."""
        return [[] for _ in self.offsets[1:]]

    def by_sequence(self, values: Array, empty: float) -> Array:
        """Numbers of the sequences that have tokens, and the number of those that have none."""
        full = np.diff(self.offsets) > 0
        found = np.full(full.size, empty)
        found[full] = values
        return found

    def labellings(self, named: list[Any], values: Array, norms: Array | None, kind: Any) -> Any:
        """The labellings of each sequence, by rank; ``named`` has a list of labels per rank."""
        found, row = [], 0
        for place, length in enumerate(np.diff(self.offsets)):
            own: list[Any] = []
            if not length:  # its only labelling has no label
                own.append(kind([], 0.0, None if norms is None else 1.0))
            for rank, labels in enumerate(named if length else ()):
                value = float(values[row, rank])
                if np.isfinite(value):
                    probability = None if norms is None else float(np.exp(value - norms[row]))
                    own.append(kind(labels[place], value, probability))
            row += length > 0
            found.append(own)
        return found


def scored(labeler: Any, X: Any) -> Scored:
    """Read sequences and score them with the weights of the fit."""
    check_is_fitted(labeler, "coef_")
    tokens = read(sequences(X), labeler)
    runs = np.unique(tokens.offsets)  # without sequences that have no token
    if runs.size == 1:
        return Scored(None, tokens.offsets)
    unary = as_design(tokens.matrix).matvec(np.ascontiguousarray(labeler.coef_.T))
    k, edges = labeler.classes_.size, None
    width = edge_width(labeler)
    if width:  # else none of the fit's sequences had a step
        rows = edge_rows(labeler._edges, tokens.matrix, runs, width)
        weights = np.ascontiguousarray(labeler.edge_coef_.reshape(-1, k * k))
        edges = as_design(rows).matvec(weights).reshape(-1, k, k)
    chains = Chains(unary, runs, labeler.transitions_, labeler.start_, labeler.stop_, edges)
    _refuse_impossible(labeler, chains, tokens.offsets)
    return Scored(chains, tokens.offsets)


def _refuse_impossible(labeler: Any, chains: Chains, offsets: IntArray) -> None:
    """Refuse sequences of a length that no allowed labelling has."""
    if np.isfinite(labeler.transitions_).all():
        return
    values = viterbi(chains)[1]
    if not np.isfinite(values).all():
        places = np.flatnonzero(np.diff(offsets) > 0)
        place = int(places[np.flatnonzero(~np.isfinite(values))[0]])
        raise ValueError(
            f"X[{place}] has {offsets[place + 1] - offsets[place]} tokens, and no sequence of "
            "labels of this length is allowed by the transitions of the fit: allow more of them."
        )
