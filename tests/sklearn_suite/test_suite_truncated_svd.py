"""scikit-learn's test_truncated_svd of decomposition, on our drop-ins."""

from swap import swapped

globals().update(swapped("sklearn.decomposition.tests.test_truncated_svd"))
