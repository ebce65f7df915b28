"""Vectors as long as the data are few while a model is fitted."""

import tracemalloc

import numpy as np
import pytest

import minimand as mm

N = 300_000


def vectors_of_n(model, X, y):
    """The most that NumPy held at one time, in vectors of N numbers; the core's come on top."""
    model.fit(X[:100], y[:100])  # what is imported on the way is no memory of the fit
    tracemalloc.start()
    try:
        model.fit(X, y)
        return tracemalloc.get_traced_memory()[1] / (8 * N)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("model", "most"),
    [
        (mm.Regressor("squared", "l1", alpha=0.1, solver="working_set"), 8),
        (mm.Regressor("squared", "l2", alpha=0.1, solver="closed_form"), 11.5),
        # With the terms of the loss.
        (mm.Classifier("logistic", "l2", alpha=0.1, solver="newton"), 12.5),
    ],
    ids=["lasso", "ridge", "logistic"],
)
def test_vectors_as_long_as_the_data_are_few(model, most):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3))
    y = X[:, 0] - 0.5 * X[:, 1] + rng.standard_normal(N)
    found = vectors_of_n(model, X, y > 0 if isinstance(model, mm.Classifier) else y)
    assert found <= most
