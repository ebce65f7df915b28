"""PCA and TruncatedSVD of scikit-learn, fitted by minimand.PCA."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import decomposition
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from ..._base.typing import AnyArray, ArrayLike
from ...certificate import Certificate, bounded
from ...design import Design, as_design
from ...estimators.inputs.matrix import as_matrix
from ...reverse.components import pca
from ...reverse.components.sketch import Plan, sketched
from ...reverse.components.spectrum import signs_of
from ...reverse.finite_squares import in_range

_METHODS = {"full": "svd", "covariance_eigh": "covariance"}  # of ours, by the name of svd_solver


class PCA(decomposition.PCA):
    """Principal component analysis, as `sklearn.decomposition.PCA`, with a certificate.

    All solvers find the same components here, up to the certificate's gap: "randomized" and
    "arpack" are not approximations to be tuned. Parameters of these solvers have no effect.

    Parameters
    ----------
    n_components, whiten, svd_solver, …
        As in scikit-learn. ``n_components="mle"`` is scikit-learn's own fit.

    Attributes
    ----------
    components_, explained_variance_, explained_variance_ratio_, singular_values_, mean_, …
        As in scikit-learn; variances are divided by n − 1.
    certificate_ : Certificate
        Of the mean ½‖x − x̂‖²; see `minimand.PCA`.

    Examples
    --------
    >>> from minimand.sklearn import PCA
    >>> from sklearn.datasets import load_iris
    >>> X, _ = load_iris(return_X_y=True)
    >>> model = PCA(2).fit(X)
    >>> model.explained_variance_.round(3), model.certificate_.relative < 1e-9
    (array([4.228, 0.243]), True)
    """

    certificate_: Certificate

    def _fit(self, X: Any) -> Any:
        """Set scikit-learn's attributes; called by ``fit`` and ``fit_transform``."""
        special = isinstance(self.n_components, str) or self.n_components == 0
        if special or (sparse.issparse(X) and self.svd_solver in ("full", "randomized")):
            found = super()._fit(X)  # also for scikit-learn's own refusals
            self._certify_own(found[3])
            return found
        X = as_matrix(self, X, reset=True)
        n, d = X.shape
        self._fit_svd_solver = self.svd_solver
        if self.svd_solver == "auto" and sparse.issparse(X):
            self._fit_svd_solver = "arpack"
        most = min(n, d) - (self._fit_svd_solver == "arpack")
        wanted = most if self.n_components is None else self.n_components
        if not 0 < wanted <= most:
            return super()._fit(X)  # scikit-learn's own refusal
        method = "auto" if sparse.issparse(X) else _METHODS.get(self.svd_solver, "auto")
        if isinstance(wanted, float) and wanted >= 1:
            wanted = int(wanted)
        inner = pca.PCA(wanted, method=method, random_state=self.random_state)
        inner._find_in(X)
        self._take(inner, n)
        return None, inner.singular_values_, inner.components_, X, False, np

    def _take(self, inner: pca.PCA, n: int) -> None:
        ratio = n / max(n - 1, 1)
        kind = inner.components_.dtype
        self.mean_, self.components_ = inner.mean_, inner.components_
        self.explained_variance_ = (inner.explained_variance_ * ratio).astype(kind)
        self.explained_variance_ratio_ = inner.explained_variance_ratio_
        self.singular_values_ = inner.singular_values_
        self.noise_variance_ = inner.noise_variance_ * ratio
        self.n_components_, self.n_samples_ = inner.n_components_, n
        self.certificate_ = inner.certificate_

    def _certify_own(self, X: Any) -> None:
        """The certificate of components that scikit-learn has found."""
        n = X.shape[0]
        k = int(self.n_components_)
        if k == 0:
            self.__dict__.pop("certificate_", None)
            return
        best = pca.PCA(k).fit(X)
        kept = float(np.sum(self.explained_variance_, dtype=float)) * (n - 1) / n
        whole = float(np.sum(best.explained_variance_, dtype=float)) + 2 * best.certificate_.primal
        primal = max(0.5 * (whole - kept), best.certificate_.dual)
        gap = primal - best.certificate_.dual
        relative = gap / max(0.5 * whole, 1e-300)
        self.certificate_ = replace(best.certificate_, primal=primal, gap=gap, relative=relative)

    def __sklearn_tags__(self) -> Any:
        """Sparse X is accepted whatever ``svd_solver`` is; arrays are NumPy's."""
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags


