"""scikit-learn's test_pca of decomposition, on our drop-ins."""

from swap import swapped

globals().update(swapped("sklearn.decomposition.tests.test_pca"))
