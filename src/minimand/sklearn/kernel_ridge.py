"""KernelRidge: the linear system of scikit-learn, solved in the memory of K, with a certificate."""

from __future__ import annotations

import math
import warnings
from functools import cache
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn import kernel_ridge
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._base.typing import Array, ArrayLike
from ..audit.foreign.named_kernel import NamedKernel
from ..certificate import Certificate
from ..design import KernelDesign
from ..estimators.outcome import Part, combined
from ..kernels import RBF, Kernel, Linear, Polynomial, Precomputed
from ..kernels.rows import Parts
from ..losses import Squared
from ..penalties import L2
from ..problem.objective import Objective
from ..solvers.kernel.shifted import ShiftedKernel
from ..solvers.kernel.smo import judged_coefficients
from .base import TOL

_DEFINITE = ("rbf", "laplacian", "cosine", "chi2")


class KernelRidge(kernel_ridge.KernelRidge):
    r"""Kernel ridge regression, as `sklearn.kernel_ridge.KernelRidge`, with a certificate.

    .. math:: \min_f \sum_i s_i (f(x_i) - y_i)^2 + \alpha \|f\|^2

    The solution is that of one linear system; the certificate says how accurate it is.
    `minimand.Regressor` with ``features=kernel`` has an intercept, all losses and paths, and
    `minimand.Tuned` with ``cv="loo"`` chooses alpha and the kernel's parameters.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
    kernel : str, callable or Kernel, default="linear"
        As in scikit-learn, or a kernel of minimand, such as ``minimand.RBF("median")``. It must be
        positive semidefinite: of others, such as "sigmoid", the objective has no minimum.
    gamma, degree, coef0, kernel_params
        Parameters of the kernel.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
    X_fit_ : the training data
    certificate_ : Certificate

    Examples
    --------
    >>> from minimand.sklearn import KernelRidge
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> KernelRidge(kernel="rbf", gamma=10.0).fit(X, y).certificate_.relative < 1e-9
    True
    """

    certificate_: Certificate
    X_fit_: Any
    _bound_kernel: Any = None  # a kernel of minimand, with what it takes from the training rows

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None) -> Self:
        """Solve the linear system, and certify its solution."""
        self._validate_params()
        X, y = validate_data(
            self, X, y, accept_sparse=("csr", "csc"), multi_output=True, y_numeric=True
        )
        weights = np.ones(X.shape[0])
        if sample_weight is not None:
            weights = np.array(_check_sample_weight(sample_weight, X, ensure_non_negative=True))
        if isinstance(self.kernel, Kernel):
            self._bound_kernel = self.kernel.bind(X, weights)
        gram = np.ascontiguousarray(self._get_kernel(X), dtype=float)
        targets = np.asarray(y, dtype=float).reshape(gram.shape[0], -1)
        self._check_definite(gram)
        coefs, self.certificate_ = self._solved(gram, targets, weights)
        self.dual_coef_ = coefs if y.ndim > 1 else coefs.ravel()
        # The caller may change X, and a product of X with itself is rounded differently.
        self.X_fit_ = X.copy()
        if not self.certificate_.relative <= TOL:
            warnings.warn(
                f"KernelRidge: the linear system is so ill-conditioned that the relative gap is "
                f"{self.certificate_.relative:.1e}, above {TOL:g}: raise alpha.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _get_kernel(self, X: Any, Y: Any = None) -> Any:
        if isinstance(self.kernel, Kernel):  # scikit-learn would call it for every pair of rows
            return np.asarray(self._bound_kernel(X, X if Y is None else Y), dtype=float)
        named = self._named() if Y is None else None
        return super()._get_kernel(X, Y) if named is None else named.design(X).row_gram()

    def predict(self, X: ArrayLike) -> Array:
        """Predictions, in blocks of rows; see `fit`."""
        check_is_fitted(self)
        named = self._named()
        if named is None:
            return np.asarray(super().predict(X))
        X = validate_data(self, X, accept_sparse=("csr", "csc"), reset=False)
        return named.times(X, self.X_fit_, np.asarray(self.dual_coef_, dtype=float))

    def _named(self) -> NamedKernel | None:
        """The kernel of minimand of the same name; None if there is none."""
        if not isinstance(self.kernel, str):
            return None
        gamma = 1.0 / self.n_features_in_ if self.gamma is None else float(self.gamma)
        if self.kernel == "linear":
            return NamedKernel(Linear())
        if self.kernel == "rbf" and gamma > 0:
            return NamedKernel(RBF(math.sqrt(0.5 / gamma)))
        whole = float(self.degree).is_integer() and self.degree >= 1
        powers = self.kernel in ("poly", "polynomial") and whole
        if powers and self.coef0 >= 0 and gamma >= 0:
            kernel = Polynomial(int(self.degree), float(self.coef0))
            return NamedKernel(kernel, math.sqrt(gamma))
        return None

    @classmethod
    @cache
    def _get_param_names(cls) -> Any:
        """The parameter names, cached: scikit-learn inspects the signature again at every fit."""
        return super()._get_param_names()

    def _check_definite(self, gram: Array) -> None:
        """Refuse a matrix for which the solution of the equations is no minimum."""
        known = isinstance(self.kernel, str) and self.kernel in _DEFINITE
        if (
            known
            or self._named() is not None
            or (isinstance(self.kernel, Kernel) and self.kernel.definite)
        ):
            return
        noise = 16 * gram.shape[0] * float(np.finfo(float).eps)  # of the largest value; safeguard
        lifted = gram + noise * float(np.abs(gram).max()) * np.eye(gram.shape[0])
        try:
            linalg.cholesky(lifted, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError as error:
            raise ValueError(
                f"kernel={self.kernel!r} is not positive semidefinite on these rows, so that the "
                "objective has no minimum: minimand.check_psd(K) gives a witness."
            ) from error

    def _solved(self, gram: Array, targets: Array, weights: Array) -> tuple[Array, Certificate]:
        """The coefficients of every target, and what is proved of them."""
        kept = np.flatnonzero(weights)
        # A matrix that a user passes, or that his function gives, is not written to.
        own = isinstance(self.kernel, str) and self.kernel != "precomputed"
        if kept.size < weights.size:
            gram, own = gram[np.ix_(kept, kept)], True
        root = np.sqrt(weights[kept])
        even = bool((root == 1.0).all())
        if not even:
            gram, own = gram * (root[:, None] * root), True
        alphas = np.broadcast_to(np.atleast_1d(self.alpha), targets.shape[1:]).astype(float)
        coefs, proofs = np.zeros(targets.shape), {}
        for alpha in dict.fromkeys(alphas.tolist()):
            one = bool((alphas == alpha).all())
            system = ShiftedKernel(gram, alpha, copy=not (own and one))
            here = np.flatnonzero(alphas == alpha)
            right = root[:, None] * targets[np.ix_(kept, here)]
            if not system.definite:
                warnings.warn(
                    "Singular matrix in solving dual problem. Using least-squares solution "
                    "instead.",
                    stacklevel=3,
                )
            found = system.solve(right) if system.definite else system.nearest(right)
            coefs[np.ix_(kept, here)] = root[:, None] * found
            rows = _SystemRows(system, None if even else root)
            for k in here:
                facts = targets[kept, k], coefs[kept, k], weights[kept]
                proofs[int(k)] = _certified(rows, *facts, alpha)
        proved = [proofs[k] for k in range(targets.shape[1])]
        return coefs, combined([p for p, _ in proved], [part for _, part in proved], "outputs")


class _SystemRows(KernelDesign):
    """The training rows, of which a factorised matrix knows √s·K·√s with the weights s."""

    def __init__(self, system: ShiftedKernel, root: Array | None) -> None:
        kernel = Precomputed()
        super().__init__(kernel, Parts(system.diagonal))
        self.shape = (system.diagonal.size, 0)
        self._system, self._root = system, root

    def row_product(self, a: Array) -> Array:
        """K a."""
        if self._root is None:
            return self._system.kernel_times(a)
        return self._system.kernel_times(a / self._root) / self._root

    @property
    def row_lengths(self) -> Array:
        """The diagonal of K."""
        found = self._system.diagonal
        return found if self._root is None else found / self._root**2


def _certified(
    rows: _SystemRows, target: Array, coef: Array, weights: Array, alpha: float
) -> tuple[Certificate, Part]:
    """The certificate of the coefficients of one target."""
    total = float(weights.sum())
    strength = alpha / total
    problem = Objective(
        Squared(),
        L2().bind(coef.size, strength),
        rows,
        np.ascontiguousarray(target),
        weights / total,
        intercept=False,
        words=f"mean squared(z, y) + {strength:g}·½‖f‖², z = f(x)",
    )
    judged, _ = judged_coefficients(problem, np.ascontiguousarray(coef))
    return judged.certificate(problem), Part.of(problem)
