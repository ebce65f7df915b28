"""scikit-learn's test_ridge of linear_model, on our drop-ins."""

from swap import swapped

globals().update(swapped("sklearn.linear_model.tests.test_ridge"))
