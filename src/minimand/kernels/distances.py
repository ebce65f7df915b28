"""Kernels of the distance between two rows: RBF, Laplace, Matérn, periodic."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist, pdist
from scipy.special import gamma, kv

from .. import _core
from .._base.parameters import check_number
from .._base.typing import Array
from .base import Kernel
from .rows import Parts, count, dense, matrix, products, squares
from .vectors import VectorKernel, by_entries

_SAMPLE = 1000  # rows whose distances give a median; safeguard: their half a million pairs do
_NOISE = 1e4  # ulp of a squared distance in units of the bandwidth, above which differences are
# taken before squaring; safeguard: values are then exact to about 1e-12
_EXTREME = 1e140  # of tau and 1/tau, whose squares overflow beyond about 1e150; safeguard
_WIDTHS = ("median", "scale")


class DistanceKernel(VectorKernel):
    """A function of the distance in units of ``tau``, which is 1 for equal rows."""

    tau: Any

    def check_parameters(self) -> None:
        """Tau > 0, or a rule that finds it in the data."""
        if isinstance(self.tau, str):
            if self.tau not in _WIDTHS:
                raise ValueError(
                    f"tau of {type(self).__name__} must be a positive number, 'median' or 'scale', "
                    f"not {self.tau!r}."
                )
            return
        check_number(self, "tau", "a positive number, 'median' or 'scale'", lambda tau: tau > 0)

    @property
    def unbound(self) -> str:
        """A bandwidth that is named by a rule."""
        return f"tau={self.tau!r}" if isinstance(self.tau, str) else ""

    def learn(self, X: Any) -> Kernel:
        """The same kernel with a number for ``tau``."""
        if not isinstance(self.tau, str):
            return self
        rule = {"median": self._median, "scale": self._scale}[self.tau]
        tau = rule(self.rows(X, training=True))
        # 1.0: all rows are equal, so that any bandwidth gives the same values
        return self.copy(tau=tau if tau > 0 and math.isfinite(tau) else 1.0)

    def diagonal(self, x: Any) -> Array:
        """1."""
        return np.ones(count(x))

    metric = "euclidean"

    def _median(self, x: Any) -> float:
        """The median distance of different rows, of at most a thousand rows in equal steps."""
        n = count(x)
        some = dense(x[np.linspace(0, n - 1, min(n, _SAMPLE)).astype(int)])
        far = pdist(some.astype(float), self.metric)
        far = far[far > 0]
        return float(np.median(far)) if far.size else 0.0

    def _scale(self, x: Any) -> float:
        """√(d·Var/2), so that 1/(2τ²) is scikit-learn's gamma="scale"."""
        if sparse.issparse(x):
            total = float(x.multiply(x).mean() - x.mean() ** 2)
        else:
            total = float(x.var(dtype=float))
        return math.sqrt(0.5 * x.shape[1] * max(total, 0.0))


class RBF(DistanceKernel):
    r"""The Gaussian kernel.

    .. math:: k(x, z) = \exp\bigl(-\|x - z\|^2 / (2\tau^2)\bigr)

    Parameters
    ----------
    tau : float, "median" or "scale", default=1.0
        The bandwidth, in units of the inputs: small gives wiggly functions, large nearly linear
        ones. ``"median"`` is the median distance of training rows, ``"scale"`` is √(d·Var(X)/2),
        which is scikit-learn's ``gamma="scale"``; gamma is 1/(2τ²). Both see all training rows,
        whatever their sample weights, as a feature map of a pipeline does.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.RBF(tau=1.0)([[0.0]], [[0.0], [1.0]]).round(3)
    array([[1.   , 0.607]])
    """

    definite = True

    def __init__(self, tau: Any = 1.0) -> None:
        self.tau = tau

    def prepared(self, rows: Any) -> Any:
        """The rows moved to their mean, and their squares; as they are if digits would cancel."""
        moved, _, cancels = _near_zero(rows, rows, _half_precision(self.tau))
        return rows if cancels else Parts(moved, squares(moved))

    def block(self, x: Any, z: Any) -> Array:
        """All exp(−‖x − z‖²/(2τ²)); from differences where ‖x‖² + ‖z‖² − 2x·z would cancel."""
        factor = -_half_precision(self.tau)
        if isinstance(x, Parts):
            (x, row_squares), (z, column_squares) = x, z
            found = products(x, z)
            _core.gaussians(found, row_squares, column_squares, factor)
            return found
        x, z, cancels = _near_zero(x, z, -factor)
        if cancels:
            far = cdist(x, z, "sqeuclidean")
            far *= factor
            return np.exp(far, out=far).astype(x.dtype, copy=False)
        found = products(x, z)
        _core.gaussians(found, squares(x), squares(z), factor)
        return found


class Laplace(DistanceKernel):
    r"""The Laplacian kernel.

    .. math:: k(x, z) = \exp\bigl(-\|x - z\|_1 / \tau\bigr)

    Parameters
    ----------
    tau : float, "median" or "scale", default=1.0
        The bandwidth, in units of the inputs.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.Laplace(tau=2.0)([[0.0]], [[0.0], [2.0]]).round(3)
    array([[1.   , 0.368]])
    """

    definite = True

    metric = "cityblock"

    def __init__(self, tau: Any = 1.0) -> None:
        self.tau = tau

    def block(self, x: Any, z: Any) -> Array:
        """All exp(−‖x − z‖₁/τ)."""
        factor = -1.0 / float(self.tau)
        return by_entries(x, z, lambda a, b, table: _core.laplacians(a, b, factor, table))


