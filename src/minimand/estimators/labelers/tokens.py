"""Sequences of tokens as one matrix, a row for each token: from arrays or from feature dicts."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.utils.validation import _check_feature_names, _get_feature_names, check_array

from ..._base.typing import AnyArray, IntArray
from ..._base.wording import counted
from ...design.base import plain
from ...kernels import Kernel
from ..inputs.matrix import all_finite

SEPARATOR = ":"  # between the name of a feature and its text, as in CRFsuite; convention
_HASHED = 2**18  # columns of features="hash", 2 MB of weights for each label; convention
_LARGEST = 1e150  # value whose square is surely a number; derived
_SHAPE = "a (length × features) matrix or a list of feature dicts"


class Tokens(NamedTuple):
    """The tokens of all sequences, one below the other; sequence i has rows offsets[i] … [i+1]."""

    matrix: Any
    offsets: IntArray

    @property
    def lengths(self) -> IntArray:
        """Tokens of every sequence."""
        return np.diff(self.offsets)


class Unit(NamedTuple):
    """What a labeler labels, in words: the whole, its parts, and what joins two of them."""

    whole: str
    part: str
    link: str


SEQUENCE, GRAPH = Unit("sequence", "token", "step"), Unit("graph", "node", "edge")


def sequences(X: Any, unit: Unit = SEQUENCE) -> list[Any]:
    """The sequences as a list; what is no list of sequences is refused in one sentence."""
    shape = f"pass a list with one entry for each {unit.whole}, {_SHAPE}"
    if X is None:
        raise ValueError(f"X is None: {shape}.")
    if isinstance(X, str | bytes | Mapping):
        raise TypeError(f"X must hold {unit.whole}s, not {type(X).__name__} {X!r:.50}: {shape}.")
    if sparse.issparse(X) or getattr(X, "ndim", 1) == 2:
        how = "[part for _, part in X.groupby(…)]" if hasattr(X, "columns") else "[X]"
        raise ValueError(
            f"X is a single matrix of shape {tuple(X.shape)}, but its rows must be told apart by "
            f"{unit.whole}: pass a list of matrices, such as {how}."
        )
    if not isinstance(X, Iterable):
        raise TypeError(f"X must hold {unit.whole}s, not {X!r:.50}: {shape}.")
    found = list(X)
    if not found:
        raise ValueError(f"X has 0 {unit.whole}s while a minimum of 1 is required.")
    for place, sequence in enumerate(found):
        text = isinstance(sequence, str | bytes | Mapping) and not sparse.issparse(sequence)
        if text or not (hasattr(sequence, "__len__") or sparse.issparse(sequence)):
            raise TypeError(
                f"X[{place}] must be a {unit.whole} of {unit.part}s, not "
                f"{type(sequence).__name__} {sequence!r:.50}: {shape}."
            )
    return found


def lengths_of(sequences: list[Any]) -> IntArray:
    """How many tokens every sequence has."""
    return np.array([s.shape[0] if sparse.issparse(s) else len(s) for s in sequences], np.int64)


def check_list(name: str, given: Any, holds: str, count: int, unit: Unit) -> None:
    """Refuse an argument beside X that is no list with an entry for every sequence."""
    if isinstance(given, str | bytes | dict) or not hasattr(given, "__len__"):
        raise TypeError(
            f"{name} must be a list with the {holds} of every {unit.whole}, not {given!r:.50}."
        )
    if len(given) != count:
        raise ValueError(
            f"X and {name} must hold the same {unit.whole}s, but X has {count} and {name} has "
            f"{len(given)}."
        )


def refuse_empty(sequences: list[Any], unit: Unit = SEQUENCE) -> None:
    """Refuse sequences without a token, from which nothing can be learnt."""
    empty = np.flatnonzero(lengths_of(sequences) == 0)
    if empty.size:
        raise ValueError(
            f"X[{empty[0]}] is an empty {unit.whole} ({empty.size} of {len(sequences)} are): drop "
            f"such {unit.whole}s and their labels."
        )


def check_features(features: Any) -> None:
    """Refuse what cannot turn tokens into rows of numbers."""
    if features is None or (isinstance(features, str) and features == "hash"):
        return
    if isinstance(features, str | Kernel):
        raise ValueError(
            f"features={features!r} is no map of rows to columns: pass None, 'hash' or a "
            "transformer; for a kernel, minimand.Nystrom(kernel) or minimand.RandomFourier(kernel)."
        )
    if isinstance(features, type) or not hasattr(features, "transform"):
        raise TypeError(f"features must be a transformer of rows, not {features!r}.")


def learn(sequences: list[Any], labeler: Any) -> tuple[Tokens, Any]:
    """The tokens of a fit, and the fitted map of them; None where the rows are taken as they are.

    Dicts are indexed by `DictVectorizer` unless the labeler's ``features`` say otherwise; it gets
    the names of columns of data frames.
    """
    dicts, features = _are_dicts(sequences), labeler.features
    labeler.__dict__.pop("feature_names_in_", None)
    columns = _columns(sequences)
    if columns is not None:
        labeler.feature_names_in_ = columns
    if features is None and not dicts:
        return _learnt(_stacked(sequences, None), sequences, None), None
    if isinstance(features, str):
        features = FeatureHasher(n_features=_HASHED)
    elif features is None:
        features = DictVectorizer(separator=SEPARATOR)
    if isinstance(features, DictVectorizer | FeatureHasher) and not dicts:
        raise TypeError(f"features={features!r} takes feature dicts, but X holds matrices.")
    fitted = clone(features)
    if hasattr(fitted, "fit_transform"):
        matrix = _mapped(fitted.fit_transform, fitted, sequences, dicts)
    else:
        fitted.fit(_rows(sequences, dicts))
        matrix = _mapped(fitted.transform, fitted, sequences, dicts)
    return _learnt(matrix, sequences, fitted), fitted


def read(sequences: list[Any], labeler: Any) -> Tokens:
    """The tokens as a matrix with the columns of the fit, through the fitted map."""
    features, width = labeler.features_, labeler.coef_.shape[1]
    _check_columns(sequences, labeler)
    dicts, any_token = _are_dicts(sequences), bool(lengths_of(sequences).any())
    if not any_token:
        return _tokens(np.zeros((0, width)), sequences, None)
    if features is None:
        if dicts:
            raise TypeError("X holds feature dicts, but the model was fitted on matrices.")
        return _tokens(_stacked(sequences, width), sequences, None)
    if isinstance(features, DictVectorizer | FeatureHasher) and not dicts:
        raise TypeError("X holds matrices, but the model was fitted on feature dicts.")
    return _tokens(_mapped(features.transform, features, sequences, dicts), sequences, features)


def _mapped(action: Any, features: Any, sequences: list[Any], dicts: bool) -> Any:
    """The rows of all tokens by ``action`` of a map; nested values of dicts are flattened first.

    Only if they have to be: `DictVectorizer` takes texts, numbers and lists by itself, and faster.
    """
    rows = _rows(sequences, dicts)
    if isinstance(features, FeatureHasher) and features.input_type == "dict":
        return action([flattened(token) for token in rows])
    if not isinstance(features, DictVectorizer):
        return action(rows)
    try:
        return action(rows)
    except (OverflowError, TypeError):  # whose feature `flattened` names
        return action([flattened(token) for token in rows])


def _tokens(matrix: Any, sequences: list[Any], features: Any) -> Tokens:
    """A matrix of numbers with the offsets of its sequences; refused unless it is finite."""
    offsets = np.concatenate([[0], np.cumsum(lengths_of(sequences))]).astype(np.int64)
    matrix = _as_floats(matrix)
    _check_finite(matrix, offsets, features)
    return Tokens(matrix, offsets)


def _learnt(matrix: Any, sequences: list[Any], features: Any) -> Tokens:
    """The tokens of a fit; refused if they are too large for it."""
    tokens = _tokens(matrix, sequences, features)
    values = tokens.matrix.data if sparse.issparse(tokens.matrix) else tokens.matrix
    most = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if most > _LARGEST:
        raise ValueError(
            f"X holds values as large as {most:.0e}, whose squares overflow: divide its columns by "
            "their sizes first."
        )
    return tokens


def names(features: Any, width: int, columns: AnyArray | None = None) -> list[str]:
    """A name for every column, as the map has it, or as data frames have it without a map."""
    if hasattr(features, "get_feature_names_out"):
        own = () if columns is None else (columns,)
        return [str(name) for name in features.get_feature_names_out(*own)]
    if features is None and columns is not None:
        return [str(name) for name in columns]
    word = "hash" if isinstance(features, FeatureHasher) else "x"
    return [f"{word}{column}" for column in range(width)]


# Dicts -----------------------------------------------------------------------------------------


def _are_dicts(sequences: list[Any]) -> bool:
    """Whether tokens are dicts or lists of strings; the first token decides."""
    for place, sequence in enumerate(sequences):
        if sparse.issparse(sequence) or hasattr(sequence, "columns"):
            return False
        if len(sequence):
            first = sequence[0]
            if isinstance(first, str):
                raise TypeError(
                    f"X[{place}] holds plain words such as {first!r}: pass a dict of features for "
                    "each, such as {'word': 'the'}."
                )
            if isinstance(first, Mapping):
                return True
            is_list = isinstance(first, list | tuple | set | frozenset)
            return is_list and bool(first) and all(isinstance(item, str) for item in first)
    return False


def _rows(sequences: list[Any], dicts: bool) -> Any:
    """What a map gets: all tokens in one list, or the rows of all sequences as one matrix."""
    if not dicts:
        return _stacked(sequences, None)
    rows = []
    for place, sequence in enumerate(sequences):
        for token in sequence:
            if isinstance(token, Mapping):
                rows.append(token)
            elif isinstance(token, list | tuple | set | frozenset):
                rows.append(dict.fromkeys(token, 1.0))  # names of features alone
            else:
                raise TypeError(
                    f"X[{place}] holds {token!r:.50} beside feature dicts: pass a dict for each."
                )
    return rows


def flattened(token: Mapping[Any, Any]) -> dict[str, float]:
    """The features of a token as numbers, by name; texts, lists and nested dicts become names.

    What occurs several times counts as often, as for `DictVectorizer` and CRFsuite.

    >>> flattened({"word": "the", "title": False, "near": {"-1": "in"}, "sub": ["th", "he"]})
    {'word:the': 1.0, 'title': 0.0, 'near:-1:in': 1.0, 'sub:th': 1.0, 'sub:he': 1.0}
    """
    found: dict[str, float] = {}
    for name, value in _features(token, ""):
        found[name] = found.get(name, 0.0) + value
    return found


def _features(token: Mapping[Any, Any], within: str) -> Iterator[tuple[str, float]]:
    """Names and numbers of all features of a token."""
    for key, value in token.items():
        name = f"{within}{key}"
        if isinstance(value, str):
            yield f"{name}{SEPARATOR}{value}", 1.0
        elif isinstance(value, numbers.Real | np.bool_):
            yield name, _as_float(name, value)
        elif isinstance(value, Mapping):
            yield from _features(value, name + SEPARATOR)
        elif isinstance(value, Iterable) and all(isinstance(part, str) for part in value):
            yield from ((f"{name}{SEPARATOR}{part}", 1.0) for part in value)
        else:
            raise TypeError(
                f"X has a dict whose feature {name!r} is {value!r:.50}: values are texts, "
                "numbers, booleans, lists of texts, or dicts of these."
            )


def _as_float(name: str, value: Any) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError(
            f"X has a dict whose feature {name!r} is too large for a floating-point number: divide "
            "it first."
        ) from error


# Matrices --------------------------------------------------------------------------------------


def _columns(sequences: list[Any]) -> AnyArray | None:
    """The names that the columns of data frames have, the same in all of them; None if none has."""
    known: AnyArray | None = None
    for place, sequence in enumerate(sequences):
        own = _get_feature_names(sequence) if hasattr(sequence, "columns") else None
        if own is None:
            continue
        if known is not None and not np.array_equal(own, known):
            raise ValueError(
                f"X[{place}] has the columns {own.tolist()!r:.50}, but the frames before have "
                f"{known.tolist()!r:.50}: give all of them the same, in the same order."
            )
        known = own
    return known


def _check_columns(sequences: list[Any], labeler: Any) -> None:
    """Compare names of columns with those of the fit, as scikit-learn does for one frame."""
    for sequence in sequences:
        if hasattr(sequence, "columns"):
            _check_feature_names(labeler, sequence, reset=False)


def _stacked(sequences: list[Any], width: int | None) -> Any:
    """The rows of all sequences as one matrix, CSR if any of them is sparse."""
    parts, known = [], width
    for place, sequence in enumerate(sequences):
        if not (sparse.issparse(sequence) or len(sequence)):
            continue
        part = sequence if sparse.issparse(sequence) else _array(sequence, place)
        if known is not None and part.shape[1] != known:
            before = "the model was fitted on" if width is not None else "the entries before have"
            raise ValueError(
                f"X[{place}] has {counted(part.shape[1], 'feature')} a row, but {before} {known}."
            )
        known = part.shape[1]
        parts.append(part)
    if not parts:
        return np.zeros((0, known or 0))
    if any(map(sparse.issparse, parts)):
        stacked = sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
        stacked.sum_duplicates()
        if not stacked.data.all():  # a stored zero is no entry; that of a dict is one
            stacked.eliminate_zeros()
        return stacked
    return np.concatenate(parts)


def _array(sequence: Any, place: int) -> Any:
    """One sequence as an array of numbers; a data frame too."""
    try:
        array = np.asarray(sequence)
        if array.ndim == 2 and array.dtype.kind in "fiub":
            return array
        if array.dtype.kind == "c":
            raise ValueError("complex numbers")
        return check_array(sequence, dtype=np.float64, ensure_all_finite=False)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(
            f"X[{place}] is no (length × features) matrix of numbers ({_first_words(error)}): "
            "pass one, or a list of feature dicts."
        ) from error


def _first_words(error: Exception) -> str:
    """The beginning of another library's message."""
    return str(error).partition("\n")[0].partition(".")[0].rstrip(":, ")


