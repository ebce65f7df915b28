"""The arrays in which compiled stochastic passes keep their state: see core/stochastic/pass.hpp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import _core
from ..._base.typing import Array
from ...canonical.row_steps import Rule

_TOGETHER = _core.MODELS_TOGETHER  # models of a group, whose numbers are adjacent
_SHARED = _core.SHARED_SCALARS  # scalars of a group, before those of its models
_PER_MODEL = _core.SCALARS_PER_MODEL  # scalars of every model
_UNSEEN = 1e300  # 1/largest |x| of a column without an entry so far; definition: above kUnseen
# Indices of the shared scalars; definition: those of `StochasticScalars` in the core.
_STEPS, _TIME, _HELD, _SCALE, _COUNT, _LAST = 0, 1, 2, 3, 4, 6
_LINE = 64  # bytes of a cache line; definition


class Layout(NamedTuple):
    """The numbers of ``models`` models with ``features`` coefficients, in groups of 1 or 8 models.

    A coefficient has ``own`` numbers per model, and some that the models of a group share. In
    adaptive steps its own numbers are a value, a lag and a sum of squares; shared are the time of
    the last entry of its column, 1/largest |x| and the fastest rate. In plain steps its own numbers
    are a value, a lag if models are averaged, and with an l1 penalty the amount applied so far;
    then the penalty time and Σc·scale at the last entry of its column are shared. Online rules
    have the same own numbers, share none, and always store field by field.
    """

    models: int
    features: int
    rule: Rule
    together: bool
    sparse: bool = False
    own: int = 3

    @property
    def group(self) -> int:
        """Models of a group."""
        return _TOGETHER if self.together else 1

    @property
    def groups(self) -> int:
        """The number of groups; unused places of the last one are filled with models too."""
        return -(-self.models // self.group)

    @property
    def common(self) -> int:
        """Numbers of a coefficient that all models share."""
        if self.rule.online:
            return 0
        return 3 if self.rule == Rule.ADAPTIVE else 2 * int(self.own > 2)

    def start(self, w: Array, b: Array, steps: float = 0.0) -> tuple[Array, Array]:
        """Fields and scalars of models before the first step, whose number is ``steps``."""
        fields = self._empty()
        if w.any():
            self._put(fields, 0, w)
        if self.rule == Rule.ADAPTIVE:
            self._common(fields, 1)[:] = _UNSEEN
        scalars = np.zeros((self.groups, _SHARED + _PER_MODEL * self.group))
        scalars[:, _STEPS], scalars[:, _SCALE] = steps, 1.0
        self._put_by_model(scalars, 0, b)
        return fields, scalars

    def fields_from(self, old: Layout, fields: Array) -> Array:
        """The same numbers in this layout."""
        new = self._empty()
        for number in range(min(self.own, old.own)):
            self._put(new, number, old._take(fields, number))
        # All groups have read the same rows; the fastest rate of all is a bound for each.
        for number in range(min(self.common, old.common)):
            self._common(new, number)[:] = old._common(fields, number).max(axis=0)
        return new

    def scalars_from(self, old: Layout, scalars: Array) -> Array:
        """The same scalars in this layout."""
        new = np.zeros((self.groups, _SHARED + _PER_MODEL * self.group))
        new[:, :_SHARED] = scalars[0, :_SHARED]
        for number in range(_PER_MODEL):
            self._put_by_model(new, number, old._take_by_model(scalars, number))
        return new

    def by_row(self, columns: Sequence[Array]) -> Array:
        """A number per row and model, flat: by group, row, and model of the group."""
        if len(columns) == 1 and not self.together:
            return columns[0]
        flat = np.zeros(self.groups * self.group * columns[0].size)
        self.set_rows(flat, slice(None), columns)
        return flat

    def set_rows(self, flat: Array, rows: Any, columns: Sequence[Array]) -> None:
        """Some rows of such numbers, in place."""
        view = flat.reshape(self.groups, -1, self.group)
        for i, column in enumerate(columns):
            view[i // self.group, rows, i % self.group] = column

    # What the numbers mean -----------------------------------------------------------------

    def clock(self, scalars: Array) -> tuple[float, float, float, float, Array, Array]:
        """Penalty time, Σc·scale, scale, Σc, and b and Σc·b of every model.

        Online rules keep what the average of b lacks in place of Σc·b.
        """
        now, held, scale, count = (float(scalars[0, k]) for k in (_TIME, _HELD, _SCALE, _COUNT))
        b, b_sum = self._take_by_model(scalars, 0), self._take_by_model(scalars, 1)
        return now, held, scale, count, b, b_sum

    def last_step(self, scalars: Array) -> float:
        """The penalty time of the last plain step."""
        return float(scalars[0, _LAST])

    def paid(self, scalars: Array) -> Array:
        """What the rows paid before their steps, (k,), since the last call."""
        found = self._take_by_model(scalars, 3)
        self._put_by_model(scalars, 3, np.zeros_like(found))
        return found

    def measure(self, fields: Array, scalars: Array) -> None:
        """Store Σv² and Σ|v| of every model, of plain steps."""
        v = self.values(fields)
        self._put_by_model(scalars, 2, np.einsum("ij,ij->i", v, v))
        self._put_by_model(scalars, 4, np.abs(v).sum(axis=1))

    def forget_penalty(self, fields: Array, scalars: Array) -> None:
        """Forget the l1 penalty applied so far."""
        scalars[:, _TIME] = 0.0
        if self.own > 2:
            self._own(fields, 2)[:] = 0.0

    def values(self, fields: Array) -> Array:
        """v, (k, d): coefficients without the scale, and before the l1 penalty that is due."""
        return self._take(fields, 0)

    def lags(self, fields: Array) -> Array:
        """Lags, (k, d): a step after k averaged models is missing in their sum k times."""
        return self._take(fields, 1)

    def received(self, fields: Array) -> Array:
        """The l1 penalty that plain steps have applied to every v, (k, d)."""
        return self._take(fields, 2)

    def seen(self, fields: Array) -> Array:
        """The penalty time at the last entry of every column, (d,)."""
        return self._common(fields, 0)[0].copy()

    def held_then(self, fields: Array) -> Array:
        """Σc·scale at that time, (d,), of plain steps with an l1 penalty."""
        return self._common(fields, 1)[0].copy()

    def rates(self, fields: Array) -> Array:
        """The rate of every coefficient, (k, d): 1/(largest |x|·√squares)."""
        root = np.sqrt(self._take(fields, 2))
        inverse = self._common(fields, 1)[0]
        return np.divide(inverse, root, out=np.zeros_like(root), where=root > 0)

    # Where they are ------------------------------------------------------------------------

    @property
    def _packed(self) -> bool:
        """Whether all numbers of a coefficient are adjacent; else they are stored by field."""
        return self.sparse and not self.together and not self.rule.online

    def _empty(self) -> Array:
        """Zeros, a row per group, that begin at a cache line."""
        width = self.own * self.group + self.common
        size = self.groups * width * self.features
        room = np.zeros(size + _LINE // 8)
        first = -room.ctypes.data % _LINE // 8
        return room[first : first + size].reshape(self.groups, -1)

    def _own(self, fields: Array, number: int) -> Array:
        """A view of one number of every model, (groups, models of a group, d)."""
        if self._packed:
            packed = fields.reshape(self.groups, self.features, -1)
            return packed[:, None, :, number]
        size = self.group * self.features
        part = fields[:, number * size : (number + 1) * size]
        return part.reshape(self.groups, self.features, self.group).swapaxes(1, 2)

    def _common(self, fields: Array, number: int) -> Array:
        """A view of one number that the models of a group share, (groups, d)."""
        if self._packed:
            return fields.reshape(self.groups, self.features, -1)[:, :, self.own + number]
        rest = fields[:, self.own * self.group * self.features :]
        if self.together:
            return rest.reshape(self.groups, self.features, self.common)[:, :, number]
        return rest.reshape(self.groups, self.common, self.features)[:, number]

    def _take(self, fields: Array, number: int) -> Array:
        """One number of every model and coefficient, (k, d)."""
        found = np.empty((self.groups, self.group, self.features))
        found[:] = self._own(fields, number)
        return found.reshape(-1, self.features)[: self.models]

    def _put(self, fields: Array, number: int, values: Array) -> None:
        view = self._own(fields, number)
        for i, row in enumerate(values):
            view[i // self.group, i % self.group] = row

    def _take_by_model(self, scalars: Array, number: int) -> Array:
        first = _SHARED + number * self.group
        return scalars[:, first : first + self.group].reshape(-1)[: self.models].copy()

    def _put_by_model(self, scalars: Array, number: int, values: Array) -> None:
        first = _SHARED + number * self.group
        padded = np.zeros(self.groups * self.group)
        padded[: self.models] = values
        scalars[:, first : first + self.group] = padded.reshape(self.groups, self.group)
