"""Objectives of several scores, as tests of solvers pose them."""

import numpy as np

from minimand.design import as_design
from minimand.problem.objective import Objective


def objective_of_scores(loss, penalty, X, y, k, alpha, weights=None, **options):
    """The mean loss of k scores with a penalty, of a matrix or a design."""
    design = X if hasattr(X, "matvec") else as_design(X)
    return Objective(
        loss=loss,
        penalty=penalty.bind((design.shape[1], k), alpha),
        design=design,
        y=y,
        mass=loss.masses(np.ones(len(y)) if weights is None else weights),
        n_scores=k,
        **options,
    )
