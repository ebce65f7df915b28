"""Chunking of CoNLL-2000: ``python -m bench.chunking FOLDER`` (train.txt.gz and test.txt.gz in it).

Features are those of the usual template: words and parts of speech in a window of five tokens,
their bigrams, and trigrams of parts of speech. CRFsuite (python-crfsuite) gets the same attributes,
the same objective (mean loss + alpha·½‖w‖², alpha = 2·c2/n) and the same weights: those of pairs
(attribute, label) and (label, label) that occur. CRFsuite indexes attributes when sequences are
appended, minimand when it makes the matrix: both are shown apart, and the ratio of training leaves
both out.
"""

from __future__ import annotations

import argparse
import gzip
import os
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

import minimand as mm
from minimand.estimators.labelers.tokens import learn

from .pages.tables import Tables

C2 = 1.0  # CRFsuite's default


class Sentence(NamedTuple):
    """Words, parts of speech and chunk tags."""

    words: list[str]
    parts: list[str]
    tags: list[str]


def sentences(path: Path) -> list[Sentence]:
    """A word, its part of speech and its tag on each line; an empty line between sentences."""
    found, rows = [], []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in [*lines, "\n"]:
            if line.strip():
                rows.append(line.split())
            elif rows:
                found.append(Sentence(*map(list, zip(*rows))))
                rows = []
    return found


def features(sentence: Sentence) -> list[dict[str, Any]]:
    """The attributes of every token."""
    words = ["<-2>", "<-1>", *sentence.words, "<+1>", "<+2>"]
    parts = ["<-2>", "<-1>", *sentence.parts, "<+1>", "<+2>"]
    found = []
    for i in range(2, len(words) - 2):
        w, p = words[i - 2 : i + 3], parts[i - 2 : i + 3]
        token = {f"w{j - 2}": w[j] for j in range(5)} | {f"p{j - 2}": p[j] for j in range(5)}
        token |= {f"ww{j - 2}": f"{w[j]}|{w[j + 1]}" for j in (1, 2)}
        token |= {f"pp{j - 2}": f"{p[j]}|{p[j + 1]}" for j in range(4)}
        token |= {f"ppp{j - 2}": f"{p[j]}|{p[j + 1]}|{p[j + 2]}" for j in range(3)}
        found.append(token)
    return found


