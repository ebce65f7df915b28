"""Handwritten words: ``python -m bench.ocr FILE`` (ocr_letters.npz), letters alone against chains.

The file has the arrays X (16×8 pixels of every letter), y, word_ptr (where words begin) and
word_fold. By default models are trained on one fold of ten and tested on the others, for each of
``--folds`` folds in turn, with three values of alpha, of which the best on the last fifth of the
training words counts.
``--timing`` trains on nine folds, as CRFsuite (python-crfsuite) does, with its objective.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

import minimand as mm

from .pages.tables import Tables

STRENGTHS = (1.0, 10.0, 100.0)  # alpha times the number of words, or of letters
C2 = 1.0  # CRFsuite's default


class Words(NamedTuple):
    """Pixels and letters, a matrix and a list for each word."""

    X: list[np.ndarray]
    y: list[list[str]]

    def part(self, first: int | None, last: int | None) -> Words:
        """Some words."""
        return Words(self.X[first:last], self.y[first:last])

    @property
    def letters(self) -> Words:
        """Every letter as a word of its own."""
        rows = [row[None, :] for x in self.X for row in x]
        return Words(rows, [[label] for own in self.y for label in own])


def read(path: Path, folds: list[int]) -> tuple[Words, Words]:
    """The words of some folds, and those of the others."""
    data = np.load(path)
    begin, fold = data["word_ptr"], np.asarray(data["word_fold"])
    X = np.asarray(data["X"], dtype=float).reshape(len(data["y"]), -1)
    names = [str(label) for label in data["y"].tolist()]
    chosen = np.isin(fold, folds)

    def words(which: np.ndarray) -> Words:
        places = [(begin[i], begin[i + 1]) for i in np.flatnonzero(which)]
        return Words([X[a:b] for a, b in places], [names[a:b] for a, b in places])

    return words(chosen), words(~chosen)


def models(rank: int, tol: float) -> dict[str, tuple[mm.SequenceLabeler, bool]]:
    """The labelers by name, and whether they see whole words."""
    maps = {"pixels": None, "kernel": mm.Nystrom(mm.Polynomial(2), rank, random_state=0)}
    found = {}
    for kind, features in maps.items():
        for loss, name in (("crf", "multinomial"), ("max_margin", "Crammer-Singer")):
            alone = mm.SequenceLabeler(loss, features=features, ends=False, tol=tol)
            chain = mm.SequenceLabeler(loss, features=features, tol=tol)
            found[f"letters alone, {name}, {kind}"] = alone, False
            found[f"chain, {loss}, {kind}"] = chain, True
    return found


def best(model: Any, words: Words) -> tuple[Any, float]:
    """The strength of the penalty with the fewest errors on the last fifth; the model refitted."""
    cut = len(words.X) - len(words.X) // 5
    first, last = words.part(None, cut), words.part(cut, None)
    scores = []
    for strength in STRENGTHS:
        trial = clone(model).set_params(alpha=strength / len(first.X)).fit(*first)
        scores.append(trial.score(*last))
    strength = STRENGTHS[int(np.argmax(scores))]
    return clone(model).set_params(alpha=strength / len(words.X)).fit(*words), strength


def compare(options: argparse.Namespace, page: Tables) -> None:
    """Test errors, a row per model: the mean and the range over training folds."""
    folds = [read(options.path, [fold]) for fold in range(options.folds)]
    sizes = " and ".join(
        f"{min(found)} to {max(found)} {name} words"
        for name, found in zip(("training", "test"), zip(*((len(a.X), len(b.X)) for a, b in folds)))
    )
    page.say(
        f"\n## Letters alone and chains\n\nTraining on each of {len(folds)} folds of ten, and test "
        f"on the nine others: {sizes}. Strengths are alpha times the number of training words, or "
        "of letters; each fold has that of the fewest errors on the last fifth of its words."
    )
    page.head("model", "strengths", "letter errors", "range", "relative gap", "CPU s")
    for name, (model, whole) in models(options.rank, options.tol).items():
        if options.only and not any(part in name for part in options.only):
            continue
        errors, strengths, gaps, used = [], set(), [], time.process_time()
        for fold in folds:
            own, new = fold if whole else (part.letters for part in fold)
            fitted, strength = best(model, own)
            errors.append(100 * (1 - fitted.score(*new)))
            gaps.append(fitted.certificate_.relative)
            strengths.add(strength)
        used = time.process_time() - used
        chosen = ", ".join(f"{strength:g}" for strength in sorted(strengths))
        between = f"{min(errors):.2f} to {max(errors):.2f}"
        facts = [f"{np.mean(errors):.2f} %", between, f"{max(gaps):.1e}", f"{used:.1f}"]
        page.row(name, chosen, *facts)


def timing(options: argparse.Namespace, page: Tables) -> None:
    """CRFsuite and minimand with one objective, on nine folds."""
    train, test = read(options.path, list(range(1, 10)))
    n = len(train.X)
    page.say(
        f"\n## Time to one objective\n\n{n} training words (nine folds), weights of all pairs of a "
        f"pixel or a letter and a letter; the sum of negative log-likelihoods plus {C2:g}·‖w‖²."
    )
    page.head("", "objective", "relative gap", "iterations", "s", "CPU s", "vs. CRFsuite")
    peer = None if options.without_peer else crfsuite(train)
    if peer is not None:
        value, iterations, wall, cpu = peer
        page.row("CRFsuite", f"{value:.3f}", "", iterations, f"{wall:.1f}", f"{cpu:.1f}", "1")
    labeler = mm.SequenceLabeler(alpha=2 * C2 / n, ends=False, tol=options.tol)
    mm.SequenceLabeler(alpha=1.0).fit(*train.part(0, 50))  # modules are loaded before
    begun, used = time.perf_counter(), time.process_time()
    labeler.fit(*train)
    wall, cpu = time.perf_counter() - begun, time.process_time() - used
    found = labeler.certificate_
    facts = [f"{found.primal * n:.3f}", f"{found.relative:.1e}", labeler.n_iter_]
    ratio = "" if peer is None else f"{wall / peer[2]:.3f}"
    page.row("minimand, certified", *facts, f"{wall:.2f}", f"{cpu:.2f}", ratio)
    if peer is not None:
        reached = np.flatnonzero(labeler.history_.primal * n <= peer[0])
        equal = labeler.history_.seconds[reached[0]] if reached.size else np.inf
        ratio = f"{equal / peer[2]:.3f}"
        page.row("minimand, at CRFsuite's value", "", "", "", f"{equal:.2f}", "", ratio)
    error = 100 * (1 - labeler.score(*test))
    page.say(f"\nLetter errors of the {len(test.X)} words left: {error:.2f} %.")


def crfsuite(words: Words) -> tuple[float, int, float, float]:
    """Objective, iterations, and seconds of CRFsuite, with weights of all pairs."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    names = [f"x{j}" for j in range(words.X[0].shape[1])]
    for x, own in zip(words.X, words.y):
        tokens = [{name: float(v) for name, v in zip(names, row) if v} for row in x]
        trainer.append(pycrfsuite.ItemSequence(tokens), own)
    everything = {"feature.possible_transitions": True, "feature.possible_states": True}
    trainer.set_params({"c1": 0.0, "c2": C2, **everything})
    with tempfile.TemporaryDirectory() as folder:
        begun, used = time.perf_counter(), time.process_time()
        trainer.train(str(Path(folder) / "model"))
        seconds = time.perf_counter() - begun, time.process_time() - used
    last = trainer.logparser.last_iteration
    return float(last["loss"]), int(last["num"]), *seconds


def main() -> None:
    """Compare test errors, or times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="ocr_letters.npz")
    parser.add_argument("--timing", action="store_true")
    parser.add_argument("--without-peer", action="store_true")
    parser.add_argument("--only", nargs="*", help="parts of the names of models")
    parser.add_argument("--folds", type=int, default=5, help="to train on, one at a time")
    parser.add_argument("--rank", type=int, default=400, help="columns of the kernel map")
    parser.add_argument("--tol", type=float, help="1e-4 for times, else 1e-3")
    parser.add_argument("--out", type=Path, help="a Markdown file for the tables")
    options = parser.parse_args()
    options.tol = options.tol or (1e-4 if options.timing else 1e-3)
    page = Tables("Handwritten words", "minimand", "python-crfsuite", "numpy")
    timing(options, page) if options.timing else compare(options, page)
    page.write(options.out)


if __name__ == "__main__":
    main()
