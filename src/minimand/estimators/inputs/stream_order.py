"""Warns of a stream that is sorted by class: stochastic steps learn it badly."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..._base.typing import AnyArray, Array

_LONG = 1000  # rows; safeguard: shorter runs of one class do little harm
_IMPOSSIBLE = 20.0  # −ln of the probability of a run among mixed rows; safeguard (2e-9)


@dataclass
class Order:
    """Counts consecutive rows of one class, and warns once.

    The latest rows have the most influence on a model learnt by stochastic steps. A run of one
    class is suspicious if it is long and improbable: if the class had a share p of the rows before,
    the probability of the run is p^run ≤ e^−(1−p)·run.
    """

    counts: Array = field(default_factory=lambda: np.zeros(0))  # rows by class before the run
    run: int = 0  # rows of the last consecutive batches that hold only this one class
    batches: int = 0
    place: int = -1  # index of that class; −1 if the last batch held several
    warned: bool = False

    def watch(self, targets: Sequence[Array], classes: AnyArray) -> None:
        """Look at one more batch, as its targets per score."""
        columns = np.stack(targets, axis=1) > 0
        found = columns[:, 0].astype(int) if columns.shape[1] == 1 else columns.argmax(axis=1)
        place = int(found[0]) if (found == found[0]).all() else -1
        before = self.counts if self.counts.size else np.zeros(classes.size)
        if place < 0 or place != self.place:
            if self.place >= 0:
                before[self.place] += self.run
            self.place, self.run, self.batches = place, 0, 0
        self.counts = before
        if place < 0:
            self.counts += np.bincount(found, minlength=classes.size)
            return
        self.run, self.batches = self.run + found.size, self.batches + 1
        share = (before[place] + 1) / (before.sum() + 2)
        if self.run >= _LONG and (1 - share) * self.run >= _IMPOSSIBLE and not self.warned:
            self.warned = True
            warnings.warn(
                f"the last {self.run} rows of the stream are all of the class "
                f"{classes.tolist()[place]!r}: stochastic steps follow what they have seen last, "
                "so mix the rows of a stream that is sorted by class.",
                UserWarning,
                stacklevel=6,
            )