class Matern(DistanceKernel):
    r"""The Matérn kernel, whose functions are rougher the smaller ν is.

    .. math:: k(x, z) = \frac{2^{1-\nu}}{\Gamma(\nu)} s^\nu K_\nu(s),
        \quad s = \sqrt{2\nu}\,\|x - z\|/\tau

    ν = ½ is exp(−‖x − z‖/τ), ν = 3/2 gives functions that are differentiable once, 5/2 twice, and
    ν → ∞ is `RBF`.

    Parameters
    ----------
    tau : float, "median" or "scale", default=1.0
        The bandwidth, in units of the inputs.
    nu : float, default=1.5
        The smoothness; 0.5, 1.5 and 2.5 are fast.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.Matern(tau=1.0, nu=0.5)([[0.0]], [[1.0]]).round(3)
    array([[0.368]])
    """

    definite = True

    def __init__(self, tau: Any = 1.0, nu: float = 1.5) -> None:
        self.tau = tau
        self.nu = nu

    def check_parameters(self) -> None:
        """Tau and nu positive."""
        super().check_parameters()
        check_number(self, "nu", "a positive number", lambda nu: nu > 0, finite=False)

    def block(self, x: Any, z: Any) -> Array:
        """The formula at all distances."""
        if math.isinf(self.nu):
            return RBF(self.tau).block(x, z)
        kind = np.result_type(x.dtype, z.dtype)
        s = distances(x, z)
        s *= math.sqrt(2.0 * self.nu) / float(self.tau)
        return _matern(s, float(self.nu)).astype(kind, copy=False)


class Periodic(DistanceKernel):
    r"""A kernel of functions that repeat, with the same period in every input.

    .. math:: k(x, z) = \exp\Bigl(-\frac{2}{\tau^2}\sum_j \sin^2\frac{\pi(x_j - z_j)}{p}\Bigr)

    It is `RBF` of the points (cos 2πxⱼ/p, sin 2πxⱼ/p) on circles.

    Parameters
    ----------
    period : float, default=1.0
        p, in units of the inputs.
    tau : float, "median" or "scale", default=1.0
        The bandwidth, in units of those circles of radius 1.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.Periodic(period=2.0)([[0.0]], [[1.0], [2.0], [4.0]]).round(3)
    array([[0.135, 1.   , 1.   ]])
    """

    definite = True

    def __init__(self, period: float = 1.0, tau: Any = 1.0) -> None:
        self.period = period
        self.tau = tau

    def check_parameters(self) -> None:
        """Period and tau positive."""
        super().check_parameters()
        check_number(self, "period", "a positive number", lambda period: period > 0)

    def rows(self, X: Any, *, training: bool = False) -> Any:
        """Points on circles."""
        angle = dense(matrix(X)) * (2.0 * math.pi / float(self.period))
        return np.concatenate([np.cos(angle), np.sin(angle)], axis=1, dtype=angle.dtype)

    def block(self, x: Any, z: Any) -> Array:
        """The Gaussian kernel of the points."""
        return RBF(self.tau).block(x, z)


def _half_precision(tau: float) -> float:
    """1/(2τ²), finite and positive: rows that are told apart by squares have k = 0 or 1 beyond."""
    return 0.5 / min(max(float(tau), 1.0 / _EXTREME), _EXTREME) ** 2


def distances(x: Any, z: Any) -> Array:
    """‖x − z‖ of all pairs, in float64; exact for rows that are nearly equal."""
    if not sparse.issparse(x) and not sparse.issparse(z):
        return cdist(x, z)
    table: Array = by_entries(x.astype(float), z.astype(float), partial(_fill, metric="euclidean"))
    return table


def _fill(x: Array, z: Array, table: Array, metric: str) -> None:
    table[:] = cdist(x, z.T, metric)


def _matern(s: Array, nu: float) -> Array:
    if nu == 0.5:
        return np.exp(-s)
    if nu == 1.5:
        return (1.0 + s) * np.exp(-s)
    if nu == 2.5:
        return (1.0 + s + s * s / 3.0) * np.exp(-s)
    s = np.maximum(s, 1e-10)  # units of tau; safeguard: the limit at 0 is 1, but 0·∞ is not
    return np.minimum(2.0 ** (1.0 - nu) / gamma(nu) * s**nu * kv(nu, s), 1.0)


def _near_zero(x: Any, z: Any, factor: float) -> tuple[Any, Any, bool]:
    """The rows moved so that the mean of z is zero, if that matters; whether it does not suffice.

    Distances stay as they are, but ‖x‖² + ‖z‖² − 2x·z loses as many digits as ‖x‖² is larger
    than the squared distances that count, those of about 1/factor.
    """
    if sparse.issparse(x) or sparse.issparse(z):
        return x, z, False

    def noise() -> float:
        top = max(squares(x).max(initial=0.0), squares(z).max(initial=0.0))
        return float(factor * top)

    if noise() <= _NOISE:
        return x, z, False
    if x.shape[1] != z.shape[1]:
        return x, z, False  # which the product refuses in words
    middle = z.mean(axis=0, dtype=float)
    x, z = (np.ascontiguousarray(a - middle, dtype=a.dtype) for a in (x, z))
    return x, z, noise() > _NOISE
