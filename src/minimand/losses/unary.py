"""Losses of one number, the residual or the margin, defined by ψ and its derivatives."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .._base.row_blocks import in_parts
from .._base.typing import Array
from .analysis import probe
from .base import Loss, Target, Terms
from .numeric.noise import Noise
from .pieces import PLQ, Pieces

_PROBED = ("_facts", "_found", "_noise")  # what is kept of probes
_FOLLOWING = ("value", "gradient", "conjugate", "fenchel_young", "dual", "young", "infimum",
              "into_domain")  # formulas that follow from ψ and its derivatives  # fmt: skip
_NOISE = "noise"  # its place among the facts, which are kept by scale


class Unary(Loss):
    """A loss that is a function ψ of one number t, which subclasses define.

    A user writes ``psi``, ``dpsi`` and ``ddpsi``, vectorised over t, and nothing else: the
    conjugate defaults to a sound upper bound found by bracketing, and convexity and smoothness are
    checked by probing.
    """

    @property
    def pieces(self) -> Pieces | None:
        """ψ piece by piece, for a loss that is linear or quadratic between knots; else None.

        A class that defines its pieces (an attribute or a property) need not define anything else.
        """
        return None

    def _spelt_out(self, name: str) -> Pieces:
        if self.pieces is None:
            raise NotImplementedError(f"{type(self).__name__} must define {name}(t), or pieces")
        return self.pieces

    @property
    def _only_pieces(self) -> bool:
        """Whether the class has no psi of its own, which may be more accurate near a minimum."""
        return type(self).psi is Unary.psi

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        """A bound of ψ'': from the pieces, if there are any, else inf."""
        return np.inf if self.pieces is None else self.pieces.smoothness

    @property
    def robust(self) -> bool:
        """Whether ψ' is bounded: known from the pieces, if there are any."""
        if self.pieces is None:
            return super().robust
        return bool(np.isfinite(self.pieces.lowest) and np.isfinite(self.pieces.highest))

    def smoothed(self, width: float) -> Loss | None:
        """The envelope of ψ, if that has pieces with kinks."""
        if self.pieces is None or self.smooth:
            return None
        from .rounded import rounded

        return rounded(self, width)

    def psi(self, t: Array) -> Array:
        """ψ(t)."""
        return self._spelt_out("psi").value(t)

    def dpsi(self, t: Array) -> Array:
        """ψ'(t)."""
        return self._spelt_out("dpsi").slope(t)

    def ddpsi(self, t: Array) -> Array:
        """ψ''(t)."""
        return self._spelt_out("ddpsi").curvature(t)

    def young(self, t: Array, v: Array) -> Array:
        """ψ(t) + ψ*(v) − v·t, or an upper bound of it; inf where v is no slope of ψ."""
        if self.pieces is not None:
            return self.pieces.young(t, v)
        from .numeric.bracket import young_gap

        return young_gap(self.psi, self.dpsi, t, v, noise=self._noise, ddpsi=self.ddpsi)

    def dual(self, v: Array) -> Array:
        """ψ*(v) = sup_t v·t − ψ(t), or an upper bound of it."""
        if self.pieces is not None:
            return self.pieces.dual(v)
        zero = np.zeros_like(v, dtype=float)
        return self.young(zero, v) - self.psi(zero)

    def infimum(self, y: Array) -> Array:
        """inf ψ, the same for every y."""
        return np.full(np.shape(y), -float(self.dual(np.zeros(1))[0]))

    facts: ClassVar[probe.Facts | None] = None  # proved; None: found by probing

    @cached_property
    def _facts(self) -> probe.Facts:
        if self.facts is not None:
            return self.facts
        return self._probed if self.pieces is None else self.pieces.facts

    @cached_property
    def _noise(self) -> Noise | None:
        """The excess rounding of the formulas of ψ and ψ'; None if known to be accurate."""
        if self.facts is not None:
            return None
        if _NOISE not in self._found:
            self._found[_NOISE] = probe.noise(self.psi, self.dpsi, self.ddpsi)
        found: Noise | None = self._found[_NOISE]
        return found

    def noise(self, z: Array, y: Array) -> float | Array:
        """The rounding of the values beyond ulps of their size, measured for users' formulas."""
        return 0.0 if self._noise is None else self._noise.of_value(self._argument(z, y))

    def _argument(self, z: Array, y: Array) -> Array:
        """The argument t of ψ."""
        raise NotImplementedError(f"{type(self).__name__} must say what ψ is a function of")

    @property
    def _probed(self) -> probe.Facts:
        return self._inspected(1.0)

    def _inspected(self, scale: float) -> probe.Facts:
        """The facts of ψ around ±scale, probed once for every power of 64."""
        scale = 64.0 ** round(np.log2(scale) / 6)
        if scale not in self._found:
            self._found[scale] = probe.inspect(self.psi, self.dpsi, self.ddpsi, scale)
        found: probe.Facts = self._found[scale]
        return found

    @cached_property
    def _found(self) -> dict[Any, Any]:
        """The facts by scale, and the noise: shared by equal losses."""
        return probe.shared(self, self.__getstate__())

    def __setattr__(self, name: str, value: object) -> None:
        """Set a parameter, and discard what was probed for the old one."""
        for known in _PROBED:
            self.__dict__.pop(known, None)
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, object]:
        """The parameters, without the results of probes."""
        return {name: value for name, value in vars(self).items() if name not in _PROBED}

    @property
    def proved(self) -> bool:  # type: ignore[override]
        """Whether a class defines no more than ψ and its derivatives, which are probed."""
        own: Any = type(self)
        base = Distance if isinstance(self, Distance) else Margin
        return all(getattr(own, name) is getattr(base, name) for name in _FOLLOWING)

    @property
    def convex(self) -> bool:
        """Probed: ψ(b) ≥ ψ(a) + ψ'(a)·(b − a) on a grid of pairs over the whole axis."""
        return self._facts.violation is None

    @property
    def smooth(self) -> bool:
        """Probed: bisection finds no jump of ψ'."""
        return self._facts.kink is None

    @property
    def nearly_kinked(self) -> bool:
        """Probed: a rise of ψ' shrinks more slowly with its width than that of |t|^1.25."""
        return self.smooth and self._facts.nearly_kinked

    def attained(self, y: Array) -> bool:
        """Probed: ψ' changes sign or vanishes."""
        return self._facts.attained

    def check_parameters(self) -> None:
        """Refuse, in words, a ψ that is not convex or has wrong slopes."""
        if not self.convex:
            raise ValueError(f"loss {self!r} is not convex: {self._facts.violation}")

    def check_target(self, y: Array) -> None:
        """Check y, and probe ψ again at the scale of y."""
        super().check_target(y)
        if self.facts is not None or self.pieces is not None:
            return
        scale = float(np.max(np.abs(y), initial=0.0))
        if scale > 0:
            violation = self._inspected(scale).violation
            if violation:
                raise ValueError(f"loss {self!r} is not convex: {violation}")


