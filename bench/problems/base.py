"""One benchmark problem: the data, the objective, and the data in every form a peer may prefer.

P(w, b) = mean loss(X w + b, y) + alpha·penalty(w),   b not penalised

A problem with `alphas` is a path: one model for each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy import sparse

from ..measures.losses import Array, Loss, loss_of

if TYPE_CHECKING:
    from .several import Special

Form = TypeVar("Form")
_L1_RATIO = {"l1": 1.0, "l2": 0.0, "elastic_net": 0.5, "group_l2": 1.0}
_PENALTIES = {
    "l1": "L1",
    "l2": "L2",
    "elastic_net": "(½·L1 + ½·L2)",
    "group_l2": "Σ √size·‖w_g‖",
}
_WARM_UP = 3  # alphas
TARGET = 1e-6  # relative gap


@dataclass(eq=False)
class Problem:
    """What is to be minimised; `X` is in the form the user of minimand would hold."""

    name: str
    X: Any
    y: Array  # real, ±1 for losses of labels, or 0 … k−1 for one of these versus the rest
    loss: str  # a name of losses.NAMES
    penalty: str  # "l1", "l2", "elastic_net", or "group_l2" of adjacent columns
    alpha: float  # of a path: the smallest
    intercept: bool
    peers: tuple[str, ...]
    target: float | None = None  # minimand ÷ fastest peer
    remark: str = ""
    test: tuple[Any, Array] | None = None
    forms: dict[str, Any] = field(default_factory=dict, repr=False)
    alphas: Array | None = None  # decreasing
    folds: list[tuple[Array, Array]] | None = None  # rows to train and to test on: choose alpha
    parameter: float | None = None  # of the loss: q or ε
    block: int = 1  # columns of a group
    gap: float = TARGET  # that everybody has to reach, relative
    seconds: float = 60.0  # that one fit of a peer may take
    special: Special | None = None  # formulas of a problem of several outputs
    head: int | None = None  # rows of the warm-up, where a peer's whole fit takes a minute

    @property
    def formulas(self) -> Loss:
        """The loss as the judge computes it."""
        return loss_of(self.loss, self.parameter)

    @property
    def strengths(self) -> Array:
        """Every alpha at which there is a model."""
        return np.array([self.alpha]) if self.alphas is None else self.alphas

    @property
    def l1_ratio(self) -> float:
        """r in penalty(w) = r·‖w‖₁ + (1 − r)·½‖w‖²."""
        return _L1_RATIO[self.penalty]

    def in_groups(self, values: Array) -> Array:
        """|values| of every feature, or their norms in every group, in rows."""
        if self.penalty != "group_l2":
            return np.abs(values)
        return np.linalg.norm(values.reshape(len(values), -1, self.block), axis=2)

    def at(self, alpha: float) -> Problem:
        """The problem of one alpha; it shares the data in all their forms."""
        return replace(self, alpha=float(alpha), alphas=None)

    def warm_up(self) -> Problem:
        """A part of it that has every kind of work: the first alphas of a path, or some rows."""
        if self.head is not None:
            return replace(self, X=self.X[: self.head], y=self.y[: self.head], forms={})
        return self if self.alphas is None else replace(self, alphas=self.alphas[:_WARM_UP])

    @property
    def n_samples(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def is_sparse(self) -> bool:
        return bool(sparse.issparse(self.X))

    @property
    def C(self) -> float:
        """The peers' C: Σ loss·C + penalty."""
        return 1.0 / (self.alpha * self.n_samples)

    @property
    def n_scores(self) -> int:
        """1, or the number of classes if there are more than two."""
        if not self.formulas.labels:
            return 1
        k = len(np.unique(self.y))
        return 1 if k == 2 and not self.formulas.joint else k

    def signs(self) -> Array:
        """Targets of every score, (n_scores, n_samples): y itself, or ±1 for each class."""
        if self.n_scores == 1:
            return self.y[None, :]
        return np.where(self.y[None, :] == np.arange(self.n_scores)[:, None], 1.0, -1.0)

    @property
    def data_bytes(self) -> int:
        """Bytes of X."""
        if self.is_sparse:
            return int(self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes)
        return int(self.X.nbytes)

    def describe(self) -> str:
        """Shape, storage and objective in a line."""
        if self.special is not None:
            return self.special.describe(self)
        n, d = self.X.shape
        if self.is_sparse:
            kind = f"{self.X.format.upper()}, {self.X.nnz / n:.1f} nonzeros a row"
        else:
            kind = "dense float64"
        intercept = "unpenalised intercept" if self.intercept else "no intercept (for all)"
        what = "classes" if self.formulas.joint else "one-versus-rest scores"
        scores = f", {self.n_scores} {what}" if self.n_scores > 1 else ""
        penalty = f"{_PENALTIES[self.penalty]}, {intercept}{scores}"
        loss = self.loss if self.parameter is None else f"{self.loss}({self.parameter:g})"
        if self.alphas is None:
            return f"{n}×{d}, {kind}; mean {loss} + {self.alpha:.6g}·{penalty}"
        ends = f"{len(self.alphas)} alphas from {self.alphas[0]:.4g} to {self.alphas[-1]:.4g}"
        return f"{n}×{d}, {kind}; mean {loss} + alpha·{penalty}; {ends}"

    # The data in other forms, made once and outside the timer -------------------------------

    def form(self, name: str, make: Callable[[], Form]) -> Form:
        """The data in a peer's own form, made at the first call and kept."""
        if name not in self.forms:
            self.forms[name] = make()
        return self.forms[name]

    def csr(self, dtype: Any = np.float64) -> Any:
        return self._stored(sparse.csr_matrix, "csr", dtype)

    def csc(self, dtype: Any = np.float64) -> Any:
        return self._stored(sparse.csc_matrix, "csc", dtype)

    def _stored(self, kind: Any, name: str, dtype: Any) -> Any:
        return self.form(f"{name} {np.dtype(dtype)}", lambda: kind(self.X, dtype=dtype))

    def rows(self, dtype: Any = np.float64) -> Any:
        """CSR or C order."""
        if self.is_sparse:
            return self.csr(dtype)
        return self.form(f"C {np.dtype(dtype)}", lambda: np.ascontiguousarray(self.X, dtype=dtype))

    def columns(self, dtype: Any = np.float64) -> Any:
        """CSC or Fortran order."""
        if self.is_sparse:
            return self.csc(dtype)
        return self.form(f"F {np.dtype(dtype)}", lambda: np.asfortranarray(self.X, dtype=dtype))
