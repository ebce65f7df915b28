"""Spans of tags are those of conlleval, and their scores are counts of equal spans."""

from __future__ import annotations

from itertools import product

import pytest

import minimand as mm
from minimand.metrics import span_f1, span_precision, span_recall, span_report, spans


def as_triples(tags):
    return [tuple(span) for span in spans(tags.split())]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("O O", []),
        ("B-NP", [("NP", 0, 1)]),
        ("B-NP I-NP O", [("NP", 0, 2)]),
        ("B-NP B-NP", [("NP", 0, 1), ("NP", 1, 2)]),  # neighbours of one type
        ("B-NP I-VP", [("NP", 0, 1), ("VP", 1, 2)]),  # another type begins a span
        ("O I-NP I-NP", [("NP", 1, 3)]),  # IOB1, and predictions that are not well formed
        ("I-NP B-NP I-NP", [("NP", 0, 1), ("NP", 1, 3)]),
        ("B-NP O I-NP", [("NP", 0, 1), ("NP", 2, 3)]),
        ("B-X I-X E-X S-X", [("X", 0, 3), ("X", 3, 4)]),  # IOBES
        ("S-X I-X", [("X", 0, 1), ("X", 1, 2)]),  # nothing goes on after a single token
        ("E-X E-X", [("X", 0, 1), ("X", 1, 2)]),
        ("B-X E-X I-X", [("X", 0, 2), ("X", 2, 3)]),
        ("B-X L-X U-X", [("X", 0, 2), ("X", 2, 3)]),  # BILOU
        ("B-X M-X E-X", [("X", 0, 3)]),  # BMES
        ("B I O B", [("", 0, 2), ("", 3, 4)]),  # one type that has no name
        ("B-a-b I-a-b", [("a-b", 0, 2)]),
    ],
)
def test_spans_by_hand(tags, expected):
    assert as_triples(tags) == expected


def _chunk_by_chunk(tags):
    """Begin and end of chunks by conlleval's tables of (letter before, letter) for B, I and O."""
    found, begun = [], None
    pairs = [("O", "")] + [tuple(([*t.split("-"), ""])[:2]) for t in tags] + [("O", "")]
    for i in range(1, len(pairs)):
        (p, pt), (t, tt) = pairs[i - 1], pairs[i]
        ends = (p, t) in {("B", "B"), ("B", "O"), ("I", "B"), ("I", "O")} or (p != "O" and pt != tt)
        starts = (p, t) in {("B", "B"), ("I", "B"), ("O", "B"), ("O", "I")} or (
            t != "O" and pt != tt
        )
        if ends and begun is not None:
            found.append((pt, begun, i - 1))
            begun = None
        if starts:
            begun = i - 1
    return found


def test_all_short_sequences_agree_with_the_tables_of_conlleval():
    tags = ["O", "B-x", "I-x", "B-y", "I-y"]
    for length in range(1, 5):
        for sequence in product(tags, repeat=length):
            assert [tuple(s) for s in spans(sequence)] == _chunk_by_chunk(sequence), sequence


def test_scores_count_equal_spans():
    true = [["B-NP", "I-NP", "O", "B-VP"], ["B-NP", "O"]]
    predicted = [["B-NP", "O", "O", "B-VP"], ["B-NP", "B-PP"]]
    assert span_precision(true, predicted) == 2 / 4
    assert span_recall(true, predicted) == 2 / 3
    assert span_f1(true, predicted) == pytest.approx(2 * 0.5 * (2 / 3) / (0.5 + 2 / 3))
    report = span_report(true, predicted)
    assert tuple(report["NP"].values()) == (0.5, 0.5, 0.5, 2)
    assert tuple(report["PP"].values()) == (0.0, 0.0, 0.0, 0)
    assert report["all spans"]["support"] == 3
    assert span_f1(true, predicted, average="macro") == pytest.approx((0.5 + 1.0 + 0.0) / 3)
    assert span_f1(true, predicted, average="weighted") == pytest.approx((2 * 0.5 + 1.0) / 3)
    assert "NP" in str(report)


def test_without_spans_the_scores_are_zero_and_equal_tags_are_perfect():
    assert span_f1([["O"]], [["O"]]) == 0.0
    tags = [["B-NP", "I-NP"], ["O"]]
    assert span_f1(tags, tags) == span_precision(tags, tags) == span_recall(tags, tags) == 1.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: spans("B-NP"), "tags must be a list"),
        (lambda: spans(["NP"]), "no tag of a span"),
        (lambda: spans([3]), "no tag of a span"),
        (lambda: span_f1(["B-NP"], ["B-NP"]), "put a single one in a list"),
        (lambda: span_f1([["O"]], [["O"], ["O"]]), "same sequences"),
        (lambda: span_f1([["O"]], [["O", "O"]]), "sequence 0"),
        (lambda: span_f1([["O"]], [["O"]], average="none"), "average"),
    ],
)
def test_bad_input_gets_one_sentence(call, words):
    with pytest.raises((TypeError, ValueError), match=words) as raised:
        call()
    assert "\n" not in str(raised.value)


def test_public_names():
    assert mm.metrics.span_f1 is span_f1
