from swap import swapped

globals().update(swapped("sklearn.decomposition.tests.test_incremental_pca"))
