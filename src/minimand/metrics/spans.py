"""Scores of tagged spans: precision, recall and F1 of whole phrases, as conlleval counts them.

Tags say where a span begins, goes on and ends: ``B-NP I-NP O`` (BIO), ``B I E S`` (IOBES) or
``B I L U`` (BILOU), each with a type behind the hyphen. A predicted span is right if its type, its
first and its last token are those of a true span.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from .table import Table

Average = Literal["micro", "macro", "weighted"]

# L and U are BILOU's names of E and S; M is BMES's name of I.
_PREFIXES = {"B": "B", "I": "I", "M": "I", "E": "E", "L": "E", "S": "S", "U": "S", "O": "O"}
_AVERAGES = ("micro", "macro", "weighted")
_COLUMNS = ("precision", "recall", "f1", "support")
_ALL = "all spans"  # the last row of a report


class Span(NamedTuple):
    """A phrase: its type, its first token, and the token behind its last."""

    type: str
    start: int
    stop: int


def spans(tags: Sequence[str]) -> list[Span]:
    """The spans of one sequence of tags, in their order.

    A token goes on with the span before it if both tags have the same type, the tag before is a B
    or an I, and its own is an I or an E. Any other tag than O begins a span. So an I after an O
    begins one too, as in conlleval: predicted tags need not be well formed.

    Parameters
    ----------
    tags : sequence of str
        ``O``, or one of the letters B I E S (also M, L and U) with ``-`` and a type behind it.

    Examples
    --------
    >>> import minimand as mm
    >>> for span in mm.metrics.spans(["B-NP", "I-NP", "O", "I-VP", "B-VP"]):
    ...     print(span)
    Span(type='NP', start=0, stop=2)
    Span(type='VP', start=3, stop=4)
    Span(type='VP', start=4, stop=5)
    """
    if isinstance(tags, str):
        raise TypeError(
            f"tags must be a list of tags, not the text {tags!r}: pass one tag a token."
        )
    found: list[Span] = []
    before, of = "O", ""  # the tag of the last token: its letter and its type
    for place, tag in enumerate(tags):
        letter, name = _parts(tag)
        if letter != "O":
            if name == of and before in ("B", "I") and letter in ("I", "E"):
                found[-1] = Span(name, found[-1].start, place + 1)
            else:
                found.append(Span(name, place, place + 1))
        before, of = letter, name
    return found


def span_precision(true: Any, predicted: Any, average: Average = "micro") -> float:
    """The share of predicted spans that are right; 0 if none was predicted.

    Parameters
    ----------
    true, predicted : list of sequences of tags
        Of the same lengths; see `spans`.
    average : {"micro", "macro", "weighted"}, default="micro"
        Over all spans, or the mean over their types; "weighted" weighs types by their true spans.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.span_precision([["B-NP", "I-NP", "B-VP"]], [["B-NP", "O", "B-VP"]])
    0.5
    """
    return _averaged(span_report(true, predicted), "precision", average)


def span_recall(true: Any, predicted: Any, average: Average = "micro") -> float:
    """The share of true spans that were predicted; 0 if there are none.

    Parameters
    ----------
    true, predicted : list of sequences of tags
        Of the same lengths; see `spans`.
    average : {"micro", "macro", "weighted"}, default="micro"
        As in `span_precision`.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.span_recall([["B-NP", "O", "B-VP"]], [["B-NP", "O", "O"]])
    0.5
    """
    return _averaged(span_report(true, predicted), "recall", average)


def span_f1(true: Any, predicted: Any, average: Average = "micro") -> float:
    """F1 of spans, 2·P·R/(P + R), with precision P and recall R.

    Parameters
    ----------
    true, predicted : list of sequences of tags
        Of the same lengths; see `spans`.
    average : {"micro", "macro", "weighted"}, default="micro"
        As in `span_precision`. ``sklearn.metrics.make_scorer(span_f1)`` makes a ``scoring`` of it.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.span_f1([["B-NP", "I-NP", "O"], ["B-VP"]], [["B-NP", "I-NP", "O"], ["O"]])
    0.666...
    """
    return _averaged(span_report(true, predicted), "f1", average)


def span_report(true: Any, predicted: Any) -> Table:
    """Precision, recall and F1 of every type of span, and of all spans together.

    Parameters
    ----------
    true, predicted : list of sequences of tags
        Of the same lengths; see `spans`.

    Returns
    -------
    Table
        A row for each type, and "all spans"; ``support`` counts the true ones.

    Examples
    --------
    >>> import minimand as mm
    >>> true = [["B-NP", "I-NP", "B-VP", "O"], ["B-NP"]]
    >>> mm.metrics.span_report(true, [["B-NP", "I-NP", "B-VP", "B-NP"], ["O"]])
               precision  recall  f1      support
    NP         0.5        0.5     0.5     2
    VP         1          1       1       1
    all spans  0.6667     0.6667  0.6667  3
    """
    actual, guessed, right = _counts(true, predicted)
    names = sorted(actual | guessed)
    rows = [_scores(right[name], guessed[name], actual[name]) for name in names]
    rows.append(_scores(right.total(), guessed.total(), actual.total()))
    return Table((*names, _ALL), _COLUMNS, np.array(rows, dtype=float))


def _counts(true: Any, predicted: Any) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """How many spans of every type are true, predicted, and both."""
    true, predicted = _sequences(true, "true"), _sequences(predicted, "predicted")
    if len(true) != len(predicted):
        raise ValueError(
            f"true holds {len(true)} sequences and predicted {len(predicted)}: pass the tags of "
            "the same sequences."
        )
    actual, guessed, right = Counter[str](), Counter[str](), Counter[str]()
    for place, (own, other) in enumerate(zip(true, predicted)):
        if len(own) != len(other):
            raise ValueError(
                f"sequence {place} has {len(own)} true tags and {len(other)} predicted ones: every "
                "token needs one of each."
            )
        here, there = set(spans(own)), set(spans(other))
        for counter, found in ((actual, here), (guessed, there), (right, here & there)):
            counter.update(span.type for span in found)
    return actual, guessed, right


def _sequences(tags: Any, name: str) -> list[Any]:
    """The sequences of tags; one sequence alone is refused."""
    sequences = list(tags)
    if isinstance(tags, str) or any(isinstance(item, str) for item in sequences):
        raise TypeError(f"{name} must be a list of sequences of tags: put a single one in a list.")
    return sequences


def _parts(tag: Any) -> tuple[str, str]:
    """The letter of a tag, as one of B I E S O, and its type."""
    letter, _, name = str(tag).partition("-")
    if letter not in _PREFIXES or not isinstance(tag, str):
        raise ValueError(
            f"{tag!r} is no tag of a span: tags are O, or one of B I E S with a hyphen and a type, "
            "such as B-NP."
        )
    return _PREFIXES[letter], name


def _scores(right: int, guessed: int, actual: int) -> tuple[float, ...]:
    """A row of the report, from counts; what would be divided by 0 is 0."""
    precision, recall = right / max(guessed, 1), right / max(actual, 1)
    return precision, recall, 2 * right / max(guessed + actual, 1), actual


def _averaged(report: Table, column: str, average: str) -> float:
    """One number of a report: of all spans, or as a mean over types."""
    if average not in _AVERAGES:
        raise ValueError(f"average must be one of {list(_AVERAGES)}, not {average!r}.")
    numbers = report.numbers[:, _COLUMNS.index(column)]
    if average == "micro" or numbers.size == 1:
        return float(numbers[-1])
    weights = report.numbers[:-1, -1] if average == "weighted" else np.ones(numbers.size - 1)
    return float(weights @ numbers[:-1] / max(weights.sum(), 1.0))