def _elementwise(values: Array, z: Array) -> Array:
    """One float64 per sample, also if ψ'' returns a plain constant."""
    if type(values) is np.ndarray and values.shape == np.shape(z) and values.dtype == np.float64:
        return values
    return np.ascontiguousarray(np.broadcast_to(np.asarray(values, dtype=float), np.shape(z)))


class Distance(Unary):
    """ℓ(z, y) = ψ(r) of the residual r = z − y.

    A ψ with kinks says its `pieces` (a `minimand.Pieces`) instead of psi, dpsi and ddpsi.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> class LogCosh(mm.Distance):
    ...     def psi(self, r): return np.abs(r) + np.log1p(np.exp(-2 * np.abs(r))) - np.log(2)
    ...     def dpsi(self, r): return np.tanh(r)
    ...     def ddpsi(self, r): return 1 - np.tanh(r) ** 2
    >>> LogCosh().convex
    True
    >>> float(LogCosh().conjugate(np.array([0.5]), np.array([0.0]))[0])   # known: 0.13081...
    0.130812...
    """

    def _argument(self, z: Array, y: Array) -> Array:
        return z - y

    def value(self, z: Array, y: Array) -> Array:
        """ψ(z − y)."""
        return _elementwise(self.psi(z - y), z)

    def gradient(self, z: Array, y: Array) -> Array:
        """ψ'(z − y)."""
        return _elementwise(self.dpsi(z - y), z)

    def curvature(self, z: Array, y: Array) -> Array:
        """ψ''(z − y)."""
        return _elementwise(self.ddpsi(z - y), z)

    def conjugate(self, u: Array, y: Array) -> Array:
        """ℓ*(u, y) = u·y + ψ*(u)."""
        return u * y + self.dual(u)

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """ψ(r) + ψ*(u) − u·r."""
        return self.young(z - y, u)

    def into_domain(self, u: Array, y: Array) -> Array:
        """u, clipped to the slopes that the pieces have."""
        return u if self.pieces is None else self.pieces.clip(u)

    def room(self, u: Array, y: Array) -> Array:
        """The distance of u from the slopes of linear pieces."""
        return super().room(u, y) if self.pieces is None else self.pieces.room(u)

    def plq(self, y: Array) -> PLQ | None:
        """ψ(z − y)."""
        return None if self.pieces is None else PLQ(self.pieces, np.ones_like(y), y)

    def terms(self, z: Array, y: Array) -> Terms:
        """Value, gradient and curvature, in one pass where there are pieces."""
        if self.pieces is None or not self._only_pieces:
            return super().terms(z, y)
        return Terms(*self.pieces.terms(z - y))

    def sample_weights(self, z: Array, y: Array) -> Array | None:
        """ψ'(r)/r divided by ψ''(0): the weights of least squares with the same solution."""
        if self.quadratic:
            return None  # all samples have weight 1
        if self.composed is not None:
            return super().sample_weights(z, y)
        if not (self.convex and self.smooth and self.robust):
            return None
        zero = np.zeros(1)
        slope, bend = (float(_elementwise(f(zero), zero)[0]) for f in (self.dpsi, self.ddpsi))
        if slope != 0 or not (np.isfinite(bend) and bend > 0):
            return None
        weights = np.ones(z.shape)
        for out, scores, targets in in_parts(weights, z, y):
            r = scores - targets
            np.divide(self.dpsi(r), bend * r, out=out, where=r != 0)
            np.clip(out, 0.0, 1.0, out=out)
        return weights

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """Piece by piece where there are pieces, else by safeguarded Newton."""
        if self.pieces is None:
            return super().prox(z, y, step)
        return y + self.pieces.prox(z - y, step)


