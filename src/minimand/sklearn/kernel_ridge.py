"""KernelRidge: scikit-learn's own solution, with a certificate."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn import kernel_ridge
from sklearn.exceptions import ConvergenceWarning

from .._base.typing import Array, ArrayLike
from ..certificate import Certificate, judge
from ..design import KernelDesign
from ..estimators.outcome import Part, combined
from ..kernels import Kernel, Precomputed
from ..losses import Squared
from ..penalties import L2
from ..problem.objective import Objective
from .base import TOL

_DEFINITE = ("linear", "rbf", "laplacian", "cosine", "chi2")


class KernelRidge(kernel_ridge.KernelRidge):
    r"""Kernel ridge regression, as `sklearn.kernel_ridge.KernelRidge`, with a certificate.

    .. math:: \min_f \sum_i s_i (f(x_i) - y_i)^2 + \alpha \|f\|^2

    The solution is that of one linear system, which scikit-learn solves; the certificate says how
    accurate it is. `minimand.Regressor` with ``features=kernel`` has an intercept, all losses and
    paths, and `minimand.Tuned` with ``cv="loo"`` chooses alpha and the kernel's parameters.

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
    _gram: Any = None  # of the training rows, during a fit
    _bound_kernel: Any = None  # a kernel of minimand, with what it takes from the training rows

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None) -> Self:
        """Solve the linear system, and certify its solution."""
        try:
            super().fit(X, y, sample_weight)
            gram = np.asarray(self._gram, dtype=float)
        finally:
            self.__dict__.pop("_gram", None)
        # The caller may change X, and a product of X with itself is rounded differently.
        self.X_fit_ = self.X_fit_.copy()
        self._check_definite(gram)
        self.certificate_ = self._certified(gram, np.asarray(y, dtype=float), sample_weight)
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
            if Y is None:
                self._bound_kernel = self.kernel.bind(X)
            found = np.asarray(self._bound_kernel(X, X if Y is None else Y), dtype=float)
        else:
            found = super()._get_kernel(X, Y)
        if Y is None:  # scikit-learn changes the matrix of a fit in place
            self._gram = found if self.kernel == "precomputed" else found.copy()
        return found

    def _check_definite(self, gram: Array) -> None:
        """Refuse a matrix for which the solution of the equations is no minimum."""
        known = isinstance(self.kernel, str) and self.kernel in _DEFINITE
        if known or (isinstance(self.kernel, Kernel) and self.kernel.definite):
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

    def _certified(self, gram: Array, y: Array, sample_weight: Any) -> Certificate:
        n = gram.shape[0]
        given = 1.0 if sample_weight is None else np.asarray(sample_weight, dtype=float)
        weights = np.broadcast_to(given, (n,))
        kept, total = np.flatnonzero(weights), float(weights.sum())
        kernel = Precomputed()
        design = KernelDesign(kernel, kernel.rows(gram, training=True)[kept])
        targets, coefs = y.reshape(n, -1), self.dual_coef_.reshape(n, -1)
        alphas = np.broadcast_to(np.atleast_1d(self.alpha), (targets.shape[1],))
        found, problems = [], []
        for target, coef, alpha in zip(targets.T, coefs.T, alphas):
            strength = float(alpha) / total
            problem = Objective(
                Squared(),
                L2().bind(kept.size, strength),
                design,
                np.ascontiguousarray(target[kept]),
                weights[kept] / total,
                intercept=False,
                words=f"mean squared(z, y) + {strength:g}·½‖f‖², z = f(x)",
            )
            point = problem.point(np.asarray(coef[kept], dtype=float), 0.0)
            found.append(judge(problem, point).certificate(problem))
            problems.append(Part.of(problem))
        return combined(found, problems, "outputs")