def crfsuite(X: Any, y: Any, c2: float) -> dict[str, Any]:
    """Train CRFsuite; its objective on our scale, its seconds, and a function that tags."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    begun = time.perf_counter()
    for own, labels in zip(X, y):
        trainer.append(pycrfsuite.ItemSequence(own), labels)
    appended = time.perf_counter() - begun
    trainer.set_params({"c1": 0.0, "c2": c2})
    file = os.path.join(tempfile.mkdtemp(), "model")
    begun, used = time.perf_counter(), time.process_time()
    trainer.train(file)
    seconds = time.perf_counter() - begun, time.process_time() - used
    last = trainer.logparser.last_iteration
    tagger = pycrfsuite.Tagger()
    tagger.open(file)
    return {
        "objective": last["loss"] / len(X),
        "iterations": last["num"],
        "seconds": seconds,
        "appended": appended,
        "tag": lambda Z: [tagger.tag(pycrfsuite.ItemSequence(own)) for own in Z],
    }


def reached(history: mm.History, value: float) -> float:
    """Seconds until the objective was at most this value."""
    return first(history, history.primal <= value)


def first(history: mm.History, wanted: np.ndarray) -> float:
    """Seconds until something was so for the first time."""
    found = np.flatnonzero(wanted)
    return float(history.seconds[found[0]]) if found.size else float("inf")


def main() -> None:
    """Fit everybody, a row each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sentences", type=int, default=None, help="of the training data")
    parser.add_argument("--models", nargs="*", default=["crfsuite", "crf", "perceptron"])
    parser.add_argument("--tol", type=float, default=1e-7, help="beyond CRFsuite's value")
    parser.add_argument("--out", type=Path, help="a Markdown file for the table")
    options = parser.parse_args()
    page = Tables("Chunking of CoNLL-2000", "minimand", "python-crfsuite", "numpy", "scipy")
    train = sentences(options.folder / "train.txt.gz")[: options.sentences]
    test = sentences(options.folder / "test.txt.gz")
    begun = time.perf_counter()
    X, new = [features(s) for s in train], [features(s) for s in test]
    y = [s.tags for s in train]
    page.say(
        f"\n{len(train)} sentences; attributes made in {time.perf_counter() - begun:.1f} s. One "
        f"objective of CRFs: the sum of negative log-likelihoods plus {C2:g}·‖w‖² of all pairs "
        "that occur. F1 of chunks in the test data."
    )
    heads = "model", "F1", "objective", "relative gap", "iterations", "s", "CPU s", "vs. CRFsuite"
    page.head(*heads)
    peer = None
    if "crfsuite" in options.models:
        peer = crfsuite(X, y, C2)
        wall, cpu = peer["seconds"]
        facts = f"{peer['objective']:.6f}", "", peer["iterations"], f"{wall:.1f}", f"{cpu:.1f}"
        page.row("CRFsuite", f1(test, peer["tag"](new)), *facts, "1")
        page.row("CRFsuite: appending", "", "", "", "", f"{peer['appended']:.1f}", "", "")
    if any(name != "crfsuite" for name in options.models):
        mm.SequenceLabeler(alpha=1.0).fit(X[:20], y[:20])  # modules are loaded before
    for name in [name for name in options.models if name != "crfsuite"]:
        rows(page, name, labeler(name, len(X), options.tol), (X, y), (test, new), peer)
    page.write(options.out)


def rows(page: Tables, name: str, model: Any, train: Any, held: Any, peer: Any) -> None:
    """A fit, with the making of its matrix and, for a CRF, its time to CRFsuite's objective."""
    begun, used = time.perf_counter(), time.process_time()
    model.fit(*train)
    wall, cpu = time.perf_counter() - begun, time.process_time() - used
    found, test, new = model.certificate_, *held
    facts = [f"{found.primal:.6f}", f"{found.relative:.1e}", model.n_iter_]
    ratio = "" if peer is None else f"{wall / peer['seconds'][0]:.2f}"
    page.row(name, f1(test, model.predict(new)), *facts, f"{wall:.1f}", f"{cpu:.1f}", ratio)
    if name != "crf":
        return
    begun = time.perf_counter()
    learn(train[0], clone(model))
    matrix, history = time.perf_counter() - begun, model.history_
    page.row(f"{name}: its matrix", "", "", "", "", f"{matrix:.1f}", "", "")
    near = 1e-4 * history.target / model.tol
    marks = {"certified to 1e-4": first(history, history.gap <= near)}
    if peer is not None:
        marks["at CRFsuite's objective"] = reached(history, peer["objective"])
    for mark, seconds in marks.items():
        own = seconds - matrix
        ratio = "" if peer is None else f"{own / peer['seconds'][0]:.2f}"
        page.row(f"{name}: {mark}, training", "", "", "", "", f"{own:.1f}", "", ratio)


def f1(test: list[Sentence], predicted: Any) -> str:
    """The score of whole chunks, in percent."""
    return f"{100 * mm.metrics.span_f1([s.tags for s in test], predicted):.2f}"


def labeler(name: str, n: int, tol: float) -> mm.SequenceLabeler:
    """A labeler with CRFsuite's objective, or another one of the same features."""
    if name == "perceptron":
        return mm.SequenceLabeler("perceptron", max_iter=10, random_state=0)
    own = {"alpha": 2 * C2 / n, "tol": tol}
    if name == "crf":
        return mm.SequenceLabeler("crf", ends=False, weights="observed", **own)
    return mm.SequenceLabeler(name, **own)


if __name__ == "__main__":
    main()
