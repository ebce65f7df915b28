"""What labelers of sequences and of graphs share: limits, progress, the result of a training."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._base.parameters import NamesParameters, merge_nested
from ..._base.typing import IntArray
from ..._base.watch import stoppable
from ...solvers import Control
from ...solvers.structured.course import Trained
from ..callbacks import CallbackSupportMixin, Relay, is_sklearn_callback
from ..outcome import shortfall
from ..summary import Summarised


class Labelling(NamedTuple):
    """One labelling of a sequence or graph: its labels, score and, of a CRF, its probability."""

    labels: list[Any]
    score: float
    probability: float | None


def has_probabilities(labeler: Any) -> bool:
    """Whether the loss has probabilities; an AttributeError says why not."""
    loss = vars(labeler).get("loss_", labeler.loss)
    if loss != "crf":
        raise AttributeError(f"loss={loss!r} has scores and no probabilities: take loss='crf'.")
    return True


def labellings_wanted(k: Any, n_labels: int, lengths: IntArray) -> int:
    """k, checked, or the number of labellings of the longest sequence if there are not as many."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k must be an integer ≥ 1, not {k!r}.")
    longest = min(int(lengths.max()), 64)  # 2⁶⁴ labellings are more than anybody has room for
    return min(int(k), int(n_labels) ** longest)


class Labeler(NamesParameters, CallbackSupportMixin, Summarised):
    """The base of labelers; a subclass stores a `Trained` as its fitted attributes."""

    loss: str
    tol: float
    max_iter: int | None
    max_seconds: float | None
    random_state: Any
    verbose: bool
    callbacks: Any

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a nested object is replaced by a changed copy."""
        for name, value in merge_nested(self, params).items():
            setattr(self, name, value)
        return self

    def _asked_for(self, posed: Any, names: Iterable[str]) -> dict[str, Any]:
        """What the problem of this fit was made from: parameters, and the masks that they gave."""
        own = {name: getattr(self, name) for name in names}
        choices = posed.choices
        return own | {"loss": choices.loss, "penalty": choices.penalty, "masks": posed.masks}

    def _store(self, posed: Any, trained: Trained) -> None:
        """Keep the model."""
        raise NotImplementedError

    def _fitted(
        self, posed: Any, train: Callable[[Control], Trained], X: Any, y: Any, begun: float
    ) -> Self:
        """Train and store the model; warn if training stopped short."""
        name = type(self).__name__
        with stoppable(self):
            self.__dict__.pop("_stream", None)  # a new fit discards the state of partial_fit
            with Relay(self, X, y) as relay:
                extra = relay.to(lambda state: {})  # steps in between are not kept as models
                trained = self._watched(train, self._control(extra, begun))
            self._store(posed, trained)
        if not trained.converged and trained.certificate.kind == "global":
            penalised = bool(posed.problem.l1 or posed.problem.l2)
            resumes = hasattr(self, "warm_start")
            text = shortfall(trained, float(self.tol), [], penalised=penalised, resumes=resumes)
            warnings.warn(f"{name}: {text}", ConvergenceWarning, stacklevel=4)
        return self

    def _watched(self, train: Callable[[Control], Trained], control: Control) -> Trained:
        """Train, with a progress bar if ``verbose``."""
        if not self.verbose:
            return train(control)
        from ...report.progress import Bar

        bar = Bar(type(self).__name__)
        control.callbacks = [*control.callbacks, bar]
        try:
            return train(control)
        finally:
            bar.close()

    def _control(self, extra: list[Any], begun: float | None = None) -> Control:
        """The limits of a fit."""
        own = [c for c in self.callbacks or () if not is_sklearn_callback(c)]
        return Control(
            tol=float(self.tol),
            max_iter=self.max_iter,
            max_seconds=self.max_seconds,
            callbacks=[*own, *extra],
            random_state=self.random_state,
            started=time.perf_counter() if begun is None else begun,
        )

    def __sklearn_tags__(self) -> Any:
        """X is a list, so that scikit-learn's checks of matrices do not apply."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.no_validation = True
        return tags
