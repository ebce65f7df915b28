"""adelie, in a Python of its own that the variable ADELIE_PYTHON names: it needs numpy < 2."""

from __future__ import annotations

import os
import subprocess

from ..measures.judge import Model
from ..problems.base import Problem
from .base import Peer, decades
from .elsewhere import fit_elsewhere

_PYTHON = os.environ.get("ADELIE_PYTHON", "")
if not _PYTHON:
    raise ImportError("ADELIE_PYTHON does not name a Python that has it")
subprocess.run([_PYTHON, "-c", "import adelie"], check=True, capture_output=True)

_SCRIPT = """
import os, sys, time
from pathlib import Path
import numpy as np
import adelie as ad

folder, tol, loss, block = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3], int(sys.argv[4])
n, d, stored, intercept = np.fromfile(folder / "meta", dtype="<i4").tolist()
X = np.fromfile(folder / "x").reshape(d, n).T
y, alphas = np.fromfile(folder / "y"), np.fromfile(folder / "alphas")
glm = ad.glm.gaussian(y) if loss == "squared" else ad.glm.binomial((y > 0).astype(float))
threads = os.cpu_count() or 1
given = dict(lmda_path=alphas, intercept=bool(intercept), progress_bar=False, early_exit=False,
             n_threads=threads, alpha=1.0)
if block > 1:
    given["groups"] = np.arange(0, d, block)
given.update(tol=tol) if loss == "squared" else given.update(irls_tol=tol, tol=tol)
few = dict(given, lmda_path=alphas[:3])
matrix = ad.matrix.dense(X, n_threads=threads)
ad.grpnet(matrix, glm, **few)
wall, cpu = time.perf_counter(), time.process_time()
found = ad.grpnet(matrix, glm, **given)
seconds = time.perf_counter() - wall, time.process_time() - cpu
np.array(seconds).tofile(folder / "seconds")
betas = np.asarray(found.betas.toarray())
rows = np.minimum(np.arange(len(alphas)), len(betas) - 1)
np.ascontiguousarray(betas[rows]).tofile(folder / "coefs")
np.asarray(found.intercepts)[rows].tofile(folder / "intercepts")
"""


def _path(problem: Problem, tol: float) -> Model:
    if problem.is_sparse or problem.l1_ratio != 1.0:
        raise ValueError("it is asked for dense columns and norms alone here")
    block = problem.block if problem.penalty == "group_l2" else 1
    return fit_elsewhere(problem, [_PYTHON, "-c", _SCRIPT], tol, problem.loss, block)


PEERS = [Peer("adelie path", "adelie", _path, decades(-6, -14))]
