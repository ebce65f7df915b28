"""scikit-learn's test_base of linear_model, on our drop-ins."""

from swap import swapped

globals().update(swapped("sklearn.linear_model.tests.test_base"))
