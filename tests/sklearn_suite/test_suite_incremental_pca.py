"""scikit-learn's test_incremental_pca of decomposition, on our drop-ins."""

from swap import swapped

globals().update(swapped("sklearn.decomposition.tests.test_incremental_pca"))
