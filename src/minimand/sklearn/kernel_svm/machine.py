"""What the kernel machines share: scikit-learn's checks and attributes around our solvers.

scikit-learn's ``fit`` checks the data, finds gamma and calls libsvm in ``_dense_fit`` or
``_sparse_fit``; those are replaced here, and the functions that predict with libsvm.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _num_samples

from ..._base.typing import AnyArray, Array, ArrayLike, IntArray
from ..._base.watch import stoppable
from ...audit.foreign.named_kernel import NamedKernel
from ...certificate import Certificate
from ...design import GramDesign, KernelDesign
from ...estimators.callbacks import CallbackSupportMixin, Relay, with_callbacks
from ...estimators.outcome import Part, combined
from ...kernels import Kernel
from ...report.progress import Bar
from ...solvers import Control, State
from ...solvers.kernel.machines import BoxSolution, solve_all
from ...solvers.kernel.tasks import BoxTask
from ..parameters import ReadsParameters

_MEMORY = 2e9  # bytes of kernel rows; convention
_LARGE = 1e10  # what stands for C=inf; safeguard: bounds must be finite
_LARGEST = 1e150  # numbers in X; safeguard: sums of squares of more must be finite
FEW = 1200  # samples of one machine whose kernel matrix is computed at once; measured
_MORE = 5 / 3  # times as many if many are support vectors; measured at 1500 to 2000 rows: NuSVC,
# NuSVR and OneClassSVM take a fifth to a half less time, but up to twice as much with nu=0.05
_MANY_VECTORS = 0.1  # share of support vectors that nu promises; measured at 0.05 to 0.5


class Machine(NamedTuple):
    """One fitted machine: f(x) = Σ coefᵢ·k(xᵢ, x) + intercept, and its proof."""

    coef: Array  # of all samples; zero for those it was not fitted on
    intercept: float
    certificate: Certificate
    scale: float
    converged: bool
    stopped_by: str


def constant_machine(n: int, score: float) -> Machine:
    """f = 0 with an intercept, for samples that are all of one class."""
    proof = Certificate(0.0, 0.0, 0.0, 0.0, dual_point=np.zeros(n))
    return Machine(np.zeros(n), score, proof, 0.0, True, "")


def _check_squares(X: Any) -> None:
    """Refuse numbers whose squares, which kernels add, are no finite numbers."""
    numbers = X.data if sparse.issparse(X) else X
    largest = max(np.max(numbers, initial=0.0), -np.min(numbers, initial=0.0))
    if not largest < _LARGEST:
        raise ValueError(
            "The dual coefficients or intercepts are not finite: the squares of X overflow, as it "
            f"has numbers of {largest:.1e}; scale X."
        )


class KernelMachine(ReadsParameters, CallbackSupportMixin):
    """Mixin in front of scikit-learn's class, which keeps its parameters and attributes."""

    certificate_: Certificate

    @with_callbacks
    def fit(self: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Of shape (n_samples, n_samples) with ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            They multiply C; samples of weights up to zero are left out.
        """
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight, dtype=float)
            if sample_weight.ndim == 0:
                sample_weight = np.full(_num_samples(X), float(sample_weight))
            if sample_weight.ndim != 1:
                raise ValueError("sample_weight must be a number, or one number for each sample.")
        with stoppable(self), Relay(self, X, y) as self._relay:
            try:
                super().fit(X, y, sample_weight)
            finally:
                del self._relay
        return self

    # What scikit-learn's fit calls -----------------------------------------------------------

    def _dense_fit(self: Any, X: Any, y: Array, sample_weight: Array, *_: Any, **__: Any) -> None:
        if callable(self.kernel):
            self._BaseLibSVM__Xfit = X  # where scikit-learn looks for it
            if isinstance(self.kernel, Kernel):
                heavy = np.maximum(sample_weight, 0.0) if sample_weight.size else None
                self._bound_kernel = self.kernel.bind(X, heavy)
            X = self._compute_kernel(X)
            if X.shape != (y.size, y.size):
                raise ValueError(
                    "X.shape[0] should be equal to X.shape[1]: the kernel function must give a "
                    f"matrix of shape {(y.size, y.size)}, but it gives {X.shape}."
                )
        _check_squares(X)
        kernel = NamedKernel.of(self)
        design = kernel.design(X, checked=True)
        weights = sample_weight if sample_weight.size else np.ones(y.size)
        kept = np.flatnonzero(weights > 0)
        if not kept.size:
            raise ValueError("Invalid input - all samples have zero or negative weights.")
        machines = self._machines(X, design, y, weights, kept)
        self._store_machines(X, machines)
        certificate = combined(
            [m.certificate for m in machines], [Part(m.scale) for m in machines], "pairs of classes"
        )
        objection = kernel.objection(design)
        if objection:
            certificate = replace(
                certificate,
                gap=np.inf,
                relative=np.inf,
                dual=-np.inf,
                kind="stationary",
                infeasibility=objection,
            )
        self.certificate_ = certificate
        self._warn_if_short(machines, objection)

    _sparse_fit = _dense_fit

    def _bounds(self: Any, weights: Array) -> Array:
        """C times the weights."""
        C = float(self.C) if np.isfinite(self.C) else _LARGE
        if not C * float(weights.max()) * weights.size < np.inf:
            raise ValueError(
                "C times the sum of weights must be finite: take a large number for C."
            )
        return C * weights

    @property
    def _few(self: Any) -> int:
        """Samples of one machine whose kernel matrix is computed at once."""
        return int(FEW * (_MORE if getattr(self, "nu", 0.0) >= _MANY_VECTORS else 1.0))

    @contextmanager
    def _limits(self: Any, callbacks: list[Any]) -> Iterator[Control]:
        """The limits of one machine, with a bar if ``verbose``."""
        most = None if self.max_iter < 0 else max(int(self.max_iter), 1)
        memory = max(1e6 * float(self.cache_size), _MEMORY)
        control = Control(tol=float(self.tol), max_iter=most, memory=memory, callbacks=callbacks)
        if not self.verbose:
            yield control
            return
        bar = Bar(type(self).__name__)
        control.callbacks = [*callbacks, bar]
        try:
            yield control
        finally:
            bar.close()

    def _solved(
        self: Any,
        design: KernelDesign,
        places: list[IntArray],
        tasks: list[BoxTask],
        at: Any = None,
    ) -> list[BoxSolution]:
        """Every task on its rows of the design; ``at(solved, state)``: attributes meanwhile."""
        relay = self._relay

        def limits(found: list[BoxSolution]) -> Any:
            heard = at is not None and relay.active
            return self._limits(relay.to(lambda state: at(found, state)) if heard else [])

        watched = bool(self.verbose or (at is not None and relay.active))
        return solve_all(design, places, tasks, limits, self._begin, watched=watched)

    def _begin(self, design: KernelDesign, task: BoxTask, control: Control) -> Array | None:
        """Coefficients to begin with, where steps of pairs may be slow; none by default."""
        return None

    def _machines(
        self: Any, X: Any, design: KernelDesign, y: Array, weights: Array, kept: IntArray
    ) -> list[Machine]:
        """One machine on all samples; classifiers have one for every pair of classes."""
        part = design if kept.size == y.size else design.rows(kept)
        if kept.size <= self._few:
            part = GramDesign.of(part)
        task = self._task(y[kept], weights[kept], part.row_lengths)

        def at(_: list[BoxSolution], state: State) -> dict[str, Any]:
            return self._attributes_at(X, [self._machine(state.point, None, kept, y.size)])

        (found,) = self._solved(part, [np.arange(kept.size)], [task], at)
        return [self._machine((found.a, found.levels), found, kept, y.size)]

    def _model(self, a: Array, levels: Array) -> tuple[Array, float]:
        """The coefficients of the samples, and the intercept, of a point of the dual problem."""
        return a, float(levels[0])

    def _machine(
        self: Any, point: Any, found: BoxSolution | None, numbers: IntArray, n: int
    ) -> Machine:
        """The machine of a point (a, levels) on some of n samples, with the proof of a solution."""
        a, intercept = self._model(point[0], point[1])
        coef, theta = np.zeros(n), np.zeros(n)
        coef[numbers] = a
        if found is None:
            return constant_machine(n, intercept)._replace(coef=coef)
        multipliers = found.certificate.dual_point
        if multipliers is not None and multipliers.size == numbers.size:
            theta[numbers] = multipliers
        proof = replace(found.certificate, dual_point=theta)
        return Machine(coef, intercept, proof, found.scale, found.converged, found.stopped_by)

    def _attributes_at(self: Any, X: Any, machines: list[Machine]) -> dict[str, Any]:
        """The attributes of a model of some machines, as scikit-learn's fit sets them."""
        model = copy.copy(self)
        model._platt = (np.empty(0), np.empty(0))
        model._store_machines(X, machines)
        model.shape_fit_ = X.shape
        model._intercept_, model._dual_coef_ = model.intercept_.copy(), model.dual_coef_
        if self._impl in ("c_svc", "nu_svc") and len(self.classes_) == 2:
            model.intercept_, model.dual_coef_ = -model.intercept_, -model.dual_coef_
        known = self.__dict__
        return {name: new for name, new in model.__dict__.items() if known.get(name) is not new}

    def _store_machines(self: Any, X: Any, machines: list[Machine]) -> None:
        """Attributes of a single machine."""
        coef = machines[0].coef
        support = np.flatnonzero(coef)
        self._n_support = np.array([support.size] * 2, dtype=np.int32)
        self._store_support(X, support, coef[None, support], machines)

    def _store_support(
        self: Any, X: Any, support: IntArray, coef: Array, machines: list[Machine]
    ) -> None:
        self.support_ = support.astype(np.int32)
        given = callable(self.kernel) or self.kernel == "precomputed"
        self.support_vectors_ = np.empty((0, 0)) if given else X[support]
        self.dual_coef_ = sparse.csr_array(coef) if self._sparse else np.ascontiguousarray(coef)
        if self._sparse and not isinstance(X, sparse.sparray):
            self.dual_coef_ = sparse.csr_matrix(self.dual_coef_)
        self.intercept_ = np.array([m.intercept for m in machines])
        self._probA = self._probB = np.empty(0)
        self.fit_status_ = int(not all(m.converged for m in machines))
        self._num_iter = np.array([m.certificate.iterations for m in machines], dtype=np.int32)

    def _warn_if_short(self: Any, machines: list[Machine], objection: str) -> None:
        name = type(self).__name__
        if objection:
            text = f"{name}: {objection}, so nothing bounds the distance from the optimum."
            warnings.warn(text, ConvergenceWarning, stacklevel=7)
        short = [m for m in machines if not m.converged]
        if short and not objection:
            worst = max(short, key=lambda m: m.certificate.relative)
            text = (
                f"{name}: stopped by {worst.stopped_by or 'no further progress'} with a relative "
                f"gap of {worst.certificate.relative:.1e}, above tol={self.tol:g}; the model is "
                "valid: raise max_iter or tol."
            )
            warnings.warn(text, ConvergenceWarning, stacklevel=7)

    # What scikit-learn's predictions call ----------------------------------------------------

    def _compute_kernel(self: Any, X: Any) -> Any:
        """Values of a kernel that is no name; that of minimand may depend on the training rows."""
        if not isinstance(self.kernel, Kernel):
            return super()._compute_kernel(X)
        return np.asarray(self._bound_kernel(X, self._BaseLibSVM__Xfit), dtype=float, order="C")

    def _expansion(self: Any) -> Array:
        """A column of coefficients of the support vectors for every machine."""
        coef = self._dual_coef_.toarray() if self._sparse else self._dual_coef_
        return np.ascontiguousarray(coef.T)

    def _scores_of_machines(self: Any, X: Any) -> Array:
        """All machines at all rows, (n, machines), in blocks that BLAS's threads share."""
        a = self._expansion()
        if callable(self.kernel) or self.kernel == "precomputed":
            return np.asarray(X)[:, self.support_] @ a + self._intercept_
        if not len(self.support_):
            return np.broadcast_to(self._intercept_, (X.shape[0], a.shape[1])).copy()
        scores = NamedKernel.of(self).times(X, self.support_vectors_, a, checked=True)
        return np.asarray(scores + self._intercept_)

    def _dense_decision_function(self: Any, X: Any) -> Array:
        return self._scores_of_machines(X)

    _sparse_decision_function = _dense_decision_function

    def _dense_predict(self: Any, X: Any) -> AnyArray:
        return self._scores_of_machines(self._compute_kernel(X))[:, 0]

    def _sparse_predict(self: Any, X: Any) -> AnyArray:
        return self._scores_of_machines(X)[:, 0]
