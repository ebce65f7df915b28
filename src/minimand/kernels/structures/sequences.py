"""Strings and lists of tokens as symbols with keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ..._base.typing import AnyArray, IntArray
from .inputs import samples_of
from .keys import Labels, key_of

_CODES = 0x110000  # code points of Unicode; definition
_WHAT = "strings, or lists of tokens"


@dataclass(frozen=True, eq=False)
class Sequences:
    """Symbols of all sequences, one after another: sequence i begins at ``starts[i]``.

    Symbols are numbers. Those of strings are code points, those of tokens are places in ``tokens``.
    """

    symbols: AnyArray  # uint32 code points, or int32 places
    starts: IntArray
    tokens: Labels | None  # None: characters

    @classmethod
    def read(cls, X: Any) -> Sequences:
        """Strings or lists of tokens; anything else is refused."""
        samples = samples_of(X, _WHAT, "strings")
        text = bool(samples) and isinstance(samples[0], str)
        samples = [_symbols(sample, i, text) for i, sample in enumerate(samples)]
        lengths = np.fromiter(map(len, samples), dtype=np.int64, count=len(samples))
        starts = np.concatenate([[0], np.cumsum(lengths)])
        if text:
            codes = "".join(samples).encode("utf-32-le", "surrogatepass")
            return cls(np.frombuffer(codes, dtype=np.uint32), starts, None)
        tokens = Labels("tokens")
        return cls(tokens.numbers(chain.from_iterable(samples)), starts, tokens)

    def __len__(self) -> int:
        return self.starts.size - 1

    def keys(self) -> AnyArray:
        """The key of every symbol; that of a character equals the key of the same token."""
        if self.tokens is not None:
            return self.tokens.key_array()[self.symbols]
        keys = np.zeros(_CODES, dtype=np.uint64)
        keys[self.symbols] = 1
        letters = np.flatnonzero(keys)
        keys[letters] = [key_of(chr(letter)) for letter in letters.tolist()]
        return keys[self.symbols]

    def windows(self, length: int) -> tuple[IntArray, IntArray]:
        """Where windows of this length begin, and which of them belong to which sequence."""
        counts = np.maximum(np.diff(self.starts) - length + 1, 0)
        ends = np.concatenate([[0], np.cumsum(counts)])
        shift = np.repeat(self.starts[:-1] - ends[:-1], counts)
        return np.arange(ends[-1]) + shift, ends

    def words(self, begin: int, length: int) -> str:
        """A window as text: characters as they stand, tokens with spaces between."""
        symbols: Iterable[int] = self.symbols[begin : begin + length].tolist()
        if self.tokens is None:
            return "".join(map(chr, symbols))
        return " ".join(str(self.tokens.labels[symbol]) for symbol in symbols)


def _symbols(sample: Any, i: int, text: bool) -> Any:
    """One sample as a string, or as a list of tokens."""
    if text and isinstance(sample, str):
        return sample
    if not text and isinstance(sample, np.ndarray) and sample.ndim == 1:
        return sample.tolist()
    if not text and isinstance(sample, list | tuple):
        return sample
    raise ValueError(f"X must hold {_WHAT}, all of one kind, but entry {i} is {sample!r:.50}.")
