"""Kernels of the distance between two rows: RBF, Laplace, Matérn, periodic."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist
from scipy.special import gamma, kv

from .. import _core
from .._base.parameters import check_number
from .._base.typing import AnyArray, Array
from .._base.weighted import median, sampled_rows
from . import tiles
from .base import Kernel
from .measures import ABSOLUTE, FEW_COLUMNS, SQUARES, STRAIGHT, distances
from .rows import Parts, check_widths, count, dense, matrix, product_rounding, products, squares
from .shared_distances import Measure, Measured, measured
from .vectors import VectorKernel, by_entries

_SAMPLE = 1000  # rows whose distances give a median; safeguard: their half a million pairs do
_NOISE = 1e4  # ulp of a squared distance in units of the bandwidth, above which differences are
# taken before squaring; safeguard: values are then exact to about 1e-12
_EXTREME = 1e140  # of tau and 1/tau, whose squares overflow beyond about 1e150; safeguard
_VANISHED = 2e-38  # values below it are zero in float32; definition
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

    def learn(self, X: Any, weights: Array | None = None) -> Kernel:
        """The same kernel with a number for ``tau``."""
        if not isinstance(self.tau, str):
            return self
        rule = {"median": self._median, "scale": self._scale}[self.tau]
        tau = rule(self.rows(X, training=True), weights)
        # 1.0: all rows are equal, so that any bandwidth gives the same values
        return self.copy(tau=tau if tau > 0 and math.isfinite(tau) else 1.0)

    def diagonal(self, x: Any) -> Array:
        """1."""
        return np.ones(count(x))

    def measured(self, x: Any) -> Any:
        """The rows with the distances that a search over bandwidths keeps."""
        return x if isinstance(x, Parts) else measured(x, self.measure)  # prepared ones as they are

    def block(self, x: Any, z: Any) -> Array:
        """The function of all distances; of known ones, if the rows have a table of them."""
        if not isinstance(x, Measured):
            return self.of_rows(x, z)
        far = x.distances(z) if self.resolves(x.table.error) else None
        return self.of_rows(x.rows, z.rows) if far is None else self.of_distances(far)

    @abstractmethod
    def of_rows(self, x: Any, z: Any) -> Array:
        """`block` of plain rows."""

    @abstractmethod
    def of_distances(self, far: Array) -> Array:
        """The function of distances in the unit of `measure`, which may be written to."""

    def resolves(self, error: float) -> bool:
        """Whether distances of rounded numbers of that size are exact enough for the bandwidth."""
        return True

    measure: ClassVar[Measure]
    metric = "euclidean"

    def _median(self, x: Any, weights: Array | None) -> float:
        """The median distance of different rows, of at most a thousand rows in equal steps."""
        some, counts = sampled_rows(count(x), weights, _SAMPLE)
        far = pdist(dense(x[some]).astype(float), self.metric)
        apart = far > 0
        if not apart.any():
            return 0.0
        if counts is None:
            return float(np.median(far[apart]))
        first, second = np.triu_indices(some.size, 1)
        return median(far[apart], (counts[first] * counts[second])[apart])

    def _scale(self, x: Any, weights: Array | None) -> float:
        """√(d·Var/2), so that 1/(2τ²) is scikit-learn's gamma="scale"."""
        if weights is not None:
            share = weights / (weights.sum() * max(x.shape[1], 1))
            mean = float(share @ np.asarray(x.sum(axis=1), dtype=float).ravel())
            near = x if sparse.issparse(x) else x - mean  # so that dense squares do not cancel
            total = float(share @ squares(near)) - (mean**2 if near is x else 0.0)
        elif sparse.issparse(x):
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
        which is scikit-learn's ``gamma="scale"``; gamma is 1/(2τ²). In both, a row of weight k
        counts like k copies of it.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.RBF(tau=1.0)([[0.0]], [[0.0], [1.0]]).round(3)
    array([[1.   , 0.607]])
    """

    definite = in_threads = True
    measure = SQUARES

    def __init__(self, tau: Any = 1.0) -> None:
        self.tau = tau

    def prepared(self, rows: Any) -> Any:
        """The rows moved to their mean, and their squares; as they are if digits would cancel."""
        moved, _, cancels = _near_zero(rows, rows, _half_precision(self.tau))
        return rows if cancels else Parts(moved, squares(moved))

    def of_rows(self, x: Any, z: Any) -> Array:
        """All exp(−‖x − z‖²/(2τ²)); from differences where ‖x‖² + ‖z‖² − 2x·z would cancel."""
        factor = -_half_precision(self.tau)
        if isinstance(x, Parts):
            (x, row_squares), (z, column_squares) = x, z
            found = products(x, z)
            _core.gaussians(found, row_squares, column_squares, factor)
            return found
        dense_rows = not sparse.issparse(x) and not sparse.issparse(z)
        if dense_rows and x.shape[1] <= FEW_COLUMNS:
            return _from_differences(x, z, factor)
        x, z, cancels = _near_zero(x, z, -factor)
        if cancels:
            return _from_differences(x, z, factor)
        found = products(x, z)
        _core.gaussians(found, squares(x), squares(z), factor)
        return found

    def of_distances(self, far: Array) -> Array:
        """exp(−d/(2τ²)) of squared distances d."""
        far *= -_half_precision(self.tau)
        return np.exp(far, out=far)

    def resolves(self, error: float) -> bool:
        """Whether squares that cancel leave enough digits."""
        return _half_precision(self.tau) * error <= _NOISE

    def tile(self, x: Any, z: Any, out: AnyArray) -> None:
        """The values of prepared dense rows, written to ``out``."""
        (x, row_squares), (z, column_squares) = x, z
        np.matmul(x, z.T, out=out)
        _core.gaussians(out, row_squares, column_squares, -_half_precision(self.tau))

    def doubt(self, x: Any, unit: float) -> tuple[float, float]:
        """A share of the value: the errors of ‖x‖² + ‖z‖² − 2x·z over the bandwidth, and of exp."""
        if not self.in_tiles(x):
            return super().doubt(x, unit)
        most = float(x.parts[1].max(initial=0.0))
        distance = most * (2.0 * product_rounding(x.parts[0].shape[1], unit) + 24.0 * unit)
        share = math.expm1(min(_half_precision(self.tau) * distance + 4.0 * unit, 700.0))
        return share, _VANISHED

    def in_tiles(self, x: Any) -> bool:
        """Prepared dense rows."""
        return isinstance(x, Parts) and tiles.serve(self, RBF.block, x, x)

    def fill(self, x: Any, z: Any, out: AnyArray) -> None:
        """Tile by tile, if the rows are prepared."""
        if not self.in_tiles(x):
            return super().fill(x, z, out)
        return tiles.fill(self, x, z, out)

    def times(self, x: Any, z: Any, a: Array) -> Array:
        """Tile by tile, unless digits would cancel."""
        if not tiles.serve(self, RBF.block, x, z):
            return super().times(x, z, a)
        if not isinstance(x, Parts):
            check_widths(x, z)
            if x.shape[1] <= FEW_COLUMNS:
                return super().times(x, z, a)
            x, z, cancels = _near_zero(x, z, _half_precision(self.tau))
            if cancels:
                return super().times(x, z, a)
            x, z = Parts(x, squares(x)), Parts(z, squares(z))
        kind = np.result_type(x.parts[0], z.parts[0])
        return tiles.times(self, x, z, a, kind)


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

    definite = in_threads = True
    measure = ABSOLUTE
    metric = "cityblock"

    def __init__(self, tau: Any = 1.0) -> None:
        self.tau = tau

    def of_rows(self, x: Any, z: Any) -> Array:
        """All exp(−‖x − z‖₁/τ)."""
        factor = -1.0 / float(self.tau)
        return by_entries(x, z, lambda a, b, table: _core.laplacians(a, b, factor, table))

    def of_distances(self, far: Array) -> Array:
        """exp(−d/τ)."""
        far /= -float(self.tau)
        return np.exp(far, out=far)


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

    definite = in_threads = True
    measure = STRAIGHT

    def __init__(self, tau: Any = 1.0, nu: float = 1.5) -> None:
        self.tau = tau
        self.nu = nu

    def check_parameters(self) -> None:
        """Tau and nu positive."""
        super().check_parameters()
        check_number(self, "nu", "a positive number", lambda nu: nu > 0, finite=False)

    def of_rows(self, x: Any, z: Any) -> Array:
        """The formula at all distances."""
        if math.isinf(self.nu):
            return RBF(self.tau).of_rows(x, z)
        kind = np.result_type(x.dtype, z.dtype)
        return self.of_distances(distances(x, z)).astype(kind, copy=False)

    def of_distances(self, far: Array) -> Array:
        """The formula at s = √(2ν)·d/τ."""
        if math.isinf(self.nu):
            return RBF(self.tau).of_distances(np.square(far))
        far *= math.sqrt(2.0 * self.nu) / float(self.tau)
        return _matern(far, float(self.nu))


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

    definite = in_threads = True
    measure = SQUARES

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

    def of_rows(self, x: Any, z: Any) -> Array:
        """The Gaussian kernel of the points."""
        return RBF(self.tau).of_rows(x, z)

    def of_distances(self, far: Array) -> Array:
        """The same of the squared distances of the points."""
        return RBF(self.tau).of_distances(far)

    def resolves(self, error: float) -> bool:
        """As for the Gaussian kernel."""
        return RBF(self.tau).resolves(error)


def _half_precision(tau: float) -> float:
    """1/(2τ²), finite and positive: rows that are told apart by squares have k = 0 or 1 beyond."""
    return 0.5 / min(max(float(tau), 1.0 / _EXTREME), _EXTREME) ** 2


def _matern(s: Array, nu: float) -> Array:
    if nu == 0.5:
        return np.exp(-s)
    if nu == 1.5:
        return (1.0 + s) * np.exp(-s)
    if nu == 2.5:
        return (1.0 + s + s * s / 3.0) * np.exp(-s)
    s = np.maximum(s, 1e-10)  # units of tau; safeguard: the limit at 0 is 1, but 0·∞ is not
    return np.minimum(2.0 ** (1.0 - nu) / gamma(nu) * s**nu * kv(nu, s), 1.0)


def _from_differences(x: Array, z: Array, factor: float) -> Array:
    """exp(factor·‖x − z‖²) of all pairs of dense rows."""
    return by_entries(x, z, lambda a, b, table: _core.gaussians_of_differences(a, b, factor, table))


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
