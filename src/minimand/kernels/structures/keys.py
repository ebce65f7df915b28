"""64-bit keys of symbols, labels and of what they make up.

A key is a hash of the content alone. So parts of structures that were read at different times, or
in different processes, can be compared. Of N different parts, two have the same key with a
probability of about N²/2⁶⁵: 3·10⁻⁸ for a million.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from hashlib import blake2b
from numbers import Integral, Real
from typing import Any

import numpy as np

from ... import _core
from ..._base.typing import AnyArray, IntArray


def mixed(keys: Any) -> AnyArray:
    """A permutation of the 64-bit integers without any pattern."""
    return _core.mix_keys(signed(keys), None).view(np.uint64)


def joined(*columns: Any) -> AnyArray:
    """Keys of tuples, from the keys of their entries, in order."""
    first, *others = columns
    found = signed(first)
    for column in others:
        found = _core.mix_keys(found, signed(column))
    return found.view(np.uint64)


def signed(keys: Any) -> IntArray:
    """Keys as the compiled kernels take them."""
    found = np.asarray(keys)
    return np.ascontiguousarray(
        found, dtype=np.uint64 if found.dtype.kind == "u" else np.int64
    ).view(np.int64)


def key_of(label: Hashable) -> int:
    """The key of a label (text, number, None, or tuple of these); equal ones have equal keys."""
    return _hashed(_spelt(label).encode("utf-8", "surrogatepass"))


def key_of_keys(keys: Iterable[int]) -> int:
    """The key of a sequence of keys."""
    return _hashed(np.fromiter(keys, dtype=np.uint64).tobytes())


def _hashed(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")


class Labels:
    """Different labels and their keys, numbered as they come."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.labels: list[Any] = []
        self.keys: list[int] = []
        self._numbers: dict[Any, int] = {}

    def number(self, label: Any) -> int:
        """The number of a label; what is no label is refused."""
        try:
            found = self._numbers.setdefault(label, len(self.labels))
            if found == len(self.labels):
                self.keys.append(key_of(label))
                self.labels.append(label)
        except TypeError as error:
            raise ValueError(
                f"{self.what} must be texts, numbers, or tuples of these, not {label!r:.50}."
            ) from error
        return found

    def numbers(self, labels: Iterable[Any]) -> AnyArray:
        """The numbers of labels, as an array."""
        number = self.number
        return np.asarray([number(label) for label in labels], dtype=np.int32)

    def key_array(self) -> AnyArray:
        """The keys of all labels."""
        return np.array(self.keys, dtype=np.uint64)


def _spelt(label: Any) -> str:
    """A text that tells labels apart exactly where ``==`` does."""
    if isinstance(label, str):
        return "s" + label
    if isinstance(label, Integral):
        return f"n{int(label)}"
    if isinstance(label, Real):
        number = float(label)
        return f"n{int(number)}" if number.is_integer() else f"n{number!r}"
    if label is None:
        return "-"
    if isinstance(label, tuple):
        parts = [_spelt(part) for part in label]
        return "t" + "".join(f"{len(part)}:{part}" for part in parts)
    raise TypeError(f"no key for {type(label).__name__}")
