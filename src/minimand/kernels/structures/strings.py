"""Kernels of strings that count substrings: exactly, or with mismatches."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import Any, Self

import numpy as np

from ... import _core
from ..._base.parameters import check_count
from ..._base.typing import AnyArray, IntArray
from .counted import Counted, Occurrences
from .keys import joined, key_of, signed
from .sequences import Sequences

_MOST_NEIGHBORS = 5e7  # substrings times neighbours; safeguard: about 1 GB


class Spectrum(Counted):
    r"""Common substrings of a given length.

    .. math:: k(x, z) = \sum_{u} \#_u(x) \, \#_u(z)

    over all substrings u of k symbols, where #_u(x) is how often x holds u, overlaps included.

    Parameters
    ----------
    k : int, default=3
        The number of symbols of a substring.
    shorter : bool, default=False
        Whether substrings of 1, …, k − 1 symbols count as well.
    binary : bool, default=False
        Whether a substring counts once however often it occurs. With ``shorter`` and a large k the
        kernel is then the number of different substrings that two strings have in common.

    Notes
    -----
    Samples are strings, or lists of tokens (words, notes, events). As ``features=`` the substrings
    of the training strings are the columns of a sparse matrix.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.Spectrum(2)(["banana"], ["ananas", "bandana"])
    array([[8., 7.]])
    >>> words = mm.Spectrum(2).fit(["banana"])
    >>> dict(zip(words.get_feature_names_out(), words.transform(["ananas"]).toarray()[0].tolist()))
    {'ba': 0.0, 'an': 2.0, 'na': 2.0}
    """

    def __init__(self, k: int = 3, *, shorter: bool = False, binary: bool = False) -> None:
        self.k = k
        self.shorter = shorter
        self.binary = binary

    def check_parameters(self) -> None:
        """K ≥ 1."""
        check_count(self, "k")

    def find(self, X: Any) -> Occurrences:
        """All substrings, by length and place."""
        sequences = Sequences.read(X)
        symbols = sequences.keys()
        keys, begins, groups = symbols, np.arange(symbols.size), []
        found = []
        for length in range(1, self.k + 1):
            begins, starts = sequences.windows(length)
            if length > 1:  # one symbol more than the substrings before
                keys = joined(keys[: symbols.size - length + 1], symbols[length - 1 :])
            if self.shorter or length == self.k:
                found.append((keys[begins], begins, np.full(begins.size, length)))
                groups.append(starts)
        if len(found) == 1:
            return Occurrences(found[0][0], groups[0], None, _Substrings(sequences, *found[0][1:]))
        owners = [np.repeat(np.arange(len(sequences)), np.diff(starts)) for starts in groups]
        order = np.argsort(np.concatenate(owners), kind="stable")
        keys, begins, lengths = (np.concatenate(each)[order] for each in zip(*found))
        examples = _Substrings(sequences, begins, lengths)
        return Occurrences(keys, np.sum(groups, axis=0), None, examples)


@dataclass(frozen=True, eq=False)
class _Substrings:
    """Substrings by where they begin and how long they are."""

    sequences: Sequences
    begins: IntArray
    lengths: IntArray

    def names(self, at: IntArray) -> list[str]:
        """The substrings themselves."""
        places = zip(self.begins[at].tolist(), self.lengths[at].tolist())
        return [self.sequences.words(begin, length) for begin, length in places]


class Mismatch(Counted):
    r"""Common substrings, of which up to m symbols may differ.

    .. math:: k(x, z) = \sum_{u \in A^k} \varphi_u(x) \, \varphi_u(z)

    where φ_u(x) is the number of substrings of x that differ from u in at most m places, for every
    word u of k symbols of the alphabet A. With m = 0 it is `Spectrum`.

    Parameters
    ----------
    k : int, default=3
        The number of symbols of a substring.
    m : int, default=1
        The number of symbols that may differ, less than k.
    alphabet : str or list of tokens, optional
        The symbols of A; by default those of the training strings. A symbol that is not in A
        differs from all that are.

    Notes
    -----
    A substring has Σ_{i ≤ m} C(k, i)·(|A| − 1)^i neighbours u, so small alphabets (DNA, proteins)
    and small m are what this kernel is for.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.Mismatch(2, 1, alphabet="acgt")(["ac"], ["ag", "gt"])
    array([[4., 2.]])
    """

    def __init__(self, k: int = 3, m: int = 1, *, alphabet: Any = None) -> None:
        self.k = k
        self.m = m
        self.alphabet = alphabet

    def check_parameters(self) -> None:
        """K ≥ 1, 0 ≤ m < k, and different symbols."""
        check_count(self, "k")
        if self.m != 0:
            check_count(self, "m")
        if self.m >= self.k:
            raise ValueError(
                f"m of Mismatch must be less than k={self.k}, or all words are alike, not {self.m}."
            )
        if self.alphabet is not None and (
            not isinstance(self.alphabet, str | list | tuple) or not len(self.alphabet)
        ):
            raise ValueError(
                f"alphabet of Mismatch must be a string or a list of tokens, not {self.alphabet!r}."
            )

    @property
    def unbound(self) -> str:
        """The alphabet, unless it is given."""
        return "the alphabet" if self.alphabet is None else ""

    def learn(self, X: Any) -> Self:
        """The kernel with the alphabet of the training strings."""
        if self.alphabet is not None:
            return self
        sequences = Sequences.read(X)
        if sequences.tokens is not None:
            return self.copy(alphabet=sequences.tokens.labels)
        letters = "".join(map(chr, np.unique(sequences.symbols).tolist()))
        return self.copy(alphabet=letters or " ")  # all strings are empty

    def find(self, X: Any) -> Occurrences:
        """The words near every substring."""
        sequences = Sequences.read(X)
        symbols = list(dict.fromkeys(self.alphabet))
        letters = np.array([key_of(symbol) for symbol in symbols], dtype=np.uint64)
        numbers = _core.key_numbers(signed(letters), signed(sequences.keys()))
        begins, ends = sequences.windows(self.k)
        inside = numbers[begins[:, None] + np.arange(self.k)]
        # The different substrings of every string, and how often it has them.
        named = signed(joined(*inside.T.astype(np.int64)))
        ends, places, times, first = _core.key_counts(named, ends, None, None)
        self._check_size(first.size, len(symbols))
        starts, words = _neighbors(inside[first], len(symbols), self.m)
        counts = np.diff(starts)[places]
        totals = np.concatenate([[0], np.cumsum(counts)])
        near = np.arange(totals[-1]) + np.repeat(starts[places] - totals[:-1], counts)
        keys = joined(*letters[words].T)[near]
        return Occurrences(
            keys, totals[ends], np.repeat(times, counts), _Words(words, near, symbols)
        )

    def _check_size(self, substrings: int, size: int) -> None:
        each = sum(comb(self.k, i) * max(size - 1, 0) ** i for i in range(self.m + 1))
        if substrings * each > _MOST_NEIGHBORS:
            raise ValueError(
                f"Mismatch(k={self.k}, m={self.m}) has {each} neighbours for each of {substrings} "
                f"substrings over {size} symbols, which is too many: take a smaller m or k."
            )


@dataclass(frozen=True, eq=False)
class _Words:
    """Words over an alphabet, and which of them stands where."""

    words: AnyArray
    near: IntArray
    symbols: list[Any]

    def names(self, at: IntArray) -> list[str]:
        """The words themselves."""
        space = "" if all(isinstance(s, str) and len(s) == 1 for s in self.symbols) else " "
        return [
            space.join(str(self.symbols[s]) for s in w) for w in self.words[self.near[at]].tolist()
        ]


def _neighbors(windows: AnyArray, size: int, m: int) -> tuple[IntArray, AnyArray]:
    """The words at most m places away from each window, one window after another.

    Words are rows of numbers below ``size``; −1 in a window is a symbol that is in no word. For
    each choice of at most m places, the symbols there are replaced by all others.
    """
    owners, words = [], []
    length = windows.shape[1]
    for count in range(m + 1):
        others = np.array(list(product(range(size), repeat=count)), dtype=windows.dtype)
        for places in map(list, combinations(range(length), count)):
            kept = np.delete(windows, places, axis=1)
            differs = (others[None, :, :] != windows[:, None, places]).all(axis=2)
            complete = (kept >= 0).all(axis=1, keepdims=True)
            owner, other = np.nonzero(differs & complete)
            found = windows[owner]
            found[:, places] = others[other]
            owners.append(owner)
            words.append(found)
    owner = np.concatenate(owners)
    starts = np.searchsorted(np.sort(owner), np.arange(len(windows) + 1))
    return starts, np.concatenate(words)[np.argsort(owner, kind="stable")]