def _as_floats(matrix: Any) -> Any:
    """Rows in float64: an array in C order, or CSR without duplicates."""
    if not sparse.issparse(matrix):
        return plain(np.ascontiguousarray(np.asarray(matrix), dtype=np.float64))
    csr = sparse.csr_array(matrix)
    if csr.dtype != np.float64:
        csr = csr.astype(np.float64)
    if not csr.has_canonical_format:
        csr = csr.copy() if csr is matrix else csr
        csr.sum_duplicates()
    return csr


def _check_finite(matrix: Any, offsets: IntArray, features: Any) -> None:
    """Refuse NaN and infinities, naming sequence, token and feature."""
    values = matrix.data if sparse.issparse(matrix) else matrix
    if all_finite(values):
        return
    if sparse.issparse(matrix):
        entries = matrix.tocoo()
        bad = int(np.flatnonzero(~np.isfinite(entries.data))[0])
        row, column, value = entries.row[bad], entries.col[bad], entries.data[bad]
    else:
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        value = matrix[row, column]
    place = int(np.searchsorted(offsets, row, side="right")) - 1
    feature = (
        names(features, matrix.shape[1])[column] if features is not None else f"column {column}"
    )
    raise ValueError(
        f"X[{place}] contains {'NaN' if np.isnan(value) else 'infinity'} (row "
        f"{row - offsets[place]}, {feature}): impute or drop such values first."
    )
