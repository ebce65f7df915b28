"""Peers in a process of their own: R, or a Python that needs other versions of libraries.

The data are handed over as files of binary numbers, written once and outside the timer; the other
process reads them, starts its clock, fits, stops it, and writes coefficients and seconds.

    meta        n, d, stored numbers (0: dense), whether there is an intercept
    x, i, p     the numbers of X by columns; for a sparse X their rows and where columns begin
    y, alphas   targets and strengths
    coefs       one row per alpha;  intercepts;  seconds: wall, CPU
"""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..measures.judge import Model
from ..measures.timing import Lap
from ..problems.base import Problem
from .base import as_model, as_path


def require_r(package: str) -> str:
    """Where Rscript is; an ImportError if R or the package is not installed."""
    command = shutil.which("Rscript")
    if command is None:
        raise ImportError("Rscript is not installed")
    asked = [command, "-e", f"suppressPackageStartupMessages(library({package}))"]
    if subprocess.run(asked, capture_output=True, check=False).returncode != 0:
        raise ImportError(f"R has no package {package}")
    return command


def _files(problem: Problem) -> Path:
    """A folder with the data, removed at the end of the run."""
    folder = Path(tempfile.mkdtemp(prefix="minimand-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    X, stored = problem.columns(), 0
    if problem.is_sparse:
        stored = int(X.nnz)
        X.data.astype("<f8").tofile(folder / "x")
        X.indices.astype("<i4").tofile(folder / "i")
        X.indptr.astype("<i4").tofile(folder / "p")
    else:
        X.T.astype("<f8").tofile(folder / "x")
    problem.y.astype("<f8").tofile(folder / "y")
    numbers = (*X.shape, stored, int(problem.intercept))
    np.array(numbers, dtype="<i4").tofile(folder / "meta")
    return folder


def fit_elsewhere(problem: Problem, command: Sequence[str], *given: object) -> Model:
    """Run a command with the folder of the data and what else it is given; read its result."""
    folder = problem.form("files", lambda: _files(problem))
    problem.strengths.astype("<f8").tofile(folder / "alphas")
    words = [*command, str(folder), *map(str, given)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:] or f"exit code {done.returncode}")
    coefs = np.fromfile(folder / "coefs", dtype="<f8")
    intercepts = np.fromfile(folder / "intercepts", dtype="<f8")
    made = as_model if problem.alphas is None else as_path
    lap = Lap(*np.fromfile(folder / "seconds", dtype="<f8").tolist())
    return made(coefs, intercepts, problem)._replace(lap=lap)


READ_IN_R = """
given <- commandArgs(TRUE); folder <- given[1]; tol <- as.numeric(given[2])
numbers <- function(name, what = "double") {
  path <- file.path(folder, name)
  size <- if (what == "integer") 4 else 8
  readBin(path, what, n = file.info(path)$size / size, size = size, endian = "little")
}
put <- function(values, name) {
  writeBin(as.double(values), file.path(folder, name), size = 8, endian = "little")
}
meta <- numbers("meta", "integer")
n <- meta[1]; d <- meta[2]; stored <- meta[3]; intercept <- meta[4] == 1
y <- numbers("y"); alphas <- numbers("alphas")
if (stored > 0) {
  library(Matrix)
  X <- new("dgCMatrix", i = numbers("i", "integer"), p = numbers("p", "integer"),
           x = numbers("x"), Dim = c(n, d))
} else {
  X <- matrix(numbers("x"), n, d)
}
clock <- function(call) {
  gc(FALSE); taken <- system.time(found <- call(), gcFirst = FALSE)
  put(c(taken[["elapsed"]], taken[["user.self"]] + taken[["sys.self"]]), "seconds")
  found
}
"""