class TruncatedSVD(decomposition.TruncatedSVD):
    """The largest singular vectors, as `sklearn.decomposition.TruncatedSVD`, with a certificate.

    X is not centred. ``algorithm="arpack"`` finds the best components, and so does "randomized" if
    X is small. On large X it finds approximate ones, as in scikit-learn: from a Krylov space of no
    more products than `n_iter` and `n_oversamples` ask for, whose components keep at least as much.
    ``certificate_`` says how far they can be from the best; `minimand.certify` takes longer for a
    closer bound.

    Parameters
    ----------
    n_components, algorithm, n_iter, n_oversamples, …
        As in scikit-learn; other parameters of the algorithms have no effect.

    Attributes
    ----------
    components_, explained_variance_, explained_variance_ratio_, singular_values_
        As in scikit-learn.
    certificate_ : Certificate
        Of the mean ½‖x − x̂‖², without a mean.

    Examples
    --------
    >>> from minimand.sklearn import TruncatedSVD
    >>> from scipy import sparse
    >>> X = sparse.random(200, 50, 0.1, format="csr", random_state=0)
    >>> TruncatedSVD(3).fit(X).certificate_.relative < 1e-5
    True
    """

    certificate_: Certificate

    def fit_transform(self, X: ArrayLike, y: Any = None) -> AnyArray:
        """Fit, and give the outputs of the rows."""
        self._validate_params()
        X = validate_data(self, X, accept_sparse=["csr", "csc"], ensure_min_features=2)
        n, d = X.shape
        if self.n_components > d or (self.algorithm == "arpack" and self.n_components >= min(n, d)):
            bound = (
                d
                if self.algorithm == "randomized"
                else f"min(n_samples, n_features) − 1 = {min(n, d) - 1}"
            )
            raise ValueError(f"n_components({self.n_components}) must be <= n_features({bound}).")
        if X.dtype not in (np.float64, np.float32):
            X = X.astype(np.float64)
        kind = X.dtype
        X = in_range(X, reset=True)
        design = as_design(X)
        first, second = design.moments(np.ones(n))
        plan = Plan.of(int(self.n_components), int(self.n_iter) + 1, int(self.n_oversamples))
        if self.algorithm == "randomized" and plan.suits(design):
            outputs = self._sketched(design, plan, float(second.sum()), kind)
        else:
            k = min(int(self.n_components), n)
            inner = pca.PCA(k, center=False, random_state=self.random_state)
            inner._find_in(X)
            self.components_ = inner.components_.astype(kind, copy=False)
            self.singular_values_ = inner.singular_values_.astype(kind, copy=False)
            self.certificate_ = inner.certificate_
            outputs = np.asarray(X @ self.components_.T)
        self.explained_variance_ = np.var(outputs, axis=0)
        whole = float((second / n - (first / n) ** 2).sum())
        self.explained_variance_ratio_ = self.explained_variance_ / (whole or 1.0)
        return outputs

    def _sketched(self, design: Design, plan: Plan, total: float, kind: Any) -> AnyArray:
        """As good an approximation as scikit-learn's, by no more products, and its certificate."""
        rng = check_random_state(self.random_state)
        found, outputs = sketched(design, int(self.n_components), plan, total, rng)
        signs = signs_of(found.vectors)
        self.components_ = np.ascontiguousarray((found.vectors * signs).T.astype(kind))
        self.singular_values_ = np.sqrt(found.values).astype(kind)
        scale = 0.5 / design.shape[0]
        self.certificate_ = bounded(
            scale * found.error,
            scale * found.least_error,
            scale * found.total,
            scale * found.rounding,
            objective=pca.FORMULA,
            certain=found.certain,
        )
        return (outputs * signs).astype(kind)
