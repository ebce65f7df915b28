"""scikit-learn's test_quantile of linear_model, on our drop-ins."""

from swap import swapped

globals().update(swapped("sklearn.linear_model.tests.test_quantile"))
