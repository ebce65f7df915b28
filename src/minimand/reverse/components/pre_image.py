"""Pre-images of kernel PCA: rows whose features are close to what given outputs stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from ..._base.typing import Array
from ...kernels import RBF, Kernel, Linear
from ...kernels.vectors import VectorKernel
from .kernel_fits import KernelFound

_WAYS = ("auto", "fixed_point", "ridge")
_STEPS = 200  # of the fixed-point iteration; safeguard
_MOVED = 1e-9  # share of the bandwidth: a step below it ends the iteration; safeguard
_RIDGE = 1e-6  # alpha of the regression, for rows in units of their variance; safeguard


def check_pre_image(way: Any, kernel: Kernel) -> None:
    """Refuse an unknown way, and the fixed point of kernels that have none."""
    if way not in _WAYS:
        raise ValueError(f"pre_image must be one of {list(_WAYS)}, not {way!r}.")
    if way == "fixed_point" and not isinstance(kernel, RBF):
        raise ValueError(
            f"pre_image='fixed_point' is for the RBF kernel, not {kernel!r}: take 'ridge'."
        )


class PreImages:
    """Finds rows for outputs, by the way that the kernel allows.

    Parameters
    ----------
    kernel : bound to the rows of the fit
    found : the components
    X : the rows of the fit, a dense or sparse matrix
    """

    def __init__(self, kernel: Kernel, found: KernelFound, X: Any, way: str) -> None:
        if not isinstance(kernel, VectorKernel):
            raise ValueError(
                f"inverse_transform gives rows of numbers, which {kernel!r} does not compare: it "
                "needs a kernel of vectors, such as RBF or Polynomial."
            )
        self._kernel, self._found = kernel, found
        self._x = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
        self._way = "fixed_point" if way == "auto" and isinstance(kernel, RBF) else way
        self._model: Any = None

    def __call__(self, outputs: Array) -> Array:
        """A row for each row of outputs."""
        return self._fixed_point(outputs) if self._way == "fixed_point" else self._ridge(outputs)

    def _fixed_point(self, outputs: Array) -> Array:
        r"""z ← Σ γᵢk(z, zᵢ)zᵢ / Σ γᵢk(z, zᵢ), which raises P·φ(z) for P = Σ γᵢφ(zᵢ).

        (Mika and others, 1998.) It starts at the row of the fit with the nearest outputs, and stops
        for a row where the sum of weights is not positive any more: there the last z is kept.
        """
        found = self._found
        rows = found.rows.toarray() if sparse.issparse(found.rows) else np.asarray(found.rows)
        gamma = outputs @ found.coefs.T + found.mean
        nearest = NearestNeighbors(n_neighbors=1).fit(found.outputs)
        z = self._x[nearest.kneighbors(outputs, return_distance=False)[:, 0]]
        least = _MOVED * float(self._kernel.tau)  # type: ignore[attr-defined]
        active = np.arange(len(z))
        for _ in range(_STEPS):
            weights = gamma[active] * self._kernel.block(z[active], rows)
            sums = weights.sum(axis=1)
            good = sums > 1e-12 * np.abs(weights).sum(axis=1)  # share; safeguard: not cancelled
            active, weights, sums = active[good], weights[good], sums[good]
            if not active.size:
                break
            moved = (weights @ rows) / sums[:, None]
            steps = np.linalg.norm(moved - z[active], axis=1)
            z[active] = moved
            active = active[steps > least]
            if not active.size:
                break
        return z

    def _ridge(self, outputs: Array) -> Array:
        """Kernel ridge regression from the outputs of the fit to its rows."""
        if self._model is None:
            from ...estimators import Regressor

            linear = isinstance(self._kernel, Linear)
            features = None if linear else RBF(tau="median")
            model = Regressor("squared", "l2", alpha=_RIDGE, features=features, tol=1e-9)
            scale = self._x.std() or 1.0
            self._model = model.fit(self._found.outputs, self._x / scale), scale
        model, scale = self._model
        rebuilt = np.asarray(model.predict(outputs)) * scale
        return rebuilt.reshape(len(outputs), -1)