class Margin(Unary):
    """ℓ(z, y) = ψ(m) of the margin m = y·z, with labels y = ±1.

    A ψ with kinks says its `pieces` (a `minimand.Pieces`) instead of psi, dpsi and ddpsi.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> class Exponential(mm.Margin):
    ...     def psi(self, m): return np.exp(-m)
    ...     def dpsi(self, m): return -np.exp(-m)
    ...     def ddpsi(self, m): return np.exp(-m)
    >>> y = np.array([1.0, -1.0])
    >>> Exponential().value(np.array([0.0, 0.0]), y)
    array([1., 1.])
    """

    target: ClassVar[Target] = "sign"

    def _argument(self, z: Array, y: Array) -> Array:
        return y * z

    def value(self, z: Array, y: Array) -> Array:
        """ψ(y·z)."""
        return _elementwise(self.psi(y * z), z)

    def gradient(self, z: Array, y: Array) -> Array:
        """y·ψ'(y·z)."""
        return _elementwise(y * self.dpsi(y * z), z)

    def curvature(self, z: Array, y: Array) -> Array:
        """ψ''(y·z), as y² = 1."""
        return _elementwise(self.ddpsi(y * z), z)

    def conjugate(self, u: Array, y: Array) -> Array:
        """ℓ*(u, y) = ψ*(y·u)."""
        return self.dual(y * u)

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """ψ(m) + ψ*(v) − v·m with v = y·u."""
        return self.young(y * z, y * u)

    def into_domain(self, u: Array, y: Array) -> Array:
        """y·u, clipped to the slopes that the pieces have."""
        return u if self.pieces is None else y * self.pieces.clip(y * u)

    def room(self, u: Array, y: Array) -> Array:
        """The distance of y·u from the slopes of linear pieces."""
        return super().room(u, y) if self.pieces is None else self.pieces.room(y * u)

    def plq(self, y: Array) -> PLQ | None:
        """ψ(y·z)."""
        return None if self.pieces is None else PLQ(self.pieces, y, np.zeros_like(y))

    def terms(self, z: Array, y: Array) -> Terms:
        """Value, gradient and curvature, in one pass where there are pieces."""
        if self.pieces is None or not self._only_pieces:
            return super().terms(z, y)
        value, slope, curvature = self.pieces.terms(y * z)
        return Terms(value, y * slope, curvature)

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """Piece by piece where there are pieces, else by safeguarded Newton."""
        if self.pieces is None:
            return super().prox(z, y, step)
        return y * self.pieces.prox(y * z, step)
