"""Problems of many classes with one joint loss: the softmax, Crammer and Singer's hinge."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sklearn.datasets import load_digits

from . import real
from .base import Problem

PEERS = ("sklearn lbfgs", "sklearn newton-cg", "cyanure")


def digits(quick: bool) -> Problem:
    X, y = load_digits(return_X_y=True)
    rows = slice(0, 600 if quick else None)
    X, y = X[rows] / 16.0, y[rows].astype(float)
    return Problem(
        "multinomial_digits", X, y, "multinomial", "l2", 1 / len(y), True, PEERS, 0.3, "C = 1."
    )


def mnist(folder: Path) -> Problem:
    X, y, *test = real.mnist(folder)
    return Problem(
        "multinomial_mnist", X, y, "multinomial", "l2", 1e-3, True, PEERS, 0.35,
        "Greys from 0 to 1, of which 19 % are not 0.", (test[0], test[1]), gap=1e-5, seconds=120.0,
    )  # fmt: skip


def newsgroups(folder: Path) -> Problem:
    X, y, *test = real.newsgroups(folder)
    return Problem(
        "multinomial_newsgroups", X, y, "multinomial", "l2", 1 / len(y), True, PEERS, 0.3,
        "C = 1.", (test[0], test[1]),
    )  # fmt: skip


def crammer_singer(folder: Path) -> Problem:
    X, y, *test = real.newsgroups(folder)
    return Problem(
        "crammer_singer_newsgroups", X, y, "crammer_singer", "l2", 1 / len(y), False,
        ("liblinear -s 4",), 0.6, "C = 1. No intercept for anyone: LIBLINEAR penalises its own.",
        (test[0], test[1]), gap=1e-5,
    )  # fmt: skip


SYNTHETIC: dict[str, Callable[[bool], Problem]] = {"multinomial_digits": digits}
REAL: dict[str, Callable[[Path], Problem]] = {
    "multinomial_mnist": mnist,
    "multinomial_newsgroups": newsgroups,
    "crammer_singer_newsgroups": crammer_singer,
}
