"""Problems that are solved in batches: the first one that is asked for brings its batch along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic, TypeVar

from ..problem.objective import Objective
from .base import Control, Start

T = TypeVar("T")
Train = Callable[[list[Objective], list[Start], Control], Sequence[T]]


class Batches(Generic[T]):
    """What ``train`` finds for every problem of a batch, handed out once.

    ``members`` holds the numbers of the problems of each batch. ``train`` may find nothing; then
    every problem of the batch is left to begin by itself.
    """

    def __init__(
        self,
        objectives: Sequence[Objective],
        starts: Sequence[Start],
        members: Sequence[Sequence[int]],
        train: Train[T],
    ) -> None:
        self._batch: dict[int, _Batch[T]] = {}
        for numbers in members:
            batch = _Batch([objectives[i] for i in numbers], [starts[i] for i in numbers], train)
            for i in numbers:
                self._batch[id(objectives[i])] = batch

    def take(self, objective: Objective, control: Control) -> T | None:
        """What was found for a problem; None if there is nothing, or it was taken before."""
        batch = self._batch.pop(id(objective), None)
        return None if batch is None else batch.take(objective, control)


class _Batch(Generic[T]):
    """Some problems; a second thread that asks for one of them waits for the first."""

    def __init__(self, objectives: list[Objective], starts: list[Start], train: Train[T]) -> None:
        self._objectives, self._starts, self._train = objectives, starts, train
        self._lock = Lock()
        self._found: dict[int, T] | None = None

    def take(self, objective: Objective, control: Control) -> T | None:
        with self._lock:
            if self._found is None:
                found = self._train(self._objectives, self._starts, control)
                self._found = {id(o): one for o, one in zip(self._objectives, found)}
            return self._found.pop(id(objective), None)
