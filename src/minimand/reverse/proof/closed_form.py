r"""A dual point of Peng and Wei's relaxation from the clustering itself, in closed form.

Every clustering's Z is a projection of rank k with Zu = u, and no entry of it is negative. So for
every symmetric B ≥ 0 (entry by entry), tr CZ ≤ tr (C + B)Z, and splitting u off,

    tr CZ ≤ uᵀBu/‖u‖² + the k − 1 largest eigenvalues of C + PBP,

which bounds the objective tr C − tr CZ of *every* clustering from below. B = 0 gives the bound by
discarded eigenvalues. To be tight at a given clustering, B must vanish within clusters and turn the
directions of its Z into the top eigenvectors, with one eigenvalue z. That fixes the sums of its
rows: towards another cluster a, the mean over uᵢuⱼ of a row i of cluster t must be

    xᵢₐ = ½[dᵢₐ − dᵢₜ − z(1/vₜ + 1/vₐ)],

dᵢₐ the squared distance of point i from the centre of cluster a. With m the mean of xᵢₐ over
cluster t, which equals that of xⱼₜ over cluster a, the entries

    Bᵢⱼ = uᵢuⱼ·[xᵢₐ + xⱼₜ − m + θ(xᵢₐ − m)(xⱼₜ − m)/m]

have these sums for every θ, and are ≥ 0 for θ = 1 if x is, that is while
z ≤ (dᵢₐ − dᵢₜ)/(1/vₜ + 1/vₐ) for all i and a. Off the directions of Z only the part with θ is left,
so the least θ that keeps B ≥ 0 is taken, for each pair of clusters. If then no other eigenvalue of
C + PBP is above z, the bound equals the objective, and the clustering is proved optimal. (θ = 1 is
the rank-one block of Iguchi, Mixon, Peterson and Villar 2015.) For larger z negative x are
raised to zero: still a valid B, and often a better bound where clusters overlap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._base.typing import Array, IntArray
from ..._base.watch import interrupt, reason
from .points import SIDE, Points, indicator

# The z that are tried: shares of the largest that keeps all x ≥ 0, and the z that only so many of
# the points allow. Safeguards: the best is kept, and each costs one decomposition.
_PARTS = (1.0, 0.85, 0.7, 0.55, 0.4, 0.25)
_QUANTILES = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5)


class Blocks(NamedTuple):
    """B by clusters: for a row i and another cluster a, and for pairs of clusters."""

    x: Array  # (n, k), zero for the row's own cluster
    middle: Array  # m, (k, k), symmetric
    theta: Array  # (k, k), symmetric


class DualPoint(NamedTuple):
    """A matrix B, and the bound that it proves."""

    blocks: Blocks
    lower: float  # no clustering has a smaller objective
    rounding: float


class Distances(NamedTuple):
    """What the closed form takes from a clustering."""

    labels: IntArray
    volumes: Array  # (k,)
    rise: Array  # dᵢₐ − dᵢₜ, (n, k)
    limits: Array  # the largest z of a row and another cluster, (n, k)


def best_point(points: Points, labels: IntArray, k: int) -> DualPoint | None:
    """The best of some points on the line of z; None if the problem is too large.

    The clustering may have fewer than k clusters, none of them empty; the bound is that for k.
    """
    if k == 1:
        nothing = Blocks(np.zeros((points.n, 1)), np.zeros((1, 1)), np.zeros((1, 1)))
        return DualPoint(nothing, points.total - points.rounding, points.rounding)
    found = distances(points, labels)
    least = objective(points, labels)
    best: DualPoint | None = None
    for z in _tried(found):
        if best is not None and (best.lower >= least - 4 * best.rounding or reason()):
            break  # closed, so that none is better; or stopped
        try:
            point = at(points, found, z, k)
        except KeyboardInterrupt:
            if best is None:
                raise
            interrupt()
            break
        if point is None:
            return None
        if best is None or point.lower > best.lower:
            best = point
    return best


def _tried(found: Distances) -> list[float]:
    """Values of z, those that keep all x ≥ 0 first."""
    own = found.limits.min(axis=1)
    if found.volumes.size == 1 or not np.isfinite(own).all():
        return [0.0]
    most = max(float(own.min()), 0.0)
    beyond = np.quantile(own, _QUANTILES, method="lower")
    return [most * part for part in _PARTS if most > 0] + [float(z) for z in beyond if z > most]


def distances(points: Points, labels: IntArray) -> Distances:
    """Squared distances from all centres, compared with the own one."""
    n, k = points.n, int(labels.max()) + 1
    parts = indicator(labels, points.root, k)
    volumes = np.einsum("ij,ij->j", parts, parts)
    images = points.times(parts)  # C uₐ
    norms = np.einsum("ij,ij->j", parts, images) / volumes**2  # of the centres
    far = norms - 2.0 * images / points.root[:, None] / volumes
    rise = far - far[np.arange(n), labels][:, None]
    limits = rise / (1.0 / volumes[labels][:, None] + 1.0 / volumes)
    limits[np.arange(n), labels] = np.inf
    return Distances(labels, volumes, rise, limits)


def at(points: Points, found: Distances, z: float, most: int) -> DualPoint | None:
    """The bound at z for ``most`` clusters; None if the matrix is too large."""
    n, k = found.rise.shape
    if not points.takes_columns(k * k) and n > SIDE:
        return None
    blocks = blocks_at(points, found, z)
    if points.takes_columns(k * k):
        top = points.top_of_columns(*_factor(points, found.labels, blocks), most - 1)
    else:
        top = points.top_with(matrix_of(points, found.labels, blocks), most - 1)
    along = _along(points, found, blocks)
    return DualPoint(blocks, points.total - top.value - along, top.rounding)


def blocks_at(points: Points, found: Distances, z: float) -> Blocks:
    """x, m and the least θ at z."""
    n, k = found.rise.shape
    labels, volumes = found.labels, found.volumes
    both = 1.0 / volumes[labels][:, None] + 1.0 / volumes
    x = 0.5 * np.maximum(found.rise - z * both, 0.0)
    x[np.arange(n), labels] = 0.0
    means = _means(points, labels, x, volumes)
    middle = np.sqrt(means) * np.sqrt(means.T)
    least = np.full((k, k), np.inf)
    np.minimum.at(least, labels, x)  # the smallest x of a cluster, towards each other one
    # In units of m, so that nothing overflows: θ = (a + b − 1)/(a·b) with a = 1 − least/m.
    below = 1.0 - np.divide(least, middle, out=np.ones((k, k)), where=middle > 0)
    product = np.maximum(below, 0.0) * np.maximum(below.T, 0.0)
    short = below + below.T - 1.0
    theta = np.divide(short, product, out=np.zeros((k, k)), where=product > 0)
    return Blocks(x, middle, np.clip(theta, 0.0, 1.0))


def _means(points: Points, labels: IntArray, x: Array, volumes: Array) -> Array:
    """The means of x over clusters, with the weights u²: (t, a)."""
    squares = indicator(labels, points.root**2, volumes.size)
    return np.asarray((squares.T @ x) / volumes[:, None])


def _along(points: Points, found: Distances, blocks: Blocks) -> float:
    """uᵀBu/‖u‖²."""
    volumes, m = found.volumes, blocks.middle
    means = _means(points, found.labels, blocks.x, volumes)
    share = np.divide(means.T - m, m, out=np.zeros_like(m), where=m > 0)
    cross = blocks.theta * (means - m) * share
    inner = np.where(m > 0, means + means.T - m + cross, 0.0)
    return float((inner * np.outer(volumes, volumes)).sum() / volumes.sum())


def _factor(points: Points, labels: IntArray, blocks: Blocks) -> tuple[Array, Array]:
    """B = E D Eᵀ: columns u of every cluster and u∘x of every ordered pair of clusters.

    The block of (t, a) is (1 − θ)(qₜₐuₐᵀ + uₜqₐₜᵀ − m·uₜuₐᵀ) + (θ/m)·qₜₐqₐₜᵀ with q = u∘x.
    """
    k = blocks.middle.shape[0]
    pairs = [(t, a) for t in range(k) for a in range(k) if blocks.middle[t, a] > 0 and t != a]
    place = {pair: k + j for j, pair in enumerate(pairs)}
    side = k + len(pairs)
    columns, D = np.zeros((points.n, side)), np.zeros((side, side))
    columns[:, :k] = indicator(labels, points.root, k)
    for (t, a), j in place.items():
        columns[:, j] = columns[:, t] * blocks.x[:, a]
        theta, m = blocks.theta[t, a], blocks.middle[t, a]
        D[j, a] = D[a, j] = 1.0 - theta
        D[t, a] = -(1.0 - theta) * m
        D[j, place[a, t]] = theta / m
    return columns, D


def matrix_of(points: Points, labels: IntArray, blocks: Blocks) -> Array:
    """B, (n, n), no entry of it negative."""
    across = blocks.x[:, labels]  # xᵢ towards the cluster of j
    middle, theta = (part[labels][:, labels] for part in (blocks.middle, blocks.theta))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (across.T - middle) / middle
        B = across + across.T - middle + theta * (across - middle) * share
    # Rounding must not make an entry negative, and clusters without any room have none.
    B = np.where(middle > 0, np.maximum(B, 0.0), 0.0)
    B[labels[:, None] == labels] = 0.0
    return np.asarray(B * np.outer(points.root, points.root))


def objective(points: Points, labels: IntArray) -> float:
    """tr C − tr CZ of a clustering without empty clusters."""
    parts = indicator(labels, points.root, int(labels.max()) + 1)
    volumes = np.einsum("ij,ij->j", parts, parts)
    inner = np.einsum("ij,ij->j", parts, points.times(parts))
    return points.total - float((inner / volumes).sum())
