"""Support vector machines on all 60000 digits of MNIST: ``python -m bench.mnist mnist.npz``.

The file has the arrays X_train, y_train, X_test, y_test. Digits are deskewed by their second
moments first (the published 8.4 %, 1.4 % and 1.1 % of a linear, Gaussian and quartic machine are
of such digits) and, for the polynomial, scaled to unit length. C and gamma are chosen on a part of
the training digits; the test digits are looked at once, at the end. ``--peer`` also runs
scikit-learn-intelex with the same parameters and its own default tolerance.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import ndimage

from minimand.sklearn import SVC

from .measures.machine import machine

SIDE = 28
TOL = 1e-3  # relative gap of every pair of digits; convention of this table
TRIALS = {  # parameters that are compared on training digits
    "linear": {"kernel": ["linear"], "C": [0.003, 0.01, 0.03]},
    "rbf": {"kernel": ["rbf"], "C": [5.0], "gamma": [0.01, 0.02, 0.03]},
    "poly": {"kernel": ["poly"], "degree": [4], "coef0": [1.0], "C": [1.0], "gamma": [2.0, 4.0]},
}


def deskewed(digit: np.ndarray) -> np.ndarray:
    """The digit sheared such that its principal axis is upright, and centred."""
    mass = float(digit.sum())
    if mass == 0:
        return digit
    rows, columns = np.mgrid[:SIDE, :SIDE]
    y, x = float((rows * digit).sum()) / mass, float((columns * digit).sum()) / mass
    spread = float(((rows - y) ** 2 * digit).sum()) / mass
    slant = float(((rows - y) * (columns - x) * digit).sum()) / mass / max(spread, 1e-12)
    shear = np.array([[1.0, 0.0], [slant, 1.0]])
    middle = np.full(2, (SIDE - 1) / 2)
    return ndimage.affine_transform(digit, shear, offset=np.array([y, x]) - shear @ middle, order=1)


def prepared(digits: np.ndarray) -> np.ndarray:
    """Deskewed digits with values from 0 to 1, a row each."""
    images = np.asarray(digits, dtype=float).reshape(-1, SIDE, SIDE) / 255.0
    return np.stack([deskewed(image).ravel() for image in images])


def inputs(kernel: str, X: np.ndarray) -> np.ndarray:
    """Rows of unit length for the polynomial, which makes its kernel one of angles."""
    return X / np.linalg.norm(X, axis=1, keepdims=True) if kernel == "poly" else X


def chosen(name: str, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """The parameters with the fewest errors on the last fifth of some training digits."""
    grid = TRIALS[name]
    trials = [dict(zip(grid, values)) for values in product(*grid.values())]
    if len(trials) == 1:
        return trials[0]
    count = len(y) // 5
    errors = []
    for trial in trials:
        model = SVC(tol=10 * TOL, **trial).fit(X[:-count], y[:-count])
        errors.append(float(np.mean(model.predict(X[-count:]) != y[-count:])))
        print(
            f"  {trial}: {100 * errors[-1]:.2f} % of {count} held-out training digits", flush=True
        )
    return trials[int(np.argmin(errors))]


def peer_class() -> Any:
    """scikit-learn-intelex's SVC."""
    try:
        from sklearnex import svm
    except ImportError as error:
        raise SystemExit(f"--peer needs scikit-learn-intelex: {error}") from error
    return svm.SVC


class Run(NamedTuple):
    """One fit on the training digits and the prediction of the test digits."""

    model: Any
    error: float  # percent of the test digits
    fit: float  # seconds
    predict: float
    cpu: float  # seconds of both

    @classmethod
    def of(cls, model: Any, X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: Any) -> Run:
        """Fit and predict."""
        begun, used = time.perf_counter(), time.process_time()
        model.fit(X, y)
        fitted = time.perf_counter()
        error = 100 * float(np.mean(model.predict(new) != truth))
        ended, used = time.perf_counter(), time.process_time() - used
        return cls(model, error, fitted - begun, ended - fitted, used)

    @property
    def cells(self) -> list[str]:
        """The error, and the seconds."""
        return [
            f"{self.error:.2f} %",
            *(f"{each:.1f}" for each in (self.fit, self.predict, self.cpu)),
        ]


def row_of(name: str, best: dict[str, Any], ours: Run, peer: Run | None) -> list[str]:
    """A line of the table; the ratios are those of the seconds to fit and to predict."""
    facts = [f"{ours.model.certificate_.relative:.1e}", str(len(ours.model.support_))]
    row = [name, str(best), *ours.cells, *facts]
    if peer is not None:
        ratios = ours.fit / peer.fit, ours.predict / peer.predict
        row += [*peer.cells, *(f"{ratio:.2f}" for ratio in ratios)]
    return row


def _page(table: list[list[str]], samples: int) -> str:
    """The table in Markdown, with what it was made with."""
    head, *rows = table
    lines = [head, ["---"] * len(head), *rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return (
        f"# Support vector machines on {samples} digits of MNIST\n\nWritten by `python -m "
        f"bench.mnist`: deskewed digits, relative gap ≤ {TOL:g}; {machine()}.\n\n{body}\n"
    )


def main() -> None:
    """Choose, fit, predict, and print a row per kernel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", help="mnist.npz")
    parser.add_argument("--samples", type=int, default=60000, help="training digits")
    parser.add_argument("--search", type=int, default=10000, help="of them for the choice")
    parser.add_argument("--kernels", nargs="*", default=list(TRIALS))
    parser.add_argument("--peer", action="store_true", help="also scikit-learn-intelex, tol=1e-3")
    parser.add_argument("--out", type=Path, help="a Markdown file for the table")
    options = parser.parse_args()
    peer = peer_class() if options.peer else None
    data = np.load(options.path)
    X, y = prepared(data["X_train"][: options.samples]), data["y_train"][: options.samples]
    test, truth = prepared(data["X_test"]), data["y_test"]
    clocks = "fit s", "predict s", "CPU s of both"
    table = [["kernel", "parameters", "test error", *clocks, "relative gap", "support vectors"]]
    if peer is not None:
        table[0] += [f"peer: {word}" for word in ("test error", *clocks)]
        table[0] += ["fit, ratio", "predict, ratio"]
    print(" | ".join(table[0]))
    for name in options.kernels:
        rows, new = inputs(name, X), inputs(name, test)
        best = chosen(name, rows[: options.search], y[: options.search])
        ours = Run.of(SVC(tol=TOL, **best), rows, y, new, truth)
        theirs = Run.of(peer(**best), rows, y, new, truth) if peer is not None else None
        table.append(row_of(name, best, ours, theirs))
        print(" | ".join(table[-1]), flush=True)
        if options.out is not None:  # after every kernel: a run that is stopped leaves its table
            options.out.write_text(_page(table, options.samples))


if __name__ == "__main__":
    main()
